"""Traces that people have, where they are at hand: what is read, and what a server makes of one."""

import json
from pathlib import Path

import numpy as np
import pytest

from pdviz import Scenario, evaluate
from pdviz.errors import InputError
from pdviz.serving.costs import PassCosts
from pdviz.serving.measures import summary
from pdviz.serving.outcome import Outcome
from pdviz.serving.policies import Knobs
from pdviz.serving.server import simulate
from pdviz.serving.traces import read_trace

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
TRACES = SAMPLES / "traces"

if TRACES.exists():

    def test_that_the_same_trace_in_two_forms_is_the_same():
        azure = read_trace(TRACES / "AzureLLMInferenceTrace_conv.csv")
        vidur = read_trace(TRACES / "vidur_splitwise_conv.csv")
        assert len(azure) == 19_366
        np.testing.assert_allclose(azure.arrival_s, vidur.arrival_s, atol=1e-6)
        assert azure.prompt_tokens.tolist() == vidur.prompt_tokens.tolist()
        assert azure.output_tokens.tolist() == vidur.output_tokens.tolist()

    @pytest.mark.parametrize(
        ("name", "requests", "prompt_tokens", "cached_tokens"),
        [
            ("mooncake_conversation.jsonl", 12_031, 144_793_823, 54_098_293),
            ("servegen_deepseek-r1_600s_10rps.csv", 5_992, 7_048_251, 0),
            ("sharegpt_300_10rps.jsonl", 300, 257_239, 0),
        ],
    )
    def test_that_published_traces_are_read_whole(name, requests, prompt_tokens, cached_tokens):
        made = read_trace(TRACES / name)
        assert (len(made), int(made.prompt_tokens.sum())) == (requests, prompt_tokens)
        assert int(made.cached_tokens.sum()) == cached_tokens
        assert not made.rejected

    def test_that_a_run_that_was_logged_is_its_own_workload():
        log = SAMPLES / "results" / "vllm_requests_RTX4090_Llama-3.1-8B" / "requests.jsonl"
        first = json.loads(log.read_text(encoding="utf-8").splitlines()[0])
        made, asked = read_trace(log), read_trace(TRACES / "sharegpt_300_10rps.jsonl")
        assert made.ids is not None
        assert made.ids[0] == first["request_id"]
        assert made.prompt_tokens.tolist() == asked.prompt_tokens.tolist()
        np.testing.assert_allclose(made.arrival_s, asked.arrival_s - asked.arrival_s[0], atol=0.05)

    def test_that_a_server_short_of_kv_runs_as_few_as_the_logged_one_did():
        """49 of 256 seats at most; the textbook's times are up to 1.4 times those of the log."""
        log = SAMPLES / "results" / "vllm_requests_RTX4090_Llama-3.1-8B" / "timeseries.csv"
        rows = [line.split(",") for line in log.read_text(encoding="utf-8").splitlines()[1:]]
        result = evaluate(Scenario(model="Llama-3.1-8B", accelerator="RTX 4090"))
        knobs = Knobs("chunked", capacity_tokens=41_408, token_budget=2048)
        costs = PassCosts(result.model, result.machine)
        got = Outcome(simulate(read_trace(TRACES / "sharegpt_300_10rps.jsonl"), knobs, costs))
        running = int(got.engines[0].decoders.max())
        assert running == pytest.approx(max(int(row[3]) for row in rows), rel=0.15)
        assert 1 < summary(got).makespan_s / float(rows[-1][0]) < 1.4
        assert 1 < float(np.median(got.ttft_s)) / 60.1 < 1.4
        assert 1 < float(np.median((got.last_token_s - got.first_token_s) / (got.outputs - 1))) / 0.0308 < 1.4

    @pytest.mark.parametrize("path", sorted((SAMPLES / "profiles").glob("*")), ids=lambda path: path.name)
    def test_that_a_profile_is_no_trace_of_requests(path):
        with pytest.raises(InputError):
            read_trace(path)
