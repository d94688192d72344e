"""The card that says what to notice: a headline or two, why, and what to try next, as far as has room."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import elided, wrapped
from pdviz.scene.marks.parts import MeasureText, Text
from pdviz.scene.marks.suggestion import Suggestion
from pdviz.scene.request.notice import Notice

TITLE = "Notice"
TITLE_SIZE, HEADLINE_SIZE, DETAIL_SIZE, LINK_SIZE = 15.5, 14.0, 13.0, 13.0
LINE = 1.4  # height of a line, in type sizes
PAD = 16.0
ARROW = "→ "

_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")
_Lines = list[tuple[str, bool]]
"""Lines of text, each a headline or not."""


class NoticeLayout(msgspec.Struct, frozen=True):
    """Where the texts of the card ``box`` stand; ``link`` is what can be pressed."""

    box: Box
    texts: tuple[Text, ...]
    links: tuple[Text, ...]
    link: Box | None


def lay_out_notice(
    box: Box, notices: Sequence[Notice], suggested: Suggestion | None, scale: float, measure: MeasureText
) -> NoticeLayout:
    """The card in ``box``: as much as has room, whole sentences, the most telling first."""
    s = scale
    pad = PAD * s
    width = max(box.w - 2 * pad, 1.0)
    bottom = box.bottom - 12 * s
    texts: list[Text] = []
    y = box.y + 12 * s
    title_height = LINE * TITLE_SIZE * s
    if box.h >= title_height + 24 * s + LINE * HEADLINE_SIZE * s:
        texts.append(_text(Box(box.x + pad, y, width, title_height), TITLE, "text", TITLE_SIZE * s, True))
        y += title_height + 5 * s
    room = max(bottom - y, LINE * HEADLINE_SIZE * s)
    links: list[str] = _link_lines(suggested, width, s, measure) if suggested is not None else []
    link_height = len(links) * LINE * LINK_SIZE * s
    least = len(_wrapped(notices[0].headline, width, HEADLINE_SIZE * s, True, measure)) if notices else 0
    if least * LINE * HEADLINE_SIZE * s + link_height + 6 * s > room:
        links, link_height = [], 0.0
    gap = 6 * s if links else 0.0
    for line, is_headline, height in _placed(notices, width, room - link_height - gap, s, measure):
        size = (HEADLINE_SIZE if is_headline else DETAIL_SIZE) * s
        row = Box(box.x + pad, y, width, height)
        if line:
            text = elided(line, width, size, is_headline, measure)
            texts.append(_text(row, text, "text" if is_headline else "muted", size, is_headline))
        y += height
    if not links:
        return NoticeLayout(box, tuple(texts), (), None)
    top = bottom - link_height
    made = []
    for number, line in enumerate(links):
        row = Box(box.x + pad, top + number * LINE * LINK_SIZE * s, width, LINE * LINK_SIZE * s)
        made.append(_text(row, line, "text", LINK_SIZE * s, True))
    widest = max(measure(line, LINK_SIZE * s, True) for line in links)
    link = Box(box.x + pad - 4 * s, top - 2 * s, min(widest, width) + 8 * s, link_height + 4 * s)
    return NoticeLayout(box, tuple(texts), tuple(made), link)


def _text(box: Box, text: str, role: str, size: float, bold: bool) -> Text:
    return Text(box, text, role, size, bold)


def _link_lines(suggested: Suggestion, width: float, s: float, measure: MeasureText) -> list[str]:
    """The suggestion in a line, or in two where it is long."""
    lines = _wrapped(ARROW + suggested.text, width, LINK_SIZE * s, True, measure, 2)
    return [elided(line, width, LINK_SIZE * s, True, measure) for line in lines]


def _placed(
    notices: Sequence[Notice], width: float, room: float, s: float, measure: MeasureText
) -> Iterator[tuple[str, bool, float]]:
    """(line, is headline, height) of the fullest form that has room; an empty line is a gap."""
    for form in _forms(notices):
        rows: list[tuple[str, bool, float]] = []
        for text, is_headline in form:
            if rows:
                rows.append(("", False, (7 if is_headline else 1.5) * s))
            size = (HEADLINE_SIZE if is_headline else DETAIL_SIZE) * s
            lines = _wrapped(text, width, size, is_headline, measure)
            rows += [(line, is_headline, LINE * size) for line in lines]
        if sum(height for _, _, height in rows) <= room + 1e-6:
            yield from rows
            return
    if notices:  # not even the headline has room: what there is of it
        size = HEADLINE_SIZE * s
        fit = max(int(room / (LINE * size)), 1)
        lines = _wrapped(notices[0].headline, width, size, True, measure, fit)
        yield from ((line, True, LINE * size) for line in lines)


def _forms(notices: Sequence[Notice]) -> Iterator[_Lines]:
    """What could be shown, the fullest first."""
    if not notices:
        return
    first = notices[0]
    whole: _Lines = [(first.headline, True), *((d, False) for d in first.details)]
    for second in notices[1:2]:
        yield [*whole, (second.headline, True), *((d, False) for d in second.details)]
        yield [*whole, (second.headline, True)]
    yield whole
    sentences = [part for detail in first.details for part in _SENTENCE.split(detail)]
    for some in range(len(sentences) - 1, 0, -1):
        yield [(first.headline, True), (" ".join(sentences[:some]), False)]
    yield [(first.headline, True)]


def _wrapped(
    text: str, width: float, size: float, bold: bool, measure: MeasureText, most: int = 0
) -> list[str]:
    """``text`` in lines no wider than ``width``; a number stays with its unit."""
    glued = re.sub(r"(?<=\d) (?=(?:%|[µm]?s|min|[kMGTP]?B|tok/s)(?:\W|$))", "\u00a0", text)
    return wrapped(glued, width, size, bold, measure, most)
