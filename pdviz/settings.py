"""What is remembered between runs: theme, window, speed, the last scenario. One JSON file.

A damaged file is set aside, a damaged entry is dropped with a sentence; the rest keeps working.
"""

from __future__ import annotations

import json
import os
import stat
from typing import Any

import msgspec

from pdviz.errors import InputError
from pdviz.files import write_atomically
from pdviz.names import shown
from pdviz.scenario import Scenario, from_keys, to_keys

FILE = "settings.json"
LIMIT_BYTES = 4 * 2**20
SET_ASIDE_LIMIT = 20
RECENT_LIMIT = 12
THEME_CHOICES = ("system", "dark", "light")


class Settings(msgspec.Struct, frozen=True):
    """``window`` is x, y, width, height of the last normal window, or None."""

    theme: str = "system"
    rate: float = 0.1
    loops: bool = True
    window: tuple[int, int, int, int] | None = None
    maximised: bool = False
    scenario: Scenario | None = None
    text_size: float = 1.0
    reduced_motion: bool = False
    recent: tuple[str, ...] = ()


def _theme(value: Any) -> str:
    if value not in THEME_CHOICES:
        raise InputError(f"must be one of {', '.join(THEME_CHOICES)}, got {shown(value)}")
    return str(value)


def _rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1e-5 <= value <= 100:
        raise InputError(f"must be a number from 0.00001 to 100, got {shown(value)}")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"must be true or false, got {shown(value)}")
    return value


def _text_size(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.7 <= value <= 2:
        raise InputError(f"must be a number from 0.7 to 2, got {shown(value)}")
    return float(value)


def _recent(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(line, str) for line in value):
        raise InputError(f"must be a list of scenario lines, got {shown(value)}")
    return tuple(value[:RECENT_LIMIT])


def _window(value: Any) -> tuple[int, int, int, int] | None:
    if value is None:
        return None
    whole = isinstance(value, list) and len(value) == 4 and all(type(n) is int for n in value)
    if not whole or not all(-(10**5) < n < 10**5 for n in value) or min(value[2:]) < 1:
        raise InputError(f"must be four whole numbers (x, y, width, height), got {shown(value)}")
    return tuple(value)


def _scenario(value: Any) -> Scenario | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InputError(f"must be an object of scenario keys, got {shown(value)}")
    return from_keys(value, "scenario")


_READERS = {
    "theme": _theme,
    "rate": _rate,
    "loops": _flag,
    "window": _window,
    "maximised": _flag,
    "scenario": _scenario,
    "text_size": _text_size,
    "reduced_motion": _flag,
    "recent": _recent,
}


def load(folder: str) -> tuple[Settings, list[str]]:
    """The settings kept in ``folder``, and a sentence for everything that could not be used."""
    path = os.path.join(folder, FILE)
    try:
        kind = os.stat(path)
        if kind.st_size > LIMIT_BYTES or not (stat.S_ISREG(kind.st_mode) or stat.S_ISDIR(kind.st_mode)):
            return Settings(), [_set_aside(path, "it is too long or no regular file")]
        with open(path, "rb") as file:
            data = json.loads(file.read().decode("utf-8-sig"))
        if not isinstance(data, dict):
            raise ValueError("the top level must be an object")
    except FileNotFoundError:
        return Settings(), []
    except OSError as error:
        return Settings(), [f"{FILE}: it cannot be read ({error.strerror}); standard settings are used."]
    except (ValueError, RecursionError) as error:
        return Settings(), [_set_aside(path, str(error))]
    problems: list[str] = []
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in _READERS:
            known = ", ".join(_READERS)
            problems.append(f"{FILE}: unknown key {shown(key)} is ignored, expected one of {known}.")
            continue
        try:
            values[key] = _READERS[key](value)
        except InputError as error:
            place = "" if str(error).startswith(f"{key}: ") else f"{key} "
            problems.append(f"{FILE}: {place}{error}; the standard value is used.")
    return Settings(**values), problems


def _set_aside(path: str, reason: str) -> str:
    """Keeps a file that cannot be understood under another name, and no earlier one is lost by it."""
    names = (f"{FILE}.damaged", *(f"{FILE}.damaged-{number}" for number in range(2, SET_ASIDE_LIMIT + 1)))
    folder = os.path.dirname(path)
    name = next((n for n in names if not os.path.lexists(os.path.join(folder, n))), names[-1])
    try:
        os.replace(path, os.path.join(folder, name))
    except OSError:
        return f"{FILE}: it is not valid JSON ({reason}); standard settings are used."
    aside = f"it was set aside as {name} and standard settings are used"
    return f"{FILE}: it is not valid JSON ({reason}); {aside}."


def save(folder: str, settings: Settings) -> str | None:
    """Writes the settings, all or nothing; a sentence where that failed."""
    data = msgspec.structs.asdict(settings)
    data["scenario"] = to_keys(settings.scenario) if settings.scenario is not None else None
    path = os.path.join(folder, FILE)
    try:
        os.makedirs(folder, exist_ok=True)
        write_atomically(path, json.dumps(data, indent=1).encode())
    except OSError as error:
        return f"{FILE}: it cannot be written ({error.strerror}); settings will be forgotten."
    except InputError as error:
        return f"{error}; settings will be forgotten."
    return None


def forget(folder: str) -> None:
    """Removes the settings file."""
    import contextlib

    with contextlib.suppress(OSError):
        os.remove(os.path.join(folder, FILE))
