"""Families beyond the catalogue: counts of the models that transformers 5.24.0 builds, refusals with reasons.

``further_configs.json`` holds the fields of published configurations, the parameters of the language
model that transformers 5.24.0 builds from them (tied weights once, biases that rank experts included),
the parameters that one token meets, and the BF16 bytes that one more token adds to the KV cache, near and
beyond all windows.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from pdviz.costmodel.architecture import Architecture
from pdviz.costmodel.hf_config import read_config
from pdviz.errors import InputError

FURTHER: dict[str, dict[str, Any]] = {
    row["name"]: row
    for row in json.loads((Path(__file__).parent / "further_configs.json").read_text(encoding="utf-8"))
}
FAR = 1 << 40
LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}


def changed(name: str, **changes: Any) -> Architecture:
    """A further model with fields changed; None takes a field away."""
    config = {**copy.deepcopy(FURTHER[name]["config"]), **changes}
    return read_config({field: value for field, value in config.items() if value is not None}, name)


def growth(found: Architecture, context: int) -> int:
    """BF16 bytes that one more token adds to the KV cache."""
    return 2 * (found.cache_elements(context + 1) - found.cache_elements(context))


@pytest.mark.parametrize("name", FURTHER)
def test_that_a_further_family_is_counted_as_transformers_builds_it(name: str):
    row = FURTHER[name]
    found = read_config(row["config"], name)
    assert found.parameters == row["parameters"]
    assert found.active_parameters == row["active"]
    assert (growth(found, 0), growth(found, FAR)) == (row["near"], row["far"])


def test_that_a_further_family_is_known_and_not_guessed():
    for name, row in FURTHER.items():
        assert not any("not known" in note for note in read_config(row["config"], name).notes), name


# --- layers with a fixed state ---------------------------------------------------------------------


def test_that_a_mixer_beside_attention_has_a_state_and_a_cache():
    ((layers, both),) = changed("Falcon-H1-1.5B").attentions()
    assert (layers, both.kind) == (24, "full")
    assert both.cache_elements == 2 * 2 * 128
    assert both.state_elements == 48 * 64 * 256 + (3072 + 2 * 256) * 3


def test_that_short_convolutions_keep_what_their_kernel_reaches():
    (_, first), *_ = changed("LFM2-1.2B").attentions()
    assert (first.kind, first.cache_elements, first.state_elements) == ("recurrent", 0, 2048 * 2)


def test_that_lfm2_s_width_is_adjusted_only_where_the_file_says_so():
    adjusted, plain = changed("LFM2-1.2B"), changed("LFM2-1.2B", block_auto_adjust_ff_dim=False)
    assert plain.parameters - adjusted.parameters == 16 * 3 * 2048 * (12288 - 8192)


def test_that_local_layers_of_gpt_neo_see_256_tokens():
    found = changed("GPT-Neo-1.3B")
    assert {a.window_tokens for _, a in found.attentions()} == {None, 256}
    assert growth(found, 255) == 2 * growth(found, 256)


def test_that_experts_of_granite_4_may_be_none():
    assert not changed("Granite-4.0-H-Micro").is_mixture
    assert changed("Granite-4.0-H-Tiny").is_mixture


# --- lists, ties, contradictions -------------------------------------------------------------------


def test_that_a_list_of_equal_values_for_each_layer_is_one_value():
    listed, plain = changed("Hunyuan-A13B"), changed("Hunyuan-A13B", moe_topk=8, num_shared_expert=1)
    assert listed.parameters == plain.parameters
    with pytest.raises(InputError, match="moe_topk differs from layer to layer, which is not modelled"):
        changed("Hunyuan-A13B", moe_topk=[8] * 31 + [4])


def test_that_a_tied_head_keeps_its_bias():
    """A tie drops the table, never the bias: transformers 5.24.0 builds it so too."""
    phi = {
        "model_type": "phi",
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 24,
        "num_attention_heads": 32,
        "vocab_size": 51200,
    }
    untied = read_config({**phi, "tie_word_embeddings": False}, "phi").parameters
    assert untied == 1_418_270_720
    assert untied - read_config({**phi, "tie_word_embeddings": True}, "phi").parameters == 2048 * 51200


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("Hunyuan-A13B", {"use_cla": True}, "use_cla must be false: layers that share caches"),
        ("Falcon-Mamba-7B", {"intermediate_size": 4096}, "intermediate_size is 4096 but expand makes 8192"),
        ("Bamba-9B", {"mamba_d_head": 32}, "mamba_n_heads is 128 heads of 32, but mamba_expand makes 8,192"),
        ("Mamba-Codestral-7B", {"num_heads": 64}, "num_heads is 64 heads of 64, but expand makes 8,192"),
        ("GPT-Neo-1.3B", {"attention_types": [[["global"], 12]]}, "attention_types must say global or local"),
        ("GPT-Neo-1.3B", {"attention_types": [["global", 12]]}, "attention_types must hold pairs of a list"),
        ("RecurrentGemma-2B", {"block_types": ["attn"]}, "block_types must list recurrent and attention"),
        ("Kimi-Linear-48B-A3B", {"linear_attn_config": {}}, "full_attn_layers and kda_layers must share"),
        ("LFM2-1.2B", {"full_attn_idxs": [16]}, "full_attn_idxs must list layers from 0 to 15, got 16"),
        (
            "LFM2-1.2B",
            {"block_ffn_dim_multiplier": "1"},
            "block_ffn_dim_multiplier must be a positive number",
        ),
    ],
)
def test_that_a_contradiction_is_one_sentence_that_names_the_field(
    name: str, changes: dict[str, Any], sentence: str
):
    with pytest.raises(InputError, match=sentence):
        changed(name, **changes)


# --- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "reason"),
    [
        ("camembert", "it is an encoder"),
        ("deberta-v2", "it is an encoder"),
        ("mt5", "it has an encoder"),
        ("m2m_100", "it has an encoder"),
        ("clip", "it is an encoder"),
        ("rwkv7", "recurrent layers"),
        ("xlnet", "changing orders"),
        ("phi3small", "skips blocks of the context"),
        ("jetmoe", "attention heads are experts"),
        ("llada", "by diffusion"),
        ("moshi", "codes of an audio codec"),
        ("minicpmv", "does not say which language model"),
        ("openelm", "a shape of its own"),
        ("ernie4_5_moe_vl", "experts of their own"),
    ],
)
def test_that_a_family_that_would_be_wrong_is_refused_with_the_reason(family: str, reason: str):
    with pytest.raises(InputError, match=f'family "{family}" is not modelled: .*{reason}'):
        read_config({**LLAMA, "model_type": family}, "refused")


@pytest.mark.parametrize(
    "name", ["BertForMaskedLM", "LlamaForSequenceClassification", "Qwen2ForTokenClassification"]
)
def test_that_a_class_that_writes_no_text_is_refused(name: str):
    with pytest.raises(InputError, match=f'^config.json: architectures says "{name}": '):
        read_config({**LLAMA, "architectures": [name]}, "classifier")
