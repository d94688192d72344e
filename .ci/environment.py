"""Create or renew pdviz's environment in .venv, then run one thing in it.

    python3 .ci/environment.py run [options of pdviz]       (Windows: py .ci\\environment.py run)

Verbs: run, test, lint, bench, fuzz, screenshots, pictures, elsewhere, coverage, mutants; `setup` only
prepares. Needs only the standard library.
Whatever is in the way is said in one sentence with the command that removes it, never as a traceback.

Old Pythons must understand this file too (3.6 does): they look for a newer one and hand over to it.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

OLDEST, NEWEST = (3, 10), (3, 14)  # the lock serves these; a newer Python is tried where there is no other
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WINDOWS = os.name == "nt"
VENV = os.path.join(ROOT, ".venv")
SCRIPTS = os.path.join(VENV, "Scripts" if WINDOWS else "bin")
PYTHON, PDVIZ, LINT_IMPORTS = (
    os.path.join(SCRIPTS, name + (".exe" if WINDOWS else "")) for name in ("python", "pdviz", "lint-imports")
)
STATE = os.path.join(VENV, "pdviz-setup.json")
LOG = os.path.join(VENV, "pdviz-setup.log")

COMMANDS = {
    "setup": [],
    "run": [[PDVIZ]],
    "test": [[PYTHON, "-m", "pytest", "-n", "auto"]],
    "bench": [[PYTHON, "-m", "pytest", "tests/perf"]],
    "fuzz": [[PYTHON, "tests/readers/fuzz.py"]],
    "screenshots": [[PYTHON, "docs/screenshots.py"]],
    "elsewhere": [[PYTHON, ".ci/elsewhere.py"]],
    "pictures": [[PYTHON, "tests/pictures/gallery.py"]],
    "coverage": [[PYTHON, "-m", "coverage", "run", "-m", "pytest"], [PYTHON, "-m", "coverage", "report"]],
    "mutants": [[PYTHON, ".ci/mutants.py"]],
    "lint": [
        [PYTHON, "-m", "ruff", "check", "."],
        [PYTHON, "-m", "ruff", "format", "--check", "."],
        [PYTHON, "-m", "mypy"],
        [LINT_IMPORTS],
        [PYTHON, "-m", "vulture"],
        [PYTHON, ".ci/lengths.py"],
    ],
}
HEADLESS = ("test", "coverage", "mutants", "elsewhere", "bench", "screenshots", "pictures")

NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError"
    r"|Max retries exceeded|Temporary failure in name resolution|getaddrinfo failed"
    r"|Network is unreachable|Connection refused"
)


class SetupError(Exception):
    """What is in the way, as the one sentence that a person reads."""


def say(sentence):
    print(f"pdviz: {sentence}", file=sys.stderr, flush=True)


def quiet(command):
    """Run a command unheard; return its exit code."""
    try:
        return subprocess.call(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return 127


def heard(command, environ=None):
    """Run a command without showing it; return its exit code and all that it said."""
    done = subprocess.run(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


def last_error(text):
    lines = [line.strip().rstrip(".") for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["no reason given"])[-1]


# ---- the Python to use


def suitable_python():
    """Return the Python to run on: this one, another one on the PATH, or a newer one than the lock knows."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return sys.executable
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        path = shutil.which(f"python3.{minor}")
        # A launcher of that name may be there for a Python that is not.
        if path and quiet([path, "-c", f"import sys; sys.exit(sys.version_info[:2] != (3, {minor}))"]) == 0:
            return path
    if sys.version_info[:2] > NEWEST:
        return sys.executable
    raise SetupError(
        f"this is Python {VERSION}, and pdviz needs 3.{OLDEST[1]} or newer: "
        f"install one, then name it: make run PYTHON=python3.{NEWEST[1]}"
    )


# ---- what the system must have


