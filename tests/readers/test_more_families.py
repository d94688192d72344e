"""Families beyond the catalogue: counts of the models that transformers 5.24.0 builds, refusals with reasons.

The files in ``families`` hold the fields of published configurations, the parameters of the language
model that transformers 5.24.0 builds from them (tied weights once, biases that rank experts included),
the parameters that one token meets, and the BF16 bytes that one more token adds to the KV cache, near and
beyond all windows.
"""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import llama_config
import pytest

from pdviz.costmodel.architecture import Architecture
from pdviz.errors import InputError
from pdviz.readers.hf.config import read_config
from pdviz.readers.hf.families import FAMILIES, GGUF
from pdviz.readers.hf.families_dense import DENSE
from pdviz.readers.hf.families_gpt import GPT
from pdviz.readers.hf.families_hybrid import HYBRID
from pdviz.readers.hf.families_mixture import MIXTURE
from pdviz.readers.hf.refused import REFUSED

FURTHER: dict[str, dict[str, Any]] = {
    row["name"]: row
    for file in sorted((Path(__file__).parent / "families").glob("*.json"))
    for row in json.loads(file.read_text(encoding="utf-8"))
}
FAR = 1 << 40
LLAMA = {**llama_config.LLAMA, "attention_bias": False, "mlp_bias": False}


def changed(name: str, **changes: Any) -> Architecture:
    """A further model with fields changed; None takes a field away."""
    config = {**copy.deepcopy(FURTHER[name]["config"]), **changes}
    return read_config({field: value for field, value in config.items() if value is not None}, name)


def growth(found: Architecture, context: int) -> int:
    """BF16 bytes that one more token adds to the KV cache."""
    return 2 * (found.cache_elements(context + 1) - found.cache_elements(context))


def test_that_no_name_stands_for_two_families():
    rows = [*DENSE.items(), *GPT.items(), *MIXTURE.items(), *HYBRID.items()]
    assert sorted(FAMILIES) == sorted(kind for name, row in rows for kind in (name, *row.also))
    assert sorted(GGUF) == sorted(written.name for _, row in rows for written in row.gguf)
    assert not FAMILIES.keys() & REFUSED.keys()


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


def test_that_one_expert_of_jamba_is_a_plain_mlp():
    """transformers 5.24.0: JambaMLP where ``num_experts`` is 1, without a router."""
    one = changed("Jamba-1.5-Mini", num_experts=1, num_experts_per_tok=1)
    assert not one.is_mixture
    full = FURTHER["Jamba-1.5-Mini"]["parameters"]
    assert full - one.parameters == 16 * (15 * 3 * 4096 * 14336 + 16 * 4096)


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
        ("Bamba-9B", {"mamba_d_head": 32}, "mamba_n_heads is 128 heads of 32, but mamba_expand makes 8,192"),
        ("Mamba-Codestral-7B", {"num_heads": 64}, "num_heads is 64 heads of 64, but expand makes 8,192"),
        ("GPT-Neo-1.3B", {"attention_types": [[["global"], 12]]}, "attention_types must say global or local"),
        ("GPT-Neo-1.3B", {"attention_types": [["global", 12]]}, "attention_types must hold pairs of a list"),
        ("RecurrentGemma-2B", {"block_types": ["attn"]}, "block_types must list recurrent and attention"),
        ("Kimi-Linear-48B-A3B", {"linear_attn_config": {}}, "full_attn_layers and kda_layers must share"),
        ("Helium-1-2B", {"head_dim": 64}, "hidden_size must be that of 16 heads of 64, got 2048"),
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
        ("ernie4_5_moe_vl", "experts of their own"),
    ],
)
def test_that_a_family_that_would_be_wrong_is_refused_with_the_reason(family: str, reason: str):
    with pytest.raises(InputError, match=f'family "{family}" is not modelled: .*{reason}'):
        read_config({**LLAMA, "model_type": family}, "refused")


@pytest.mark.parametrize(
    "name",
    [
        "BertForMaskedLM",
        "LlamaForSequenceClassification",
        "Qwen2ForTokenClassification",
        "LlamaForCausalLMEagle3",
    ],
)
def test_that_a_class_that_writes_no_text_is_refused(name: str):
    with pytest.raises(InputError, match=f'^config.json: architectures says "{name}": '):
        read_config({**LLAMA, "architectures": [name]}, "classifier")


