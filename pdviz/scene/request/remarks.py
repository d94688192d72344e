"""What would not work as asked and what was assumed, in lines above the picture."""

from __future__ import annotations

import msgspec

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import elided, wrapped
from pdviz.scene.marks.parts import MeasureText, Text

SIZE = 13.5
MOST_NOTES = 2


class Remark(msgspec.Struct, frozen=True):
    """A line above the picture: a warning, or a note on what was assumed."""

    text: str
    is_warning: bool


class RemarksCard(msgspec.Struct, frozen=True):
    """The lines in their places; ``is_alarm`` where one of them warns."""

    box: Box
    is_alarm: bool
    texts: tuple[Text, ...]


def remarks(result: Result, width: float, scale: float, measure: MeasureText) -> tuple[Remark, ...]:
    """Warnings and notes of a result, in lines no wider than a box of ``width``; few of the notes."""

    def lines(text: str) -> list[str]:
        return wrapped(text, width - 52 * scale, SIZE * scale, True, measure)

    noted = lines(" ".join(result.notes)) if result.notes else []
    if len(noted) > MOST_NOTES:
        noted = [*noted[: MOST_NOTES - 1], noted[MOST_NOTES - 1] + " …"]
    warned = [line for warning in result.warnings for line in lines(warning)]
    return (*(Remark(line, True) for line in warned), *(Remark(line, False) for line in noted))


def lay_out_remarks(
    box: Box, lines: tuple[Remark, ...], scale: float, measure: MeasureText
) -> RemarksCard | None:
    """Warnings with their sign; notes alone are quiet. None where there is nothing to say."""
    if not lines:
        return None
    s, is_alarm = scale, lines[0].is_warning
    sign = Box(box.x + 14 * s, box.y, 16 * s, 32 * s)
    role = "warning" if is_alarm else "muted"
    texts = [Text(sign, "!" if is_alarm else "i", role, 17 * s, True, "center")]
    for number, line in enumerate(lines):
        row = Box(box.x + 38 * s, box.y + (7 + 18 * number) * s, box.w - 52 * s, 18 * s)
        role = "warning" if line.is_warning else "text" if is_alarm else "muted"
        words = elided(line.text, row.w, SIZE * s, line.is_warning, measure)
        texts.append(Text(row, words, role, SIZE * s, line.is_warning))
    return RemarksCard(box, is_alarm, tuple(texts))
