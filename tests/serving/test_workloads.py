"""Requests that are made or handed in: checked, sorted, reproducible."""

import math

import numpy as np
import pytest

from pdviz.errors import InputError
from pdviz.serving.presets import PRESETS, Lengths, Traffic
from pdviz.serving.workload import from_rows, workload


def test_that_requests_are_sorted_by_arrival_and_equal_ones_keep_their_order():
    made = workload([2.0, 1.0, 2.0, 1.0], [5, 6, 7, 8], [1, 1, 1, 1], ids=["a", "b", "c", "d"])
    assert made.ids == ("b", "d", "a", "c")
    assert made.positions.tolist() == [1, 3, 0, 2]
    assert made.prompt_tokens.tolist() == [6, 8, 5, 7]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((math.nan, 5, 5, 0), "the arrival time is no number"),
        ((math.inf, 5, 5, 0), "the arrival time is no number"),
        ((0.0, math.nan, 5, 0), "the prompt length is no number"),
        ((0.0, 0, 5, 0), "a prompt of 0 tokens"),
        ((0.0, -3, 5, 0), "a prompt of -3 tokens"),
        ((0.0, 2.5, 5, 0), "the prompt length 2.5 is no whole number"),
        ((0.0, 5, 0, 0), "no tokens come out (an output of 0)"),
        ((0.0, 5, 5, 5), "a cached prefix of 5 tokens leaves nothing to compute"),
        ((0.0, 5, 5, -1), "a cached prefix of -1 tokens"),
        ((0.0, 2**31, 5, 0), "more than 2,147,483,647 tokens"),
    ],
)
def test_that_what_cannot_be_a_request_is_listed_with_its_reason(row, reason):
    made = from_rows([(0.5, 5, 5, 2), row])
    assert len(made) == 1
    assert [(one.id, one.reason) for one in made.rejected] == [("1", reason)]


def test_that_a_workload_without_a_request_is_one_sentence():
    with pytest.raises(InputError, match=r"at least one request: a prompt of 0 tokens"):
        from_rows([(0.0, 0, 5)])
    with pytest.raises(InputError, match="at least one request"):
        from_rows([])
    with pytest.raises(InputError, match="equal length"):
        workload([0.0], [1, 2], [1])


def test_that_every_preset_makes_the_same_requests_again():
    for preset in PRESETS.values():
        one, other = preset.make(), preset.make()
        assert one.rows == other.rows
        assert not one.rejected
        assert one.arrival_s[0] == 0
        assert one.description


def test_that_a_seed_names_its_traffic_and_another_makes_other_traffic():
    traffic = Traffic(10.0, 50, Lengths(500, 0.8), Lengths(100, 0.5))
    assert traffic.make().rows == traffic.make().rows
    other = Traffic(10.0, 50, Lengths(500, 0.8), Lengths(100, 0.5), seed=1)
    assert traffic.make().rows != other.make().rows


@pytest.mark.parametrize("burstiness", [0.0, 0.25, 1.0, 4.0])
def test_that_arrivals_have_the_rate_and_the_spread_that_are_asked_for(burstiness):
    made = Traffic(20.0, 40_000, Lengths(), Lengths(), burstiness).make()
    gaps = np.diff(made.arrival_s)
    assert gaps.mean() == pytest.approx(1 / 20, rel=0.05)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(burstiness, rel=0.1, abs=1e-6)


def test_that_lengths_lie_about_their_median_and_within_their_bounds():
    drawn = Lengths(600, 0.9, least=40, most=4000).draw(20_000, np.random.default_rng(3))
    assert np.median(drawn) == pytest.approx(600, rel=0.05)
    assert (drawn.min(), drawn.max()) == (40, 4000)
    assert set(Lengths(values=(7, 9)).draw(50, np.random.default_rng(0)).tolist()) == {7, 9}


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        (Traffic(0.0, 5, Lengths(), Lengths()), "rate"),
        (Traffic(math.inf, 5, Lengths(), Lengths()), "rate"),
        (Traffic(1.0, 0, Lengths(), Lengths()), "requests"),
        (Traffic(1.0, 5, Lengths(), Lengths(), -1.0), "burstiness"),
        (Traffic(1.0, 5, Lengths(0.0), Lengths()), "lengths"),
    ],
)
def test_that_traffic_that_cannot_be_is_one_sentence(traffic, said):
    with pytest.raises(InputError, match=said):
        traffic.make()
