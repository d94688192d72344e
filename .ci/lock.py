"""Renew the lock: requirements.txt (what pdviz runs on) and requirements-dev.txt (what its checks add).

Recipe: `make lock`, read the difference, `make test lint`, commit. One resolution serves every Python and
every platform that pyproject.toml names (markers tell them apart), and prefers one version for all of them,
so that the same numbers and the same pixels come out everywhere. Versions that still fit are kept;
`make lock ARGS=--upgrade` takes the newest.

The files hold no index address and no hashes: whatever index a machine's pip is set up for serves them.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT, RUN, DEV = ROOT / "pyproject.toml", ROOT / "requirements.txt", ROOT / "requirements-dev.txt"
OLDEST_PYTHON = "3.10"
HEAD = "# Written by `make lock` from pyproject.toml: {what}."


def pins(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith(("#", "-"))]


def write(file: Path, *lines: str) -> None:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def resolve(uv: Path, group: str, *, wanted: list[str], bound: list[str], options: list[str]) -> list[str]:
    """Pins with markers for the project and a dependency group: `wanted` where they fit, within `bound`."""
    with tempfile.TemporaryDirectory() as folder:
        out, bounds = Path(folder) / "pins.txt", Path(folder) / "bounds.txt"
        out.write_text("\n".join(wanted), encoding="utf-8")
        bounds.write_text("\n".join(bound), encoding="utf-8")
        command = [str(uv), "pip", "compile", "--quiet", "--universal", "--fork-strategy", "fewest"]
        command += ["--python-version", OLDEST_PYTHON, "--no-annotate", "--no-header", *options]
        command += ["--output-file", str(out), "--constraints", str(bounds)]
        command += [str(PROJECT), "--group", f"{PROJECT}:{group}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return pins(out.read_text(encoding="utf-8"))


def main(options: list[str]) -> None:
    old = [pin for file in (RUN, DEV) if file.exists() for pin in pins(file.read_text(encoding="utf-8"))]
    # Where Pythons already differ in version, keeping both would make them differ in more places.
    names = [pin.partition("==")[0] for pin in old]
    kept = [pin for pin, name in zip(old, names, strict=True) if names.count(name) == 1]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
        every = resolve(scripts / "uv", "dev", wanted=kept, bound=[], options=options)
        run = resolve(scripts / "uv", "build", wanted=every, bound=every, options=[])
    write(RUN, HEAD.format(what="what pdviz runs on, and what builds it"), *run)
    added = [pin for pin in every if pin not in run]
    write(DEV, HEAD.format(what="what its tests and checks add"), "-r requirements.txt", *added)


if __name__ == "__main__":
    main(sys.argv[1:])
