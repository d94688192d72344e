"""Bundled files: the catalogue, decks, icons, wherever pdviz runs from.

A wheel carries them as ``pdviz/resources``; in a checkout and an editable install the folder
``resources`` stands beside the package. Only ``os.path`` is used, because this runs before the first frame.
"""

from __future__ import annotations

import os.path
from functools import lru_cache

from pdviz.errors import InputError

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


@lru_cache(maxsize=1)
def folder() -> str:
    """The folder that holds the bundled files, absolute. Raises InputError where there is none."""
    beside = os.path.dirname(_PACKAGE)
    for candidate in (os.path.join(_PACKAGE, "resources"), os.path.join(beside, "resources")):
        if os.path.isdir(candidate):
            return candidate
    raise InputError('the folder "resources" that belongs to pdviz is missing: install pdviz again')


def path(relative: str) -> str:
    """Where the bundled file ``relative`` (with forward slashes) is, absolute; it may not exist.

    Raises InputError where the whole folder is missing or ``relative`` leads out of it.
    """
    parts = relative.split("/")
    if os.path.isabs(relative) or ".." in parts or "\0" in relative:
        raise InputError(f'a bundled file is named by its path inside "resources", got {relative!r}')
    return os.path.join(folder(), *parts)


def read_bytes(relative: str) -> bytes:
    """What the bundled file ``relative`` holds. Raises InputError where it cannot be read."""
    try:
        with open(path(relative), "rb") as file:
            return file.read()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        problem = f"the bundled file {relative} cannot be read ({reason}): install pdviz again"
        raise InputError(problem) from error
