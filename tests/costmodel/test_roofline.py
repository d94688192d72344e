"""Times from FLOPs and bytes: no pass beats its machine, and the reason given is the right one."""

from __future__ import annotations

import msgspec
import pytest
from costmodel_shapes import bytes_of, flops_of, h100, machines, models, passes, priced
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz.costmodel.accelerator import Accelerator
from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.terms import Slice

amounts = st.floats(1e6, 1e18)


def cost(model: ModelCost, machine: Machine, pieces: tuple[Slice, ...]) -> PassCost:
    return priced(machine, 1, float(flops_of(model, pieces)), float(bytes_of(model, pieces)))


@given(models, machines(), passes)
def test_that_no_pass_is_faster_than_its_bytes_or_its_flops_allow(
    model: ModelCost, machine: Machine, pieces: tuple[Slice, ...]
) -> None:
    found = cost(model, machine, pieces)
    assert found.time_s >= found.bytes / machine.bandwidth_bytes_per_s
    assert found.time_s >= found.flops / machine.peak_flops_per_s


@settings(max_examples=40)
@given(models, machines(), passes)
def test_that_a_pass_uses_the_whole_of_one_efficiency_and_no_more_of_the_other(
    model: ModelCost, machine: Machine, pieces: tuple[Slice, ...]
) -> None:
    found = cost(model, machine, pieces)
    compute = found.compute_utilisation / machine.compute_efficiency
    bandwidth = found.bandwidth_utilisation / machine.bandwidth_efficiency
    assert max(compute, bandwidth) == pytest.approx(1, rel=1e-12)
    assert min(compute, bandwidth) > 0
    assert {COMPUTE: compute, BANDWIDTH: bandwidth}[found.bound] == pytest.approx(1, rel=1e-12)


@given(amounts, amounts, machines())
def test_that_the_longer_time_counts_and_is_the_bound(flops: float, moved: float, machine: Machine) -> None:
    found = priced(machine, 7, flops, moved)
    assert (found.tokens, found.flops, found.bytes) == (7, flops, moved)
    assert found.time_s == max(found.compute_s, found.bandwidth_s)
    assert found.bound == (COMPUTE if found.compute_s >= found.bandwidth_s else BANDWIDTH)


@given(amounts, amounts, machines())
def test_that_a_pass_is_bound_by_compute_above_the_achievable_ridge(
    flops: float, moved: float, machine: Machine
) -> None:
    found = priced(machine, 1, flops, moved)
    above = found.intensity_flops_per_byte / machine.achievable_ridge_flops_per_byte
    if abs(above - 1) > 1e-9:
        assert (found.bound == COMPUTE) == (above > 1)


def test_that_equal_times_count_as_bound_by_compute() -> None:
    machine = Machine("Even", 1, "bf16", 1000.0, 10.0, 0.5, 0.5)
    assert priced(machine, 1, 1000.0, 10.0).bound == COMPUTE
    assert priced(machine, 1, 999.0, 10.0).bound == BANDWIDTH


def test_that_each_efficiency_slows_its_own_side_only() -> None:
    slow_compute, slow_memory = h100(compute_efficiency=0.11), h100(bandwidth_efficiency=0.15)
    assert slow_compute.compute_s(1e12) == pytest.approx(5 * h100().compute_s(1e12))
    assert slow_compute.bandwidth_s(1e9) == h100().bandwidth_s(1e9)
    assert slow_memory.bandwidth_s(1e9) == pytest.approx(5 * h100().bandwidth_s(1e9))
    assert slow_memory.compute_s(1e12) == h100().compute_s(1e12)


def test_that_the_ridge_of_an_h100_is_295_flops_per_byte() -> None:
    assert round(h100().ridge_flops_per_byte) == 295
    assert h100().achievable_ridge_flops_per_byte == pytest.approx(989 / 3.35 * 0.55 / 0.75)


@given(amounts, amounts, machines(), st.integers(1, 64))
def test_that_n_accelerators_are_n_times_as_fast_and_bound_alike(
    flops: float, moved: float, one: Machine, n: int
) -> None:
    chip = Accelerator("x", "X", 10**9, one.bandwidth_bytes_per_s, {"bf16": one.peak_flops_per_s})
    alone = Machine.of(chip, 1, "bf16", one.compute_efficiency, one.bandwidth_efficiency)
    many = Machine.of(chip, n, "bf16", one.compute_efficiency, one.bandwidth_efficiency)
    assert msgspec.structs.replace(alone, name="Random") == one
    a, b = priced(alone, 1, flops, moved), priced(many, 1, flops, moved)
    assert b.time_s == pytest.approx(a.time_s / n, rel=1e-14)
    assert b.compute_utilisation == pytest.approx(a.compute_utilisation, rel=1e-12)
    assert many.ridge_flops_per_byte == pytest.approx(alone.ridge_flops_per_byte, rel=1e-14)
    if abs(a.compute_s / a.bandwidth_s - 1) > 1e-12:
        assert a.bound == b.bound


def test_that_a_machine_takes_the_peak_of_its_math_format() -> None:
    chip = Accelerator("x", "X", 10**9, 1e12, {"bf16": 1e14, "fp8": 2e14})
    assert Machine.of(chip, 2, "fp8", 0.5, 0.5).peak_flops_per_s == 4e14
    assert Machine.of(chip, 2, "bf16", 0.5, 0.5).bandwidth_bytes_per_s == 2e12
