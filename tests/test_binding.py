"""The start-up guard: each way in which Qt can fail here is one sentence with the command that repairs it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pdviz import binding

ROOT = Path(__file__).parents[1]
EVERY = ["draw", "x11", "wayland"]


@pytest.fixture
def only(monkeypatch):
    """Make a system of one package manager (or none), used by root or by a person."""

    def make(manager: str | None, *, root: bool = True):
        monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name == manager else None)
        monkeypatch.setattr(binding.os, "geteuid", lambda: 0 if root else 1000, raising=False)

    return make


def lacking(*sonames: str):
    """A system that has every library but these."""
    return lambda soname: soname not in sonames


def is_one_sentence(text: str) -> bool:
    return "\n" not in text and "Traceback" not in text and len(text) > 20


# ---- the binding itself


def test_that_the_locked_binding_has_no_problem():
    assert binding.binding_problem() is None
    assert binding.lost_references() == 0 or sys.version_info >= (3, 12)


def test_that_the_version_which_is_recommended_is_the_one_in_the_lock():
    lock = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert f"\npyside6-essentials=={binding.GOOD_VERSION}\n" in lock


@pytest.mark.parametrize("version", ["6.7.3", "6.9.1", "5.15.2"])
def test_that_a_version_which_does_not_work_is_named_with_the_command_that_replaces_it(monkeypatch, version):
    monkeypatch.setattr("PySide6.__version__", version)
    problem = binding.binding_problem()
    assert is_one_sentence(problem)
    assert f"PySide6 {version}" in problem
    assert problem.endswith(f"-m pip install PySide6-Essentials=={binding.GOOD_VERSION}")


@pytest.mark.parametrize(
    "version", ["6.8.0.2", "6.8.3", "6.9.0", "6.9.3", "6.10.1", "6.11.3", "6.12.0", "7.0.0"]
)
def test_that_other_versions_are_accepted(version):
    assert binding.version_problem(version) is None


def test_that_a_binding_which_loses_references_is_refused_on_old_pythons(monkeypatch):
    monkeypatch.setattr(binding.sys, "version_info", (3, 11, 7, "final", 0))
    monkeypatch.setattr(binding, "lost_references", lambda: 64)
    problem = binding.binding_problem()
    assert is_one_sentence(problem)
    assert "Python 3.11" in problem
    assert "pip install PySide6-Essentials==" in problem


def test_that_a_stray_reference_is_no_reason_to_refuse(monkeypatch):
    monkeypatch.setattr(binding.sys, "version_info", (3, 11, 7, "final", 0))
    monkeypatch.setattr(binding, "lost_references", lambda: 3)
    assert binding.binding_problem() is None


def test_that_the_probe_sees_one_lost_reference_a_call(monkeypatch):
    counts = iter([9_000, 9_000 - 64])
    monkeypatch.setattr(binding.sys, "getrefcount", lambda _: next(counts))
    assert binding.lost_references() == 64


def test_that_newer_pythons_whose_none_is_immortal_are_not_probed(monkeypatch):
    monkeypatch.setattr(binding.sys, "version_info", (3, 13, 0, "final", 0))
    monkeypatch.setattr(binding, "lost_references", lambda: 64)
    assert binding.binding_problem() is None


def test_that_importing_the_guard_loads_no_qt():
    code = "import pdviz.binding, sys; sys.exit(not {'PySide6', 'shiboken6'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- a Qt that cannot be loaded


def test_that_an_absent_binding_is_told_from_a_broken_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "PySide6", None)  # makes the import fail
    assert is_one_sentence(binding.binding_problem())
    error = ModuleNotFoundError("No module named 'PySide6'", name="PySide6")
    assert binding.loader_problem(error).startswith("PySide6 is not installed")


def test_that_a_missing_library_is_named_with_all_its_fellows_and_the_command(monkeypatch, only):
    only("apt-get", root=False)
    missing = [
        library for library in binding.PLATFORM_LIBRARIES if library.soname in ("libEGL.so.1", "libGL.so.1")
    ]
    monkeypatch.setattr(binding, "missing_libraries", lambda roles: missing)
    error = ImportError("libEGL.so.1: cannot open shared object file: No such file or directory")
    problem = binding.loader_problem(error)
    assert is_one_sentence(problem)
    assert problem.endswith("sudo apt-get install -y libegl1 libgl1")


def test_that_a_missing_library_which_nobody_foresaw_is_named_too():
    problem = binding.loader_problem(ImportError("libodd.so.7: cannot open shared object file: No such file"))
    assert is_one_sentence(problem)
    assert "libodd.so.7" in problem


def test_that_any_other_failure_to_load_keeps_its_reason_in_one_line():
    problem = binding.loader_problem(
        ImportError("DLL load failed while importing QtGui:\nit could not be found")
    )
    assert is_one_sentence(problem)
    assert "DLL load failed while importing QtGui: it could not be found" in problem
    assert "pip install --force-reinstall PySide6-Essentials==" in problem


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "apt-get install -y libgl1 libglib2.0-0 libxcb-icccm4"),
        ("dnf", "dnf install -y libglvnd-glx glib2 xcb-util-wm"),
        ("pacman", "pacman -S --needed libglvnd glib2 xcb-util-wm"),
        ("zypper", "zypper install -y 'libGL.so.1()(64bit)' 'libglib-2.0.so.0()(64bit)'"),
        (None, None),
    ],
)
def test_that_each_package_manager_has_its_own_command(only, manager, command):
    only(manager)
    absent = lacking("libGL.so.1", "libglib-2.0.so.0", "libgthread-2.0.so.0", "libxcb-icccm.so.4")
    given = binding.install_command(binding.missing_libraries(EVERY, absent))
    assert given == command or (manager == "zypper" and given.startswith(command))


def test_that_a_person_who_is_not_root_is_given_sudo(only):
    only("dnf", root=False)
    assert binding.install_command(binding.missing_libraries(EVERY, lacking("libGL.so.1"))).startswith(
        "sudo dnf"
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere Qt brings all that it loads")
def test_that_the_table_holds_every_library_that_qt_asks_of_the_system():
    """A newer Qt in the lock may need more: this says which."""
    import PySide6

    folder = Path(PySide6.__file__).parent
    modules = ("Core", "Gui", "Widgets", "Svg", "Test", "OpenGLWidgets", "PrintSupport")
    todo = [folder / f"Qt{name}.abi3.so" for name in modules]
    todo += [folder / f"Qt/plugins/platforms/libq{name}.so" for name in ("offscreen", "xcb", "wayland")]
    seen, asked_of_the_system = set(todo), set()
    while todo:
        for soname in sonames_in(todo.pop()):
            bundled = folder / "Qt/lib" / soname
            if not bundled.exists():
                asked_of_the_system.add(soname)
            elif bundled not in seen:
                seen.add(bundled)
                todo.append(bundled)
    of_the_binding = ("libpyside6.", "libshiboken6.")
    of_every_system = (
        "libc.",
        "libm.",
        "libdl.",
        "libpthread.",
        "libgcc_s.",
        "libstdc++.",
        "libz.",
        "libzstd.",
    )
    others = {name for name in asked_of_the_system if not name.startswith(of_the_binding + of_every_system)}
    assert others == {library.soname for library in binding.PLATFORM_LIBRARIES} - {"libwayland-egl.so.1"}


def sonames_in(library: Path) -> set[str]:
    """What a shared library names as needed, read from its table of strings."""
    return {name.decode() for name in re.findall(rb"\0(lib[\w.+-]+\.so\.[\d.]+)(?=\0)", library.read_bytes())}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the loader of Linux is asked")
def test_that_a_library_is_found_wherever_the_loader_finds_it(monkeypatch):
    def missing():
        return {library.soname for library in binding.missing_libraries(EVERY)}

    found_by_path = missing()
    monkeypatch.setattr(binding.os.path, "exists", lambda path: False)
    assert missing() == found_by_path
    assert not binding._is_there("libnowhere.so.1")


# ---- a window that cannot be opened


@pytest.mark.parametrize("environ", [{}, {"DISPLAY": ""}, {"QT_QPA_PLATFORM": "xcb"}])
def test_that_no_display_points_to_what_needs_none(environ):
    problem = binding.display_problem(environ, "linux")
    assert is_one_sentence(problem)
    assert "pdviz render" in problem
    assert binding.window_problem(environ, "linux") == problem


@pytest.mark.parametrize(
    ("environ", "platform"),
    [
        ({"DISPLAY": ":0"}, "linux"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux"),
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux"),
        ({"QT_QPA_PLATFORM": "vnc:size=1920x1080"}, "linux"),
        ({}, "darwin"),
        ({}, "win32"),
    ],
)
def test_that_a_display_is_a_display(environ, platform):
    assert binding.display_problem(environ, platform) is None


@pytest.mark.parametrize(
    ("environ", "platform", "needed"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, "linux", False),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0", "QT_QPA_PLATFORM": "xcb"}, "linux", True),
        ({"DISPLAY": ":0", "QT_QPA_PLATFORM": "offscreen"}, "linux", False),
        ({"DISPLAY": ":0"}, "darwin", False),
    ],
)
def test_that_the_libraries_of_x11_are_asked_for_only_where_qt_will_load_them(environ, platform, needed):
    assert binding.needs_x11(environ, platform) is needed


def test_that_a_window_without_its_libraries_is_a_sentence_and_no_abort(monkeypatch, only):
    only("apt-get")
    absent = binding.missing_libraries(["x11"], lacking("libxcb-cursor.so.0"))
    monkeypatch.setattr(binding, "missing_libraries", lambda roles: absent)
    assert binding.window_problem({"DISPLAY": ":0"}, "linux").endswith("apt-get install -y libxcb-cursor0")
