"""What a config.json leaves open is said, and what it says twice in different ways is refused."""

from __future__ import annotations

from typing import Any

import pytest

from pdviz.costmodel.architecture import Architecture
from pdviz.errors import InputError
from pdviz.readers.hf.config import read_config

WHOLE: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 4096,
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
AWAY: Any = object()


def fields(**changes: Any) -> dict[str, Any]:
    """The fields of a small Llama, changed; AWAY takes one away."""
    return {name: value for name, value in {**WHOLE, **changes}.items() if value is not AWAY}


def read(**changes: Any) -> Architecture:
    return read_config(fields(**changes), "tiny", "tiny.json")


def taken(**changes: Any) -> str:
    """What the note on fields that are not in the file lists."""
    start = "Not in the file, taken as its family does: "
    (found,) = [note for note in read(**changes).notes if note.startswith(start)]
    return found.removeprefix(start)


def test_that_a_file_that_says_everything_needs_no_note() -> None:
    assert read().notes == ()


# --- defaults of a family


@pytest.mark.parametrize(("value", "how"), [(AWAY, "missing"), (None, "null")])
@pytest.mark.parametrize("kind", ["llama", "phi3", "olmo2", "phi", "minicpm"])
def test_that_kv_heads_as_many_as_queries_are_said(value: object, how: str, kind: str) -> None:
    found = read(model_type=kind, num_key_value_heads=value)
    assert [a.kv_heads for _, a in found.attentions()] == [8]
    said = f"num_key_value_heads is {how}: as many as query heads, as Hugging Face takes it."
    assert said in found.notes


def test_that_null_kv_heads_are_said_where_missing_ones_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"^tiny\.json: num_key_value_heads is missing, expected a whole number"
    ):
        read(model_type="qwen2", num_key_value_heads=AWAY)
    assert any(
        "num_key_value_heads is null" in n for n in read(model_type="qwen2", num_key_value_heads=None).notes
    )


@pytest.mark.parametrize("kind", ["baichuan", "internlm", "gpt_neox"])
def test_that_families_without_such_a_field_need_no_note_on_kv_heads(kind: str) -> None:
    assert not any(
        "as many as query heads" in n for n in read(model_type=kind, num_key_value_heads=AWAY).notes
    )
    assert any("as many as query heads" in n for n in read(model_type=kind, num_key_value_heads=None).notes)


def test_that_a_head_that_the_family_ties_or_does_not_is_said() -> None:
    assert taken(tie_word_embeddings=AWAY) == "tie_word_embeddings = false."
    gemma = {"model_type": "gemma", "head_dim": 32}
    assert taken(**gemma, tie_word_embeddings=AWAY) == "tie_word_embeddings = true."
    assert read(**gemma, tie_word_embeddings=AWAY).tied


def test_that_no_context_length_is_said() -> None:
    note = "The file gives no context length: prompts of any length are taken."
    found = read(model_type="baichuan", max_position_embeddings=AWAY)
    assert (found.max_context_tokens, note in found.notes) == (None, True)
    assert note in read(max_position_embeddings=None).notes


@pytest.mark.parametrize(
    ("family", "tokens"), [("llama", 2048), ("gemma", 8192), ("qwen2", 32_768), ("mistral", 131_072)]
)
def test_that_a_class_s_context_length_is_taken_and_said(family: str, tokens: int) -> None:
    found = read(model_type=family, max_position_embeddings=AWAY, head_dim=64)
    assert found.max_context_tokens == tokens
    assert any(f"max_position_embeddings = {tokens}" in note for note in found.notes)


def test_that_model_max_length_stands_in_and_is_said() -> None:
    found = read(model_type="baichuan", max_position_embeddings=AWAY, model_max_length=4096)
    assert found.max_context_tokens == 4096
    assert "The context length is the 4,096 of model_max_length." in found.notes
    longer = {"model_max_length": 131_072, "max_position_embeddings": 8192}
    command = read(model_type="cohere", use_qk_norm=False, **longer)
    assert command.max_context_tokens == 131_072
    said = "The context length is the 131,072 of model_max_length; max_position_embeddings says 8,192."
    assert said in command.notes
    assert read(**longer).max_context_tokens == 8192  # elsewhere it speaks of the tokeniser


