"""An accelerator's figures are possible, in the right unit, and named where they are not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdviz.costmodel.accelerator import Accelerator, Rejected, read_accelerator
from pdviz.costmodel.dtypes import PEAK_DTYPES
from pdviz.errors import InputError

MINE = {
    "name": "My Card",
    "memory_bytes": 24e9,
    "memory_bandwidth_bytes_per_s": 936e9,
    "peak_flops_per_s": {"bf16": 71e12, "fp32": 35e12},
}


def test_that_the_four_figures_of_a_users_card_are_enough():
    card = read_accelerator(MINE, "mine.toml")
    assert (card.id, card.name, card.memory_bytes) == ("my-card", "My Card", 24_000_000_000)
    assert isinstance(card.memory_bytes, int)
    assert (card.link, card.link_bytes_per_s, card.power_w, card.year) == ("none", None, None, None)
    assert card.confidence == "unchecked"


def test_that_every_field_can_be_given():
    card = read_accelerator(
        MINE
        | {
            "id": "x",
            "aliases": ["mine"],
            "vendor": "me",
            "year": 2026,
            "memory_basis": "weighed",
            "link": "string",
            "link_bytes_per_s": 32e9,
            "link_note": "one way",
            "power_w": 350,
            "confidence": "low",
            "sources": ["a page"],
            "rejected": [{"value": "1", "where": "there", "reason": "no"}],
            "notes": ["handmade"],
        },
        "mine.toml",
    )
    assert card.rejected == (Rejected("1", "there", "no"),)
    assert (card.id, card.aliases, card.power_w, card.notes) == ("x", ("mine",), 350.0, ("handmade",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"memory_bandwidth_bytes_per_s": "fast"},
            'memory_bandwidth_bytes_per_s must be a positive number, got "fast"',
        ),
        (
            {"memory_bandwidth_bytes_per_s": math.nan},
            "memory_bandwidth_bytes_per_s must be a positive number, got nan",
        ),
        (
            {"memory_bandwidth_bytes_per_s": math.inf},
            "memory_bandwidth_bytes_per_s must be a positive number, got inf",
        ),
        (
            {"memory_bandwidth_bytes_per_s": 0},
            "memory_bandwidth_bytes_per_s must be a positive number, got 0",
        ),
        (
            {"memory_bandwidth_bytes_per_s": True},
            "memory_bandwidth_bytes_per_s must be a positive number, got true",
        ),
        (
            {"memory_bandwidth_bytes_per_s": 10**400},
            "must be a positive number, got a number of more than 18 digits",
        ),
        (
            {"memory_bandwidth_bytes_per_s": 3350},
            "must be in bytes per second between 1e+09 and 1e+15 (3.35 TB/s is 3.35e12)",
        ),
        ({"memory_bandwidth_bytes_per_s": 3.35}, "must be in bytes per second"),
        ({"memory_bytes": 80}, "memory_bytes must be in bytes between"),
        ({"memory_bytes": 80e9 + 0.5}, "memory_bytes must be a positive whole number, got 80000000000.5"),
        ({"peak_flops_per_s": {"bf16": 989}}, "peak_flops_per_s.bf16 must be in dense FLOP per second"),
        (
            {"peak_flops_per_s": {"bf16": "989e12"}},
            'peak_flops_per_s.bf16 must be a positive number, got "989e12"',
        ),
        (
            {"peak_flops_per_s": {"bf17": 1e12}},
            'peak_flops_per_s has the unknown dtype "bf17"; known are fp32, tf32',
        ),
        ({"peak_flops_per_s": {}}, "peak_flops_per_s must hold at least one of fp32"),
        ({"peak_flops_per_s": 989e12}, "peak_flops_per_s must be a table, got 989000000000000.0"),
        ({"link_bytes_per_s": 450}, "link_bytes_per_s must be in bytes per second one way"),
        ({"link_bytes_per_s": -1}, "link_bytes_per_s must be a positive number or nothing, got -1"),
        ({"power_w": 700e3}, "power_w must be in watts"),
        ({"year": 22}, "year must be in years"),
        ({"confidence": "total"}, 'confidence must be one of high, medium, low, unchecked, got "total"'),
        ({"aliases": "mine"}, 'aliases must be a list of texts, each on one line, got "mine"'),
        (
            {"rejected": [{"value": "1"}]},
            "rejected must be a list of tables with the texts value, where and reason",
        ),
        ({"name": "  "}, 'name must be printable text of 1 to 80 characters, got "  "'),
        ({"memory_bandwidth": 1e12}, '"memory_bandwidth" is no field here; known are id, name'),
    ],
)
def test_that_a_wrong_field_is_named_with_what_was_expected(change: dict, message: str):
    with pytest.raises(InputError) as caught:
        read_accelerator(MINE | change, "mine.toml")
    assert str(caught.value).startswith("mine.toml: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "field", ["name", "memory_bytes", "memory_bandwidth_bytes_per_s", "peak_flops_per_s"]
)
def test_that_a_missing_field_is_never_filled_in(field: str):
    with pytest.raises(InputError, match=rf"^mine\.toml: {field} is missing; expected "):
        read_accelerator({key: value for key, value in MINE.items() if key != field}, "mine.toml")


@given(peak=st.floats(1e9, 1e18), bandwidth=st.floats(1e9, 1e15), dtype=st.sampled_from(PEAK_DTYPES))
def test_that_the_ridge_is_where_arithmetic_and_memory_take_equally_long(
    peak: float, bandwidth: float, dtype: str
):
    card = read_accelerator(
        MINE | {"memory_bandwidth_bytes_per_s": bandwidth, "peak_flops_per_s": {dtype: peak}}, "mine.toml"
    )
    count_bytes = 1e6
    assert card.ridge_flops_per_byte(dtype) * count_bytes / peak == pytest.approx(count_bytes / bandwidth)


def test_that_a_ridge_without_a_rate_says_which_rates_there_are():
    card = read_accelerator(MINE, "mine.toml")
    with pytest.raises(InputError, match=r"My Card has no published FP8 rate \(it has bf16, fp32\)"):
        card.ridge_flops_per_byte("fp8")


def test_that_equal_accelerators_can_key_a_cache():
    one, other = read_accelerator(MINE, "a"), read_accelerator(MINE, "b")
    assert one == other
    assert len({one, other}) == 1


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(field=st.sampled_from(Accelerator.__struct_fields__), value=anything)
def test_that_any_value_in_any_field_is_taken_or_refused_in_one_sentence(field: str, value: object):
    refused = ""
    try:
        card = read_accelerator(MINE | {field: value}, "mine.toml")
    except InputError as error:
        refused = str(error)
    if refused:
        assert refused.startswith("mine.toml: ")
        assert refused.isprintable()
    else:
        assert all(0 < peak < math.inf for peak in card.peak_flops_per_s.values())


@given(anything)
def test_that_what_is_no_table_of_fields_is_refused(value: object):
    with pytest.raises(InputError, match=r"^mine\.toml: "):
        read_accelerator(value, "mine.toml")