def test_that_a_model_that_attends_in_both_directions_is_refused():
    for changes in ({"use_bidirectional_attention": True}, {"is_causal": False}):
        with pytest.raises(
            InputError, match=r"(use_bidirectional_attention is true|is_causal is false): it is an encoder"
        ):
            read_config({**LLAMA, **changes}, "embedder")
    assert read_config({**LLAMA, "use_bidirectional_attention": "vision"}, "vlm").parameters == 8_030_261_248
    prefix = {"model_type": "vlm", "text_config": {**LLAMA, "use_bidirectional_attention": True}}
    assert read_config(prefix, "a prompt seen in both directions").parameters == 8_030_261_248


# --- shapes of their own, files inside files -------------------------------------------------------


def test_that_openelm_s_layers_differ():
    """apple/OpenELM-270M: 271,527,168 parameters published."""
    config = {
        "model_type": "openelm",
        "model_dim": 1280,
        "head_dim": 64,
        "num_transformer_layers": 16,
        "vocab_size": 32000,
        "num_query_heads": [12] * 5 + [16] * 7 + [20] * 4,
        "num_kv_heads": [3] * 5 + [4] * 7 + [5] * 4,
        "ffn_multipliers": [
            0.5, 0.73, 0.97, 1.2, 1.43, 1.67, 1.9, 2.13, 2.37, 2.6, 2.83, 3.07, 3.3, 3.53, 3.77, 4.0,
        ],
        "ffn_dim_divisor": 256,
        "share_input_output_layers": True,
    }  # fmt: skip
    found = read_config(config, "OpenELM 270M")
    assert found.parameters == 271_527_168
    assert growth(found, 0) == 2 * 2 * 64 * (5 * 3 + 7 * 4 + 4 * 5)
    for field in ("num_query_heads", "num_kv_heads", "ffn_multipliers", "ffn_dim_divisor"):
        with pytest.raises(InputError, match=field):
            read_config({**config, field: None}, "OpenELM 270M")


def searched(*blocks: tuple[int | None, float | None]) -> dict[str, Any]:
    """A searched Nemotron whose blocks have (heads a group, MLP factor); None does without."""
    return {
        "model_type": "nemotron-nas",
        "hidden_size": 8192,
        "num_attention_heads": 64,
        "num_hidden_layers": len(blocks),
        "vocab_size": 128256,
        "tie_word_embeddings": False,
        "intermediate_size": None,
        "num_key_value_heads": None,
        "block_configs": [
            {
                "attention": {"n_heads_in_group": group, "no_op": group is None},
                "ffn": {"ffn_mult": factor, "no_op": factor is None},
            }
            for group, factor in blocks
        ],
    }


def test_that_searched_blocks_count_as_the_llama_they_came_from():
    """80 blocks of 8 heads a group and a factor of 5.25 are Llama 3.1 70B."""
    assert read_config(searched(*[(8, 5.25)] * 80), "x").parameters == 70_553_706_496


def test_that_a_searched_block_may_do_without_attention_or_mlp():
    found = read_config(searched((8, 5.25), (None, 2.625), (16, None)), "x")
    attention = 8192 * (8192 + 2 * 8 * 128) + 8192**2 + 8192
    small = attention - 2 * 8192 * 4 * 128
    mlps = 3 * 8192 * (28672 + 14336) + 2 * 8192
    assert found.parameters == 2 * 8192 * 128256 + 8192 + attention + small + mlps
    assert growth(found, 0) == 2 * 2 * 128 * (8 + 4)
    assert [run.count for run in found.runs] == [1, 1, 1]


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        (5, r"block_configs\[0\] must be an object, got 5"),
        ({"attention": {"no_op": True}}, r"block_configs\[0\].ffn must be an object, got null"),
        (
            {"attention": {"n_heads_in_group": 7}, "ffn": {"ffn_mult": 1}},
            r"block_configs\[0\].attention.n_heads_in_group must divide the 64 heads, got 7",
        ),
        (
            {"attention": {"n_heads_in_group": 8}, "ffn": {"ffn_mult": -1}},
            r"block_configs\[0\].ffn.ffn_mult must be a positive number, got -1",
        ),
        (
            {"attention": {"replace_with_linear": True}, "ffn": {"ffn_mult": 1}},
            r"block_configs\[0\].attention.replace_with_linear must be absent",
        ),
    ],
)
def test_that_a_bad_block_is_named(block: object, sentence: str):
    with pytest.raises(InputError, match=sentence):
        read_config({**searched((8, 5.25)), "block_configs": [block]}, "x")


