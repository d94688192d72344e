"""What published calculators got wrong about a model, its precision or its memory, each with the right value.

The cases are bug reports and wrong numbers collected from estimators, simulators and serving tools.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf_files as gguf
import pytest

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.architecture import Architecture
from pdviz.costmodel.dtypes import PUBLISHED, math_dtype
from pdviz.costmodel.gguf import gguf_architecture
from pdviz.costmodel.gguf_header import parse_header
from pdviz.costmodel.hf_config import read_config
from pdviz.costmodel.passes import IDEAL, ModelCost, Slice, attention_pairs, distinct_experts
from pdviz.errors import InputError
from pdviz.evaluation import Result, evaluate
from pdviz.scenario import Scenario

CATALOGUE = default_catalogue()
MODELS = Path(__file__).parents[2] / "resources" / "catalogue" / "models.json"


def model(name: str, **changes: Any) -> Architecture:
    """A model of the catalogue, some fields of its configuration changed; None takes one away."""
    config = {**CATALOGUE.model(name).config, **changes}
    return read_config({k: v for k, v in config.items() if v is not None}, name)


def cost(name: str, weights: str = "bf16", **changes: Any) -> ModelCost:
    return ModelCost(model(name), weights, "bf16", **changes)


def asked(**fields: Any) -> Result:
    return evaluate(Scenario(**fields), CATALOGUE)


def kv(name: str) -> float:
    return cost(name).kv_bytes_per_token


# --- KV cache and head geometry


def test_that_the_cache_holds_kv_heads_not_query_heads() -> None:
    assert kv("Llama 3.1 8B") == 131_072
    assert kv("Llama 2 7B") == 524_288
    everyone = model("Llama 3.1 8B", num_key_value_heads=32)
    assert ModelCost(everyone, "bf16", "bf16").kv_bytes_per_token == 524_288


def test_that_the_cache_is_not_taken_from_the_hidden_size() -> None:
    assert kv("Llama 3.1 70B") == 327_680
    assert kv("Llama 3.1 70B") == 2 * 80 * 8 * 128 * 2 != 2 * 80 * 8192 * 2


def test_that_an_explicit_head_dimension_wins_over_hidden_by_heads() -> None:
    assert kv("Qwen3 4B") == 147_456
    assert kv("Qwen3 4B") != 36 * 2 * 8 * (2560 // 32) * 2 == 92_160


def test_that_a_latent_cache_is_one_latent_and_one_rotary_key_a_layer() -> None:
    assert kv("DeepSeek V3") == 61 * (512 + 64) * 2 == 70_272


def test_that_the_expanded_latent_of_some_engines_is_known_too() -> None:
    expanded = sum(n * a.expanded_elements for n, a in model("DeepSeek V3").attentions())
    assert expanded == 61 * 128 * (192 + 128)
    assert sum(n * a.expanded_elements for n, a in model("Llama 3.1 8B").attentions()) == 131_072 // 2


def test_that_a_latent_is_kept_whole_on_every_tensor_parallel_rank() -> None:
    result = asked(model="DeepSeek V3", accelerator="H200", accelerators=8, weights_dtype="fp8")
    assert result.memory.kv_bytes_each == 639 * 70_272
    assert result.memory.kv_bytes == 8 * 639 * 70_272


@pytest.mark.parametrize(("ranks", "heads_each"), [(1, 8), (2, 4), (3, 3), (8, 1), (16, 1), (64, 1)])
def test_that_kv_heads_repeat_where_ranks_outnumber_them(ranks: int, heads_each: int) -> None:
    result = asked(accelerators=ranks)
    assert result.memory.kv_bytes_each == pytest.approx(639 * 131_072 * heads_each / 8)


def test_that_capacity_in_tokens_is_not_multiplied_by_ranks_that_hold_copies() -> None:
    eight, sixteen = asked(accelerators=8).memory, asked(accelerators=16).memory
    each = sixteen.free_bytes_each / (131_072 / 8)  # one head of eight on each
    assert sixteen.free_tokens == int(each)
    assert eight.free_tokens is not None
    assert sixteen.free_tokens is not None
    assert sixteen.free_tokens < 1.05 * eight.free_tokens


def test_that_layers_that_share_a_cache_are_refused_and_not_counted_apart() -> None:
    config = {**model_config("Gemma 2 2B"), "model_type": "gemma3n_text", "num_kv_shared_layers": 10}
    with pytest.raises(InputError, match="its layers share KV caches"):
        read_config(config, "Gemma 3n")


def model_config(name: str) -> dict[str, Any]:
    return dict(CATALOGUE.model(name).config)


# --- windows, hybrids, linear attention


def test_that_windows_halve_the_cache_of_a_model_that_has_them_in_every_other_layer() -> None:
    found = cost("gpt-oss 120B")
    logical, all_full = found.kv_bytes(65_536), 65_536 * found.kv_bytes_per_token
    assert all_full / logical == pytest.approx(1.996, abs=5e-4)
    result = asked(model="gpt-oss 120B", prompt_tokens=65_536, output_tokens=1)
    assert result.memory.kv_bytes == logical
    assert any(
        "2.42 GB of KV cache; an engine that keeps every token takes 4.83 GB" in n for n in result.notes
    )


def test_that_only_layers_with_attention_grow_a_cache() -> None:
    found = model("Qwen3-Next 80B A3B")
    growing = sum(n for n, a in found.attentions() if a.cache_elements)
    assert (growing, found.layers) == (12, 48)
    assert ModelCost(found, "bf16", "bf16").kv_bytes_per_token == 12 * 2 * 2 * 256 * 2
    assert ModelCost(found, "bf16", "bf16").state_bytes > 0


def test_that_the_cache_stops_growing_at_the_window() -> None:
    found = cost("Mistral 7B v0.1")
    assert found.kv_bytes(32_768) == found.kv_bytes(4096) == 536_870_912
    assert found.kv_bytes(2048) == 536_870_912 / 2


def test_that_a_window_that_is_switched_off_is_no_window() -> None:
    found = model("Qwen2.5 7B", sliding_window=131_072, use_sliding_window=False, max_window_layers=28)
    assert {a.kind for _, a in found.attentions()} == {"full"}
    listed = model(
        "Qwen2.5 7B", layer_types=["full_attention"] * 28, use_sliding_window=True, sliding_window=8
    )
    assert {a.window_tokens for _, a in listed.attentions()} == {None}


def test_that_room_says_how_it_is_counted() -> None:
    memory = asked().memory
    assert memory.free_sequences is not None
    assert memory.free_tokens is not None
    context = memory.other_context_tokens
    assert memory.free_sequences * context <= memory.free_tokens < (memory.free_sequences + 1) * context


# --- reading configurations


@pytest.mark.parametrize("nest", ["text_config", "llm_config", "language_config"])
def test_that_a_nested_language_model_is_found_and_its_tower_is_not_taken(nest: str) -> None:
    tower = {"hidden_size": 1152, "num_hidden_layers": 27, "num_attention_heads": 16, "head_dim": 72}
    wrapped = {"model_type": "llava", nest: model_config("Llama 3.1 8B"), "vision_config": tower}
    found = read_config(wrapped, "Wrapped")
    assert found.runs == model("Llama 3.1 8B").runs
    assert "a vision tower and its projector" in found.left_out


@pytest.mark.parametrize(
    "field", ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"]
)
def test_that_a_missing_size_is_an_error_that_names_it(field: str) -> None:
    with pytest.raises(InputError, match=f"{field} is missing"):
        model("Llama 3.1 8B", **{field: None})


def test_that_embeddings_are_not_always_tied() -> None:
    assert model("Llama 3.1 8B").parameters == 8_030_261_248
    assert model("Llama 3.1 8B", tie_word_embeddings=True).parameters == 8_030_261_248 - 525_336_576
    assert model("Llama 3.2 1B").tied


def test_that_one_answer_holds_weights_cache_reserve_room_and_speed() -> None:
    result = asked()
    memory = result.memory
    total = memory.weights_bytes + memory.kv_bytes + memory.reserve_bytes + memory.free_bytes
    assert total == pytest.approx(memory.capacity_bytes)
    assert (memory.fits, result.fewest_accelerators) == (True, 1)
    assert result.itl_s is not None


# --- weights and quantisation


def test_that_head_and_embedding_stay_at_sixteen_bit() -> None:
    assert 5.6 <= round(cost("Llama 3.1 8B", "int4").stored_weights_bytes / 1e9, 1) <= 5.7
    assert cost("Llama 3.1 8B", "int4").stored_weights_bytes > 1.4 * 8_030_261_248 / 2


def test_that_the_quantisation_counts_before_the_dtype() -> None:
    awq = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
    found = model("Llama 3.1 8B", quantization_config=awq, torch_dtype="float16")
    assert 5.6e9 < ModelCost(found, PUBLISHED, "bf16").stored_weights_bytes < 5.75e9
    assert cost("DeepSeek V3", PUBLISHED).stored_weights_bytes == pytest.approx(673e9, rel=2e-3)


def test_that_four_bit_weights_help_decode_and_not_a_long_prefill() -> None:
    wide, narrow = (asked(prompt_tokens=4000, weights_dtype=w) for w in ("bf16", "int4"))
    assert narrow.ttft_s == wide.ttft_s
    assert narrow.itl_s is not None
    assert wide.itl_s is not None
    assert narrow.itl_s < wide.itl_s / 2


@pytest.mark.parametrize(
    ("weights", "accelerator"), [("int4", "H100 SXM"), ("fp8", "A100 80GB SXM"), ("fp4", "H100 SXM")]
)
def test_that_the_rate_follows_the_multiplication_not_the_bits_of_a_weight(
    weights: str, accelerator: str
) -> None:
    result = asked(weights_dtype=weights, accelerator=accelerator)
    assert result.machine.peak_flops_per_s == result.accelerator.peak_flops_per_s["bf16"]
    assert result.prefill.flops == asked(accelerator=accelerator).prefill.flops
    assert math_dtype("bf16", {"fp16": 65e12, "fp32": 8e12}, "T4") == "fp16"


def test_that_bytes_are_summed_over_tensors_not_guessed_from_a_name() -> None:
    metadata, tensors = gguf.model(model("Llama 3.1 8B"), model_config("Llama 3.1 8B"))
    tensors["output.weight"] = tensors["output.weight"][0], gguf.Q6_K
    made, size = gguf.header({**metadata, "general.name": "Llama 8B Q4_0"}, tensors)
    found = gguf_architecture(parse_header(made, "x.gguf", size), "x", "x.gguf")[1]
    stored = ModelCost(found, PUBLISHED, "bf16").stored_weights_bytes
    assert stored == sum(gguf.size_of(*content) for content in tensors.values())
    assert stored != pytest.approx(8_030_261_248 * 18 / 32, rel=0.01)


# --- experts


def test_that_a_token_meets_its_experts_only() -> None:
    found = model("Mixtral 8x7B")
    assert found.parameters == 46_702_792_704
    assert found.active_parameters == pytest.approx(12.88e9, rel=1e-3)
    flops = cost("Mixtral 8x7B", fidelity=IDEAL)
    assert flops.flops_per_token + flops.flops_per_sample == pytest.approx(25.5e9, rel=2e-3)


@pytest.mark.parametrize(
    ("experts", "active", "tokens", "expected"),
    [
        (8, 2, 1, 2),
        (8, 2, 2, 3.5),
        (8, 2, 3, 4.6),
        (8, 2, 8, 7.2),
        (256, 8, 1, 8),
        (256, 8, 32, 163),
        (256, 8, 64, 222),
    ],
)
def test_that_a_batch_reads_the_distinct_experts_it_hits(
    experts: int, active: int, tokens: int, expected: float
) -> None:
    hit = distinct_experts(experts, active, tokens)
    assert hit == pytest.approx(expected, rel=0.01)
    assert hit <= min(experts, tokens * active)


def test_that_no_pass_reads_faster_than_memory() -> None:
    for others in (0, 31, 255):
        result = asked(
            model="DeepSeek V3", accelerator="H200", accelerators=8, weights_dtype="fp8", others=others
        )
        assert result.decode is not None
        assert result.decode.bandwidth_utilisation <= 0.75 * (1 + 1e-12)
        read = float(result.model.weights_read_bytes(1 + others))
        assert read < result.memory.weights_bytes
        assert result.decode.bytes >= read


def test_that_a_mixture_s_decode_reads_active_and_shared_weights_not_all() -> None:
    found = cost("DeepSeek V3", "fp8")
    assert found.weights_read_bytes(1) < 0.07 * found.stored_weights_bytes
    assert found.weights_read_bytes(1) == pytest.approx(model("DeepSeek V3").active_parameters, rel=0.06)


# --- arithmetic of a model's shapes


def test_that_attention_is_the_causal_half() -> None:
    found = cost("Llama 3 8B", fidelity=IDEAL)
    for tokens, more in ((2048, 0.11), (8192, 0.20), (32_768, 0.43), (131_072, 0.73)):
        slices = (Slice.prompt(tokens),)
        square = 4 * 32 * 32 * 128 * tokens**2
        everywhere = found.flops_per_token * tokens + found.flops_per_sample * tokens + square
        assert everywhere / float(found.flops(slices)) - 1 == pytest.approx(more, abs=0.006)


def test_that_a_chunk_attends_to_what_came_before_it() -> None:
    assert attention_pairs(512, 4096) == 512 * 4096 + 512 * 513 / 2
    assert attention_pairs(512, 0) + attention_pairs(512, 512) == attention_pairs(1024, 0)


def test_that_a_prompt_needs_the_logits_of_its_last_position_only() -> None:
    found = cost("Llama 3 8B", fidelity=IDEAL)
    assert found.flops_per_sample == 2 * 4096 * 128_256 == pytest.approx(1.05e9, rel=1e-3)
    one, two = (float(found.flops((Slice.prompt(n),))) for n in (1024, 1025))
    assert two - one == pytest.approx(found.flops_per_token + 4 * 32 * 32 * 128 * 1025, rel=1e-9)


def test_that_decode_attends_to_its_whole_context() -> None:
    found = cost("Llama 3 8B")
    near, far = (float(found.flops((Slice.decode(c),))) for c in (1000, 3000))
    assert far - near == 4 * 32 * 32 * 128 * 2000


def test_that_a_gated_mlp_has_three_matrices() -> None:
    found = model("Llama 3 8B")
    block = found.runs[0].layer.feed_forward
    assert block is not None
    assert sum(m.weights for m in block.matrices) == 3 * 4096 * 14_336  # type: ignore[union-attr]
    assert found.dense_weights == 6_979_321_856


# --- the accelerator's memory


def test_that_capacity_is_what_the_driver_reports_less_a_stated_reserve() -> None:
    memory = asked().memory
    assert memory.capacity_bytes == 81_559 * 2**20 == 85_520_809_984
    assert memory.reserve_bytes == pytest.approx(0.1 * 85_520_809_984)


def test_that_bandwidth_is_decimal_and_peaks_are_dense() -> None:
    chip = CATALOGUE.accelerator("H100 SXM")
    assert chip.memory_bandwidth_bytes_per_s == 3.35e12
    assert (chip.peak_flops_per_s["bf16"], chip.peak_flops_per_s["fp8"]) == (989e12, 1979e12)
    assert CATALOGUE.accelerator("A100 80GB SXM").peak_flops_per_s["bf16"] == 312e12
    assert CATALOGUE.accelerator("L40S").peak_flops_per_s["fp8"] == 733e12


def test_that_every_model_of_the_catalogue_has_its_own_configuration_and_no_default() -> None:
    for entry in json.loads(MODELS.read_text(encoding="utf-8"))["models"]:
        found = read_config(entry["config"], entry["name"])
        assert found.layers > 0
        assert found.parameters > 10**8
