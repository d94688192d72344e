"""What every command does: a scenario evaluated, text on stdout, one line on stderr, progress."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pdviz.errors import InputError

if TYPE_CHECKING:
    from pdviz.catalogue import Catalogue
    from pdviz.evaluation import Result
    from pdviz.scenario import Scenario

MESSAGE_LIMIT = 1200
_EVERY_S = 0.1  # between two lines of progress


def evaluated(scenario: Scenario) -> Result:
    """The result, with model and accelerator under the names that the catalogue gives them."""
    from pdviz.catalogue import default_catalogue
    from pdviz.evaluation import evaluate, with_names

    catalogue = default_catalogue()
    try:
        result = evaluate(with_names(scenario, catalogue), catalogue)
    except InputError as error:
        # One line: the problem is probably the cause.
        if catalogue.problems and catalogue.problems[0] not in str(error):
            raise InputError(f"{error}; besides, {catalogue.problems[0]}") from None
        raise
    warn(catalogue)
    return result


def warn(catalogue: Catalogue) -> None:
    """Says on stderr what is wrong with the shipped catalogue."""
    for problem in catalogue.problems:
        say(f"warning: {problem}")


# --- output ----------------------------------------------------------------------------------------


def as_json(value: dict[str, Any] | list[dict[str, Any]]) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def say(text: str) -> None:
    """One line on stderr."""
    if sys.stderr is None:
        return
    line = "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)
    if len(line) > MESSAGE_LIMIT:
        line = f"{line[: MESSAGE_LIMIT - 200]} ... {line[-190:]}"
    with suppress(OSError):  # nobody listens
        print(f"pdviz: {line}", file=sys.stderr, flush=True)


def write(text: str) -> None:
    """``text`` on stdout. A reader that has gone away, such as ``| head``, is no error."""
    if sys.stdout is None:
        return
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:  # a terminal that knows no "µ" or "×"
            encoding = sys.stdout.encoding
            sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        _forget_stdout()
        if not isinstance(error, BrokenPipeError):
            raise InputError(f"the output cannot be written: {error.strerror or error}") from error


def _forget_stdout() -> None:
    """Send what is still buffered nowhere, so that Python does not try it again at its end."""
    with suppress(OSError, ValueError):  # not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Progress:
    """How much is done, on stderr where that is a terminal. To be used with ``with``; called with a share."""

    def __init__(self, what: str) -> None:
        self._what, self._next_s = what, time.monotonic() + _EVERY_S
        self._is_shown = False

    def __enter__(self) -> Progress:
        return self

    def __call__(self, share: float) -> None:
        now_s = time.monotonic()
        if now_s < self._next_s or sys.stderr is None or not sys.stderr.isatty():
            return
        self._next_s, self._is_shown = now_s + _EVERY_S, True
        print(f"\r{self._what} {share:4.0%}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
