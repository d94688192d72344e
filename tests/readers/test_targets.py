"""Files that quantise only some matrices: what their lists and patterns name, byte by byte."""

from __future__ import annotations

from typing import Any

import llama_config
import pytest

from pdviz.costmodel.weights import stored_bytes
from pdviz.errors import InputError
from pdviz.readers.hf.config import read_config

LLAMA = {**llama_config.LLAMA, "max_position_embeddings": 8192}
MIXTRAL = {
    **LLAMA,
    "model_type": "mixtral",
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "sliding_window": None,
}
INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}
FP8 = {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128}

PLAIN = 16_060_522_496
QUERY = OUTPUT = 4096 * 4096
KEY = VALUE = 1024 * 4096
ATTENTION = QUERY + KEY + VALUE + OUTPUT
MLP = 3 * 4096 * 14336


def total(quantisation: dict[str, Any], config: dict[str, Any] = LLAMA) -> float:
    return stored_bytes(read_config({**config, "quantization_config": quantisation}, "M")).total


def grouped(targets: object, weights: dict[str, Any] = INT4, **more: Any) -> dict[str, Any]:
    group = {"targets": targets, "weights": weights}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, **more}


def int4(weights: int) -> int:
    """Bytes in groups of 128 with a 16-bit scale each."""
    return weights // 2 + weights // 128 * 2


def gptq(weights: int, rows: int) -> int:
    """Bytes in groups of 128 with a zero point too, and an index for each input row."""
    return weights // 2 + weights // 128 * 5 // 2 + 4 * rows


def test_that_only_what_targets_name_is_quantised():
    ignore = {"ignore": ["lm_head"]}
    assert total(grouped(["re:.*mlp.*"], **ignore)) == 7_692_886_016 == PLAIN - 32 * (2 * MLP - int4(MLP))
    assert total(grouped(["Linear"], **ignore)) == PLAIN - 32 * (
        2 * (MLP + ATTENTION) - int4(MLP) - int4(ATTENTION)
    )
    assert total(grouped(["re:.*experts.*"], FP8), MIXTRAL) == 48_325_206_016


