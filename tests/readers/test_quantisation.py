"""Stored weights: formats read from files, and bytes against published checkpoints."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz.costmodel.architecture import Architecture, Matrix, MatrixRole
from pdviz.costmodel.quantisation import Kept, Quantisation
from pdviz.costmodel.weights import matrix_bytes, plain_bytes, stored_bytes
from pdviz.errors import InputError
from pdviz.readers.hf.config import read_config

MODELS = Path(__file__).parents[2] / "resources" / "catalogue" / "models.json"
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
GROUPS = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}


@functools.cache
def configs() -> dict[str, dict[str, Any]]:
    return {e["id"]: e["config"] for e in json.loads(MODELS.read_text(encoding="utf-8"))["models"]}


def stored_as(name: str, quantisation: dict[str, Any] | None) -> Architecture:
    config = {k: v for k, v in configs()[name].items() if k != "quantization_config"}
    return read_config({**config, "quantization_config": quantisation}, name)


def groups(**changes: Any) -> dict[str, Any]:
    weights = {**GROUPS, **changes}
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
        "ignore": ["lm_head"],
    }


def scales(architecture: Architecture) -> int:
    """How many scales there are: bytes with one byte a scale, less bytes with none."""
    assert architecture.quantisation is not None
    bare = {"bits": 0, "zero_bits": 0, "index_bits": 0, "module_bits": 0}
    one, none = (
        stored_bytes(
            msgspec.structs.replace(
                architecture,
                quantisation=msgspec.structs.replace(architecture.quantisation, scale_bits=bits, **bare),
            )
        ).total
        for bits in (8, 0)
    )
    return one - none


def test_that_an_unquantised_model_takes_its_dtype_s_bytes():
    llama = read_config(configs()["llama-3.1-8b"], "Llama")
    assert llama.quantisation is None
    assert stored_bytes(llama).total == 16_060_522_496
    assert stored_bytes(llama).embedding == stored_bytes(llama).head == 2 * 4096 * 128256
    double = msgspec.structs.replace(llama, published_dtype="float32")
    assert stored_bytes(double).total == 2 * 16_060_522_496


def test_that_the_bytes_of_every_shipped_model_are_at_most_those_of_its_dtype():
    for name, config in configs().items():
        found = read_config(config, name)
        plain = found.parameters * plain_bytes(found)
        stored = stored_bytes(found)
        assert stored.total == plain if found.quantisation is None else stored.total < plain
        assert (stored.experts > 0) == found.is_mixture
        assert (stored.head == 0) == found.tied


# Differences of published safetensors totals between an FP8 repository and its BF16 sibling.
@pytest.mark.parametrize(
    ("name", "published"),
    [("qwen3-32b", 1_904_640), ("qwen3-30b-a3b", 1_824_768), ("qwen3-235b-a22b", 14_269_952)],
)
def test_that_block_scales_are_as_many_as_published(name: str, published: int):
    assert scales(stored_as(name, FP8)) == published


def test_that_minimax_m2_in_fp8_has_as_many_block_scales_as_published():
    kept = {**FP8, "modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"]}
    assert scales(stored_as("minimax-m2", kept)) == 13_880_064


# Sizes of the published checkpoints.
@pytest.mark.parametrize(
    ("name", "size"), [("gpt-oss-20b", 13_761_264_768), ("gpt-oss-120b", 65_248_815_744)]
)
def test_that_mxfp4_experts_and_16_bit_others_are_the_published_size(name: str, size: int):
    assert stored_bytes(read_config(configs()[name], name)).total == size


def test_that_four_bit_llama_keeps_its_head_and_its_scales():
    awq = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
    found = stored_bytes(stored_as("llama-3.1-8b", awq))
    weights = 6_979_321_856
    assert found.total == weights // 2 + weights // 128 * 2 + weights // 256 + 2 * (2 * 525_336_576 + 266_240)
    assert 5.6e9 < found.total < 5.75e9


def test_that_gptq_stores_an_index_for_each_input_row():
    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
    awq = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
    more = (
        stored_bytes(stored_as("llama-3.1-8b", gptq)).total
        - stored_bytes(stored_as("llama-3.1-8b", awq)).total
    )
    assert more == 32 * 4 * (6 * 4096 + 14336)


def test_that_kimi_k2_5_has_only_its_routed_experts_in_four_bits():
    found = read_config(configs()["kimi-k2.5"], "Kimi K2.5")
    assert found.quantisation is not None
    assert (found.quantisation.bits, found.quantisation.group) == (4, 32)
    experts = 1_014_686_023_680
    assert stored_bytes(found).experts == experts // 2 + experts // 32 * 2
    assert stored_bytes(found).total == stored_bytes(found).experts + 2 * (found.parameters - experts)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (FP8, "FP8, blocks of 128 × 128"),
        ({"quant_method": "fp8", "activation_scheme": "static"}, "FP8, one scale a matrix"),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64}, "AWQ INT4, groups of 64"),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "GPTQ INT8, one scale a row"),
        (
            {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
            "bitsandbytes NF4, groups of 64",
        ),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "bitsandbytes INT8, one scale a row"),
        ({"quant_method": "mxfp4"}, "MXFP4, groups of 32"),
        ({"quant_method": "fbgemm_fp8"}, "FBGEMM FP8, one scale a row"),
        ({"quant_method": "bitnet", "linear_class": "autobitlinear"}, "BitNet INT2, one scale a matrix"),
        (groups(), "compressed-tensors INT4, groups of 128"),
        (groups(num_bits=8, type="float", strategy="channel"), "compressed-tensors FP8, one scale a row"),
        (groups(num_bits=8, type="float", strategy="tensor"), "compressed-tensors FP8, one scale a matrix"),
        (
            groups(num_bits=8, type="float", strategy="block", block_structure=[128, 128]),
            "compressed-tensors FP8, blocks of 128 × 128",
        ),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "ModelOpt FP4, groups of 16"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "ModelOpt FP8, one scale a matrix"),
    ],
)
def test_that_a_format_is_read_and_named(config: dict[str, Any], expected: str):
    found = stored_as("mixtral-8x7b", config)
    assert found.quantisation is not None
    assert found.quantisation.title == expected
    assert stored_bytes(found).total < 2 * 46_702_792_704


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"quant_method": "hqq"}, 'quantization_config.quant_method "hqq" is not modelled; known are awq, '),
        ({}, "quantization_config.quant_method is missing, expected a method such as fp8 or awq"),
        (
            {"quant_method": "awq", "bits": 5, "group_size": 128},
            "quantization_config.bits must be one of 4, 8, got 5",
        ),
        ({"quant_method": "gptq", "bits": 4}, "quantization_config.group_size is missing"),
        ({**FP8, "weight_block_size": [128]}, "weight_block_size must be two whole numbers, got [128]"),
        ({**FP8, "weight_block_size": [0, 128]}, "weight_block_size must be two whole numbers, got [0, 128]"),
        ({**FP8, "modules_to_not_convert": [3]}, "modules_to_not_convert must hold module names, got 3"),
        ({"quant_method": "bitsandbytes"}, "exactly one must be true"),
        ({"quant_method": "bitnet", "quantization_mode": 1}, "quantization_mode must be a string, got 1"),
        ({"quant_method": "bitnet", "quantization_mode": "x"}, "must be offline or online, got "),
        ({"quant_method": "modelopt", "quant_algo": "MIXED"}, 'quant_algo must be FP8 or NVFP4, got "MIXED"'),
        (groups(strategy="magic"), 'weights.strategy "magic" is not known'),
        (groups(type="complex"), 'weights.type must be int or float, got "complex"'),
        (
            {"quant_method": "compressed-tensors", "config_groups": {}},
            "config_groups must hold one format for all weights, got 0",
        ),
    ],
)
def test_that_a_bad_format_is_one_sentence_that_names_the_field(config: dict[str, Any], sentence: str):
    with pytest.raises(InputError) as caught:
        stored_as("llama-3.1-8b", config)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("config.json: ")


def mlp(layer: int, module: str | None = None) -> set[Kept]:
    """Whatever a layer has of an MLP and experts."""
    return {Kept(part, layer, module) for part in ("dense", "shared", "experts", "router")}


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("lm_head", {Kept("head")}),
        ("model.layers.3.mlp.gate", {Kept("router", 3)}),
        ("model.layers.*.mlp.router", {Kept("router")}),
        ("gate", {Kept("router")}),
        ("re:.*self_attn.*", {Kept("attention")}),
        ("model.layers.12.self_attn.o_proj", {Kept("attention", 12, "o_proj")}),
        ("model.layers.0.mlp.down_proj", {Kept("dense", 0, "down_proj")}),
        ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", {Kept("dense")}),
        ("re:.*shared_experts.*", {Kept("shared")}),
        ("model.layers.7.mlp*", mlp(7)),
        ("model.layers.0*", {Kept("attention", 0), *mlp(0)}),
        ("vision_model.model.layers.0.self_attn.q_proj", set()),
        ("model.layers.1.input_layernorm", set()),
        ("model.layers.0.block_sparse_moe.gate", {Kept("router", 0)}),
        ("multi_modal_projector.linear_1", set()),
        ("model.layers.0.mlp.shared_expert_gate", {Kept("shared", 0, "shared_expert_gate")}),
        ("model.layers.0.linear_attn.conv1d", set()),
        ("model.layers.0.linear_attn.in_proj_ba", {Kept("attention", 0, "in_proj_ba")}),
        ("backbone.layers.3.mixer", {Kept("attention", 3), *mlp(3)}),
        (
            "backbone.layers.3.mixer.in_proj",
            {Kept("attention", 3, "in_proj"), *mlp(3, "in_proj")},
        ),
        ("backbone.layers.3.mixer.experts.*", {Kept("experts", 3)}),
    ],
)
def test_that_a_module_name_says_what_stays_at_16_bit(name: str, kept: set[Kept]):
    found = stored_as("llama-3.1-8b", {**groups(), "ignore": [name]}).quantisation
    assert found is not None
    assert set(found.kept) == kept | {Kept("embedding"), Kept("router")}


def test_that_single_layers_and_modules_can_stay_at_16_bit():
    everything = stored_bytes(stored_as("llama-3.1-8b", FP8)).total
    one = stored_bytes(stored_as("llama-3.1-8b", {**FP8, "modules_to_not_convert": ["model.layers.5"]})).total
    layer = 4096 * 6144 + 4096 * 4096 + 3 * 4096 * 14336
    assert one - everything == layer - layer // 128**2 * 4
    down = {**FP8, "modules_to_not_convert": ["model.layers.5.mlp.down_proj"]}
    assert stored_bytes(stored_as("llama-3.1-8b", down)).total - everything == 4096 * 14336 * (1 - 4 / 128**2)


@pytest.mark.parametrize(("name", "inside"), [("gemma-4-26b-a4b", False), ("qwen3-30b-a3b", True)])
def test_that_an_mlp_holds_the_experts_but_in_gemma_4_which_has_them_beside_it(name: str, inside: bool):
    everything = stored_bytes(stored_as(name, FP8))
    one = stored_bytes(stored_as(name, {**FP8, "modules_to_not_convert": ["model.layers.1.mlp"]}))
    assert (one.experts > everything.experts) == inside
    assert (one.dense > everything.dense) == (not inside)


def test_that_mlx_files_are_read_and_quantise_embedding_and_head_too():
    """mlx-community/Meta-Llama-3-8B-Instruct-4bit: 4 bits and 32 more a group of 64 are 4.5 bits a weight."""
    config = {k: v for k, v in configs()["llama-3.1-8b"].items() if k != "quantization_config"}
    form = {"group_size": 64, "bits": 4}
    found = read_config({**config, "quantization": form, "quantization_config": form}, "mlx")
    matrices = found.dense_weights + found.table_weights
    assert stored_bytes(found).total == matrices * 4.5 / 8 + 2 * found.vector_parameters
    assert found.quantisation is not None
    assert found.quantisation.title == "MLX INT4, groups of 64"
    plain = read_config({**config, "quantization": {**form, "lm_head": False}}, "mlx")
    assert stored_bytes(plain).total - stored_bytes(found).total == 128256 * 4096 * (2 - 4.5 / 8)
    own = {**form, "model.layers.0.mlp.gate": {"group_size": 64, "bits": 8}}
    with pytest.raises(InputError, match=r"quantization.model.layers.0.mlp.gate has a format of its own"):
        read_config({**config, "quantization": own}, "mlx")


def test_that_bitnet_weights_that_are_made_while_loading_are_stored_wide():
    assert (
        stored_as("llama-3.1-8b", {"quant_method": "bitnet", "quantization_mode": "online"}).quantisation
        is None
    )


def test_that_layers_that_fp8_files_ignore_stay_at_16_bit():
    config = {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["model.layers.0.mlp"]}
    found = stored_as("llama-3.1-8b", config).quantisation
    assert found is not None
    assert Kept("dense", 0) in found.kept


def test_that_a_block_over_the_edge_is_a_whole_block():
    stored = Quantisation("fp8", 8, group=128, rows=128, scale_bits=32, format="fp")
    assert matrix_bytes(Matrix(MatrixRole.KV_DOWN, 7168, 576), stored) == 7168 * 576 + 4 * 56 * 5
    # Gate and up are stored apart, each with an edge of its own.
    assert matrix_bytes(Matrix(MatrixRole.GATE_AND_UP, 128, 2 * 192), stored) == 128 * 384 + 4 * 4


def test_that_an_unknown_dtype_is_named():
    llama = read_config(configs()["llama-3.1-8b"], "Llama")
    with pytest.raises(InputError, match="Llama: dtype 'float7' is not known, expected bfloat16"):
        stored_bytes(msgspec.structs.replace(llama, published_dtype="float7"))


@given(
    st.dictionaries(
        st.sampled_from(
            ["bits", "group_size", "weight_block_size", "ignore", "config_groups", "quant_algo", "zero_point"]
        ),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-2, 200),
            st.text(max_size=9),
            st.lists(st.one_of(st.integers(), st.text(max_size=20)), max_size=3),
            st.dictionaries(st.sampled_from(["a", "weights"]), st.integers(), max_size=2),
        ),
    ),
    st.sampled_from(["fp8", "awq", "gptq", "mxfp4", "bitsandbytes", "compressed-tensors", "modelopt", ""]),
)
@settings(max_examples=150)
def test_that_random_formats_are_refused_or_counted_and_nothing_else(fields: dict[str, Any], method: str):
    try:
        found = stored_as("mixtral-8x7b", {**fields, "quant_method": method})
    except InputError:
        return
    assert 0 < stored_bytes(found).total < 1 << 50


def test_that_parts_of_a_layer_with_a_state_can_stay_at_16_bit():
    """Qwen3-Next's FP8 files leave out the small projection, and vectors that are never quantised."""
    names = [f"model.layers.0.linear_attn.{n}" for n in ("conv1d", "A_log", "dt_bias", "norm")]
    plain, vectors = (
        stored_bytes(stored_as("qwen3-next-80b-a3b", {**FP8, "modules_to_not_convert": kept})).total
        for kept in ([], names)
    )
    assert vectors == plain
    small = [*names, "model.layers.0.linear_attn.in_proj_ba", "model.layers.0.mlp.shared_expert_gate"]
    some = stored_bytes(stored_as("qwen3-next-80b-a3b", {**FP8, "modules_to_not_convert": small})).total
    assert some - plain == 2048 * 64 - 4 * 16 + 2048 - 4 * 16
