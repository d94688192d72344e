"""What the user sees: the answer's tokens, each appearing when its pass ends.

The words are filler that says what is going on; they repeat for as long as the answer is. Tokens
are shown a page at a time, so that the cost does not grow with the answer.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

TEXT = (
    "Prefill reads the whole prompt at once ; decode then writes the answer one token at a time , "
    "reading every weight again for each of them . The first takes arithmetic , the second takes "
    "bandwidth : one model , two opposite phases . A long prompt keeps the tensor cores busy ; a "
    "short one waits for the weights just like a single token does . More users share each read , "
    "so the batch grows taller and hardly any slower ."
)
WORDS = tuple(TEXT.split())


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