@pytest.mark.parametrize(
    ("targets", "weights"),
    [
        (["re:.*q_proj"], 32 * QUERY),
        (["re:.*self_attn\\.(q|k|v)_proj$"], 32 * (QUERY + KEY + VALUE)),
        (["re:model\\.layers\\.[0-7]\\.self_attn.*"], 8 * ATTENTION),
        (["model.layers.3.mlp.down_proj"], MLP // 3),
        (["re:.*self_attn.*", "re:.*mlp.up_proj"], 32 * (ATTENTION + MLP // 3)),
        (["re:(?!.*mlp).*o_proj"], 32 * OUTPUT),
        (["re:.*layers\\.(0|1)\\.(self_attn|mlp)\\.(q|k|v|o|gate|up|down)_proj$"], 2 * (ATTENTION + MLP)),
        (["re:.*layers.*"], 32 * (ATTENTION + MLP)),
        (["lm_head"], 128256 * 4096),
    ],
)
def test_that_targets_are_matched_as_names_of_modules(targets: list[str], weights: int):
    assert total(grouped(targets)) == PLAIN - 2 * weights + int4(weights)


def test_that_what_is_ignored_stays_out_of_the_targets():
    found = total(grouped(["re:.*mlp.*"], ignore=["re:.*down_proj", "model.layers.0.mlp.down_proj"]))
    assert found == PLAIN - 32 * (2 * MLP - int4(MLP)) + 2 * MLP // 3 - int4(MLP // 3)


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        (["LlamaMLP"], r'targets has "LlamaMLP", which fits none of the modules that are modelled$'),
        (["re:.*w1"], r"fits none of the modules"),
        (["re:mlp"], r"fits none of the modules"),
        ([7], r"targets must hold module names, got \[7\]$"),
        ([], r"targets must hold module names, got \[\]$"),
        (["re:("], "no pattern that can be read$"),
        (["re:(.*)*x"], "a pattern too involved to be modelled$"),
        (["re:.*.*.*.*.*.*x"], "a pattern too involved to be modelled$"),
        (["re:" + ".?" * 40 + "x"], "a pattern too involved to be modelled$"),
        (["re:" + "(?:.|..)" * 30 + "x"], "a pattern too involved to be modelled$"),
    ],
)
def test_that_targets_that_name_nothing_known_are_refused(targets: list[object], expected: str):
    with pytest.raises(InputError, match=expected):
        total(grouped(targets))


def test_that_targets_are_refused_where_module_names_are_not_known():
    with pytest.raises(
        InputError, match='targets names modules, which is not modelled for the family "glm4"'
    ):
        total(grouped(["re:.*mlp.*"]), {**LLAMA, "model_type": "glm4"})
    with pytest.raises(InputError, match="targets tells experts apart, which is not modelled"):
        total(grouped([r"re:.*experts\.0\..*"], FP8), MIXTRAL)


def test_that_gptq_leaves_out_what_dynamic_excludes():
    rest = gptq(ATTENTION, 4 * 4096)
    expected = PLAIN - 32 * (2 * ATTENTION - rest)
    assert total({**GPTQ, "dynamic": {"-:.*mlp.*": {}}}) == expected == 14_075_568_128
    same = {"-:.*mlp.*": {}, "+:.*self_attn.*": {"bits": 4, "group_size": 128}, ".*q_proj": {"sym": True}}
    assert total({**GPTQ, "dynamic": same}) == expected
    assert total({**GPTQ, "dynamic": {}}) == total(GPTQ) == total({**GPTQ, "dynamic": None})


def test_that_an_exclusion_of_nothing_is_a_note():
    config = {**LLAMA, "quantization_config": {**GPTQ, "dynamic": {"-:.*visual.*": {}}}}
    found = read_config(config, "M")
    assert stored_bytes(found).total == total(GPTQ)
    assert 'quantization_config.dynamic: nothing in this model fits ".*visual.*".' in found.notes


@pytest.mark.parametrize("changed", [{"bits": 8}, {"group_size": 32}, {"group_size": -1}])
def test_that_gptq_with_formats_for_some_modules_is_refused(changed: dict[str, int]):
    with pytest.raises(InputError, match=r'dynamic gives "\+:\.\*mlp" a format of its own, which is not'):
        total({**GPTQ, "dynamic": {"+:.*mlp": changed}})


def test_that_gptq_quantises_only_what_it_lists_for_a_layer():
    listed = {**GPTQ, "modules_in_block_to_quantize": [["self_attn.q_proj"]]}
    assert total(listed) == 15_266_226_176 == PLAIN - 32 * (2 * QUERY - gptq(QUERY, 4096))
    everything = [
        ["self_attn.k_proj", "self_attn.v_proj", "self_attn.q_proj"],
        ["self_attn.o_proj"],
        ["mlp.up_proj", "mlp.gate_proj"],
        ["mlp.down_proj"],
    ]
    assert total({**GPTQ, "modules_in_block_to_quantize": everything}) == total(GPTQ)
    with pytest.raises(InputError, match=r'quantize has "attn\.qkv", which fits none of the modules'):
        total({**GPTQ, "modules_in_block_to_quantize": [["attn.qkv"]]})
    with pytest.raises(InputError, match=r"quantize must hold lists of module names, got \[\[7\]\]$"):
        total({**GPTQ, "modules_in_block_to_quantize": [[7]]})


def test_that_sparse_weights_are_refused_by_their_field():
    sparse = {"format": "sparse-24-bitmask", "sparsity_structure": "2:4"}
    with pytest.raises(InputError, match=r'sparsity_config\.format is "sparse-24-bitmask": sparse weights'):
        total(grouped(["Linear"], sparsity_config=sparse))
    with pytest.raises(InputError, match=r'quantization_config\.format is "marlin-24": sparse weights'):
        total(grouped(["Linear"], format="marlin-24"))
    dense = {"format": "dense", "sparsity_structure": "unstructured"}
    for harmless in (dense, {}, None):
        assert total(grouped(["Linear"], sparsity_config=harmless)) == total(grouped(["Linear"]))


def test_that_double_quantisation_has_a_second_level():
    nf4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
    once, twice = total(nf4), total({**nf4, "bnb_4bit_use_double_quant": True})
    weights = 32 * (ATTENTION + MLP)
    assert twice == 5_702_295_552
    assert once - twice == weights // 64 * 3 - weights // (64 * 256) * 4


def test_that_groups_that_do_not_divide_the_inputs_are_refused_but_for_gptq_which_rounds_up():
    uneven = {"quant_method": "awq", "bits": 4, "group_size": 100}
    with pytest.raises(InputError, match="group_size is 100, which does not divide the 4,096 inputs"):
        total(uneven)
    assert total({**AWQ, "group_size": -1}) < total(AWQ)
    gptq = {**uneven, "quant_method": "gptq"}
    assert total({**gptq, "group_size": 128}) < total(gptq) < total({**gptq, "group_size": 64})


@pytest.mark.parametrize("method", ["awq", "gptq"])
def test_that_the_name_of_a_kernel_stands_for_its_method(method: str):
    said = {"quant_method": method, "bits": 4, "group_size": 128}
    assert total({**said, "quant_method": f"{method}_marlin"}) == total(said)


def test_that_a_file_s_kv_format_is_a_note():
    note = "The file asks for an FP8 KV cache; set the KV format to compare."
    scheme = {"num_bits": 8, "type": "float", "strategy": "tensor"}
    for asked in ({"kv_cache_scheme": scheme}, {"kv_cache_quant_algo": "FP8"}):
        config = {**LLAMA, "quantization_config": grouped(["Linear"], **asked)}
        assert note in read_config(config, "M").notes
    other = {**LLAMA, "quantization_config": grouped(["Linear"], kv_cache_scheme={**scheme, "num_bits": 4})}
    assert any("a KV cache of 4 bit" in text for text in read_config(other, "M").notes)
    assert not any("KV" in text for text in read_config(LLAMA, "M").notes)
