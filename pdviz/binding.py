"""The start-up guard: what is wrong with Qt here, in one sentence with the command that repairs it.

Nothing of Qt is imported until `binding_problem` is called. The table of platform libraries also serves
`.ci/environment.py`, which loads this file by its path: it must need the standard library only. Every start
passes here, so that what only a sentence needs is imported when one is made.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, NamedTuple

GOOD_VERSION = "6.11.3"  # the lock's, and right on every Python; tests/test_binding.py compares them
OLDEST_VERSION = (6, 8)
EMPTY_PLOTS_VERSION = (6, 9, 1)  # its QGraphicsItem.childItems is wrong: plots stay empty

_PROBE_CALLS = 64  # a fresh interpreter holds some 9,000 references to None: it can spare these

Role = Literal["draw", "x11", "wayland"]


class Library(NamedTuple):
    """A shared library that Qt loads from the system, what needs it, and the package that brings it."""

    soname: str
    role: Role
    apt: str
    dnf: str
    pacman: str


# "draw": without it no module of Qt loads, not even to draw into a file. The others: to open a window.
PLATFORM_LIBRARIES = (
    Library("libEGL.so.1", "draw", "libegl1", "libglvnd-egl", "libglvnd"),
    Library("libGL.so.1", "draw", "libgl1", "libglvnd-glx", "libglvnd"),
    Library("libX11.so.6", "draw", "libx11-6", "libX11", "libx11"),
    Library("libdbus-1.so.3", "draw", "libdbus-1-3", "dbus-libs", "dbus"),
    Library("libfontconfig.so.1", "draw", "libfontconfig1", "fontconfig", "fontconfig"),
    Library("libfreetype.so.6", "draw", "libfreetype6", "freetype", "freetype2"),
    Library("libglib-2.0.so.0", "draw", "libglib2.0-0", "glib2", "glib2"),
    Library("libgthread-2.0.so.0", "draw", "libglib2.0-0", "glib2", "glib2"),
    Library("libxkbcommon.so.0", "draw", "libxkbcommon0", "libxkbcommon", "libxkbcommon"),
    Library("libX11-xcb.so.1", "x11", "libx11-xcb1", "libX11-xcb", "libx11"),
    Library("libxcb-cursor.so.0", "x11", "libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor"),
    Library("libxcb-icccm.so.4", "x11", "libxcb-icccm4", "xcb-util-wm", "xcb-util-wm"),
    Library("libxcb-image.so.0", "x11", "libxcb-image0", "xcb-util-image", "xcb-util-image"),
    Library("libxcb-keysyms.so.1", "x11", "libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms"),
    Library("libxcb-randr.so.0", "x11", "libxcb-randr0", "libxcb", "libxcb"),
    Library(
        "libxcb-render-util.so.0", "x11", "libxcb-render-util0", "xcb-util-renderutil", "xcb-util-renderutil"
    ),
    Library("libxcb-render.so.0", "x11", "libxcb-render0", "libxcb", "libxcb"),
    Library("libxcb-shape.so.0", "x11", "libxcb-shape0", "libxcb", "libxcb"),
    Library("libxcb-shm.so.0", "x11", "libxcb-shm0", "libxcb", "libxcb"),
    Library("libxcb-sync.so.1", "x11", "libxcb-sync1", "libxcb", "libxcb"),
    Library("libxcb-util.so.1", "x11", "libxcb-util1", "xcb-util", "xcb-util"),
    Library("libxcb-xfixes.so.0", "x11", "libxcb-xfixes0", "libxcb", "libxcb"),
    Library("libxcb-xkb.so.1", "x11", "libxcb-xkb1", "libxcb", "libxcb"),
    Library("libxcb.so.1", "x11", "libxcb1", "libxcb", "libxcb"),
    Library("libxkbcommon-x11.so.0", "x11", "libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"),
    Library("libwayland-client.so.0", "wayland", "libwayland-client0", "libwayland-client", "wayland"),
    Library("libwayland-cursor.so.0", "wayland", "libwayland-cursor0", "libwayland-cursor", "wayland"),
    Library("libwayland-egl.so.1", "wayland", "libwayland-egl1", "libwayland-egl", "wayland"),
)

# Qt platforms that open no window on a display server.
_DISPLAYLESS = ("offscreen", "minimal", "vnc", "linuxfb", "eglfs")


def binding_problem() -> str | None:
    """Say why the installed PySide6 would fail or crash, or None. Loads Qt, which will be used anyway."""
    try:
        import PySide6

        version = PySide6.__version__
        problem = version_problem(version)
        if problem is None and sys.version_info < (3, 12) and lost_references() > _PROBE_CALLS // 2:
            python = ".".join(map(str, sys.version_info[:2]))
            problem = f"PySide6 {version} crashes on Python {python} (it loses references to None)"
    except ImportError as error:
        return loader_problem(error)
    return problem and f"{problem}; install one that works with: {_pip_command()}"


def version_problem(version: str) -> str | None:
    """Say what is wrong with a version of PySide6 on any Python, or None."""
    parts = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    if parts < OLDEST_VERSION:
        return f"PySide6 {version} is older than the {'.'.join(map(str, OLDEST_VERSION))} that pdviz needs"
    if parts == EMPTY_PLOTS_VERSION:
        return f"PySide6 {version} leaves plots empty"
    return None


def lost_references() -> int:
    """Count the references to None that a few calls of Qt lose: 0, or one a call with a broken binding.

    PySide6 6.12.0 does so on Python before 3.12 (later ones have an immortal None), until the interpreter
    dies of "none_dealloc".
    """
    from PySide6.QtGui import QPainterPath

    path = QPainterPath()
    before = sys.getrefcount(None)
    for _ in range(_PROBE_CALLS):
        path.moveTo(0.0, 0.0)
    return before - sys.getrefcount(None)


def display_problem(environ: Mapping[str, str], platform: str) -> str | None:
    """Say that there is no display to open a window on, or None."""
    if platform in ("win32", "darwin", "cygwin"):
        return None
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        return None
    if environ.get("QT_QPA_PLATFORM", "").startswith(_DISPLAYLESS):
        return None
    return (
        "There is no display to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set); "
        "`pdviz render` draws any view into a file without one."
    )


def window_problem(environ: Mapping[str, str], platform: str) -> str | None:
    """Say that there is no display, or that libraries are missing without which Qt would abort, or None."""
    problem = display_problem(environ, platform)
    if problem is None and needs_x11(environ, platform):
        missing = missing_libraries(["x11"])
        if missing:
            return _missing_sentence(missing)
    return problem


def needs_x11(environ: Mapping[str, str], platform: str) -> bool:
    """Tell whether Qt would open a window by its X11 plugin, which needs libraries of the system."""
    if not platform.startswith("linux"):
        return False
    chosen = environ.get("QT_QPA_PLATFORM", "")
    if chosen:
        return chosen.startswith("xcb")
    return bool(environ.get("DISPLAY")) and not environ.get("WAYLAND_DISPLAY")


def loader_problem(error: ImportError) -> str:
    """Turn a failed import of PySide6 into one sentence with the command that repairs it."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith(("PySide6", "shiboken6")):
        return f"PySide6 is not installed for this Python; install it with: {_pip_command()}"
    import re

    reason = " ".join(str(error).split())
    match = re.match(r"(lib[^\s:/]+\.so[.\d]*): cannot open shared object file", reason)
    if match is None:
        return f"Qt cannot be loaded ({reason}); install it anew with: {_pip_command('--force-reinstall')}"
    missing = missing_libraries(["draw", "x11"])
    if match[1] not in {library.soname for library in missing}:
        return f"Qt cannot be loaded because {match[1]} is missing: install the system package that has it."
    return _missing_sentence(missing)


