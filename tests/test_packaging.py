"""What a person installs: the wheel, the editable install and the bare checkout, the lock, and the layers."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import pdviz

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
SYSTEMS = (("linux", "Linux", "posix"), ("darwin", "Darwin", "posix"), ("win32", "Windows", "nt"))
OFFLINE = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation")


def run(*command: object, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    # What a person's pip is set up to do has no say here, nor has a path to another pdviz.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PIP_") and k != "PYTHONPATH"}
    environ = {**inherited, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environ}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )


def succeed(*command: object, cwd: Path | None = None, **environ: str) -> str:
    done = run(*command, cwd=cwd, **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_in(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a clone has, so that building leaves nothing in the real one."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("pdviz", "resources"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    succeed(sys.executable, "-m", "pip", "wheel", *OFFLINE, "-w", folder, checkout)
    (file,) = folder.glob("*.whl")
    return file


# ---- the wheel


def test_that_the_wheel_has_every_module_and_every_resource(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    modules = {f"pdviz/{name}" for name in files_in(ROOT / "pdviz") if name.endswith(".py")}
    assert names == modules | {f"pdviz/resources/{name}" for name in files_in(ROOT / "resources")}


def test_that_the_wheel_gives_the_command_the_version_and_the_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        said = {
            Path(name).name: archive.read(name).decode() for name in archive.namelist() if "dist-info" in name
        }
    assert "pdviz = pdviz.cli:main" in said["entry_points.txt"].splitlines()
    assert "Copyright (c) 2026 The pdviz authors" in said["LICENSE"]
    about = Parser().parsestr(said["METADATA"])
    assert about["Version"] == pdviz.__version__
    assert about["License-Expression"] == "MIT"
    needed = {Requirement(text) for text in about.get_all("Requires-Dist") if "extra ==" not in text}
    assert needed == {Requirement(text) for text in PROJECT["project"]["dependencies"]}


def test_that_an_installed_wheel_finds_its_resources(wheel, tmp_path):
    succeed(sys.executable, "-m", "pip", "install", *OFFLINE, "--target", tmp_path, wheel)
    found = found_resources(sys.executable, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert found == tmp_path / "pdviz" / "resources"


# ---- the other two ways


def found_resources(python: object, *, cwd: Path, **environ: str) -> Path:
    """Where a fresh process finds the resources."""
    code = "from pdviz import assets; print(assets.folder())"
    return Path(succeed(python, "-c", code, cwd=cwd, **environ).strip())


def test_that_a_bare_checkout_finds_its_resources(checkout):
    assert found_resources(sys.executable, cwd=checkout) == checkout / "resources"


def test_that_an_editable_install_finds_its_resources_and_has_the_command(checkout, tmp_path):
    succeed(sys.executable, "-m", "venv", "--without-pip", tmp_path)
    paths = {"base": str(tmp_path), "platbase": str(tmp_path)}
    scheme = "nt" if sys.platform == "win32" else "posix_prefix"
    scripts = Path(sysconfig.get_path("scripts", scheme, paths))
    python = scripts / ("python.exe" if sys.platform == "win32" else "python")
    tools = sysconfig.get_path("purelib")  # pip and setuptools are lent by this environment
    succeed(python, "-m", "pip", "install", *OFFLINE, "-e", checkout, PYTHONPATH=tools)
    assert found_resources(python, cwd=tmp_path) == checkout / "resources"
    assert shutil.which("pdviz", path=str(scripts))


def test_that_every_package_is_listed():
    found = {path.parent.relative_to(ROOT) for path in (ROOT / "pdviz").rglob("__init__.py")}
    named = {".".join(path.parts) for path in found} | {"pdviz.resources"}
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == named


# ---- the lock


def pins(name: str) -> list[Requirement]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r "))]


RUN, EVERY = pins("requirements.txt"), pins("requirements.txt") + pins("requirements-dev.txt")


def surroundings(python: str, system: tuple[str, str, str]) -> dict[str, str]:
    platform, name, os_name = system
    return {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": platform,
        "platform_system": name,
        "os_name": os_name,
        "extra": "",
    }


def applying(requirements: list[Requirement], environment: dict[str, str]) -> list[Requirement]:
    return [r for r in requirements if r.marker is None or r.marker.evaluate(environment)]


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_that_the_lock_holds_plain_pins_and_no_address(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#") and line != "-r requirements.txt"]
    strange = [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [^;@#]+)?", line)]
    assert not strange
    assert "://" not in text


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system[0])
@pytest.mark.parametrize("python", PYTHONS)
def test_that_the_lock_gives_each_python_one_version_within_the_ranges(python, system):
    environment = surroundings(python, system)
    locked = {}
    for pin in applying(EVERY, environment):
        assert canonicalize_name(pin.name) not in locked, f"two versions of {pin.name}"
        locked[canonicalize_name(pin.name)] = next(iter(pin.specifier)).version
    wanted = list(PROJECT["project"]["dependencies"])
    for group in PROJECT["dependency-groups"].values():
        wanted += [text for text in group if isinstance(text, str)]
    for requirement in applying([Requirement(text) for text in wanted], environment):
        version = locked[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} is not met by {version}"


def test_that_the_lock_holds_all_that_its_packages_need_here():
    locked = {canonicalize_name(pin.name) for pin in EVERY}
    for pin in applying(EVERY, {"extra": ""}):
        for text in metadata.requires(pin.name) or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in locked, f"{pin.name} needs {needed}"


def test_that_the_program_runs_on_few_packages():
    """Before adding one: what it does for a person, its size, its import time (docs/architecture.md)."""
    direct = {canonicalize_name(Requirement(text).name) for text in PROJECT["project"]["dependencies"]}
    assert direct == {"pyside6-essentials", "pyqtgraph", "numpy", "msgspec", "fontpkg-inter", "tomli"}
    brought_along = {canonicalize_name(pin.name) for pin in RUN} - direct
    assert brought_along == {"shiboken6", "colorama", "fontpkg", "setuptools"}


# ---- the layers: a rule that was never seen to fail is no rule

VIOLATIONS = {
    "pdviz/units.py": "import PySide6.QtCore",
    "pdviz/costmodel/roofline.py": "import shiboken6",
    "pdviz/scene/marks/axis.py": "def late():\n    import pyqtgraph",
    "pdviz/errors.py": "import pdviz.units",
    "pdviz/scenario.py": "import pdviz.widgets",
    "pdviz/scene/anatomy/side.py": "import pdviz.scene.shapes.page",
    "pdviz/widgets/anatomy/paint.py": "import pdviz.widgets.shapes.paint",
}


def lint_imports(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = shutil.which("lint-imports", path=sysconfig.get_path("scripts"))
    return run(command, "--no-cache", cwd=checkout)


def test_that_the_layers_hold(checkout):
    done = lint_imports(checkout)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("module", VIOLATIONS)
def test_that_a_violation_of_the_layers_is_seen(checkout, module):
    file = checkout / module
    before = file.read_text(encoding="utf-8")
    file.write_text(f"{before}\n\n{VIOLATIONS[module]}\n", encoding="utf-8")
    try:
        done = lint_imports(checkout)
    finally:
        file.write_text(before, encoding="utf-8")
    assert done.returncode == 1
    assert "BROKEN" in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "complaints"),
    [
        ("pdviz/units.py", "import PySide6", {"TID251"}),
        ("pdviz/scenario.py", "from pyqtgraph import PlotItem", {"TID251", "TID253"}),
        ("pdviz/widgets/chart.py", "import PySide6", set()),
        ("pdviz/widgets/chart.py", "import pyqtgraph", {"TID253"}),
    ],
)
def test_that_the_linter_keeps_qt_out_of_the_pure_modules(module, line, complaints):
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "json"]
    done = subprocess.run(
        [*command, "--select", "TID", "--stdin-filename", str(ROOT / module), "-"],
        input=f"{line}\n",
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert {complaint["code"] for complaint in json.loads(done.stdout)} == complaints
