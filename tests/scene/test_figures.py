"""The headline figures: what they say is what the model computed, and the lesson is in them."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from scene_world import result_of, scenarios

from pdviz.scenario import PRESETS, Scenario
from pdviz.scene.marks import figures as names
from pdviz.scene.marks.figures import Figure, scenario_words
from pdviz.scene.request.figures import headline_figures
from pdviz.units import duration, percent

TITLES = (
    "Time to first token",
    "Inter-token latency",
    "End to end",
    "Time spent decoding",
    "Streaming speed",
)


def figures(**values: object) -> dict[str, Figure]:
    found = headline_figures(result_of(Scenario(**values)))
    return {figure.title: figure for figure in found}


# --- the lesson ----------------------------------------------------------------------------------


def test_that_a_prompt_of_128_tokens_turns_prefill_from_compute_bound_to_bandwidth_bound() -> None:
    long, short = figures()["Time to first token"], figures(prompt_tokens=128)["Time to first token"]
    assert (long.detail, long.bound) == ("compute-bound prefill", "compute")
    assert (short.detail, short.bound) == ("bandwidth-bound prefill", "bandwidth")


def test_that_decode_is_bandwidth_bound_whatever_the_prompt_is() -> None:
    for prompt in (1, 128, 512, 32_768):
        decode = figures(prompt_tokens=prompt)["Inter-token latency"]
        assert (decode.detail, decode.bound) == ("bandwidth-bound decode", "bandwidth")


def test_that_63_others_make_itl_29_percent_longer_and_speed_in_total_50_times_higher() -> None:
    alone, busy = result_of(Scenario()), result_of(Scenario(others=63))
    assert alone.itl_s is not None
    assert busy.itl_s is not None
    assert busy.itl_s / alone.itl_s == pytest.approx(1.29, abs=0.01)
    assert figures(others=63)["Inter-token latency"].value == "8.32 ms"
    assert figures()["Inter-token latency"].value == "6.42 ms"
    assert figures()["Streaming speed"].detail.endswith("over 1 stream")
    assert figures(others=63)["Streaming speed"].detail == "7,697 tok/s over 64 streams"
    assert figures()["Streaming speed"].value == "156 tok/s"


def test_that_nearly_all_of_a_chat_is_decoding() -> None:
    assert figures()["Time spent decoding"].value == "98.2 %"


# --- what they say is what was computed ----------------------------------------------------------


@given(scenarios())
def test_that_the_figures_are_those_of_the_result(scenario: Scenario) -> None:
    result = result_of(scenario)
    found = headline_figures(result)
    assert tuple(figure.title for figure in found) == TITLES
    ttft, itl, e2e, share, speed = found
    assert ttft.value == duration(result.ttft_s)
    assert ttft.bound == result.prefill.bound
    assert ttft.bound in ttft.detail
    assert e2e.value == duration(result.e2e_s)
    if result.itl_s is None:
        assert itl.value == speed.value == "–"
        assert itl.bound is None
        assert "one token" in itl.detail
        assert share.value == "0 %"
        return
    assert itl.value == duration(result.itl_s)
    assert share.value == percent(result.decode_share)
    assert f"{result.request.train.steps:,} × ITL" in e2e.detail
    assert result.decode is not None
    assert result.decode_last is not None
    assert result.decode.bound in itl.detail
    if result.decode.bound == result.decode_last.bound:
        assert itl.bound == result.decode.bound
    else:
        assert itl.bound is None  # coloured by neither, both are named
        assert result.decode_last.bound in itl.detail


@given(scenarios())
def test_that_a_figure_is_coloured_only_by_a_bound_that_it_names(scenario: Scenario) -> None:
    for figure in headline_figures(result_of(scenario)):
        assert figure.value
        assert figure.detail
        if figure.bound is not None:
            assert figure.bound in figure.detail
            assert figure.bound in ("compute", "bandwidth")
        assert figure.spoken == f"{figure.title}: {figure.value}, {figure.detail}"


def test_that_a_bound_that_changes_on_the_way_is_said_so() -> None:
    scenario = Scenario(
        model="GPT-2 124M", accelerator="H100 SXM", others=2_000, prompt_tokens=1, output_tokens=1_000
    )
    result = result_of(scenario)
    assert result.decode is not None
    assert result.decode_last is not None
    assert result.decode.bound != result.decode_last.bound
    itl = headline_figures(result)[1]
    assert itl.bound is None
    assert itl.detail == f"{result.decode.bound}-bound, later {result.decode_last.bound}-bound"


# --- the scenario in words -----------------------------------------------------------------------


@given(scenarios())
def test_that_the_scenario_in_words_holds_everything_that_was_asked_for(scenario: Scenario) -> None:
    words = scenario_words(scenario)
    assert "\n" not in words
    for part in (
        scenario.model,
        f"{scenario.accelerators} × {scenario.accelerator}",
        f"{scenario.prompt_tokens:,}",
    ):
        assert part in words
    assert f"{scenario.output_tokens:,} token" in words
    assert (f"{scenario.cached_tokens:,} cached" in words) == bool(scenario.cached_tokens)
    assert ("others alongside" in words) == bool(scenario.others)


def test_that_formats_are_named_once_where_they_are_the_same() -> None:
    assert "Llama 3.1 8B BF16 ·" in scenario_words(Scenario())
    assert "FP8 weights, BF16 KV" in scenario_words(Scenario(weights_dtype="fp8"))


def test_that_each_preset_reads_differently() -> None:
    assert len({scenario_words(preset.apply(Scenario())) for preset in PRESETS}) == len(PRESETS)


def test_that_the_examples_of_a_workload_in_few_words_are_true() -> None:
    found = doctest.testmod(names)
    assert found.attempted >= 2
    assert found.failed == 0