def missing_libraries(
    roles: Collection[Role], is_there: Callable[[str], bool] | None = None
) -> list[Library]:
    """Return the platform libraries of these roles that are not on this system."""
    is_there = is_there or _is_there
    return [one for one in PLATFORM_LIBRARIES if one.role in roles and not is_there(one.soname)]


def _is_there(soname: str) -> bool:
    """Look where libraries usually lie, which takes microseconds; only then ask the loader, which knows."""
    folders = (f"/usr/lib/{getattr(sys.implementation, '_multiarch', '')}", "/usr/lib64", "/usr/lib")
    if any(os.path.exists(f"{folder}/{soname}") for folder in folders):
        return True
    import ctypes

    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def apt_packages(libraries: Iterable[Library]) -> list[str]:
    """Return the Debian and Ubuntu packages that have these libraries."""
    return _once(library.apt for library in libraries)


def install_command(libraries: Iterable[Library], also: Iterable[str] = ()) -> str | None:
    """Return the command that installs these libraries here (and, with apt, other packages), or None."""
    import shutil

    libraries = list(libraries)
    superuser = "" if hasattr(os, "geteuid") and os.geteuid() == 0 else "sudo "
    if shutil.which("apt-get"):
        return f"{superuser}apt-get install -y {' '.join([*also, *apt_packages(libraries)])}"
    if shutil.which("dnf"):
        return f"{superuser}dnf install -y {' '.join(_once(library.dnf for library in libraries))}"
    if shutil.which("zypper"):
        # Package names differ between its releases; what they provide does not.
        wanted = " ".join(f"'{library.soname}()(64bit)'" for library in libraries)
        return f"{superuser}zypper install -y {wanted}"
    if shutil.which("pacman"):
        return f"{superuser}pacman -S --needed {' '.join(_once(library.pacman for library in libraries))}"
    return None


def _missing_sentence(missing: list[Library]) -> str:
    command = install_command(missing)
    names = ", ".join(library.soname for library in missing)
    if command is None:
        return f"Qt needs libraries that this system lacks: install {names} with its package manager."
    return f"Qt needs libraries that this system lacks; install them with: {command}"


def _pip_command(*options: str) -> str:
    import shlex

    python = f'"{sys.executable}"' if sys.platform == "win32" else shlex.quote(sys.executable)
    return " ".join([python, "-m pip install", *options, f"PySide6-Essentials=={GOOD_VERSION}"])


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
