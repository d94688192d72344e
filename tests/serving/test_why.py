"""What a pass carried, who waited for what, and which pass froze a stream."""

import numpy as np
import pytest
from costmodel_shapes import h100, llama_8b, textbook
from hypothesis import given, settings
from test_engine import FREEZE, Case, cases

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.serving.costs import PassCosts
from pdviz.serving.policies import Knobs
from pdviz.serving.why import Wait, decoding, pass_at, stalls, stalls_of, waiting

LLAMA = PassCosts(textbook(llama_8b()), h100())


@settings(max_examples=60, deadline=None)
@given(cases())
def test_that_every_pass_says_what_it_carried_and_who_waited(case):
    got, want = case.engine(), case.oracle()
    served = got.run.served.tolist()
    place = {number: n for n, number in enumerate(served)}
    for engine, passes in enumerate(want["passes"]):
        e = got.engines[engine]
        for start_s, end_s, decoders, pieces, queue, held in passes:
            one = pass_at(got, engine, (start_s + end_s) / 2)
            assert (one.start_s, one.end_s) == pytest.approx((start_s, end_s), rel=1e-9, abs=1e-12)
            assert one.decoders == len(decoders)
            assert e.held[one.record] + one.index * one.decoders == held
            assert [(p.request, p.past, p.new) for p in one.pieces] == [
                (place[number], past, new) for number, past, new in pieces
            ]
            if decoders:
                assert sorted(decoding(e, one.record)) == sorted(place[n] for n in decoders)
            waits = waiting(got, one)
            before = [r for r, why in waits.items() if why not in (Wait.PASS_END, Wait.LINK)]
            assert before == [place[number] for number in queue]
            assert all(waits[r] is Wait.ORDER for r in before[1:])


@settings(max_examples=60, deadline=None)
@given(cases())
def test_that_stalls_are_gaps_between_tokens_and_the_longest_is_among_them(case):
    got = case.engine()
    for request in range(len(got)):
        tokens = got.tokens_s(request)
        gaps = np.diff(tokens)
        limit = float(gaps.mean()) if len(gaps) else 0.0
        found = stalls_of(got, request, limit)
        for stall in found:
            at = int(np.argmin(abs(tokens[:-1] - stall.start_s)))
            ends = pytest.approx((tokens[at], tokens[at + 1]), rel=1e-9, abs=1e-11)
            assert (stall.start_s, stall.end_s) == ends
            e = got.engines[stall.engine]
            assert e.start_s[stall.record] < stall.end_s
            assert e.end_s[stall.record] > stall.start_s - 1e-12
        if len(gaps) and gaps.max() > limit * (1 + 1e-9):
            assert max(s.end_s - s.start_s for s in found) == pytest.approx(gaps.max(), rel=1e-9, abs=1e-11)


def test_that_a_long_prompt_freezes_six_streams_and_is_named():
    got = Case(FREEZE, Knobs("continuous"), LLAMA).engine()
    (stall,) = stalls(got, 0.3)
    assert stall.streams == 6
    assert 1e3 * (stall.end_s - stall.start_s) == pytest.approx(651.078, abs=5e-4)
    long = int(got.run.workload.prompt_tokens.argmax())
    cause = pass_at(got, 0, (stall.start_s + stall.end_s) / 2)
    assert cause.record == stall.record
    assert [(p.request, p.new, p.ends) for p in cause.pieces] == [(long, 16384, True)]
    assert cause.bound is COMPUTE
    (own,) = stalls_of(got, 0, 0.3)
    assert (own.start_s, own.record) == (stall.start_s, stall.record)
    assert not stalls(Case(FREEZE, Knobs("chunked"), LLAMA).engine(), 0.03)


def test_that_decode_passes_are_bound_by_bandwidth():
    got = Case([(0.0, 100, 50)], Knobs("continuous"), LLAMA).engine()
    one = pass_at(got, 0, got.last_token_s[0] - 1e-4)
    assert (one.bound, one.decoders, one.index, one.tokens) == (BANDWIDTH, 1, 48, 1)
    assert pass_at(got, 0, got.last_token_s[0]) is None
    assert pass_at(got, 0, -1.0) is None


@pytest.mark.parametrize(
    ("knobs", "time_s", "reason"),
    [
        (Knobs("continuous", max_seqs=2), 0.2, Wait.SEAT),
        (Knobs("continuous", capacity_tokens=450), 0.2, Wait.KV),
        (Knobs("continuous", max_batched_tokens=400), 0.008, Wait.BUDGET),
        (Knobs("chunked", token_budget=32), 0.008, Wait.BUDGET),
        (Knobs("chunked", capacity_tokens=450), 0.3, Wait.KV),
        (Knobs("interleaved", token_budget=32, decode_steps=9), 0.075, Wait.TURN),
        (Knobs("static", max_seqs=2), 0.645, Wait.SEAT),
        (Knobs("static", capacity_tokens=600), 0.645, Wait.KV),
        (Knobs("static", max_seqs=2), 0.3, Wait.BATCH),
        (Knobs("disaggregated", max_seqs=2), 0.2, Wait.SEAT),
        (Knobs("disaggregated", capacity_tokens=450), 0.2, Wait.KV),
    ],
)
def test_that_the_head_of_the_queue_says_what_it_waits_for(knobs, time_s, reason):
    rows = [(0.001 * n, 200, 100) for n in range(4)]
    got = Case(rows, knobs, LLAMA).engine()
    engine = len(got.engines) - 1
    waits = waiting(got, pass_at(got, engine, time_s))
    assert next(iter(waits.values())) is reason


def test_that_those_who_come_during_a_pass_or_travel_are_said_to():
    got = Case([(0.0, 2000, 5), (0.001, 10, 5)], Knobs("continuous"), LLAMA).engine()
    assert waiting(got, pass_at(got, 0, 0.01)) == {1: Wait.PASS_END}
    knobs = Knobs("disaggregated", link_latency_s=1.0)
    got = Case([(0.0, 100, 200), (0.9, 100, 5)], knobs, LLAMA).engine()
    assert waiting(got, pass_at(got, 1, 1.5)) == {1: Wait.LINK}