def test_that_sizes_that_a_nested_file_leaves_to_its_class_are_said():
    for name, field in (("LLaVA-1.5-7B", "hidden_size"), ("Pixtral-12B", "num_key_value_heads")):
        notes = read_config(FURTHER[name]["config"], name).notes
        (taken,) = (note for note in notes if note.startswith("Not in the file, taken as its family does: "))
        assert f" {field} = " in taken, name
    with pytest.raises(InputError, match="hidden_size is missing"):
        read_config({"model_type": "llama", "vocab_size": 32064}, "no such defaults in a file of its own")


def test_that_objects_within_objects_end():
    config: dict[str, Any] = dict(LLAMA)
    for _ in range(300):
        config = {"model_type": "vl", "text_config": config}
    with pytest.raises(InputError, match="lies deeper than 4 objects"):
        read_config(config, "deep")


def test_that_a_thinker_s_language_model_is_found():
    inner = {**LLAMA, "model_type": "qwen2_5_omni_text"}
    config = {
        "model_type": "qwen2_5_omni",
        "thinker_config": {"text_config": inner, "audio_config": {}},
        "talker_config": {"hidden_size": 896},
    }
    found = read_config(config, "omni")
    assert found.parameters == 8_030_261_248 + 32 * 6144
    assert found.left_out == ("an audio tower", "a second model that speaks")


def test_that_a_class_without_a_head_is_said():
    said = read_config({**LLAMA, "architectures": ["MistralModel"]}, "embedder").notes
    assert said == ("MistralModel is a class without a head: the head is counted all the same.",)
    for name in ("LlamaForCausalLM", "GPT2LMHeadModel", "ChatGLMModel", "InternVLChatModel"):
        assert read_config({**LLAMA, "architectures": [name]}, "with its head").notes == ()


def test_that_a_window_that_a_family_does_not_have_is_said():
    for changes, said in (
        ({}, False),
        ({"use_sliding_window": False}, False),
        ({"sliding_window": 4096}, True),
    ):
        found = read_config({**LLAMA, **changes}, "windowed")
        assert growth(found, FAR) == growth(found, 0)
        assert any("sliding_window is left aside" in note for note in found.notes) == said


# --- families that are not known -------------------------------------------------------------------


def unknown(**changes: Any) -> Architecture:
    """A Llama of an unknown family."""
    return read_config({**LLAMA, "model_type": "brand_new", **changes}, "unknown")


@pytest.mark.parametrize("name", ["hidden_act", "activation_function"])
def test_that_an_unknown_family_whose_mlp_may_have_no_gate_is_refused(name: str):
    with pytest.raises(InputError, match=f'"brand_new" is not known, and {name} "relu2" leaves open'):
        unknown(**{name: "relu2"})


def test_that_an_unknown_family_s_norms_are_those_that_its_epsilon_is_named_for():
    plain, shifted = unknown(rms_norm_eps=1e-5), unknown(layer_norm_eps=1e-5)
    assert shifted.parameters - plain.parameters == (2 * 32 + 1) * 4096
    assert "RMS norms" in plain.notes[0]
    assert "norms with scale and shift as layer_norm_eps suggests" in shifted.notes[0]


def test_that_experts_and_latents_that_a_family_does_not_have_are_said():
    for changes, said in (
        (
            {"num_experts": 8, "num_experts_per_tok": 2},
            "num_experts is left aside: layers of this family have no ",
        ),
        ({"kv_lora_rank": 512}, "kv_lora_rank is left aside: layers of this family have no latents."),
    ):
        (note,) = read_config({**LLAMA, **changes}, "contradiction").notes
        assert note.startswith(said)
    for harmless in (
        {"num_experts": 1},
        {"num_experts": None, "kv_lora_rank": None},
        {"num_local_experts": 0},
    ):
        found = read_config({**LLAMA, **harmless}, "dense")
        assert (found.parameters, found.notes) == (8_030_261_248, ())


def test_that_fields_of_other_layers_are_said_in_a_known_family_too():
    (note,) = read_config({**LLAMA, "mamba_d_state": 16, "swa_head_dim": 0}, "odd").notes
    assert note == "Fields that were left aside and may matter: mamba_d_state."


