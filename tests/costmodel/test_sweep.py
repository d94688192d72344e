"""Curves: every element of a sweep is the pass that the scalar path would have costed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from costmodel_shapes import h100, llama_8b, machines, models, textbook
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz.costmodel.passes import ModelCost, Slice
from pdviz.costmodel.request import crossover_prompt_tokens
from pdviz.costmodel.roofline import COMPUTE, Machine
from pdviz.costmodel.sweep import Sweep, decode_sweep, prefill_sweep

counts = st.lists(st.integers(1, 100_000), min_size=1, max_size=8)


def assert_is(sweep: Sweep, place: int, model: ModelCost, machine: Machine, piece: Slice) -> None:
    cost = machine.cost(1, float(model.flops((piece,))), float(model.bytes((piece,))))
    for name in (
        "flops",
        "bytes",
        "compute_s",
        "bandwidth_s",
        "time_s",
        "compute_utilisation",
        "bandwidth_utilisation",
        "intensity_flops_per_byte",
    ):
        assert getattr(sweep, name)[place] == pytest.approx(getattr(cost, name), rel=1e-12), name
    if abs(cost.compute_s / cost.bandwidth_s - 1) > 1e-12:
        assert sweep.is_compute_bound[place] == (cost.bound == COMPUTE)


@settings(max_examples=60)
@given(models, machines(), counts, st.integers(0, 100_000))
def test_that_each_prompt_of_a_sweep_costs_what_it_costs_alone(
    model: ModelCost, machine: Machine, new: list[int], cached: int
) -> None:
    prompts = np.array([cached + n for n in new])
    sweep = prefill_sweep(model, machine, prompts, cached)
    for place, n in enumerate(new):
        assert_is(sweep, place, model, machine, Slice.prompt(n, cached))


@settings(max_examples=60)
@given(models, machines(), st.lists(st.tuples(st.integers(1, 10**7), st.integers(1, 9999)), min_size=1))
def test_that_each_decode_step_of_a_sweep_costs_what_it_costs_alone(
    model: ModelCost, machine: Machine, pairs: list[tuple[int, int]]
) -> None:
    contexts, sequences = np.array(pairs).T
    sweep = decode_sweep(model, machine, contexts, sequences)
    for place, (context, many) in enumerate(pairs):
        assert_is(sweep, place, model, machine, Slice.decode(context, many))


def test_that_arguments_broadcast_and_every_result_has_that_shape() -> None:
    contexts, sequences = np.array([[10], [1000], [100_000]]), np.array([1, 8, 64, 256])
    sweep = decode_sweep(textbook(llama_8b()), h100(), contexts, sequences)
    assert {getattr(sweep, name).shape for name in Sweep.__struct_fields__} == {(3, 4)}
    assert_is(sweep, (2, 1), textbook(llama_8b()), h100(), Slice.decode(100_000, 8))
    prompts = prefill_sweep(textbook(llama_8b()), h100(), [1, 10, 100])
    assert {getattr(prompts, name).shape for name in Sweep.__struct_fields__} == {(3,)}
    assert prompts.bytes.tolist() == [16_060_522_496] * 3


def test_that_a_sweep_of_whole_numbers_does_not_overflow() -> None:
    sweep = prefill_sweep(textbook(llama_8b()), h100(), np.array([2**24, 2**33]), np.array(0, dtype=np.int32))
    for place, prompt in enumerate((2**24, 2**33)):
        assert sweep.flops[place] == textbook(llama_8b()).flops((Slice.prompt(prompt),))


def test_that_a_sweep_turns_to_compute_at_the_crossover() -> None:
    sweep = prefill_sweep(textbook(llama_8b()), h100(), np.arange(1, 400))
    crossover = crossover_prompt_tokens(textbook(llama_8b()), h100())
    assert 1 + int(np.argmax(sweep.is_compute_bound)) == crossover == 216
    assert sweep.is_compute_bound[crossover:].all()


def test_that_numpy_is_not_loaded_before_a_sweep_is_asked_for() -> None:
    code = "import sys, pdviz.costmodel.sweep, pdviz.evaluation; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
