"""Writing: the new file or the old one, never anything between, whatever fails and whenever."""

from __future__ import annotations

import builtins
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import sleep

import pytest

from pdviz import files, settings
from pdviz.errors import InputError
from pdviz.files import write_atomically
from pdviz.scenario import Scenario

STEPS = ("open", "chmod", "write", "flush", "fsync", "close", "replace")
FULL = OSError(28, "No space left on device")


class Torn:
    """A file in which one step fails."""

    def __init__(self, file: object, step: str) -> None:
        self.file, self.step = file, step

    def __enter__(self) -> Torn:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        if self.step == "close":
            raise FULL

    def fileno(self) -> int:
        return self.file.fileno()

    def write(self, data: bytes) -> None:
        self.file.write(data[: len(data) // 2] if self.step == "write" else data)
        if self.step == "write":
            raise FULL

    def flush(self) -> None:
        self.file.flush()
        if self.step == "flush":
            raise FULL


def torn(step: str, path: str, mode: str) -> Torn:
    return Torn(builtins.open(path, mode), step)


@pytest.fixture
def fail_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes one step of writing fail, as on a full disk."""

    def fail(*_: object, **__: object) -> None:
        raise FULL

    def arrange(step: str) -> None:
        if step in ("chmod", "fsync", "replace"):
            monkeypatch.setattr(os, step, fail)
        elif step == "open":
            monkeypatch.setattr(files, "open", fail, raising=False)
        else:
            monkeypatch.setattr(files, "open", partial(torn, step), raising=False)

    return arrange


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("is_there", [True, False])
def test_that_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, fail_at: Callable[[str], None], step: str, is_there: bool
) -> None:
    path = tmp_path / "a.toml"
    if is_there:
        path.write_bytes(b"old")
    elif step == "chmod":
        pytest.skip("there are no rights to take over")
    fail_at(step)
    with pytest.raises(InputError) as caught:
        write_atomically(str(path), b"new and longer")
    assert str(caught.value) == "a.toml: it cannot be written (No space left on device)"
    assert sorted(tmp_path.iterdir()) == ([path] if is_there else [])
    assert not is_there or path.read_bytes() == b"old"


def test_that_a_file_is_written_whole_under_its_own_name_alone(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".toml")
    for data in (b"first", b"", bytes(range(256)) * 4096):
        write_atomically(str(path), data)
        assert path.read_bytes() == data
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="rights and links as POSIX has them")
def test_that_rights_and_links_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "a.toml", tmp_path / "link.toml"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_atomically(str(link), b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    old = os.umask(0o027)
    write_atomically(str(tmp_path / "fresh.toml"), b"new")
    os.umask(old)
    assert (tmp_path / "fresh.toml").stat().st_mode & 0o777 == 0o640
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match=r"^a\.toml: it cannot be written \(it is write-protected\)$"):
        write_atomically(str(path), b"newer")
    assert path.read_bytes() == b"new"


def test_that_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it cannot be written \(this is no file\)$"):
        write_atomically(str(tmp_path), b"new")
    with pytest.raises(InputError, match=r"^a\.toml: it cannot be written \(No such file or directory\)$"):
        write_atomically(str(tmp_path / "gone" / "a.toml"), b"new")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match=r"^pipe: it cannot be written \(this is no file\)$"):
            write_atomically(str(tmp_path / "pipe"), b"new")


def test_that_settings_are_the_old_ones_after_a_failure(tmp_path: Path) -> None:
    folder = str(tmp_path)
    kept = settings.Settings(theme="light", scenario=Scenario(prompt_tokens=77))
    assert settings.save(folder, kept) is None
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(FULL))
        assert settings.save(folder, settings.Settings(theme="dark")) is not None
    assert settings.load(folder) == (kept, [])
    assert os.listdir(folder) == ["settings.json"]


WRITER = """
import sys
from pdviz.files import write_atomically
print("begun", flush=True)
number = 0
while True:
    number += 1
    write_atomically(sys.argv[1], b"%d\\n" % number * 100_000)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_that_a_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path, chance = tmp_path / "a.toml", random.Random(5)
    path.write_bytes(b"0\n" * 100_000)
    for _ in range(12):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        sleep(chance.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        lines = path.read_bytes().split(b"\n")
        assert len(lines) == 100_001
        assert len(set(lines[:-1])) == 1
