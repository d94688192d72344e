"""Texts fitted into a width."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import elided, wrapped
from pdviz.scene.marks.parts import Place, place_at

WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=12).map(" ".join)


def measure(text: str, size: float, bold: bool) -> float:
    return len(text) * size * (1.25 if bold else 1.0)


@given(WORDS, st.integers(1, 60), st.booleans())
def test_that_wrapped_lines_hold_all_words_and_no_more_than_has_room(
    text: str, room: int, bold: bool
) -> None:
    lines = wrapped(text, room, 1.0, bold, measure)
    assert " ".join(lines) == text
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        assert measure(line, 1.0, bold) <= room or " " not in line
        if after is not None:  # the next word had no room on this line
            assert measure(f"{line} {after.split(' ')[0]}", 1.0, bold) > room


@given(WORDS, st.integers(1, 60), st.integers(1, 4))
def test_that_the_last_of_the_lines_allowed_takes_the_rest(text: str, room: int, most: int) -> None:
    lines, free = wrapped(text, room, 1.0, False, measure, most), wrapped(text, room, 1.0, False, measure)
    assert len(lines) == min(most, len(free))
    assert lines[:-1] == free[: len(lines) - 1]
    assert lines[-1] == " ".join(free[len(lines) - 1 :])


@given(WORDS, st.integers(0, 60), st.booleans())
def test_that_a_text_is_cut_where_its_room_ends(text: str, room: int, bold: bool) -> None:
    found = elided(text, room, 1.0, bold, measure)
    if measure(text, 1.0, bold) <= room:
        assert found == text
    elif found:
        kept = found.removesuffix("…")
        assert text.startswith(kept)
        assert measure(found, 1.0, bold) < room or not kept
        assert measure(text[: len(kept) + 1] + "…", 1.0, bold) >= room
    else:
        assert measure("…", 1.0, bold) >= room


def test_that_the_first_place_at_a_point_is_found() -> None:
    places = (Place("one", Box(0, 0, 10, 10)), Place("two", Box(5, 0, 20, 10)))
    assert place_at(places, 7, 3) == places[0]
    assert place_at(places, 12, 3) == places[1]
    assert place_at(places, 12, 30) is None
