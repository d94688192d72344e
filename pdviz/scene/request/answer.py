"""What the user sees: the answer's tokens, each appearing when its pass ends.

The words are filler that says what is going on; they repeat for as long as the answer is. Tokens
are shown a page at a time, so that the cost does not grow with the answer.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import MeasureText, Text
from pdviz.units import count, written

TEXT = (
    "Prefill reads the whole prompt at once ; decode then writes the answer one token at a time , "
    "reading every weight again for each of them . The first takes arithmetic , the second takes "
    "bandwidth : one model , two opposite phases . A long prompt keeps the tensor cores busy ; a "
    "short one waits for the weights just like a single token does . More users share each read , "
    "so the batch grows taller and hardly any slower ."
)
WORDS = tuple(TEXT.split())
WORD_SIZE, ROW_HEIGHT = 16.0, 32.0


class Page(msgspec.Struct, frozen=True):
    """Tokens ``first`` .. of an answer of ``total`` (counted from 0), in rows of (x, width, word)."""

    first: int
    total: int
    rows: tuple[tuple[tuple[float, float, str], ...], ...]

    @property
    def tokens(self) -> int:
        return sum(len(row) for row in self.rows)


def answer_page(
    shown: int,
    total: int,
    width: float,
    rows: int,
    gap: float,
    padding: float,
    measure: Callable[[str], float],
) -> Page:
    """The page on which token ``shown - 1`` (the newest) stands, laid out in ``width`` pixels.

    Pages hold the same number of tokens (as many as always fit), so that turning one needs no
    layout of those before it.
    """
    per_page = _tokens_per_page(width, rows, gap, padding, measure)
    page = max(shown - 1, 0) // per_page
    first = page * per_page
    found: list[tuple[tuple[float, float, str], ...]] = []
    row: list[tuple[float, float, str]] = []
    x = 0.0
    for index in range(first, min(first + per_page, total)):
        word = WORDS[index % len(WORDS)]
        need = measure(word) + 2 * padding
        if row and x + need > width:
            found.append(tuple(row))
            row, x = [], 0.0
        row.append((x, need, word))
        x += need + gap
    if row:
        found.append(tuple(row))
    return Page(first, total, tuple(found))


def _tokens_per_page(
    width: float, rows: int, gap: float, padding: float, measure: Callable[[str], float]
) -> int:
    """How many tokens fit into ``rows`` rows wherever in the text they begin."""
    needs = [measure(word) + 2 * padding for word in WORDS]
    least = len(WORDS)
    for start in range(0, len(WORDS)):
        x, row, fitted = 0.0, 1, 0
        while fitted < least:
            need = needs[(start + fitted) % len(WORDS)]
            if x and x + need > width:
                row, x = row + 1, 0.0
                if row > rows:
                    break
            x += need + gap
            fitted += 1
        least = min(least, fitted)
    return max(least, 1)


class Word(msgspec.Struct, frozen=True):
    """Token ``index`` of the answer in its box."""

    box: Box
    text: str
    index: int


class AnswerCard(msgspec.Struct, frozen=True):
    """The card with a page; ``head`` is what changes with every token, beside the token itself."""

    box: Box
    head: Box
    texts: tuple[Text, ...]
    words: tuple[Word, ...]


def page_for(card: Box, shown: int, total: int, scale: float, measure: MeasureText) -> Page:
    """The page with the newest token, in as many rows as the card holds."""
    rows = max(int((card.h - 40 * scale) / (ROW_HEIGHT * scale) + 1e-6), 1)
    size = WORD_SIZE * scale
    return answer_page(
        shown,
        total,
        card.w - 32 * scale,
        rows,
        6 * scale,
        6 * scale,
        lambda word: measure(word, size, False),
    )


def status_words(result: Result, shown: int) -> str:
    """How far the answer is."""
    if shown == 0:
        return f"waiting for the first token, {written(result.ttft)} after the prompt arrives"
    return f"{count(shown)} of {count(result.request.passes)} tokens"


def lay_out_answer(card: Box, page: Page, shown: int, result: Result, scale: float) -> AnswerCard:
    """A page of the answer of which ``shown`` tokens are there."""
    s = scale
    head = Box(card.x + 16 * s, card.y + 8 * s, card.w - 32 * s, 20 * s)
    top = head.bottom + 5 * s
    places = [
        (Box(head.x + x, top + row * ROW_HEIGHT * s, width, (ROW_HEIGHT - 5) * s), word)
        for row, words in enumerate(page.rows)
        for x, width, word in words
    ]
    return AnswerCard(
        box=card,
        head=head,
        texts=(
            Text(head, "What the user sees", "muted", 13.5 * s),
            Text(head, status_words(result, shown), "muted", 13 * s, False, "right"),
        ),
        words=tuple(Word(box, word, index) for index, (box, word) in enumerate(places, page.first)),
    )
