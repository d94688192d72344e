"""Plain text in lines: wrapped paragraphs, labelled paragraphs, columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDTH = 96

Row = tuple[str, ...]
_BEFORE_UNIT = r"(?<=\d) (?=(?:%|[µmkMGTP]?(?:B|s|W|FLOP)\b))"


def paragraph(text: str, first: str = "", later: str = "", width: int = WIDTH) -> str:
    """Text wrapped at ``width``, its first line after ``first``, the others after ``later``.

    A number and its unit stay on one line.
    """
    glued = re.sub(_BEFORE_UNIT, "\xa0", text)
    lines = textwrap.wrap(glued, width - len(later), break_on_hyphens=False, break_long_words=False)
    return "\n".join((later if number else first) + line for number, line in enumerate(lines)).replace(
        "\xa0", " "
    )


def detail(label: str, *texts: str | None) -> list[str]:
    """A labelled paragraph below a table for each text that is not empty."""
    return [paragraph(f"{label}: {text}", "  ", " " * 6) for text in texts if text]


def aligned(rows: Sequence[Row], align: str) -> list[str]:
    """Rows as lines, columns as wide as their widest cell; ``align`` holds "<" or ">" for each."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    layout = "   ".join(f"{{:{side}{width}}}" for side, width in zip(align, widths, strict=True))
    return [layout.format(*row).rstrip() for row in rows]
