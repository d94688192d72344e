"""Words and tables from a result."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz import listings, report
from pdviz.catalogue import Catalogue, ModelEntry, default_catalogue
from pdviz.costmodel.accelerator import Accelerator, Rejected
from pdviz.errors import InputError
from pdviz.evaluation import Result, evaluate
from pdviz.scenario import Scenario, edit, from_keys

PASS_KEYS = {
    "time_s",
    "flops",
    "bytes",
    "bound",
    "compute_utilisation",
    "bandwidth_utilisation",
    "intensity_flops_per_byte",
}
KEYS = {
    *("scenario", "fidelity", "ttft_s", "itl_s", "e2e_s", "decode_share", "tokens_per_s_stream"),
    *("tokens_per_s_total", "ridge_flops_per_byte", "crossover_prompt_tokens", "half_speed_context_tokens"),
    *("prefill", "decode", "decode_last", "memory", "model", "warnings", "notes"),
}


def result_of(**values: object) -> Result:
    return evaluate(edit(Scenario(), **values))


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def models_of(catalogue: Catalogue, search: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = listings.models_json(catalogue, search)["models"]
    return found


# --- estimate --------------------------------------------------------------------------------------


def test_that_the_json_has_exactly_the_documented_keys() -> None:
    found = report.estimate_json(result_of())
    assert set(found) == KEYS
    assert set(found["prefill"]) == set(found["decode"]) == set(found["decode_last"]) == PASS_KEYS
    each = {"weights_bytes", "kv_bytes", "capacity_bytes", "reserve_bytes", "free_bytes"}
    more = {"free_tokens", "free_sequences", "largest_batch", "fewest_accelerators", "per_accelerator"}
    assert set(found["memory"]) == each | more | {"fits"}
    assert set(found["memory"]["per_accelerator"]) == each
    assert set(found["model"]) == {"name", "parameters", "active_parameters", "kv_bytes_per_token"}


def test_that_the_scenario_in_the_json_gives_the_same_result_again() -> None:
    result = result_of(model="qwen3-8b", prompt_tokens="32K", cached_tokens="4K", others=7, fidelity="ideal")
    found = report.estimate_json(result)
    assert report.estimate_json(evaluate(from_keys(found["scenario"], "json"))) == found


def test_that_one_token_has_no_decode_figures() -> None:
    found = report.estimate_json(result_of(output_tokens=1))
    for key in ("itl_s", "decode", "decode_last", "tokens_per_s_stream", "tokens_per_s_total"):
        assert found[key] is None
    assert found["e2e_s"] == found["ttft_s"]
    assert found["decode_share"] == 0


def test_that_two_tokens_have_one_decode_step() -> None:
    found = report.estimate_json(result_of(output_tokens=2))
    assert found["decode"] == found["decode_last"]
    assert found["itl_s"] == found["decode"]["time_s"]


def test_that_figures_of_the_json_agree_with_each_other() -> None:
    found = report.estimate_json(result_of(others=63, output_tokens=100, accelerators=2))
    assert found["e2e_s"] == pytest.approx(found["ttft_s"] + 99 * found["itl_s"])
    assert found["tokens_per_s_total"] == pytest.approx(64 / found["itl_s"])
    assert found["decode"]["time_s"] < found["itl_s"] < found["decode_last"]["time_s"]
    memory = found["memory"]
    used = memory["weights_bytes"] + memory["kv_bytes"] + memory["reserve_bytes"]
    assert memory["free_bytes"] == pytest.approx(memory["capacity_bytes"] - used)
    for one in (found["prefill"], found["decode"], found["decode_last"]):
        assert one["intensity_flops_per_byte"] == pytest.approx(one["flops"] / one["bytes"])


@settings(max_examples=60, deadline=None)
@given(
    model=st.sampled_from([model.name for model in default_catalogue().models]),
    accelerator=st.sampled_from(["H100 SXM", "L4", "MI300X", "M2 Ultra"]),
    prompt_tokens=st.integers(1, 2**24),
    output_tokens=st.integers(1, 2**24),
    others=st.integers(0, 65_535),
    fidelity=st.sampled_from(["textbook", "ideal"]),
)
def test_that_every_answer_is_finite_plain_json_and_readable(**values: object) -> None:
    result = result_of(**values)
    found = report.estimate_json(result)
    assert all(math.isfinite(number) for number in numbers(found))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert msgspec.json.decode(msgspec.json.encode(found)) == found
    text = report.estimate_text(result)
    assert text.endswith("\n")
    assert all(line == line.rstrip() and len(line) <= 120 for line in text.splitlines())
    assert not any(word in text for word in ("nan", "inf ", "None", "e+"))


def test_that_the_text_says_what_matters() -> None:
    text = report.estimate_text(result_of())
    assert text.startswith("Llama 3.1 8B on H100 SXM\n")
    for words in (
        "512 prompt tokens, 128 output tokens",
        "BF16 weights, BF16 KV cache",
        "Textbook estimate, not a measurement",
        "55.0 % of peak compute",
        "75.0 % of memory bandwidth",
        "15.2 ms   limited by compute",
        "6.42 ms   limited by memory bandwidth",
        "98.2 % of it decoding",
        "295 FLOPs per byte",
        "216 prompt tokens",
        "122,532 tokens of context",
        "fits, 60.8 GB free",
    ):
        assert words in text
    assert "WARNING" not in text


def test_that_table_columns_are_aligned() -> None:
    lines = report.estimate_text(result_of()).splitlines()
    start = next(number for number, line in enumerate(lines) if line.endswith("Last decode"))
    table = lines[start : start + 9]
    assert len({len(line) for line in table}) == 1


def test_that_warnings_come_first() -> None:
    text = report.estimate_text(result_of(model="Llama 3.1 70B"))
    assert text.startswith("WARNING  Does not fit: the weights take 141 GB")
    assert "does not fit, " in text


def test_that_a_number_and_its_unit_stay_on_one_line() -> None:
    for prompt in range(1, 40):
        text = report.estimate_text(result_of(model="Llama 3.1 405B", prompt_tokens=prompt * 50_000))
        for line in text.splitlines():
            assert not line.lstrip().startswith(("% ", "GB ", "TB ", "ms "))


def test_that_ideal_names_no_assumed_efficiency() -> None:
    text = report.estimate_text(result_of(fidelity="ideal"))
    assert "speed of light" in text
    assert "assume" not in text


def test_that_the_text_tells_of_one_token_that_nothing_is_decoded() -> None:
    text = report.estimate_text(result_of(output_tokens=1))
    assert "nothing is decoded" in text
    assert "decode\n" not in text


def test_that_streams_are_told_apart_from_their_total() -> None:
    text = report.estimate_text(result_of(others=63))
    assert "of one stream; 7,697 of all 64 together" in text


def test_that_a_bound_that_changes_on_the_way_is_said() -> None:
    result = result_of(prompt_tokens=100, output_tokens=2000, others=1000)
    assert "limited by compute, in the end by memory bandwidth" in report.estimate_text(result)


def test_that_formats_name_the_multiplication_where_it_differs() -> None:
    text = report.estimate_text(result_of(weights_dtype="int4", kv_dtype="fp8"))
    assert "INT4 weights multiplied in BF16, FP8 KV cache" in text


# --- short texts -----------------------------------------------------------------------------------


def test_that_the_title_counts_accelerators() -> None:
    assert report.title(result_of()) == "Llama 3.1 8B on H100 SXM"
    assert report.title(result_of(accelerators=8, accelerator="h200")) == "Llama 3.1 8B on 8 × H200"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "512 prompt tokens, 128 output tokens"),
        ({"prompt_tokens": 1, "output_tokens": 1}, "1 prompt token, 1 output token"),
        ({"cached_tokens": 256}, "512 prompt tokens (256 cached), 128 output tokens"),
        ({"others": 1}, "512 prompt tokens, 128 output tokens, 1 other alongside"),
        (
            {"others": 63, "others_context_tokens": "4K"},
            "512 prompt tokens, 128 output tokens, 63 others alongside at 4,096 tokens each",
        ),
    ],
)
def test_that_the_request_is_put_in_words(values: dict[str, object], text: str) -> None:
    assert report.request_text(edit(Scenario(), **values)) == text


def test_that_the_crossover_is_put_in_words() -> None:
    assert report.crossover_text(result_of()).startswith("216 prompt tokens; ")
    cached = report.crossover_text(result_of(prompt_tokens="16K", cached_tokens="15K"))
    assert cached.endswith("the weights and 15,360 cached tokens")
    result = result_of()
    never = msgspec.structs.replace(result, crossover_prompt_tokens=None)
    always = msgspec.structs.replace(result, crossover_prompt_tokens=1)
    assert "limited by memory bandwidth" in report.crossover_text(never)
    assert "limited by compute at any length" in report.crossover_text(always)


def test_that_the_half_speed_context_is_put_in_words() -> None:
    assert report.half_speed_text(result_of()).startswith("122,532 tokens of context;")
    assert "of each sequence" in report.half_speed_text(result_of(others=3))
    assert "the model was made for 131,072" in report.half_speed_text(result_of(model="Llama 3.1 70B"))
    assert "does not grow" in report.half_speed_text(result_of(model="Mamba 2.8B"))


def test_that_memory_is_put_in_words() -> None:
    assert report.memory_text(result_of()) == "fits, 60.8 GB free"
    assert report.memory_text(result_of(model="Llama 3.1 70B")).startswith("does not fit, 64.")


# --- catalogue -------------------------------------------------------------------------------------


CHIP = Accelerator(
    id="toy",
    name="Toy 9000",
    memory_bytes=2**34,
    memory_bandwidth_bytes_per_s=1e12,
    peak_flops_per_s={"fp32": 1e13},
    aliases=("toy nine",),
    vendor="Toys",
    sources=("the box",),
    rejected=(Rejected("memory 1 TB", "a rumour", "impossible"),),
    notes=("Only a toy.",),
)


def test_that_every_model_has_a_line() -> None:
    catalogue = default_catalogue()
    lines = listings.models_table(catalogue).splitlines()
    assert [line.partition("   ")[0] for line in lines[1:]] == [model.name for model in catalogue.models]
    assert any(line.startswith("Llama 3.1 8B ") and "8.03 B" in line and "128 KiB" in line for line in lines)


def test_that_every_accelerator_has_a_line() -> None:
    catalogue = default_catalogue()
    lines = listings.accelerators_table(catalogue).splitlines()
    assert [line.partition("   ")[0] for line in lines[1:]] == [chip.name for chip in catalogue.accelerators]
    assert any(line.startswith("H100 SXM ") and "3.35 TB/s" in line and " 295 " in line for line in lines)


@pytest.mark.parametrize(
    ("search", "name"),
    [
        ("llama 3.1 8b", "Llama 3.1 8B"),
        ("meta-llama/Llama-3.1-8B", "Llama 3.1 8B"),
        ("LLAMA 405b", "Llama 3.1 405B"),
        ("mixtral", "Mixtral 8x7B"),
    ],
)
def test_that_a_search_finds_models_by_words_of_their_names(search: str, name: str) -> None:
    assert name in [model["name"] for model in models_of(default_catalogue(), search)]


def test_that_a_search_finds_accelerators_by_vendor_and_alias() -> None:
    catalogue = default_catalogue()
    found = listings.accelerators_json(catalogue, "amd mi300x")["accelerators"]
    assert [chip["name"] for chip in found] == ["MI300X"]
    assert len(listings.accelerators_json(catalogue, "nvidia")["accelerators"]) > 5


@pytest.mark.parametrize("search", ["no such thing", "???", "llama h100"])
def test_that_a_search_in_vain_is_answered_with_three_names(search: str) -> None:
    for table in (
        listings.models_table,
        listings.models_json,
        listings.accelerators_table,
        listings.accelerators_json,
    ):
        with pytest.raises(InputError, match=r"the nearest names are .+, .+, .+"):
            table(default_catalogue(), search)


def test_that_few_finds_are_listed_with_sources_and_rejected_figures() -> None:
    text = listings.accelerators_table(Catalogue((CHIP,), ()))
    assert "source: the box" in text
    assert "rejected: memory 1 TB, a rumour: impossible" in text
    assert "note: Only a toy." in text
    assert "also found as: toy, toy nine" in text


def test_that_accelerator_json_is_in_si_units_with_sources() -> None:
    (found,) = listings.accelerators_json(Catalogue((CHIP,), ()))["accelerators"]
    assert found["memory_bytes"] == 2**34
    assert found["memory_bandwidth_bytes_per_s"] == 1e12
    assert found["ridge_flops_per_byte"] == {"fp32": 10.0}
    assert found["rejected"] == [{"value": "memory 1 TB", "where": "a rumour", "reason": "impossible"}]
    assert json.loads(json.dumps(found, allow_nan=False))["sources"] == ["the box"]


def test_that_model_json_is_counted_and_sourced() -> None:
    (found,) = models_of(default_catalogue(), "llama-3.1-8b meta-llama")
    assert found["parameters"] == found["active_parameters"] == found["published_parameters"] == 8_030_261_248
    assert found["weights_bytes_bf16"] == 16_060_522_496
    assert found["kv_bytes_per_token_bf16"] == 131_072
    assert found["problem"] is None
    assert found["source"]
    assert "config" not in found


def test_that_a_model_which_cannot_be_read_is_listed_with_the_reason() -> None:
    odd = ModelEntry("odd", "Odd 1B", {"model_type": "no-such-family"}, source="a dream")
    catalogue = Catalogue((), (odd,))
    (found,) = models_of(catalogue)
    assert found["problem"].startswith("config.json: ")
    assert "parameters" not in found
    text = listings.models_table(catalogue)
    assert "Odd 1B" in text
    assert "not usable: " in text
    assert "configuration from: a dream" in text


def test_that_empty_catalogues_make_tables_without_rows() -> None:
    empty = Catalogue((), ())
    assert len(listings.models_table(empty).splitlines()) == 1
    assert listings.accelerators_json(empty) == {"accelerators": []}