def test_that_minicpm_may_have_experts():
    dense = {**LLAMA, "model_type": "minicpm"}
    experts = read_config({**dense, "num_experts": 8, "num_experts_per_tok": 2}, "MiniCPM MoE")
    more = experts.parameters - read_config(dense, "MiniCPM").parameters
    assert more == 32 * (7 * 3 * 4096 * 14336 + 8 * 4096)


def test_that_switches_that_were_left_aside_are_named():
    assert "use_sandwich_norm" in unknown(use_sandwich_norm=True).notes[1]
    assert len(unknown(use_sandwich_norm=False, use_cache=True).notes) == 1


def test_that_an_unknown_family_s_expert_bias_and_width_are_said():
    mixture = {"num_experts": 8, "num_experts_per_tok": 2}
    plain, ranked = unknown(**mixture), unknown(**mixture, topk_method="noaux_tc")
    assert ranked.parameters - plain.parameters == 32 * 8
    assert "experts as wide as intermediate_size" in plain.notes[0]


@pytest.mark.parametrize(
    ("name", "field"),
    [("Phi-3.5-MoE", "lm_head_bias"), ("Phi-3.5-MoE", "attention_bias"), ("StableLM-3B", "use_qkv_bias")],
)
def test_that_a_switch_that_published_models_set_is_said_where_the_file_is_silent(name: str, field: str):
    (note,) = set(changed(name, **{field: None}).notes) - set(changed(name).notes)
    assert note.startswith(f"{field} is not in the file: read as false, the default of its class, though ")


@pytest.mark.parametrize("enum", [None, "", "3,x", {"a": 1}, "-1", 7])
def test_that_step_s_layers_with_experts_must_be_listed(enum: object):
    config = {**FURTHER["Step-3.5-Flash"]["config"], "moe_layers_enum": enum}
    with pytest.raises(InputError, match="moe_layers_enum must list layers, such as 3,4,5, got"):
        read_config(config, "step")


def test_that_kinds_of_layers_may_go_on_for_prediction_modules():
    assert changed("Step-3.5-Flash").left_out == ("3 multi-token prediction modules",)
    with pytest.raises(InputError, match="layer_types must have one entry for each of the 45 layers, got 48"):
        changed("Step-3.5-Flash", num_nextn_predict_layers=2)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gating": False}, "gating must be true, per-head or per-element, got false"),
        ({"num_attention_heads_per_layer": [48] * 39}, "must have one entry for each of layer_types, got 39"),
        (
            {"num_attention_heads_per_layer": [48, 64, 64, 32] * 10},
            "must be one positive number for all sliding",
        ),
        (
            {"num_attention_heads_per_layer": [44, 64, 64, 64] * 10},
            "must be multiples of the 8 KV heads, got 44",
        ),
    ],
)
def test_that_laguna_s_heads_are_checked(changes: dict[str, Any], sentence: str):
    with pytest.raises(InputError, match=sentence):
        changed("Laguna-XS.2", **changes)


def read_or_refuse(config: dict[str, Any]) -> Architecture | str:
    """What was read, or the sentence that refuses it."""
    try:
        return read_config(config, "damaged")
    except InputError as error:
        return str(error)


ODD = [None, True, 0, -1, 1, 7, 10**9, 10**30, 1.5, "128", "auto", [], [1] * 32, ["mamba"] * 8, {}, {"a": 1}]


@pytest.mark.parametrize("name", FURTHER)
def test_that_a_damaged_file_of_a_further_family_is_read_or_refused(name: str):
    chance = random.Random(name)
    for _ in range(40):
        config = copy.deepcopy(FURTHER[name]["config"])
        inner = [value for value in config.values() if isinstance(value, dict) and value]
        place = chance.choice(inner) if inner and chance.random() < 0.5 else config
        place[chance.choice(sorted(place))] = chance.choice(ODD)
        found = read_or_refuse(config)
        if isinstance(found, str):
            assert found.startswith("config.json: ")
            assert found.isprintable()
            assert len(found) < 500
        else:
            assert 0 < found.active_parameters <= found.parameters
            assert sum(run.count for run in found.runs) == found.layers


def test_that_falcon_mamba_is_as_wide_as_it_says_whatever_expand_makes() -> None:
    found = changed("Falcon-Mamba-7B", expand=16, intermediate_size=8192)
    assert found.parameters == 7_272_665_088
    assert found.notes[-1] == (
        "expand would make 65,536 channels: intermediate_size, 8,192, is what the class takes."
    )
