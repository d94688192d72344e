"""What published calculators got wrong about a model, its precision or its memory, each with the right value.

The cases are bug reports and wrong numbers collected from estimators, simulators and serving tools.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf_files as gguf
import msgspec
import pytest
from costmodel_shapes import attention_of, bytes_of, flops_of, kept_of, per_sample, per_token

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.architecture import Architecture, Experts, Run
from pdviz.costmodel.dtypes import PUBLISHED, WEIGHT_DTYPES, math_dtype
from pdviz.costmodel.fidelities import FLOOR
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.terms import Slice, attention_pairs, distinct_experts
from pdviz.errors import InputError
from pdviz.evaluation import Result, evaluate
from pdviz.model_fields import model_fields
from pdviz.readers.gguf.header import parse_header
from pdviz.readers.gguf.reader import gguf_architecture
from pdviz.readers.hf.config import read_config
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


def test_that_a_decode_step_reads_the_cache_of_its_kv_heads_and_no_more() -> None:
    found = cost("Llama 3.1 8B")
    step = (Slice.decode(2048),)
    assert float(kept_of(found, step)) == 2048 * 2 * 32 * 8 * 128 * 2
    assert float(bytes_of(found, step)) == 2 * 8_030_261_248 + 2048 * 131_072


def test_that_a_cache_of_8192_tokens_takes_a_gigabyte() -> None:
    assert cost("Llama 3 8B").kv_bytes(8192) == 8192 * 131_072 == pytest.approx(1.07e9, rel=4e-3)


@pytest.mark.parametrize(("kv_dtype", "bytes_per_element"), [("fp8", 1), ("int8", 1), ("int4", 0.5)])
def test_that_a_narrow_cache_is_narrow_whatever_the_weights_are(
    kv_dtype: str, bytes_per_element: float
) -> None:
    for weights in ("bf16", "int4"):
        found = ModelCost(model("Llama 3.1 8B"), weights, kv_dtype)
        assert found.kv_bytes_per_token == 2 * 32 * 8 * 128 * bytes_per_element
    assert ModelCost(model("DeepSeek V3"), "fp8", kv_dtype).kv_bytes_per_token == (
        61 * 576 * bytes_per_element
    )


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


def test_that_the_latent_and_what_it_expands_to_are_both_shown() -> None:
    fields = model_fields(model("DeepSeek V3"))
    assert fields["kv_bytes_per_token_bf16"] == 70_272
    assert fields["kv_bytes_per_token_expanded_bf16"] == 61 * 128 * (192 + 128) * 2 == 4_997_120
    result = asked(model="DeepSeek V3", accelerator="H200", accelerators=8, weights_dtype="fp8")
    # 639 tokens: 44.9 MB as latents, 3,193 MB head by head
    assert any(
        "44.9 MB of KV cache" in note and "expanded" in note and "3.19 GB" in note for note in result.notes
    )
    assert not any("expanded" in note for note in asked().notes)


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


def test_that_the_tokens_that_fit_are_those_of_the_memory_that_weights_leave() -> None:
    for ranks in (1, 2, 4, 8):
        memory = asked(accelerators=ranks).memory
        room = 0.9 * ranks * 81_559 * 2**20 - 2 * 8_030_261_248 - 639 * 131_072
        assert memory.free_tokens == pytest.approx(room / 131_072, abs=1)
        # the same counted on one of them: its share of the weights, its heads of each token
        each = 0.9 * 81_559 * 2**20 - 2 * 8_030_261_248 / ranks - 639 * 131_072 / ranks
        assert memory.free_tokens == pytest.approx(each / (131_072 / ranks), abs=1)


def test_that_a_latent_leaves_room_for_as_many_tokens_as_one_rank_has() -> None:
    memory = asked(model="DeepSeek V3", accelerator="H200", accelerators=8, weights_dtype="fp8").memory
    assert memory.free_tokens == pytest.approx(memory.free_bytes_each / 70_272, abs=1)
    assert memory.free_tokens * 70_272 < 0.9 * 150_754_820_096


def test_that_layers_that_use_the_cache_of_another_hold_none_of_their_own() -> None:
    whole = model("Llama 3.1 8B")
    layer = whole.runs[0].layer
    assert layer.attention is not None
    borrowing = msgspec.structs.replace(
        layer, attention=msgspec.structs.replace(layer.attention, cache_elements=0)
    )
    shared = msgspec.structs.replace(whole, runs=(Run(1, layer), Run(1, borrowing)) * 16)
    found = ModelCost(shared, "bf16", "bf16")
    assert found.kv_bytes_per_token == 131_072 / 2
    assert found.stored_kv_bytes(1000, 16) == 1000 * 2 * 131_072 / 2  # two copies of each of eight heads
    alone = ModelCost(whole, "bf16", "bf16")
    assert attention_of(found, (Slice.prompt(512),)) == attention_of(alone, (Slice.prompt(512),))


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


def test_that_sixteen_of_sixty_four_layers_hold_the_cache_of_a_hybrid() -> None:
    found = model("Qwen3.5 27B")
    assert found.layers == 64
    assert sum(n for n, a in found.attentions() if a.cache_elements) == 16
    counted = ModelCost(found, "bf16", "bf16")
    assert counted.kv_bytes_per_token == 16 * 2 * 4 * 256 * 2
    state = counted.state_bytes
    assert counted.kv_bytes(8000) - counted.kv_bytes(1000) == 7000 * 65_536
    assert counted.kv_bytes(1000) == 1000 * 65_536 + state


def test_that_the_cache_stops_growing_at_the_window() -> None:
    found = cost("Mistral 7B v0.1")
    assert found.kv_bytes(32_768) == found.kv_bytes(4096) == 536_870_912
    assert found.kv_bytes(2048) == 536_870_912 / 2


def test_that_what_a_window_keeps_and_what_an_engine_may_allocate_are_both_shown() -> None:
    (note,) = (
        n
        for n in asked(model="Mistral 7B v0.1", prompt_tokens=32_768, output_tokens=1).notes
        if "window" in n
    )
    assert "537 MB of KV cache" in note  # 4,096 tokens of 131,072 bytes
    assert "keeps every token takes 4.29 GB" in note  # 32,768 of them


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


def test_that_four_bit_weights_do_not_help_a_batch_that_computes() -> None:
    """1,024 sequences of 128 tokens multiply for longer than they read, in 16 bit either way."""
    wide, narrow = (
        asked(prompt_tokens=100, output_tokens=28, others=1023, weights_dtype=w) for w in ("bf16", "int4")
    )
    assert wide.decode is not None
    assert narrow.decode is not None
    assert (wide.decode.bound, narrow.decode.bound) == ("compute", "compute")
    assert narrow.decode.time_s == wide.decode.time_s
    assert narrow.decode.bytes < wide.decode.bytes


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


@pytest.mark.parametrize(
    ("weights", "accelerator", "math", "peak"),
    [
        ("bf16", "T4", "fp16", 65e12),  # no BF16 before Ampere
        ("bf16", "V100 32GB", "fp16", 125e12),
        ("fp16", "T4", "fp16", 65e12),
        ("fp16", "H100 SXM", "fp16", 989e12),
        ("fp16", "TPU v5e", "bf16", 197e12),  # no FP16 on TPUs
        ("fp8", "A100 80GB SXM", "bf16", 312e12),  # no FP8 before Hopper and Ada
        ("fp8", "H100 SXM", "fp8", 1979e12),
        ("fp8", "L40S", "fp8", 733e12),
        ("int8", "A100 80GB SXM", "int8", 624e12),
        ("int4", "B200", "bf16", 2250e12),
        ("fp4", "B200", "fp4", 9000e12),
        ("fp4", "H100 SXM", "bf16", 989e12),
        ("mxfp4", "H100 SXM", "bf16", 989e12),
    ],
)
def test_that_a_format_without_a_rate_falls_back_to_one_that_the_accelerator_has(
    weights: str, accelerator: str, math: str, peak: float
) -> None:
    result = asked(weights_dtype=weights, accelerator=accelerator)
    assert result.machine.math_dtype == math
    assert result.machine.peak_flops_per_s == peak
    assert result.prefill.compute_s == pytest.approx(result.prefill.flops / (0.55 * peak))


def test_that_flops_do_not_depend_on_the_bits_of_a_weight() -> None:
    slices = (Slice.prompt(2048), Slice.decode(3000, 8))
    expected = float(flops_of(cost("Llama 3.1 8B"), slices))
    for weights in (*WEIGHT_DTYPES, PUBLISHED):
        assert float(flops_of(cost("Llama 3.1 8B", weights), slices)) == expected


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
    flops = cost("Mixtral 8x7B", fidelity=FLOOR)
    assert per_token(flops) + per_sample(flops) == pytest.approx(25.5e9, rel=2e-3)


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


def test_that_one_token_of_a_mixture_reads_its_own_experts_and_eight_tokens_most() -> None:
    found = cost("Mixtral 8x7B")
    expert = 32 * 3 * 4096 * 14_336 * 2  # bytes of one expert over all layers
    rest = 2 * 46_702_792_704 - 8 * expert
    assert found.weights_read_bytes(1) == pytest.approx(rest + 2 * expert)
    assert found.weights_read_bytes(2) == pytest.approx(rest + 3.5 * expert)
    assert found.weights_read_bytes(8) == pytest.approx(rest + 8 * (1 - 0.75**8) * expert)
    assert found.weights_read_bytes(8) < found.stored_weights_bytes


def test_that_layers_with_different_mixtures_each_read_their_own() -> None:
    whole = model("Mixtral 8x7B")
    layer = whole.runs[0].layer
    block = layer.feed_forward
    assert isinstance(block, Experts)
    wider = msgspec.structs.replace(
        layer, feed_forward=msgspec.structs.replace(block, total=16, active=4, router=block.router)
    )
    mixed = ModelCost(msgspec.structs.replace(whole, runs=(Run(8, layer), Run(24, wider))), "bf16", "bf16")
    one = 3 * 4096 * 14_336 * 2
    for tokens in (1, 2, 32):
        narrow, wide = 8 * (1 - (6 / 8) ** tokens), 16 * (1 - (12 / 16) ** tokens)
        read = float(mixed.weights_read_bytes(tokens)) - mixed.always_read_bytes
        assert read == pytest.approx((8 * narrow + 24 * wide) * one)
    assert mixed.architecture.parameters - whole.parameters == 24 * 8 * one // 2


def test_that_dense_layers_of_a_mixture_hold_no_experts() -> None:
    found = model("DeepSeek V3")
    assert found.layers == 61
    assert [n for n, _ in found.experts()] == [58]
    assert found.parameters == 671_026_419_200
    expert = 3 * 7168 * 2048
    assert found.parameters - found.active_parameters == 58 * (256 - 8) * expert


# --- arithmetic of a model's shapes


def test_that_attention_is_the_causal_half() -> None:
    found = cost("Llama 3 8B", fidelity=FLOOR)
    for tokens, more in ((2048, 0.11), (8192, 0.20), (32_768, 0.43), (131_072, 0.73)):
        slices = (Slice.prompt(tokens),)
        square = 4 * 32 * 32 * 128 * tokens**2
        everywhere = per_token(found) * tokens + per_sample(found) * tokens + square
        assert everywhere / float(flops_of(found, slices)) - 1 == pytest.approx(more, abs=0.006)


def test_that_a_chunk_attends_to_what_came_before_it() -> None:
    assert attention_pairs(512, 4096) == 512 * 4096 + 512 * 513 / 2
    assert attention_pairs(512, 0) + attention_pairs(512, 512) == attention_pairs(1024, 0)


def test_that_a_cached_prefix_is_attended_to_and_not_computed_again() -> None:
    found = cost("Llama 3 8B", fidelity=FLOOR)
    linear, pair = 2 * 6_979_321_856, 4 * 32 * 32 * 128
    pairs = 512 * 4096 + 512 * 513 / 2
    expected = linear * 512 + 2 * 4096 * 128_256 + pair * pairs
    assert float(flops_of(found, (Slice.prompt(512, 4096),))) == pytest.approx(expected, rel=1e-12)
    pieces = [(Slice.prompt(1024, 1024 * n, last=n == 7),) for n in range(8)]
    whole = float(flops_of(found, (Slice.prompt(8192),)))
    assert sum(float(flops_of(found, piece)) for piece in pieces) == pytest.approx(whole, rel=1e-12)
    assert whole == pytest.approx(131.9e12, rel=5e-4)


@pytest.mark.parametrize(
    ("tokens", "teraflops"),
    [(128, 1.792), (512, 7.217), (1024, 14.57), (2048, 29.69), (32_768, 738.9), (131_072, 6333)],
)
def test_that_a_prompt_multiplies_its_matrices_its_pairs_and_one_row_of_logits(
    tokens: int, teraflops: float
) -> None:
    counted = 2 * 6_979_321_856 * tokens + 2 * 4096 * 128_256 + 4 * 32 * 4096 * tokens * (tokens + 1) / 2
    assert counted == pytest.approx(teraflops * 1e12, rel=5e-4)
    found = cost("Llama 3 8B", fidelity=FLOOR)
    assert float(flops_of(found, (Slice.prompt(tokens),))) == pytest.approx(counted, rel=1e-12)


@pytest.mark.parametrize(
    ("sequences", "gigabytes", "intensity"), [(1, 15.28, 1.05), (32, 23.60, 21.8), (256, 83.73, 49.2)]
)
def test_that_a_decode_step_moves_the_weights_once_and_every_cache(
    sequences: int, gigabytes: float, intensity: float
) -> None:
    found = cost("Llama 3 8B", fidelity=FLOOR)
    step = (Slice.decode(2048, sequences),)
    moved = 2 * (8_030_261_248 - 525_336_576) + sequences * (2048 + 1) * 131_072
    assert float(bytes_of(found, step)) == moved == pytest.approx(gigabytes * 1e9, rel=5e-4)
    assert float(flops_of(found, step)) / moved == pytest.approx(intensity, rel=5e-3)


def test_that_a_chunk_beside_decoders_reads_the_weights_once() -> None:
    """A pass of a chunk and a decode step is no sum of two passes: 7.3 ms, a decode step alone 4.56 ms."""
    found = cost("Llama 3 8B", fidelity=FLOOR)
    chunk, step = Slice.prompt(512, 0, last=False), Slice.decode(2048)
    machine = Machine.of(CATALOGUE.accelerator("H100 SXM"), 1, "bf16", 1.0, 1.0)

    def seconds(*slices: Slice) -> float:
        return found.cost(machine, slices).time_s

    assert seconds(step) == pytest.approx(4.56e-3, rel=2e-3)
    assert seconds(chunk, step) == pytest.approx(7.3e-3, rel=5e-3)
    apart = float(bytes_of(found, (chunk,))) + float(bytes_of(found, (step,)))
    assert apart - float(bytes_of(found, (chunk, step))) == 2 * (8_030_261_248 - 525_336_576)


def test_that_a_short_prompt_costs_one_read_of_the_weights_and_a_long_one_more_than_in_proportion() -> None:
    def milliseconds(tokens: int) -> float:
        return 1000 * asked(model="Llama 3 8B", prompt_tokens=tokens, fidelity="ideal").ttft_s

    assert all(4.48 <= round(milliseconds(tokens), 2) <= 4.50 for tokens in (64, 128, 256))
    assert milliseconds(2048) > 2 * milliseconds(512)
    assert milliseconds(131_072) / milliseconds(8192) > 2.5 * 131_072 / 8192


def test_that_a_prompt_needs_the_logits_of_its_last_position_only() -> None:
    found = cost("Llama 3 8B", fidelity=FLOOR)
    assert per_sample(found) == 2 * 4096 * 128_256 == pytest.approx(1.05e9, rel=1e-3)
    one, two = (float(flops_of(found, (Slice.prompt(n),))) for n in (1024, 1025))
    assert two - one == pytest.approx(per_token(found) + 4 * 32 * 32 * 128 * 1025, rel=1e-9)


def test_that_decode_attends_to_its_whole_context() -> None:
    found = cost("Llama 3 8B")
    near, far = (float(flops_of(found, (Slice.decode(c),))) for c in (1000, 3000))
    assert far - near == 4 * 32 * 32 * 128 * 2000


def test_that_a_gated_mlp_has_three_matrices() -> None:
    found = model("Llama 3 8B")
    block = found.runs[0].layer.feed_forward
    assert block is not None
    assert sum(m.weights for m in block.matrices) == 3 * 4096 * 14_336
    assert found.dense_weights == 6_979_321_856


def test_that_the_first_token_is_counted_once_and_is_no_latency_between_tokens() -> None:
    for tokens in (1, 2, 128):
        result = asked(output_tokens=tokens)
        assert result.ttft_s == result.prefill.time_s
        assert (result.itl_s is None) == (tokens == 1)
        assert result.e2e_s == pytest.approx(result.ttft_s + (tokens - 1) * (result.itl_s or 0))


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


@pytest.mark.parametrize(
    ("name", "dtype", "dense", "sparse"),
    [
        ("H100 SXM", "bf16", 989e12, 1979e12),
        ("H100 SXM", "fp8", 1979e12, 3958e12),
        ("H100 PCIe", "bf16", 756.5e12, 1513e12),
        ("H200", "bf16", 989e12, 1979e12),
        ("A100 80GB SXM", "bf16", 312e12, 624e12),
        ("A100 80GB SXM", "int8", 624e12, 1248e12),
        ("B200", "bf16", 2250e12, 4500e12),
        ("L40S", "bf16", 362e12, 733e12),
        ("L40S", "fp8", 733e12, 1466e12),
        ("RTX 4090", "bf16", 165.2e12, 330.3e12),
        ("MI300X", "bf16", 1307.4e12, 2614.9e12),
    ],
)
def test_that_a_peak_is_the_dense_one_and_not_that_of_sparse_matrices(
    name: str, dtype: str, dense: float, sparse: float
) -> None:
    peak = CATALOGUE.accelerator(name).peak_flops_per_s[dtype]
    assert peak == dense
    assert peak < 0.51 * sparse


def test_that_teraflops_and_terabytes_are_powers_of_ten() -> None:
    for chip in CATALOGUE.accelerators:
        rates = [chip.memory_bandwidth_bytes_per_s, *chip.peak_flops_per_s.values()]
        rates += [chip.link_bytes_per_s] if chip.link_bytes_per_s else []
        assert all(rate % 1e6 == 0 for rate in rates), chip.name  # 2**30 and 2**40 leave odd digits
    assert CATALOGUE.accelerator("H100 SXM").memory_bandwidth_bytes_per_s < 3.35 * 2**40


def test_that_a_link_is_counted_one_way() -> None:
    for name, both_ways in (("H100 SXM", 900e9), ("H200", 900e9), ("A100 80GB SXM", 600e9), ("B200", 1800e9)):
        assert CATALOGUE.accelerator(name).link_bytes_per_s == both_ways / 2


def test_that_what_a_kernel_reaches_is_a_share_that_can_be_seen_and_changed() -> None:
    asked_for = {0.75: asked(), 0.91: asked(bandwidth_efficiency=0.91)}
    for share, result in asked_for.items():
        assert result.decode is not None
        assert result.decode.bound == "bandwidth"
        assert result.decode.bandwidth_utilisation == pytest.approx(share)
        assert result.decode.time_s == pytest.approx(result.decode.bytes / (share * 3.35e12))


def test_that_every_model_of_the_catalogue_has_its_own_configuration_and_no_default() -> None:
    for entry in json.loads(MODELS.read_text(encoding="utf-8"))["models"]:
        found = read_config(entry["config"], entry["name"])
        assert found.layers > 0
        assert found.parameters > 10**8
