"""The tests once more: as an ordinary user, on the newest Python of this machine, in a copy of the project.

    make elsewhere [ARGS="options of pytest"]

The copy lies in a temporary folder with nothing beside it. Where there is neither another Python nor another
user to be (only root can be one), it says so and does nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MINORS = range(14, 9, -1)  # the Pythons that the lock serves, newest first
ASK = "import json, sys, ensurepip, venv; print(json.dumps([sys.version_info[1], sys.base_prefix]))"
NOBODY = 65_534
NOT_COPIED = (
    ".git",
    ".venv",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
    ".pictures",
    "*.egg-info",
    "build",
    "dist",
)
NOT_NEEDED = ("test", "tests", "site-packages", "idlelib", "tkinter", "__pycache__", "share", "*.a")


def newest_python() -> tuple[Path, Path]:
    """The newest Python's program, and the folder that it is installed in."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in MINORS:
        name = f"python3.{minor}"
        found = [path] if (path := shutil.which(name)) else []
        for program in (*found, *sorted(map(str, pyenv.glob(f"*/bin/{name}")), reverse=True)):
            done = subprocess.run([program, "-c", ASK], capture_output=True, text=True, check=False)
            if done.returncode == 0 and (answer := json.loads(done.stdout))[0] == minor:
                return Path(program), Path(answer[1])
    return Path(sys.executable), Path(sys.base_prefix)


def can_run(program: Path, user: dict[str, object]) -> bool:
    try:
        return subprocess.run([program, "-c", ASK], capture_output=True, check=False, **user).returncode == 0
    except PermissionError:
        return False


def give(folder: Path, owner: int) -> None:
    """Makes everything in a folder somebody's own."""
    for place, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            os.chown(os.path.join(place, name), owner, owner, follow_symlinks=False)


def main(arguments: list[str]) -> int:
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    python, installed = newest_python()
    if not is_root and installed == Path(sys.base_prefix):
        print("This is an ordinary user on the newest Python already: nothing to do elsewhere.")
        return 0
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if is_root else {}
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL", "CI") if key in os.environ}
    with tempfile.TemporaryDirectory(prefix="pdviz-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        copy = folder / "pdviz"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
        for place in ("home", "tmp"):
            (folder / place).mkdir()
        if not can_run(python, user):  # it lies in somebody's home
            shutil.copytree(
                installed, folder / "python", symlinks=True, ignore=shutil.ignore_patterns(*NOT_NEEDED)
            )
            python = folder / "python" / python.relative_to(installed)
            kept["LD_LIBRARY_PATH"] = str(folder / "python" / "lib")
        tests = [str(python), str(copy / ".ci" / "environment.py"), "test"]
        # Packages come by way of whom this machine's pip is set up for.
        subprocess.run([*tests, "--version"], cwd=copy, check=True)
        if is_root:
            give(folder, NOBODY)
        environ = {**kept, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
        print(f"The tests {'as an ordinary user' if is_root else 'once more'}, on {python}:", flush=True)
        return subprocess.run([*tests, *arguments], cwd=copy, env=environ, check=False, **user).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