@pytest.mark.parametrize(
    ("limit", "scaling", "expected", "said"),
    [
        (
            4096,
            {"type": "linear", "factor": 4.0},
            16_384,
            "16,384: 4,096 times the 4 of rope_scaling (linear).",
        ),
        (
            4096,
            {"rope_type": "dynamic", "factor": 1.5},
            6144,
            "6,144: 4,096 times the 1.5 of rope_scaling (dynamic).",
        ),
        (
            40_960,
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768},
            131_072,
            "131,072: 32,768 times the 4 of rope_scaling (yarn).",
        ),
        (163_840, {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}, 163_840, None),
        (131_072, {"rope_type": "llama3", "factor": 8.0}, 131_072, None),
        (131_072, {"type": "longrope", "factor": 32.0}, 131_072, None),
        (131_072, {"type": "su", "short_factor": [1]}, 131_072, None),
        (32_768, {"type": "mrope", "mrope_section": [16, 24, 24]}, 32_768, None),
        (32_768, {"rope_type": "default", "rope_theta": 1e4}, 32_768, None),
        (32_768, {"full_attention": {"rope_type": "yarn", "factor": 2.0}}, 32_768, None),
    ],
)
def test_that_scaled_positions_make_the_context_longer(
    limit: int, scaling: dict[str, object], expected: int, said: str | None
) -> None:
    for field in ("rope_scaling", "rope_parameters"):
        found = read(max_position_embeddings=limit, **{field: scaling})
        assert found.max_context_tokens == expected
        notes = [note for note in found.notes if note.startswith("The context length")]
        name = None if said is None else said.replace("rope_scaling", field)
        assert notes == ([] if name is None else [f"The context length is {name}"])


@pytest.mark.parametrize("factor", [None, "4", True, 0.5, float("nan"), 1e12])
def test_that_a_factor_of_scaled_positions_must_be_a_number(factor: object) -> None:
    with pytest.raises(InputError, match=r"rope_scaling\.factor must be a number from 1 to 1,048,576, got"):
        read(rope_scaling={"type": "linear", "factor": factor})


def test_that_a_model_without_a_growing_cache_needs_no_context_length() -> None:
    mamba = {
        "model_type": "mamba", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100, "expand": 2,
        "state_size": 16, "conv_kernel": 4, "time_step_rank": 4, "use_bias": False, "use_conv_bias": True,
        "tie_word_embeddings": True,
    }  # fmt: skip
    assert read_config(mamba, "mamba").notes == ()


def test_that_all_that_was_taken_is_one_note() -> None:
    away = dict.fromkeys(("attention_bias", "mlp_bias", "tie_word_embeddings"), AWAY)
    assert taken(**away) == "attention_bias = false, mlp_bias = false, tie_word_embeddings = false."
    assert len(read(**away).notes) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"model_type": "qwen2", "sliding_window": 64, "max_window_layers": 2},
            "use_sliding_window = false.",
        ),
        ({"model_type": "gemma2", "head_dim": 32, "sliding_window": 64}, "sliding_window_pattern = 2."),
        ({"model_type": "falcon", "bias": False, "parallel_attn": True}, "ffn_hidden_size = 1024."),
        ({"model_type": "gptj", "num_key_value_heads": AWAY, "intermediate_size": AWAY}, "n_inner = 1024."),
        (
            {"model_type": "qwen2_moe", "num_experts": 4, "num_experts_per_tok": 2, "qkv_bias": True,
             "moe_intermediate_size": 64, "shared_expert_intermediate_size": 64},
            "decoder_sparse_step = 1.",
        ),
    ],
)  # fmt: skip
def test_that_other_defaults_that_change_the_count_or_the_cache_are_said(
    changes: dict[str, Any], said: str
) -> None:
    if changes["model_type"] == "falcon":
        changes = changes | {
            "multi_query": True,
            "new_decoder_architecture": False,
            "intermediate_size": AWAY,
        }
    assert said in taken(**changes).split(", ")[-1]


def test_that_what_a_note_says_more_about_is_not_listed_too() -> None:
    (note,) = read(model_type="mistral").notes
    assert note.startswith("sliding_window is not in the file: read as full attention")


@pytest.mark.parametrize("name", ["attn_layer_offset", "expert_layer_offset"])
def test_that_what_has_no_default_worth_taking_is_refused(name: str) -> None:
    jamba = {
        "model_type": "jamba", "attn_layer_period": 4, "attn_layer_offset": 1, "expert_layer_period": 2,
        "expert_layer_offset": 1, "num_experts": 2, "num_experts_per_tok": 1, "mamba_d_state": 16,
        "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 16, "mamba_conv_bias": True,
        "mamba_proj_bias": False,
    }  # fmt: skip
    assert read(**jamba).notes == ()
    with pytest.raises(InputError, match=f"{name} is missing"):
        read(**{**jamba, name: AWAY})


def test_that_an_unknown_family_s_note_is_enough() -> None:
    assert len(read(model_type="brand_new", attention_bias=AWAY).notes) == 1


# --- contradictions


def test_that_two_language_models_in_one_file_must_agree() -> None:
    both = {"model_type": "vl", "text_config": fields(), "llm_config": fields()}
    assert read_config(both, "twice").layers == 4
    both["llm_config"] = fields(hidden_size=128)
    with pytest.raises(InputError, match=r"^vl\.json: text_config and llm_config are both there and differ"):
        read_config(both, "twice", "vl.json")


