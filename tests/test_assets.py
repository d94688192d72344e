"""Bundled files are found wherever pdviz runs from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pdviz import assets
from pdviz.errors import InputError


@pytest.fixture
def fresh_folder():
    assets.folder.cache_clear()
    yield
    assets.folder.cache_clear()


def test_that_a_checkout_reads_the_folder_beside_the_package():
    assert os.path.isabs(assets.folder())
    assert assets.read_bytes("catalogue/accelerators.json").startswith(b"{")
    assert os.path.isfile(assets.path("catalogue/accelerators.json"))


@pytest.mark.usefixtures("fresh_folder")
def test_that_a_wheel_reads_the_folder_inside_the_package_even_with_another_one_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    package = tmp_path / "site" / "pdviz"
    (package / "resources").mkdir(parents=True)
    (package.parent / "resources").mkdir()
    (package / "resources" / "a.txt").write_bytes(b"ours")
    (package.parent / "resources" / "a.txt").write_bytes(b"of another project")
    monkeypatch.setattr(assets, "_PACKAGE", str(package))
    assert assets.read_bytes("a.txt") == b"ours"


@pytest.mark.usefixtures("fresh_folder")
def test_that_an_installation_without_resources_is_named_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(assets, "_PACKAGE", str(tmp_path / "pdviz"))
    with pytest.raises(InputError, match=r'folder "resources".*install pdviz again'):
        assets.read_bytes("catalogue/models.json")


def test_that_a_missing_file_is_named_without_the_path_of_the_machine():
    with pytest.raises(
        InputError, match=r"^the bundled file catalogue/nothing\.json cannot be read"
    ) as caught:
        assets.read_bytes("catalogue/nothing.json")
    assert assets.folder() not in str(caught.value)


@pytest.mark.parametrize(
    "relative", ["../pyproject.toml", "catalogue/../../LICENSE", "/etc/hostname", "a\0b"]
)
def test_that_no_name_leads_out_of_the_folder(relative: str):
    with pytest.raises(InputError, match="bundled file"):
        assets.path(relative)


def test_that_the_start_pays_for_neither_pathlib_nor_importlib_resources():
    code = (
        "import sys; before = set(sys.modules); import pdviz.assets as a; a.folder();"
        "slow = {'pathlib', 'importlib.resources', 'tempfile', 'zipfile'};"
        "print(sorted(slow & (set(sys.modules) - before)))"
    )
    root = str(Path(__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert run.stdout.strip() == "[]"
