"""The table of families: what their Hugging Face classes build that the config.json does not say.

Class defaults are those of transformers 5.24 and, for families that bring their own code, of the
configuration class beside the published weights. Counts were checked against published totals and
against the models that transformers 5.24 builds.
"""

from __future__ import annotations

import msgspec

from pdviz.readers.hf.families_dense import DENSE
from pdviz.readers.hf.families_gpt import GPT
from pdviz.readers.hf.families_hybrid import HYBRID
from pdviz.readers.hf.families_mixture import MIXTURE
from pdviz.readers.hf.traits import Family

_TOWER = ("a vision tower and its projector",)

#: model_type -> the family whose row it shares.
_SAME = {
    "granite": "llama",
    "yi": "llama",
    "Yi": "llama",
    "aquila": "llama",
    "xverse": "llama",
    "skywork": "llama",
    "iquestcoder": "llama",
    "emu3": "llama",
    "emu3_text_model": "llama",
    "granite4_vision_text": "llama",
    "apertus1p5_text": "apertus",
    "hunyuan_vl_text": "hunyuan_v1_dense",
    "ministral": "mistral",
    "minimax_m1": "minimax_text_01",
    "stablelm_epoch": "stablelm",
    "phi-msft": "phi",
    "gpt-sw3": "gpt2",
    "phi4_multimodal": "phi4mm",
    "paddleocr_vl_text": "ernie4_5",
    "glm4v_text": "glm4v",
    "glm4v_moe_text": "glm4v_moe",
    "glm_ocr_text": "glm_ocr",
    "llama4_text": "llama4",
    "kimi_k2": "deepseek_v3",
    "kimi_vl": "deepseek_v3",
    "kimi_k25": "deepseek_v3",
    "deepseek_vl_v2": "deepseek_v2",
    "glm4_moe_lite": "deepseek_v3",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_5_omni_text": "qwen2",
    "qwen3_vl": "qwen3",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_omni_moe_text": "qwen3_moe",
    "qwen3_5_text": "qwen3_5",
    "qwen3_5_moe_text": "qwen3_5_moe",
    "gemma3_text": "gemma3",
    "gemma4_text": "gemma4",
}

#: model_type of one file for language model and tower -> the family of the language model.
_WITH_TOWER = {
    "phi3_v": "phi3",
    "llava_llama": "llama",
    "llava_mistral": "mistral",
    "llava_mixtral": "mixtral",
    "llava_qwen": "qwen2",
    "llava_phi": "phi",
    "fuyu": "persimmon",
}


def _sizes(
    hidden: int, width: int, layers: int, heads: int, kv_heads: int | None, words: int
) -> dict[str, int]:
    found = {
        "hidden_size": hidden,
        "intermediate_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "vocab_size": words,
    }
    return found if kv_heads is None else {**found, "num_key_value_heads": kv_heads}


#: Class defaults of language models inside a vision or audio model's file. Such files leave out whatever
#: equals them (LLaVA 1.5 its Llama's sizes, Pixtral its Mistral's heads); a file of its own never does.
NESTED: dict[str, dict[str, int]] = {
    "llama": _sizes(4096, 11_008, 32, 32, None, 32_000),
    "mistral": _sizes(4096, 14_336, 32, 32, 8, 32_000),
    "qwen2": _sizes(4096, 22_016, 32, 32, 32, 151_936),
    "gemma": _sizes(3072, 24_576, 28, 16, 16, 256_000),
    "gemma2": _sizes(2304, 9216, 26, 8, 4, 256_000),
}


def _table() -> dict[str, Family]:
    rows = {**DENSE, **GPT, **MIXTURE, **HYBRID}
    seen = {
        kind: msgspec.structs.replace(rows[family], left_out=_TOWER) for kind, family in _WITH_TOWER.items()
    }
    return {**rows, **{kind: rows[family] for kind, family in _SAME.items()}, **seen}


FAMILIES: dict[str, Family] = _table()