@pytest.mark.parametrize(
    ("kind", "name", "more"),
    [
        ("deepseek", "first_k_dense_replace", {"n_shared_experts": 1}),
        ("lfm2_moe", "num_dense_layers", {"conv_L_cache": 3, "full_attn_idxs": [1], "use_expert_bias": True}),
    ],
)
def test_that_dense_layers_are_no_more_than_there_are_layers(
    kind: str, name: str, more: dict[str, Any]
) -> None:
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64, **more}
    assert read(model_type=kind, **experts, **{name: 4}).layers == 4
    with pytest.raises(InputError, match=rf"^tiny\.json: {name} must be at most the 4 layers, got 5"):
        read(model_type=kind, **experts, **{name: 5})


@pytest.mark.parametrize("window", [None, AWAY])
@pytest.mark.parametrize("kind", ["qwen2", "qwen3", "smollm3"])
def test_that_a_window_that_is_switched_on_must_be_given(kind: str, window: object) -> None:
    more = {"model_type": kind, "head_dim": 32, "max_window_layers": 2, "sliding_window": window}
    assert read(**more, use_sliding_window=False).layers == 4
    with pytest.raises(
        InputError, match=r"sliding_window is (null|missing), though use_sliding_window is true"
    ):
        read(**more, use_sliding_window=True)
    listed = read(**more, use_sliding_window=True, layer_types=["full_attention"] * 4)
    assert {a.kind for _, a in listed.attentions()} == {"full"}


def int4(*ignore: object) -> dict[str, Any]:
    weights = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"g": {"targets": ["Linear"], "weights": weights}},
        "ignore": list(ignore),
    }


@pytest.mark.parametrize("pattern", ["re:[", "re:(", "re:*"])
def test_that_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(
        InputError, match=r"^tiny\.json: quantization_config\.ignore has \"re:.\", no pattern"
    ):
        read(quantization_config=int4("lm_head", pattern))


def test_that_names_of_nothing_are_said() -> None:
    assert read(quantization_config=int4("lm_head", "re:.*self_attn.*", "re:.*vision_tower.*")).notes == ()
    (note,) = read(quantization_config=int4("lm_head", "nonexist")).notes
    assert note == 'quantization_config.ignore: nothing in this model is called "nonexist".'
    (note,) = read(quantization_config=int4("nonexist", "re:.*nothing.*", "lm_head")).notes
    assert note == 'quantization_config.ignore: nothing in this model is called "nonexist", "re:.*nothing.*".'
    (note,) = read(quantization_config=int4("model.layers.4.mlp", "model.layers.3.mlp")).notes
    assert note == 'quantization_config.ignore: nothing in this model is called "model.layers.4.mlp".'
    many = [f"thing{n}" for n in range(500)]
    (note,) = read(quantization_config=int4(*many)).notes
    assert note.endswith('"thing2" and 497 more.')


def test_that_names_of_prediction_layers_are_known() -> None:
    found = read(quantization_config=int4("model.layers.4.mlp"), num_nextn_predict_layers=1)
    assert not any("nothing in this model" in note for note in found.notes)


# --- sentences


@pytest.mark.parametrize("name", ["torch_dtype", "dtype"])
def test_that_a_dtype_that_is_not_known_is_refused_by_file_and_field(name: str) -> None:
    with pytest.raises(
        InputError,
        match=rf'^tiny\.json: {name} must be one of bfloat16, float16, float32, float64, got "float12"$',
    ):
        read(**{"torch_dtype": AWAY, name: "float12"})
    assert read(torch_dtype="torch.float16").published_dtype == "float16"


def test_that_a_null_is_named_under_the_file_s_own_spelling() -> None:
    experts = {"n_routed_experts": None, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
    with pytest.raises(InputError, match=r"^tiny\.json: n_routed_experts is null, expected a positive whole"):
        read(model_type="deepseek", **experts, n_shared_experts=1, first_k_dense_replace=1)
    with pytest.raises(InputError, match=r"^tiny\.json: hidden_size is null, expected"):
        read(hidden_size=None)


def test_that_a_null_language_model_is_named() -> None:
    with pytest.raises(InputError, match=r"^vl\.json: text_config is null, expected an object"):
        read_config({"model_type": "gemma3", "text_config": None}, "vl", "vl.json")
    assert read(text_config=None).layers == 4


def test_that_a_language_model_of_its_class_s_sizes_keeps_its_name() -> None:
    llava = {"model_type": "llava", "text_config": {"model_type": "llama"}, "vision_config": {}}
    found = read_config(llava, "LLaVA 1.5")
    assert (found.name, found.hidden) == ("LLaVA 1.5", 4096)


def test_that_a_file_on_how_weights_were_quantised_is_told_from_a_model() -> None:
    with pytest.raises(InputError, match=r"hf_quant_config\.json\); the config\.json beside it is needed$"):
        read_config({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4"}}, "M")
