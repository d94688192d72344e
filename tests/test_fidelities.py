"""A further cost model is one object: here one with a link, fixed overhead and bands is added for a test."""

from __future__ import annotations

import math

import pytest
from scene_world import measure

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE, LINK, OVERHEAD, Bound
from pdviz.costmodel.fidelities import FIDELITIES
from pdviz.costmodel.fidelities.textbook import Textbook
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.terms import Role, Slices, Term, Terms, Tokens, new_tokens
from pdviz.errors import InputError
from pdviz.evaluation import Result, evaluate
from pdviz.explain import KEYS, explain
from pdviz.report import estimate_json, estimate_text
from pdviz.scenario import Scenario, edit
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, LIGHT, contrast
from pdviz.scene.request.figures import headline_figures
from pdviz.scene.request.hover import hover
from pdviz.scene.request.meters import lay_out_meters
from pdviz.scene.roofline.curves import build_roofline
from pdviz.scene.roofline.words import describe_roofline

LINK_BYTES_PER_S = 2e9
LAUNCH_S = 40e-6


class Toy(Textbook):
    """GEMMs that are slow on few rows, an exchange after each layer, a launch for each, and a band."""

    name = "toy"
    title = "Toy"
    is_affine = False

    def terms(self, model: ModelCost, slices: Slices) -> Terms:
        width, layers = model.architecture.hidden, model.architecture.layers
        exchanged = Term(
            Role.COMMUNICATION, bytes_each=0.0, seconds=2.0 * width * new_tokens(slices) / LINK_BYTES_PER_S
        )
        return (*super().terms(model, slices), exchanged, Term(Role.LAUNCH, seconds=LAUNCH_S * layers))

    def times(self, machine: Machine, terms: Terms, flops: Tokens, moved: Tokens) -> tuple:
        rows = next(t.flops_count for t in terms if t.role is Role.DENSE)
        waits = {t.role: t.seconds for t in terms if t.role in (Role.COMMUNICATION, Role.LAUNCH)}
        return (
            (COMPUTE, machine.compute_s(flops) * ((rows + 64) / rows)),
            (BANDWIDTH, machine.bandwidth_s(moved)),
            (LINK, waits.get(Role.COMMUNICATION, 0.0)),
            (OVERHEAD, waits.get(Role.LAUNCH, 0.0)),
        )

    def band_s(self, terms: Terms, time_s: float) -> tuple[float, float]:
        return 0.9 * time_s, 1.2 * time_s


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    one = Toy()
    monkeypatch.setitem(FIDELITIES, one.name, one)
    return one


def result_of(**values: object) -> Result:
    return evaluate(edit(Scenario(), fidelity="toy", **values))


LIMITED_BY: dict[Bound, dict[str, object]] = {
    COMPUTE: {"prompt_tokens": 4000},
    BANDWIDTH: {"model": "Llama 3.1 70B", "prompt_tokens": 8},
    OVERHEAD: {"model": "Llama 3.2 1B", "prompt_tokens": 8, "accelerators": 8},
    LINK: {"model": "Llama 3.2 1B", "prompt_tokens": 4096, "accelerators": 64},
}


@pytest.mark.parametrize("bound", LIMITED_BY)
def test_that_another_fidelity_is_named_with_its_bound_everywhere(toy: Toy, bound: Bound) -> None:
    result = result_of(**LIMITED_BY[bound])
    assert result.prefill.bound is bound
    found = estimate_json(result)
    assert found["fidelity"] == "toy"
    assert found["prefill"]["bound"] == bound.value
    assert found["prefill"]["low_s"] == pytest.approx(0.9 * result.ttft_s)
    assert found["prefill"]["link_s"] >= 0
    assert f"limited by {bound.words}" in estimate_text(result)
    assert headline_figures(result)[0].bound == bound.value
    assert ("limited by", bound.words) in hover(result, 0).rows
    meters = lay_out_meters(Box(0, 0, 300, 400), result.prefill, result.machine, 0, 1.0, measure)
    said = [text for text in meters.texts if text.role == f"{bound.value}_text"]
    assert any("limit" in text.text for text in said)
    roofline = build_roofline(result, 0.0)
    assert roofline.prefill.cost.bound is bound
    assert f"{bound.value}-bound" in describe_roofline(roofline)


@pytest.mark.parametrize("values", LIMITED_BY.values())
def test_that_another_fidelity_explains_itself(toy: Toy, values: dict[str, object]) -> None:
    result = result_of(**values)
    for key in KEYS:
        for working in explain(result, key).workings:
            given = {term.name: term.value for term in working.terms}
            made = eval(working.expression, {"max": max, "min": min, "floor": math.floor}, given)
            assert made == pytest.approx(working.value, rel=1e-9), (key, working.line)
    said = explain(result, "prefill.time")
    assert "launches and host work" in " ".join((*said.symbols, *said.steps))


def test_that_a_curved_train_stays_near_the_sum_of_its_steps(toy: Toy) -> None:
    request = result_of(model="Llama 3.1 8B", others=63, output_tokens=500).request
    steps = [request.pass_cost(k).time_s for k in range(1, request.passes)]
    assert request.train.total_s == pytest.approx(math.fsum(steps), rel=1e-4)
    low_s, high_s = request.train.total_band_s
    assert (low_s, high_s) == pytest.approx((0.9 * math.fsum(steps), 1.2 * math.fsum(steps)), rel=1e-4)


def test_that_every_bound_has_its_colours_on_every_theme() -> None:
    for theme in (DARK, LIGHT):
        assert len({theme.bound(bound) for bound in Bound}) == len(Bound)
        for bound in Bound:
            assert contrast(theme.bound_text(bound), theme.surface) >= 4.5
            assert contrast(theme.on_bound(bound), theme.bound(bound)) >= 4.5


def test_that_a_fidelity_that_is_not_known_is_refused_with_those_that_are(toy: Toy) -> None:
    assert edit(Scenario(), fidelity="toy").fidelity == "toy"
    with pytest.raises(InputError, match="textbook, ideal, toy"):
        edit(Scenario(), fidelity="guessed")


def test_that_the_pieces_of_terms_are_the_whole(toy: Toy) -> None:
    result = result_of()
    weights = sum(t.bytes for t in result.prefill.terms if t.role.is_weights)
    assert weights == result.model.weights_read_bytes(512)


def test_that_bands_are_written_wherever_an_estimate_is(toy: Toy) -> None:
    result = result_of(others=3)
    for figure in headline_figures(result)[:3]:
        assert " to " in figure.value, figure
    assert explain(result, "ttft").value == headline_figures(result)[0].value
    assert explain(result, "tokens_per_s").value == headline_figures(result)[4].value
    assert estimate_json(result)["itl_low_s"] == pytest.approx(0.9 * (result.itl_s or 0))
    assert estimate_text(result).count(" to ") >= 6
    plain = evaluate(Scenario())
    assert "ttft_low_s" not in estimate_json(plain)
    assert " to " not in headline_figures(plain)[0].value
