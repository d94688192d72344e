"""The engine against the golden values of its design and, token by token, against a naive server."""

from dataclasses import dataclass

import msgspec
import numpy as np
import oracle
import pytest
from costmodel_shapes import KNOWN, h100, ideal, llama_8b, textbook
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pdviz.costmodel.fidelities.textbook import Textbook
from pdviz.costmodel.passes import ModelCost
from pdviz.serving.costs import PassCosts
from pdviz.serving.outcome import Outcome
from pdviz.serving.policies import POLICIES, Knobs
from pdviz.serving.server import simulate
from pdviz.serving.workload import from_rows

LLAMA = PassCosts(textbook(llama_8b()), h100())
FREEZE = [(0.05 * i, 512, 100) for i in range(8)] + [(0.29, 16384, 20)]
TIGHT = [(0.02 * i, 700, 150) for i in range(8)] + [(0.05, 5000, 10)]


class Curved(Textbook):
    """A cost model whose times are no straight lines in a context: the corner of its roofline is soft."""

    name = "curved"
    is_affine = False

    def whole_s(self, times):
        return sum(seconds**5 for _, seconds in times) ** 0.2


def curved(architecture):
    return ModelCost(architecture, "bf16", "bf16", Curved())


EVERY = [*((f.__name__, make) for f in KNOWN for make in (textbook, ideal, curved))]


@dataclass
class Case:
    """Requests, knobs and costs, served by the engine and by the oracle."""

    rows: list
    knobs: Knobs
    costs: PassCosts

    def engine(self):
        return Outcome(simulate(from_rows(self.rows), self.knobs, self.costs))

    def oracle(self):
        def time_s(slices):
            return self.costs.model.cost(self.costs.machine, slices).time_s

        rows = [(*row, 0)[:4] for row in sorted(self.rows, key=lambda row: row[0])]
        knobs = self.knobs
        if knobs.capacity_tokens is None:
            knobs = msgspec.structs.replace(knobs, capacity_tokens=2**62)
        made = oracle.simulate(rows, knobs, time_s, self.costs.model.kv_bytes)
        assume(not made["is_close"])
        return made


@pytest.mark.parametrize(
    ("policy", "passes", "longest", "mean_gap", "mean_ttft", "long_ttft", "last"),
    [
        ("static", 200, 7.475, 7.328, 1032.413, 1080.809, 2108.834),
        ("continuous", 138, 651.078, 11.859, 215.940, 615.559, 1605.536),
        ("chunked", 171, 22.894, 10.018, 222.089, 630.833, 1605.017),
        ("disaggregated", 245, 52.022, 6.660, 213.534, 613.124, 1589.841),
    ],
)
def test_that_one_long_prompt_freezes_streams_as_the_golden_values_say(
    policy, passes, longest, mean_gap, mean_ttft, long_ttft, last
):
    got = Case(FREEZE, Knobs(policy), LLAMA).engine()
    long = got.run.workload.prompt_tokens.argmax()
    figures = [
        got.longest_gap_s.max(),
        got.gaps.mean_s,
        got.ttft_s.mean(),
        got.ttft_s[long],
        got.last_token_s.max(),
    ]
    assert got.passes == passes
    assert np.round(1e3 * np.array(figures), 3).tolist() == [longest, mean_gap, mean_ttft, long_ttft, last]


@pytest.mark.parametrize(
    ("policy", "passes", "preemptions", "longest", "mean_ttft", "last"),
    [
        ("continuous", 304, 1, 408.329, 408.565, 2144.236),
        ("chunked", 307, 1, 325.969, 389.247, 2105.703),
        ("disaggregated", 313, 0, 911.250, 24.070, 2020.568),
    ],
)
def test_that_little_memory_preempts_and_rejects_as_the_golden_values_say(
    policy, passes, preemptions, longest, mean_ttft, last
):
    got = Case(TIGHT, Knobs(policy, capacity_tokens=4000), LLAMA).engine()
    figures = [got.longest_gap_s.max(), got.ttft_s.mean(), got.last_token_s.max()]
    assert (got.passes, got.preemptions) == (passes, preemptions)
    assert np.round(1e3 * np.array(figures), 3).tolist() == [longest, mean_ttft, last]
    (rejected,) = got.run.rejected
    assert rejected.id == "8"
    assert rejected.reason == "needs 5,009 tokens of KV cache, the server has 4,000"


