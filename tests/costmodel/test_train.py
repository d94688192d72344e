"""The closed form of a train of decode steps, against adding up its steps one by one."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from costmodel_shapes import (
    asked,
    bytes_of,
    flops_of,
    gemma_like,
    h100,
    llama_8b,
    machines,
    mistral_7b,
    models,
    priced,
    textbook,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.request import Request, cost_request
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.terms import Slice
from pdviz.costmodel.train import Segment, Train, build_train

requests = st.fixed_dictionaries(
    {
        "prompt_tokens": st.integers(1, 700) | st.integers(960, 1024) | st.integers(4000, 4096),
        "output_tokens": st.integers(2, 150),
        "others": st.integers(0, 400),
        "others_context_tokens": st.none() | st.integers(1, 100_000),
    }
)


def one_by_one(model: ModelCost, machine: Machine, request: dict[str, int | None]) -> list[PassCost]:
    """Every decode step of a request, each costed as a pass of its own."""
    others, theirs = request["others"], request["others_context_tokens"]
    found = []
    for k in range(1, request["output_tokens"]):
        context = request["prompt_tokens"] + k
        pieces = [Slice.decode(context)]
        pieces += [Slice.decode(context if theirs is None else theirs)] * others
        found.append(
            priced(machine, 1 + others, float(flops_of(model, pieces)), float(bytes_of(model, pieces)))
        )
    return found


@settings(max_examples=80)
@given(models, machines(), requests)
def test_that_a_train_is_the_sum_of_its_steps(
    model: ModelCost, machine: Machine, request: dict[str, int | None]
) -> None:
    request["others"] = min(request["others"], 12)
    costed = cost_request(model, machine, Request(**request))
    train = costed.train
    steps = one_by_one(model, machine, request)
    assert train.steps == len(steps)
    assert train.total_s == pytest.approx(math.fsum(s.time_s for s in steps), rel=1e-9)
    start_s = 0.0
    for k, step in enumerate(steps, 1):
        assert train.start_s(k) == pytest.approx(start_s, rel=1e-9, abs=1e-12 * train.total_s)
        assert train.step_s(k) == pytest.approx(step.time_s, rel=1e-9)
        used = train.utilisations(k)
        assert used[0] == pytest.approx(step.compute_utilisation, rel=1e-9)
        assert used[1] == pytest.approx(step.bandwidth_utilisation, rel=1e-9)
        cost = costed.pass_cost(k)
        assert cost.tokens == step.tokens
        assert (cost.flops, cost.bytes) == pytest.approx((step.flops, step.bytes), rel=1e-9)
        assert cost.time_s == pytest.approx(step.time_s, rel=1e-9)
        if abs(step.compute_s / step.bandwidth_s - 1) > 1e-9:
            assert cost.bound == train.bound(k) == step.bound
        start_s += step.time_s
    assert train.start_s(train.steps + 1) == train.total_s


@settings(max_examples=40)
@given(models, machines(), requests)
def test_that_the_segments_of_a_train_join_without_a_gap(
    model: ModelCost, machine: Machine, request: dict[str, int | None]
) -> None:
    train = cost_request(model, machine, Request(**request)).train
    assert len(train.segments) <= 2 * (len(model.windows) + 1)
    assert sum(s.count for s in train.segments) == train.steps
    first, start_s = 1, 0.0
    for segment in train.segments:
        assert (segment.first, segment.start_s) == (first, start_s)
        first, start_s = first + segment.count, segment.end_s
    assert start_s == train.total_s


@given(models, machines(), requests, st.floats(0, 1))
def test_that_every_time_inside_a_step_belongs_to_that_step(
    model: ModelCost, machine: Machine, request: dict[str, int | None], share: float
) -> None:
    assert_times_find_steps(cost_request(model, machine, Request(**request)).train, share)


def assert_times_find_steps(train: Train, share: float) -> None:
    for k in range(1, train.steps + 1):
        start_s, end_s = train.start_s(k), train.start_s(k + 1)
        assert start_s < end_s
        assert train.step_at(start_s) == k
        assert train.step_at(math.nextafter(end_s, 0)) == k
        assert train.step_at(min(start_s + share * (end_s - start_s), math.nextafter(end_s, 0))) == k
    assert train.step_at(train.total_s) == train.step_at(2 * train.total_s) == train.steps
    assert train.step_at(-1.0) == 1


def two_bounds() -> tuple[Train, Train]:
    """A train that ends bound by compute, and one that ends bound by bandwidth."""
    steep = Machine("Low ridge", 1, "bf16", 5e12, 1e12, 1.0, 1.0)
    return (
        build_train(1000, 1, [], lambda k: priced(steep, 1, 1e9 + 6e7 * k, 5e9 + 1e6 * k)),
        build_train(1000, 1, [], lambda k: priced(steep, 1, 30e9 + 1e6 * k, 1e9 + 1e7 * k)),
    )


def test_that_a_train_is_cut_where_its_bound_changes_either_way() -> None:
    rising, falling = two_bounds()
    assert [s.bound for s in rising.segments] == [BANDWIDTH, COMPUTE]
    assert [s.bound for s in falling.segments] == [COMPUTE, BANDWIDTH]
    for train in two_bounds():
        assert train.segments[0].ends.bound != train.segments[1].begins.bound
        for segment in train.segments:
            assert segment.begins.bound == segment.ends.bound == segment.bound
            assert train.step_s(segment.first) == segment.begins.time_s
            end_s = train.step_s(segment.first + segment.count - 1)
            assert end_s == pytest.approx(segment.ends.time_s, rel=1e-12)


def test_that_times_find_steps_across_a_change_of_bound_and_across_windows() -> None:
    windowed = cost_request(textbook(gemma_like()), h100(), asked(900, 300)).train
    for train in (*two_bounds(), windowed):
        assert len(train.segments) == 2
        for share in (0.0, 0.3, 1.0):
            assert_times_find_steps(train, share)


def test_that_a_step_at_a_full_window_is_still_on_the_growing_line() -> None:
    costed = cost_request(textbook(mistral_7b()), h100(), asked(4000, 1001))
    train = costed.train
    growing, flat = train.segments
    assert (growing.first, growing.count, flat.first, flat.count) == (1, 96, 97, 904)
    assert growing.ends.bytes - growing.begins.bytes == 95 * 131_072
    assert flat.ends.bytes - flat.begins.bytes == flat.increment_s == 0
    assert costed.pass_cost(96).bytes == costed.pass_cost(97).bytes == costed.pass_cost(1000).bytes


def test_that_layers_without_windows_keep_growing_after_the_others_stop() -> None:
    train = cost_request(textbook(gemma_like()), h100(), asked(1000, 2001)).train
    growth = [(s.ends.bytes - s.begins.bytes) / (s.count - 1) for s in train.segments]
    assert growth == [12 * 4096, 2 * 4096]


def test_that_a_train_of_no_steps_takes_no_time() -> None:
    train = build_train(0, 1, [], lambda k: priced(h100(), 1, 1.0, 1.0))
    assert (train.steps, train.total_s, train.segments) == (0, 0.0, ())


def test_that_breaks_outside_the_train_are_no_breaks() -> None:
    train = build_train(10, 1, [-5, 0, 10, 99], lambda k: priced(h100(), 1, 1e9, 1e9 + k))
    assert [(s.first, s.count) for s in train.segments] == [(1, 10)]


def test_that_step_times_grow_by_their_increment() -> None:
    request = cost_request(textbook(llama_8b()), h100(), asked(512, 128))
    segment = request.train.segments[0]
    assert segment.increment_s == pytest.approx(131_072 / (0.75 * 3.35e12), rel=1e-9)
    assert segment.elapsed_s(3) == pytest.approx(sum(segment.step_s(k) for k in (1, 2, 3)), rel=1e-12)


# --- trains of many millions ---------------------------------------------------------------------------

MANY = 10_000_000


def exact_elapsed(prompt: int, steps: int) -> Fraction:
    """Seconds of the first ``steps`` decode steps of Llama 3.1 8B on one H100, exactly."""
    moved = steps * 16_060_522_496 + 131_072 * (steps * prompt + steps * (steps + 1) // 2)
    return Fraction(moved) / (Fraction(0.75) * Fraction(3.35e12))


def huge() -> Train:
    return cost_request(textbook(llama_8b()), h100(), asked(512, MANY + 1)).train


@given(st.integers(1, MANY))
def test_that_ten_million_steps_lose_nothing_to_cancellation(step: int) -> None:
    train = huge()
    assert len(train.segments) == 1
    assert train.start_s(step + 1) == pytest.approx(float(exact_elapsed(512, step)), rel=1e-12)
    duration = float(exact_elapsed(512, step) - exact_elapsed(512, step - 1))
    assert train.step_s(step) == pytest.approx(duration, rel=1e-12)
    assert train.start_s(step + 1) - train.start_s(step) == pytest.approx(duration, rel=1e-6)


@given(st.integers(1, MANY), st.floats(0, 1))
def test_that_times_in_ten_million_steps_find_their_step(step: int, share: float) -> None:
    train = huge()
    start_s, end_s = train.start_s(step), train.start_s(step + 1)
    inside = min(start_s + share * (end_s - start_s), math.nextafter(end_s, 0))
    assert train.step_at(start_s) == train.step_at(inside) == train.step_at(math.nextafter(end_s, 0)) == step
    assert train.step_at(end_s) == min(step + 1, MANY)


def test_that_finding_a_step_is_no_search_through_the_train(monkeypatch: pytest.MonkeyPatch) -> None:
    train = huge()
    looked_at = []
    plain = Segment.elapsed_s

    def counted(self: Segment, steps: float) -> float:
        looked_at.append(steps)
        return plain(self, steps)

    monkeypatch.setattr(Segment, "elapsed_s", counted)
    for share in range(100):
        train.step_at(train.total_s * share / 100)
    assert len(looked_at) < 100 * 20  # a walk would look at a million


@settings(max_examples=40)
@given(models, machines(), st.integers(1, 2**24), st.data())
def test_that_any_model_s_longest_train_finds_its_steps(
    model: ModelCost, machine: Machine, prompt: int, data: st.DataObject
) -> None:
    train = cost_request(model, machine, asked(prompt, 2**24, others=65_535)).train
    step = data.draw(st.integers(1, train.steps))
    start_s, end_s = train.start_s(step), train.start_s(step + 1)
    assume(math.nextafter(start_s, math.inf) < end_s)
    assert train.step_at(start_s) == train.step_at(math.nextafter(end_s, 0)) == step
