"""Numbers as text and text as numbers, as tables."""

from __future__ import annotations

import doctest
import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pdviz import units
from pdviz.errors import InputError
from pdviz.units import (
    binary_size,
    count,
    duration,
    parameters,
    parse_count,
    parse_fraction,
    percent,
    plural,
    si,
    significant,
    size,
)


def test_that_the_examples_in_the_docstrings_are_true() -> None:
    found = doctest.testmod(units)
    assert found.attempted >= 8
    assert found.failed == 0


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 3, "0"),
        (1, 3, "1.00"),
        (9.994, 3, "9.99"),
        (9.996, 3, "10.0"),
        (99.96, 3, "100"),
        (999.6, 3, "1,000"),
        (0.9996, 3, "1.00"),
        (0.09996, 3, "0.100"),
        (0.00123456, 3, "0.00123"),
        (1234567.8, 3, "1,234,568"),
        (-6.4223, 3, "-6.42"),
        (-9.996, 3, "-10.0"),
        (6.4223, 5, "6.4223"),
        (6.4223, 1, "6"),
        (0.95, 1, "0.9"),
        (math.inf, 3, "inf"),
    ],
)
def test_that_significant_figures_are_kept_with_their_zeros(value: float, digits: int, text: str) -> None:
    assert significant(value, digits) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "B", "0 B"),
        (1.0, "s", "1.00 s"),
        (999.4, "s", "999 s"),
        (999.6, "s", "1.00 ks"),
        (999.6e-6, "s", "1.00 ms"),
        (999.6e-3, "s", "1.00 s"),
        (999.4e-3, "s", "999 ms"),
        (999.9e9, "B/s", "1.00 TB/s"),
        (3.35e12, "B/s", "3.35 TB/s"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (8.07754767794176e14, "FLOP", "808 TFLOP"),
        (9.99999e14, "FLOP", "1.00 PFLOP"),
        (1.5e18, "FLOP", "1,500 PFLOP"),
        (2.5e-8, "s", "0.0250 µs"),
        (-5e9, "B", "-5.00 GB"),
        (-999.9e6, "B", "-1.00 GB"),
        (math.nan, "s", "nan s"),
    ],
)
def test_that_the_prefix_leaves_one_to_999_before_it(value: float, unit: str, text: str) -> None:
    assert si(value, unit) == text


@example(0.0009995, 3)
@given(st.floats(1e-6, 9.99e17), st.integers(3, 6))
def test_that_a_prefixed_number_is_within_half_of_its_last_digit(value: float, digits: int) -> None:
    number, unit = si(value, "s", digits).split(" ")
    scale = {"P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0, "m": 1e-3, "µ": 1e-6}[unit[:-1]]
    mantissa = float(number.replace(",", ""))
    assert 1 <= mantissa < 1000
    assert len(re.sub(r"\D", "", number)) == digits
    last = 10.0 ** -len(number.partition(".")[2])
    assert abs(mantissa * scale - value) <= 0.5 * last * scale * (1 + 1e-9)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (6.3922e-3, "6.39 ms"),
        (0.9999, "1.00 s"),
        (9.2e-7, "0.920 µs"),
        (59.94, "59.9 s"),
        (59.95, "1 min 00 s"),
        (60, "1 min 00 s"),
        (119.6, "2 min 00 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (7319, "2 h 02 min"),
        (7199.9, "2 h 00 min"),
        (360_000_000, "100,000 h 00 min"),
        (-0.25, "-250 ms"),
        (math.inf, "inf s"),
        (math.nan, "nan s"),
    ],
)
def test_that_durations_carry_into_seconds_minutes_and_hours(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        (1536, "1.50 KiB"),
        (131_072, "128 KiB"),
        (2**20 - 1, "1.00 MiB"),
        (2**20, "1 MiB"),
        (85_520_809_984, "79.6 GiB"),
        (2**50, "1,024 TiB"),
        (-(2**21), "-2 MiB"),
    ],
)
def test_that_binary_sizes_carry_at_1024(value: float, text: str) -> None:
    assert binary_size(value) == text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: size(0.537e9), "537 MB"),
        (lambda: size(999_999_999), "1.00 GB"),
        (lambda: count(131_072.4), "131,072"),
        (lambda: plural(0, "token"), "0 tokens"),
        (lambda: plural(1, "pass"), "1 pass"),
        (lambda: plural(1.2, "token"), "1 token"),
        (lambda: plural(65_535, "sequence"), "65,535 sequences"),
        (lambda: parameters(999_400_000), "999 M"),
        (lambda: parameters(999_600_000), "1.00 B"),
        (lambda: parameters(999_600_000_000), "1.00 T"),
        (lambda: parameters(1_026_408_232_448), "1.03 T"),
    ],
)
def test_that_counts_and_sizes_read_as_people_write_them(call: object, text: str) -> None:
    assert call() == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.0000123, "0.0012 %"),
        (0.00949, "0.95 %"),
        (0.0095, "0.95 %"),
        (0.00996, "1.0 %"),
        (0.01, "1.0 %"),
        (0.29456, "29.5 %"),
        (0.9994, "99.9 %"),
        (0.9996, "99.96 %"),
        (2.9, "290 %"),
        (-0.0312, "-3.1 %"),
        (-0.0031, "-0.31 %"),
    ],
)
def test_that_percentages_keep_what_matters(share: float, text: str) -> None:
    assert percent(share) == text


