"""The set-up: whatever is in its way is one sentence with what to do, on any machine."""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE = ROOT / ".ci" / "environment.py"


@pytest.fixture
def setup(monkeypatch, tmp_path):
    """The set-up as a module that works on an empty project and starts no command."""
    spec = importlib.util.spec_from_file_location("environment", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("requirements.txt", "requirements-dev.txt", "pyproject.toml"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / ".venv").mkdir()
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    for name in ("STATE", "LOG"):
        monkeypatch.setattr(module, name, str(tmp_path / ".venv" / name))
    monkeypatch.setattr(module, "quiet", lambda command: 0)
    monkeypatch.setattr(module, "create_venv", lambda: None)
    return module


@pytest.fixture
def pip_calls(setup, monkeypatch):
    """What the set-up asks of pip."""
    calls = []
    monkeypatch.setattr(setup, "pip_install", lambda *arguments: calls.append(Path(arguments[-1]).name))
    return calls


# ---- the Python to use


def test_that_old_pythons_understand_the_file():
    ast.parse(FILE.read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("version", [(3, 10), (3, 14)])
def test_that_a_python_which_the_lock_serves_is_used_as_it_is(setup, monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    assert setup.suitable_python() == sys.executable


@pytest.mark.parametrize("version", [(3, 8), (3, 9), (3, 15)])
def test_that_another_python_on_the_path_is_preferred_to_one_that_it_does_not(setup, monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    monkeypatch.setattr(
        setup.shutil, "which", lambda name: f"/usr/bin/{name}" if name == "python3.12" else None
    )
    assert setup.suitable_python() == "/usr/bin/python3.12"


def test_that_a_launcher_of_a_python_which_is_not_there_is_passed_over(setup, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 0, "final", 0))
    monkeypatch.setattr(setup.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(setup, "quiet", lambda command: 0 if command[0].endswith("3.11") else 127)
    assert setup.suitable_python() == "/usr/bin/python3.11"


def test_that_a_newer_python_is_tried_where_there_is_no_other(setup, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 15, 0, "final", 0))
    monkeypatch.setattr(setup.shutil, "which", lambda name: None)
    assert setup.suitable_python() == sys.executable


def test_that_an_old_python_alone_is_told_what_is_needed(setup, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 0, "final", 0))
    monkeypatch.setattr(setup.shutil, "which", lambda name: None)
    with pytest.raises(setup.SetupError, match=r"needs 3\.10 or newer"):
        setup.suitable_python()


# ---- what is done, and what is not done again


def test_that_running_needs_no_tools_of_the_checks(setup, pip_calls):
    setup.ensure_environment("run")
    assert pip_calls[0] == "requirements.txt"
    assert len(pip_calls) == 2


@pytest.mark.parametrize("verb", ["test", "lint", "bench", "fuzz", "screenshots", "pictures"])
def test_that_the_checks_bring_their_tools(setup, pip_calls, verb):
    setup.ensure_environment(verb)
    assert pip_calls[0] == "requirements-dev.txt"


@pytest.mark.parametrize(
    ("first", "then", "again"),
    [("run", "run", 0), ("test", "test", 0), ("test", "run", 0), ("test", "lint", 0), ("run", "test", 2)],
)
def test_that_nothing_is_done_twice(setup, pip_calls, first, then, again):
    setup.ensure_environment(first)
    pip_calls.clear()
    setup.ensure_environment(then)
    assert len(pip_calls) == again


@pytest.mark.parametrize(
    ("changed", "again"), [("requirements.txt", 2), ("requirements-dev.txt", 2), ("pyproject.toml", 1)]
)
def test_that_a_change_of_the_lock_or_the_project_renews_the_environment(
    setup, pip_calls, tmp_path, changed, again
):
    setup.ensure_environment("test")
    pip_calls.clear()
    (tmp_path / changed).write_text("changed", encoding="utf-8")
    setup.ensure_environment("test")
    assert len(pip_calls) == again


def test_that_another_python_or_a_moved_folder_renews_the_environment(setup, pip_calls, monkeypatch):
    setup.ensure_environment("test")
    monkeypatch.setattr(setup, "VERSION", "3.99")
    setup.ensure_environment("test")
    assert len(pip_calls) == 4


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"run": 1}'])
def test_that_a_damaged_record_renews_the_environment(setup, pip_calls, damage):
    Path(setup.STATE).write_text(damage, encoding="utf-8")
    setup.ensure_environment("run")
    assert len(pip_calls) == 2


# ---- what can be in the way

NO_NETWORK = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': Failed to establish a
new connection: [Errno -3] Temporary failure in name resolution')': /numpy/
ERROR: Could not find a version that satisfies the requirement numpy==2.2.6 (from versions: none)
ERROR: No matching distribution found for numpy==2.2.6
"""


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (NO_NETWORK, "connect to the network"),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "disk is full",
        ),
        (
            "ERROR: No matching distribution found for pyside6-essentials==6.11.3",
            "no pyside6-essentials==6.11.3",
        ),
        ("something\nERROR: the unforeseen.\n", r"ERROR: the unforeseen\); more is in"),
        ("", "no reason given"),
    ],
)
def test_that_a_failure_of_pip_is_one_sentence(setup, monkeypatch, said, sentence):
    monkeypatch.setattr(setup, "heard", lambda command, environ: (1, said))
    with pytest.raises(setup.SetupError, match=sentence) as caught:
        setup.pip_install("anything")
    assert "\n" not in str(caught.value)
    assert Path(setup.LOG).read_text(encoding="utf-8") == said


@pytest.fixture
def bare_linux(setup, monkeypatch):
    """A Linux that lacks Qt's libraries and Python's venv, and on which nothing can be installed unasked."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(setup, "ROOT", str(ROOT))
    binding = setup.load_binding()
    some = [
        library for library in binding.PLATFORM_LIBRARIES if library.soname in ("libEGL.so.1", "libxcb.so.1")
    ]
    monkeypatch.setattr(
        binding, "missing_libraries", lambda roles: [one for one in some if one.role in roles]
    )
    monkeypatch.setattr(setup.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr(setup, "load_binding", lambda: binding)
    monkeypatch.setattr(setup, "venv_packages", lambda: ["python3.11-venv"])
    monkeypatch.setattr(setup, "apt_prefix", lambda: None)
    yield some
    sys.modules.pop("pdviz_binding", None)


def test_that_what_the_system_lacks_is_one_sentence_with_one_command(setup, bare_linux):
    with pytest.raises(
        setup.SetupError, match=r"apt-get install -y python3\.11-venv libegl1 libxcb1$"
    ) as caught:
        setup.ensure_system("test")
    assert "\n" not in str(caught.value)


def test_that_apt_is_used_where_it_asks_nothing(setup, bare_linux, monkeypatch):
    def install(prefix, packages):
        asked.append((prefix, packages))
        bare_linux.clear()
        monkeypatch.setattr(setup, "venv_packages", list)

    asked = []
    monkeypatch.setattr(setup, "apt_prefix", lambda: ["sudo", "-n"])
    monkeypatch.setattr(setup, "apt_install", install)
    setup.ensure_system("run")
    assert asked == [(["sudo", "-n"], ["python3.11-venv", "libegl1", "libxcb1"])]


def test_that_apt_which_fails_says_why(setup, bare_linux, monkeypatch):
    monkeypatch.setattr(setup, "apt_prefix", list)
    monkeypatch.setattr(
        setup, "heard", lambda command: (100, "Reading\nE: Unable to locate package libegl1\n")
    )
    with pytest.raises(setup.SetupError, match=r"install -y .*\(it failed here: error: Unable to locate"):
        setup.ensure_system("test")


def test_that_the_tests_need_no_libraries_of_x11(setup, bare_linux, monkeypatch):
    monkeypatch.setattr(setup, "venv_packages", list)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    del bare_linux[0]
    setup.ensure_system("test")
    with pytest.raises(setup.SetupError, match=r"libxcb1$"):
        setup.ensure_system("run")


def test_that_a_folder_that_cannot_be_written_is_one_sentence(setup, monkeypatch):
    spec = importlib.util.spec_from_file_location("untouched", FILE)
    untouched = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(untouched)
    monkeypatch.setattr(untouched.os, "access", lambda path, mode: False)
    with pytest.raises(untouched.SetupError, match="copy the project to a folder of your own"):
        untouched.create_venv()


# ---- the verbs


def test_that_an_unknown_verb_is_answered_with_the_known_ones():
    done = subprocess.run([sys.executable, FILE, "dance"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "run, test" in done.stderr


@pytest.mark.parametrize(
    "verb", ["test", "coverage", "mutants", "elsewhere", "bench", "screenshots", "pictures"]
)
def test_that_nothing_but_the_program_wants_a_display(setup, monkeypatch, verb):
    seen = []
    monkeypatch.setattr(
        setup.subprocess, "call", lambda command, cwd, env: seen.append(env["QT_QPA_PLATFORM"]) or 0
    )
    assert setup.carry_out(verb, []) == 0
    assert set(seen) == {"offscreen"}


def test_that_every_check_of_lint_runs_and_any_failure_counts(setup, monkeypatch):
    codes = iter([0, 3, 0, 1, 0, 0])
    monkeypatch.setattr(setup.subprocess, "call", lambda command, cwd, env: next(codes))
    assert setup.carry_out("lint", []) == 3
    assert next(codes, None) is None


@pytest.mark.parametrize("verb", ["run", "test"])
def test_that_no_package_is_built_on_a_user_s_machine(setup, monkeypatch, verb):
    asked = []
    monkeypatch.setattr(setup, "pip_install", lambda *arguments: asked.append(arguments))
    setup.ensure_environment(verb)
    packages, ours = asked
    assert packages[0] == "--only-binary=:all:"
    assert ours[:3] == ("--no-deps", "--no-build-isolation", "-e")


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_that_what_a_shell_has_set_up_has_no_say_in_the_checks(tmp_path):
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "$@"\nenv\n', encoding="utf-8")
    make.chmod(0o755)
    mischief = {"PYTEST_ADDOPTS": "-k x", "MAKEFLAGS": "-n", "ARGS": "-k x", "PYTHONOPTIMIZE": "1"}
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": "python3", **mischief}
    command = [str(ROOT / ".ci" / "run")]
    said = subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout
    lines = said.splitlines()
    floors = [int(line.split()[-1]) for line in lines if line.startswith(("test ARGS=", "elsewhere ARGS="))]
    assert len(floors) == 2
    assert min(floors) >= 5_000
    assert "lint" in lines
    assert lines.count("PYTHON=python3") == lines.count("CI=true") == 3
    assert not any(line.startswith(tuple(f"{name}=" for name in mischief)) for line in lines)
