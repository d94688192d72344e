"""What real servers show, and a simulation must show too: the direction always."""

import msgspec
import numpy as np
import pytest
from costmodel_shapes import h100, llama_8b, textbook

from pdviz import Scenario, evaluate
from pdviz.serving.costs import PassCosts
from pdviz.serving.measures import Targets, summary
from pdviz.serving.outcome import Outcome
from pdviz.serving.policies import Knobs
from pdviz.serving.presets import Lengths, Traffic
from pdviz.serving.server import simulate
from pdviz.serving.study import Setting, most_load
from pdviz.serving.workload import from_rows

LLAMA = PassCosts(textbook(llama_8b()), h100())
LONG_TO_SHORT = Traffic(3.0, 150, Lengths(2600), Lengths(60)).make()


def costs(accelerator="H100 SXM", accelerators=1, model="Llama-3.1-70B", **more):
    result = evaluate(Scenario(model=model, accelerator=accelerator, accelerators=accelerators, **more))
    return PassCosts(result.model, result.machine)


def run(workload, knobs, priced=LLAMA):
    return Outcome(simulate(workload, knobs, priced))


def prefill_s(tokens, priced):
    return float(run(from_rows([(0.0, tokens, 1)]), Knobs(), priced).ttft_s[0])


def step_s(batch, priced, context=512):
    got = run(from_rows([(0.0, context, 20)] * batch), Knobs(max_batched_tokens=1 << 30), priced)
    return float(got.gaps.mean_s)


def test_that_prompts_take_longer_the_longer_they_are_and_less_on_a_newer_accelerator():
    lengths = (512, 1024, 2048, 4096, 8192)
    older, newer = ([prefill_s(n, costs(a, 8)) for n in lengths] for a in ("A100 80GB SXM", "H100 SXM"))
    assert older == sorted(older)
    gains = [a / b for a, b in zip(older, newer, strict=True)]
    assert all(1.6 < gain < 3.3 for gain in gains)
    assert 1.2 < step_s(1, costs("A100 80GB SXM", 8)) / step_s(1, costs("H100 SXM", 8)) < 1.8


def test_that_a_batch_of_64_takes_little_longer_than_one_sequence():
    alone, many = step_s(1, LLAMA), step_s(64, LLAMA)
    assert 1 < many / alone < 1.6
    assert 64 * alone / many > 39


def test_that_more_memory_bandwidth_alone_shortens_gaps_and_not_first_tokens():
    priced = [costs(a, 2, weights_dtype="fp8") for a in ("H100 SXM", "H200 SXM")]
    one, other = (prefill_s(4096, p) for p in priced)
    assert one == pytest.approx(other, rel=1e-3)
    assert 0.6 < step_s(32, priced[1]) / step_s(32, priced[0]) < 0.85


def test_that_overload_shows_in_the_queue_before_it_shows_in_gaps():
    workload = Traffic(10.0, 600, Lengths(600, 0.5), Lengths(150, 0.4)).make()
    knobs = Knobs("chunked", max_seqs=64)
    capacity = most_load(workload, Setting({}, knobs, LLAMA), Targets(ttft_s=0.3)).load
    below, above = (
        run(msgspec.structs.replace(workload, arrival_s=workload.arrival_s / load), knobs)
        for load in (0.8 * capacity, 1.3 * capacity)
    )
    waits = [float(np.median(o.ttft_s)) for o in (below, above)]
    gaps = [o.gaps.percentile(50) for o in (below, above)]
    assert waits[1] > 5 * waits[0]
    assert gaps[1] < 2 * gaps[0]


def test_that_more_seats_serve_more_and_make_each_gap_longer():
    workload = from_rows([(0.0, 400, 200)] * 600)
    few, many = (summary(run(workload, Knobs("chunked", max_seqs=n))) for n in (128, 192))
    assert many.tokens_per_s > few.tokens_per_s
    assert many.itl_s.p50 > few.itl_s.p50


def test_that_too_little_kv_fills_the_queue_and_not_the_seats():
    workload = Traffic(10.0, 300, Lengths(850, 0.6), Lengths(600, 0.3), seed=2).make()
    got = run(workload, Knobs("chunked", capacity_tokens=41_408, token_budget=2048))
    (engine,) = got.engines
    assert engine.decoders.max() < 80
    assert engine.held.max() > 0.99 * 41_408
    assert np.median(got.ttft_s) > 10 * np.median(run(workload, Knobs("chunked", token_budget=2048)).ttft_s)


def test_that_long_answers_want_engines_that_decode():
    workload = Traffic(20.0, 300, Lengths(500), Lengths(800, 0.3)).make()
    rates = []
    for prefill in (1, 2, 3):
        knobs = Knobs("disaggregated", prefill_engines=prefill, decode_engines=4 - prefill, max_seqs=48)
        rates.append(summary(run(workload, knobs)).tokens_per_s)
    assert rates == sorted(rates, reverse=True)


def test_that_pieces_of_prompts_serve_more_within_a_promise_than_whole_prompts_first():
    promise = Targets(ttft_s=10.0, itl_s=0.25)
    loads = {
        policy: most_load(LONG_TO_SHORT, Setting({}, Knobs(policy), LLAMA), promise).load
        for policy in ("continuous", "chunked")
    }
    assert loads["chunked"] > 1.3 * loads["continuous"]
    whole, pieces = (run(LONG_TO_SHORT, Knobs(policy)).gaps for policy in ("continuous", "chunked"))
    assert whole.percentile(99) > 2 * pieces.percentile(99)


def test_that_disaggregation_wins_where_gaps_must_be_short_and_loses_where_first_tokens_must():
    tight_gaps, tight_first = Targets(ttft_s=20.0, itl_s=0.015), Targets(ttft_s=0.25, itl_s=2.0)
    workload = Traffic(8.0, 200, Lengths(1500, 0.3), Lengths(150, 0.3)).make()
    split = Setting({}, Knobs("disaggregated", link_bytes_per_s=450e9), LLAMA)
    together = Setting({}, Knobs("chunked", replicas=2), LLAMA)
    assert most_load(workload, split, tight_gaps).load > most_load(workload, together, tight_gaps).load
    assert most_load(workload, split, tight_first).load < most_load(workload, together, tight_first).load


def test_that_throughput_rises_with_tokens_in_a_pass_and_then_is_flat():
    rates = [n / prefill_s(n, LLAMA) for n in (32, 64, 128, 256, 512, 1024)]
    assert rates[:4] == sorted(rates[:4])
    assert rates[5] == pytest.approx(rates[4], rel=0.02)


def test_that_interleaving_bounds_the_wait_of_a_stream_by_its_prompt_passes():
    rows = [(0.05 * i, 512, 100) for i in range(8)] + [(0.29, 16384, 20)]
    for turns in (1, 2, 4):
        knobs = Knobs("interleaved", prefill_steps=turns, decode_steps=2)
        got = run(from_rows(rows), knobs)
        longest_pass = max(float(e.first_s[e.carries_prompts].max()) for e in got.engines)
        assert got.gaps.longest_s <= turns * longest_pass + 0.01
