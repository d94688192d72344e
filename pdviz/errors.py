"""What a user meets of an error: one sentence that names what was wrong and what was expected."""

from __future__ import annotations

WORDS_LIMIT = 200


class InputError(ValueError):
    """Bad input from outside: an option, a field, a file.

    Its text is one clear sentence (place, value, expectation) that may be shown as it is.
    """


def in_words(error: Exception) -> str:
    """The sentence about ``error``: bad input says it itself, anything else is a mistake of the program."""
    if isinstance(error, InputError):
        return str(error)
    said = " ".join("".join(c if c.isprintable() else " " for c in str(error)[:WORDS_LIMIT]).split())
    return f"a mistake in pdviz itself ({type(error).__name__}{f': {said}' if said else ''})"