def load_binding():
    """Return pdviz/binding.py as a module, without importing pdviz, whose packages are not there yet."""
    spec = importlib.util.spec_from_file_location("pdviz_binding", os.path.join(ROOT, "pdviz", "binding.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def ensure_system(verb):
    """Make sure that Qt's libraries and Python's venv are there: install them, or stop with the command."""
    if not sys.platform.startswith("linux"):
        return
    binding = load_binding()
    missing, venv = binding.missing_libraries(["draw", "x11", "wayland"]), venv_packages()
    prefix = apt_prefix() if missing or venv else None
    reason = None
    if prefix is not None:
        reason = apt_install(prefix, venv + binding.apt_packages(missing))
        missing, venv = binding.missing_libraries(["draw", "x11", "wayland"]), venv_packages()
    needed = ["draw"]
    if verb == "run" and binding.needs_x11(os.environ, sys.platform):
        needed.append("x11")
    if not venv and not any(library.role in needed for library in missing):
        return
    wanted = [library for library in missing if library.role in ("draw", "x11")]
    command = binding.install_command(wanted, venv)
    if command is None:
        names = ", ".join(venv + [library.soname for library in wanted])
        raise SetupError(f"this system lacks {names}: install them, then run the same again.")
    failed = f" (it failed here: {reason})" if reason else ""
    raise SetupError(f"this system lacks what Python or Qt needs; install it with: {command}{failed}")


def venv_packages():
    """Return the Debian package that this Python lacks to make an environment, as a list."""
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        return []
    return [f"python{VERSION}-venv"]


def apt_prefix():
    """Return what to put before apt-get so that it installs unasked, or None where it cannot."""
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and quiet(["sudo", "-n", "true"]) == 0:
        return ["sudo", "-n"]
    return None


def apt_install(prefix, packages):
    """Install Debian packages; return why that failed, or None."""
    say("installing from this system's packages: " + " ".join(packages))
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=99"]
    # The list of packages may be old or absent; one source of several that is silent is no reason to stop.
    quiet([*apt, "update"])
    code, text = heard([*apt, "install", "-y", "--no-install-recommends", *packages])
    return last_error(text.replace("E: ", "error: ")) if code else None


# ---- the environment


def ensure_environment(verb):
    """Bring .venv to what the lock and pyproject.toml say; at once when nothing has changed."""
    for_checks = verb not in ("run", "setup")
    base = {"python": VERSION, "root": ROOT, "run": digest("requirements.txt")}
    checks, project = digest("requirements-dev.txt"), digest("pyproject.toml")
    state = read_state()
    if any(state.get(key) != base[key] for key in base) or quiet([PYTHON, "-c", "import pip"]) != 0:
        state = {}
    if for_checks and state.get("checks", checks) != checks:
        state = {}
    lacks_checks = for_checks and "checks" not in state
    if state.get("project") == project and not lacks_checks:
        return
    if not state:
        create_venv()
    if not state or lacks_checks:
        lock = "requirements-dev.txt" if for_checks else "requirements.txt"
        pip_install("--only-binary=:all:", "-r", os.path.join(ROOT, lock))
    pip_install("--no-deps", "--no-build-isolation", "-e", ROOT)
    quiet([PYTHON, "-m", "compileall", "-q", os.path.join(ROOT, "pdviz")])  # a fast first start too
    state.update(base, project=project)
    if for_checks:
        state["checks"] = checks
    with open(STATE, "w", encoding="utf-8") as file:
        json.dump(state, file, indent=2)


def digest(name):
    with open(os.path.join(ROOT, name), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def read_state():
    try:
        with open(STATE, encoding="utf-8") as file:
            state = json.load(file)
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def create_venv():
    if not os.access(ROOT, os.W_OK):
        raise SetupError(f"{ROOT} cannot be written: copy the project to a folder of your own.")
    say("setting up .venv, once; this takes about a minute")
    code, text = heard([sys.executable, "-m", "venv", "--clear", VENV])
    if code != 0:
        raise SetupError(f"Python could not make an environment in .venv ({last_error(text)}).")


def pip_install(*arguments):
    """Run pip in the environment; where it fails, say why in a sentence and keep what it said in a log."""
    # A person's pip may be set up to install beside the system's packages, or to ask.
    environ = dict(os.environ, PIP_USER="0", PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
    code, text = heard([PYTHON, "-m", "pip", "install", "--retries", "2", *arguments], environ)
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(text)
    if code == 0:
        return
    if NO_NETWORK.search(text):
        raise SetupError(
            "its packages cannot be downloaded: connect to the network, or set pip up for your proxy."
        )
    if "No space left on device" in text:
        raise SetupError("the disk is full: .venv needs about 0.6 GB.")
    unfit = re.search(r"No matching distribution found for (\S+)", text)
    if unfit:
        raise SetupError(f"there is no {unfit[1]} for Python {VERSION} on this system: try another one.")
    raise SetupError(f"pip could not install its packages ({last_error(text)}); more is in {LOG}")


# ---- the verbs


def carry_out(verb, arguments):
    """Run a verb's commands and return the first exit code that is not 0."""
    environ = dict(os.environ)
    if verb in HEADLESS:
        environ["QT_QPA_PLATFORM"] = "offscreen"
    if verb == "run" and not WINDOWS:
        os.execve(PDVIZ, [PDVIZ, *arguments], environ)  # signals and the exit code are then pdviz's own
    codes = []
    for command in COMMANDS[verb]:
        codes.append(subprocess.call(command + arguments, cwd=None if verb == "run" else ROOT, env=environ))
        if verb == "lint" and codes[-1] != 0:
            say(f"this failed: {' '.join(command)}")
    return next((code for code in codes if code != 0), 0)


def main(arguments):
    if not arguments or arguments[0] not in COMMANDS:
        raise SetupError(f"say what to do: {', '.join(COMMANDS)}")
    python = suitable_python()
    if python != sys.executable:
        return subprocess.call([python, os.path.abspath(__file__), *arguments])
    ensure_system(arguments[0])
    ensure_environment(arguments[0])
    return carry_out(arguments[0], arguments[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SetupError as problem:
        say(problem)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as problem:
        say(f"the system would not let it ({problem}).")
        sys.exit(1)
