"""What a workload's text means, and how a scenario's server is run."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdviz.errors import InputError
from pdviz.evaluation import Result, evaluate
from pdviz.scenario import Scenario, edit
from pdviz.serving.outcome import Outcome
from pdviz.serving.plan import (
    MOST_PLACED,
    Asked,
    Placed,
    asked_of,
    capacity_of,
    knobs_of,
    policies_of,
    serve,
    workload_of,
)
from pdviz.serving.presets import PRESETS


def result_of(**values: object) -> Result:
    return evaluate(edit(Scenario(), **values))


placed = st.builds(
    Placed,
    st.integers(0, 10**6).map(lambda n: n / 1000),
    st.integers(2, 10**6),
    st.integers(1, 10**5),
    st.integers(0, 1),
)


@given(st.sampled_from(["", "chat", "two words.csv"]), st.lists(placed, max_size=20))
def test_that_a_workload_s_text_gives_its_parts_back(base: str, requests: list[Placed]) -> None:
    asked = Asked(base, tuple(requests))
    again = asked_of(asked.text)
    assert again.base == base
    assert again.text == asked.text
    assert [p.prompt_tokens for p in again.placed] == [p.prompt_tokens for p in requests]
    assert [p.arrival_s for p in again.placed] == pytest.approx([p.arrival_s for p in requests], rel=1e-5)


@pytest.mark.parametrize("name", [*PRESETS, *(preset.title for preset in PRESETS.values())])
def test_that_a_preset_goes_by_its_key_and_its_title(name: str) -> None:
    assert len(workload_of(name)) > 1
    assert workload_of(name) is workload_of(name)


def test_that_requests_placed_by_hand_join_a_preset_in_order_of_arrival() -> None:
    alone, more = workload_of("long-prompt"), workload_of("long-prompt 0.12:700>9 0.3:900/100>5")
    assert len(more) == len(alone) + 2
    assert np.all(np.diff(more.arrival_s) >= 0)
    assert 700 in more.prompt_tokens.tolist()
    assert more.cached_tokens.sum() == 100
    assert "2 placed by hand" in more.description


def test_that_a_file_is_read_once_until_it_changes(tmp_path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0,512,100\n1,600,50\n")
    first = workload_of(str(path))
    assert workload_of(str(path)) is first
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0,512,100\n1,600,50\n2,9,9\n")
    assert len(workload_of(str(path))) == 3
    assert len(workload_of(f"{path} 5:16384>20")) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "is no preset"),
        ("", "it is empty"),
        ("missing.csv", "cannot be read: No such file"),
        ("long-prompt 1:2", "no preset"),
        ("long-prompt 1:2>", "is no request"),
        ("long-prompt 1:512>5 later", '"later" is no request'),
        ("1.2.3:512>5", "has no time of arrival"),
        (" ".join(["1:2>3"] * (MOST_PLACED + 1)), "at most 200"),
        ("1:0>5", "a prompt of 0 tokens"),
    ],
)
def test_that_a_workload_that_cannot_be_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        workload_of(text)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_that_the_capacity_is_what_memory_leaves_or_what_is_asked() -> None:
    result = result_of()
    room = result.memory.room_bytes / result.model.kv_bytes_per_token
    assert capacity_of(result) == int(room)
    assert capacity_of(result_of(capacity_tokens=4000)) == 4000
    assert capacity_of(result_of(model="Mamba 2.8B")) is None
    with pytest.raises(InputError, match="leaves no room for a KV cache on 1 × H100"):
        capacity_of(result_of(model="Llama 3.1 405B"))


def test_that_every_knob_of_the_scenario_reaches_the_server() -> None:
    knobs = knobs_of(result_of(token_budget=64, max_seqs=7, replicas=3, link_latency_s="5 ms"), "chunked")
    assert (knobs.policy, knobs.token_budget, knobs.max_seqs, knobs.replicas) == ("chunked", 64, 7, 3)
    assert knobs.link_latency_s == 0.005
    names = set(msgspec.structs.asdict(knobs)) - {"policy", "capacity_tokens"}
    assert names <= set(Scenario.__struct_fields__)


def test_that_one_policy_or_two_are_run() -> None:
    assert policies_of(result_of()) == ("continuous", "chunked")
    assert policies_of(result_of(against="none")) == ("continuous",)
    assert policies_of(result_of(against="continuous")) == ("continuous",)


def test_that_the_lesson_s_server_freezes_six_streams_for_651_ms() -> None:
    continuous, chunked = (Outcome(run) for run in serve(result_of()))
    assert continuous.gaps.longest_s == pytest.approx(0.651078, abs=1e-6)
    assert chunked.gaps.longest_s == pytest.approx(0.022894, abs=1e-6)


def test_that_requests_beyond_the_model_s_context_are_listed() -> None:
    (run,) = serve(result_of(model="Llama 2 7B", against="none"))
    assert [one.reason for one in run.workload.rejected] == [
        "longer than the context of Llama 2 7B, 4,096 tokens"
    ]
    assert len(run.workload) == 8
    with pytest.raises(InputError, match="every request is longer than the context"):
        serve(result_of(model="Llama 2 7B", workload="0:5000>5", against="none"))


def test_that_progress_goes_from_nothing_to_all_over_both_runs() -> None:
    heard: list[float] = []
    serve(result_of(workload="chat"), heard.append)
    assert heard == sorted(heard)
    assert heard[0] >= 0
    assert heard[-1] <= 1
