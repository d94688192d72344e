"""The coefficients that the engine takes from a cost model, against the cost model itself."""

import pytest
from costmodel_shapes import architectures, attention_of, h100, ideal, kept_of, textbook
from hypothesis import given
from hypothesis import strategies as st

from pdviz.costmodel.terms import Role, Slice
from pdviz.serving.costs import PassCosts

makes = st.sampled_from([textbook, ideal])


def read(model, slices):
    """Bytes of what sequences keep, as far as they are read."""
    return sum(float(t.bytes) for t in model.terms(slices) if t.role in (Role.KV_READ, Role.STATE))


@given(architectures(), makes, st.integers(1, 20_000))
def test_that_a_sequence_adds_what_the_cost_model_says_at_every_context(architecture, make, context):
    model = make(architecture)
    share = PassCosts(model, h100()).share(context)
    for ahead in (0, 1, 2, 100) if share.until is None else {0, share.until - context}:
        slices = (Slice.decode(context + ahead),)
        assert share.flops + ahead * share.flops_step == pytest.approx(attention_of(model, slices), rel=1e-12)
        assert share.bytes + ahead * share.bytes_step == pytest.approx(read(model, slices), rel=1e-12)


@given(architectures(), makes, st.integers(1, 20_000), st.integers(0, 20_000))
def test_that_a_piece_of_a_prompt_costs_what_the_cost_model_says(architecture, make, new, past):
    model = make(architecture)
    flops, moved = PassCosts(model, h100()).piece(new, past)
    slices = (Slice.prompt(new, past),)
    assert flops == pytest.approx(attention_of(model, slices), rel=1e-9)
    assert moved == pytest.approx(read(model, slices), rel=1e-12)


@given(architectures(), makes, st.integers(1, 5_000), st.integers(1, 300), st.integers(1, 9_000))
def test_that_a_pass_is_the_sum_of_its_coefficients(architecture, make, new, sequences, context):
    model, machine = make(architecture), h100()
    costs = PassCosts(model, machine)
    cost = model.cost(machine, (Slice.prompt(new), Slice.decode(context, sequences)))
    share, (piece_flops, _) = costs.share(context), costs.piece(new, 0)
    flops = costs.token_flops * (new + sequences) + costs.sample_flops * (1 + sequences)
    flops += piece_flops + sequences * share.flops
    moved = costs.fixed_bytes(new + sequences) + sequences * share.bytes
    assert flops * costs.s_per_flop == pytest.approx(cost.compute_s, rel=1e-9)
    assert moved * costs.s_per_byte == pytest.approx(cost.bandwidth_s, rel=1e-9)
    assert kept_of(model, (Slice.decode(context),)) >= share.bytes
