"""Figures of a run against figures that are counted token by token."""

import numpy as np
import pytest
from costmodel_shapes import h100, llama_8b, textbook
from hypothesis import given
from hypothesis import strategies as st

from pdviz.serving.costs import PassCosts
from pdviz.serving.gaps import Distribution, RangeMaximum
from pdviz.serving.measures import Targets, meets, summary
from pdviz.serving.outcome import Outcome
from pdviz.serving.policies import POLICIES, Knobs
from pdviz.serving.presets import steady_chat
from pdviz.serving.server import simulate

LLAMA = PassCosts(textbook(llama_8b()), h100())


@pytest.mark.parametrize("policy", POLICIES)
def test_that_the_summary_is_what_listed_tokens_give(policy):
    got = Outcome(simulate(steady_chat(count=60), Knobs(policy, capacity_tokens=9000), LLAMA))
    tokens = [got.tokens_s(number) for number in range(len(got))]
    gaps = np.concatenate([np.diff(t) for t in tokens])
    targets = Targets(0.2, 0.02)
    figures = summary(got, targets)
    assert figures.itl_s.mean == pytest.approx(gaps.mean(), rel=1e-9)
    for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
        assert getattr(figures.itl_s, name) == pytest.approx(np.percentile(gaps, percent), rel=1e-9)
    ttft = np.array([t[0] for t in tokens]) - got.arrival_s
    assert figures.ttft_s.p90 == pytest.approx(np.percentile(ttft, 90))
    good = [t < 0.2 and np.diff(one).max(initial=0) < 0.02 for t, one in zip(ttft, tokens, strict=True)]
    assert meets(got, targets).tolist() == good
    span = max(t[-1] for t in tokens) - got.arrival_s[0]
    assert figures.makespan_s == pytest.approx(span)
    assert figures.goodput_requests_per_s == pytest.approx(sum(good) / span)
    assert figures.tokens_per_s == pytest.approx(sum(len(t) for t in tokens) / span)


rows = st.lists(
    st.tuples(
        st.floats(0, 1), st.one_of(st.just(0.0), st.floats(1e-9, 0.1)), st.integers(0, 30), st.integers(0, 5)
    ),
    min_size=0,
    max_size=8,
)


@given(st.lists(st.tuples(st.floats(0, 2), st.integers(0, 4)), max_size=8), rows, st.floats(0, 100))
def test_that_percentiles_over_rows_are_those_of_the_listed_values(single, rows, percent):
    values, weights = np.array([v for v, _ in single]), np.array([w for _, w in single], np.int64)
    columns = [np.array([row[n] for row in rows], kind) for n, kind in enumerate((float, float, int, int))]
    lengths = Distribution(values, weights, tuple(columns))
    listed = [v for v, w in single for _ in range(w)]
    listed += [first + growth * j for first, growth, n, w in rows for j in range(n) for _ in range(w)]
    assert lengths.count == len(listed)
    if listed:
        assert lengths.percentile(percent) == pytest.approx(
            np.percentile(listed, percent), rel=1e-9, abs=1e-12
        )
        assert lengths.longest_s == pytest.approx(max(listed))
        assert lengths.at_most(max(listed)) == len(listed)
    else:
        assert np.isnan(lengths.percentile(percent))


@given(st.lists(st.floats(0, 1), max_size=300), st.randoms(use_true_random=False))
def test_that_maxima_over_ranges_are_those_of_the_listed_values(values, chance):
    values = np.array(values)
    low = np.array([chance.randint(0, len(values)) for _ in range(40)])
    high = np.array([chance.randint(0, len(values)) for _ in range(40)])
    want = [values[a:b].max(initial=0.0) for a, b in zip(low, high, strict=True)]
    assert RangeMaximum(values).over(low, high).tolist() == want
