"""What the user sees: every token once, on the page where it appears, inside the card."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scene_world import log_counts

from pdviz.scene.request.answer import WORDS, Page, answer_page


def width_of(word: str) -> float:
    return 8.0 * len(word)


WIDEST = max(map(width_of, WORDS)) + 12


def page(shown: int, total: int, width: float = 900, rows: int = 2) -> Page:
    return answer_page(shown, total, width, rows, 6, 6, width_of)


widths, row_counts = st.floats(40, 3000), st.integers(1, 6)


@given(log_counts(1, 10**7), st.floats(0, 1), widths, row_counts)
def test_that_the_newest_token_is_on_the_page(total: int, share: float, width: float, rows: int) -> None:
    shown = round(share * total)
    found = page(shown, total, width, rows)
    assert found.first <= max(shown - 1, 0) < found.first + found.tokens <= total


@given(log_counts(1, 10**7), st.floats(0, 1), widths, row_counts)
def test_that_a_page_keeps_to_its_rows_and_its_width(
    total: int, share: float, width: float, rows: int
) -> None:
    found = page(round(share * total), total, width, rows)
    assert 1 <= len(found.rows) <= rows
    for row in found.rows:
        assert row[0][0] == 0
        for (x, w, _), (following, _, _) in itertools.pairwise(row):
            assert x + w + 6 == pytest.approx(following)
        x, w, _ = row[-1]
        assert x + w <= width + 1e-6 or len(row) == 1  # a word wider than the card has a row to itself
        assert all(w >= width_of(word) + 12 - 1e-6 for _, w, word in row)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_that_no_page_of_a_long_answer_needs_another_row(rows: int) -> None:
    for width in range(150, 1_400, 97):
        size = page(0, 10**6, width, rows).tokens
        for number in range(30):
            found = page(number * size + 1, 10**6, width, rows)
            assert found.first == number * size
            assert len(found.rows) <= rows, (width, number)


@given(st.integers(1, 400), widths, row_counts)
@settings(max_examples=40)
def test_that_turning_pages_shows_each_token_once_and_in_order(total: int, width: float, rows: int) -> None:
    words: list[str] = []
    while len(words) < total:
        found = page(len(words) + 1, total, width, rows)
        assert found.first == len(words)
        words += [word for row in found.rows for _, _, word in row]
    assert words == [WORDS[k % len(WORDS)] for k in range(total)]


@given(st.integers(1, 3_000), widths, row_counts)
def test_that_a_page_stands_still_until_it_is_full(total: int, width: float, rows: int) -> None:
    first = page(0, total, width, rows)
    for shown in {1, first.tokens // 2 or 1, first.tokens}:
        assert page(shown, total, width, rows) == first
    if first.tokens < total:
        assert page(first.tokens + 1, total, width, rows).first == first.tokens


def test_that_a_long_answer_costs_no_more_to_lay_out_than_a_short_one() -> None:
    calls = []

    def measured(word: str) -> float:
        calls.append(word)
        return width_of(word)

    for total in (500, 10**7):
        calls.clear()
        answer_page(total // 2, total, 900, 2, 6, 6, measured)
        assert len(calls) <= 2 * len(WORDS) + 200


def test_that_the_words_are_words() -> None:
    assert len(WORDS) > 50
    assert all(word and word == word.strip() and " " not in word for word in WORDS)