@given(st.floats(1e-6, 20), st.floats(1e-6, 20))
def test_that_a_larger_share_never_reads_smaller(a: float, b: float) -> None:
    low, high = (float(percent(x)[:-2].replace(",", "")) for x in sorted((a, b)))
    assert low <= high


# --- parsing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("512", 512),
        (512, 512),
        ("32K", 32_768),
        ("32k", 32_768),
        ("32 K", 32_768),
        ("1.5k", 1536),
        ("1M", 2**20),
        ("131,072", 131_072),
        ("131 072", 131_072),
        ("131\u202f072", 131_072),
        ("131_072", 131_072),
        ("1,048,576", 2**20),
        (" 7 ", 7),
        ("1e3", 1000),
        ("512.0", 512),
        ("0", 0),
    ],
)
def test_that_counts_are_understood_as_people_type_them(text: str | int, number: int) -> None:
    assert parse_count(text, "prompt", 0, 2**24) == number


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "k", "twelve", "1.5", "0.3k", "1,5", "1,5K", "12,34", "1,2345", "1,,000"),
        *("1,", "-1", "--1", "0x10", "nan", "inf", "1e400", "infm", "16777217", "17M", "²", "1 2"),
        *("1k k", "5 tokens", "1\n2", "9" * 5000, True),
    ],
)
def test_that_what_is_no_count_is_refused_in_one_sentence_that_names_the_field(text: str | bool) -> None:
    with pytest.raises(InputError) as error:
        parse_count(text, "prompt", 0, 2**24)
    message = str(error.value)
    expectation = "prompt must be a whole number from 0 to 16,777,216 (K = 1,024 is understood), got "
    assert message.startswith(expectation)
    assert "\n" not in message
    assert len(message) < 140 + 2 * len("9" * 20)


def test_that_limits_are_allowed_and_what_is_beyond_is_shown_in_full() -> None:
    assert parse_count("1", "tp", 1, 4096) == 1
    assert parse_count("4K", "tp", 1, 4096) == 4096
    with pytest.raises(InputError, match=r"tp must be a whole number from 1 to 4,096 .*, got 4,097$"):
        parse_count("4097", "tp", 1, 4096)
    with pytest.raises(InputError, match=r", got 0$"):
        parse_count("0", "tp", 1, 4096)


@given(st.integers(0, 2**50))
def test_that_every_way_to_write_a_count_is_read_back(number: int) -> None:
    assert parse_count(count(number), "n", 0, 2**60) == number
    for separator in ("", "_", " ", units.THIN):
        assert parse_count(f"{number:,}".replace(",", separator), "n", 0, 2**60) == number
    small = number % 2**20
    assert parse_count(f"{small}K", "n", 0, 2**60) == small * 1024
    assert parse_count(f"{small:,}m", "n", 0, 2**60) == small * 2**20


@given(st.text(max_size=12))
def test_that_any_text_is_a_count_or_an_input_error(text: str) -> None:
    try:
        found: object = parse_count(text, "n", 1, 100)
    except InputError as error:
        found = str(error)
    assert found in range(1, 101) or str(found).startswith("n must be")


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.55", 0.55), ("55%", 0.55), ("55 %", 0.55), ("100%", 1.0), (1, 1.0), (0.75, 0.75), ("1e-3", 1e-3)],
)
def test_that_a_share_may_be_a_percentage(text: str | float, value: float) -> None:
    assert parse_fraction(text, "f") == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "text", ["", "%", "0", "-0.1", "1.01", "101%", "nan", "inf", "half", "55", "1e-9", True]
)
def test_that_what_is_no_share_is_refused_by_name(text: str | bool) -> None:
    with pytest.raises(InputError, match=r"^compute-efficiency must be a number above 0 .*up to 1.*, got"):
        parse_fraction(text, "compute-efficiency")


@given(st.floats(1e-6, 1))
def test_that_a_share_is_read_back_from_its_text(value: float) -> None:
    assert parse_fraction(str(value), "f") == value