@st.composite
def cases(draw):
    name, make = draw(st.sampled_from(EVERY))
    model = make(next(f for f in KNOWN if f.__name__ == name)())
    long = draw(st.booleans())
    prompts = st.integers(1, 9000 if long else 60)
    arrivals = st.one_of(st.floats(0, 2.0 if long else 0.2), st.sampled_from([0.0, 0.05]))
    row = st.tuples(arrivals, prompts, st.integers(1, 40))
    rows = []
    for arrival, prompt, output in draw(st.lists(row, min_size=1, max_size=14)):
        cached = draw(st.integers(0, prompt - 1)) if draw(st.integers(0, 3)) == 0 else 0
        rows.append((arrival, prompt, output, cached))
    most = max(p + o - 1 for _, p, o, _ in rows)
    knobs = Knobs(
        policy=draw(st.sampled_from(POLICIES)),
        capacity_tokens=draw(
            st.sampled_from([None, (most + 1) // 2, most, most + 3, 3 * most // 2, 3 * most])
        ),
        max_seqs=draw(st.sampled_from([1, 2, 3, 256])),
        max_batched_tokens=draw(st.sampled_from([1, 64, 512, 8192])),
        token_budget=draw(st.sampled_from([8, 64, 512] if long else [1, 2, 5, 16, 512])),
        prefill_steps=draw(st.integers(1, 3)),
        decode_steps=draw(st.integers(1, 4)),
        link_bytes_per_s=draw(st.sampled_from([1e9, 50e9, float("inf")])),
        link_latency_s=draw(st.sampled_from([0.0, 0.013])),
        prefill_engines=draw(st.integers(1, 3)),
        decode_engines=draw(st.integers(1, 3)),
        replicas=draw(st.sampled_from([1, 1, 2, 3])),
    )
    return Case(rows, knobs, PassCosts(model, h100()))


def assert_same(case):
    want = case.oracle()
    got = case.engine()
    sequences = [want["sequences"][number] for number in got.run.served.tolist()]
    assert len(got.run.rejected) == len(want["rejected"])
    assert got.passes == want["count"]
    assert got.preemptions == want["preemptions"]
    close = {"rel": 1e-9, "abs": 1e-12}
    all_gaps = []
    for number, s in enumerate(sequences):
        assert got.tokens_s(number).tolist() == pytest.approx(s.tokens, **close)
        assert got.first_token_s[number] == pytest.approx(s.tokens[0], **close)
        assert got.last_token_s[number] == pytest.approx(s.tokens[-1], **close)
        gaps = np.diff(s.tokens)
        all_gaps.append(gaps)
        assert got.longest_gap_s[number] == pytest.approx(gaps.max(initial=0.0), rel=1e-9, abs=1e-11)
        for part, seconds in got.parts_s.items():
            assert seconds[number] == pytest.approx(s.parts.get(part, 0.0), rel=1e-9, abs=1e-10), part
        total = sum(seconds[number] for seconds in got.parts_s.values())
        assert total == pytest.approx(got.e2e_s[number], rel=1e-9, abs=1e-12)
    every = np.concatenate(all_gaps) if all_gaps else np.zeros(0)
    lengths = got.gaps
    assert lengths.count == len(every)
    if len(every):
        for percent in (0, 37.3, 50, 99, 100):
            assert lengths.percentile(percent) == pytest.approx(
                np.percentile(every, percent), rel=1e-7, abs=1e-11
            )
        assert lengths.mean_s == pytest.approx(every.mean(), rel=1e-9)


@settings(max_examples=150, deadline=None)
@given(cases())
def test_that_every_token_comes_when_a_naive_server_has_it(case):
    assert_same(case)


@pytest.mark.parametrize(
    "knobs", [Knobs(replicas=3), Knobs("disaggregated", prefill_engines=3, decode_engines=2)]
)
def test_that_of_equally_loaded_engines_the_first_takes_a_request(knobs):
    got = Case([(0.0, 100, 5)] * 4 + [(0.0, 50, 5)], knobs, LLAMA).engine()
    assert [route.tolist() for route in got.run.routes[:3]] == [[0, 3], [1, 4], [2]]
