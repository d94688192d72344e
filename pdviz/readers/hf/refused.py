"""Families and classes that are known and not modelled, each with the reason that the user is told."""

from __future__ import annotations

import re

from pdviz.readers.hf.fields import Fields, shown

_SHARED = "its layers share KV caches and take inputs of their own"
_KV = "its layers share KV caches, which is not modelled"
_INDEXER = "an indexer picks which tokens each query attends to"
_ENCODER = "it is an encoder and writes no text"
_BOTH = "it has an encoder"
_RECURRENT = "its recurrent layers are not modelled"
_DIFFUSION = "it fills in text by diffusion, not token after token"
_SPEECH = "it writes the codes of an audio codec, several at a time"

_REASONS = {
    _SHARED: "gemma3n gemma3n_text gemma4_unified gemma4_unified_text",
    _KV: "hunyuan",
    "some layers attend to an image": "mllama mllama_text_model idefics evolla otter",
    _INDEXER: "deepseek_v32 glm_moe_dsa axk2 dots3_note dots3_note_text glm5_next glm5_next_text hy_v4 "
    "hy_v4_vl hy_v4_vl_text",
    "its compressed attention caches are not published as fields": "deepseek_v4",
    _RECURRENT: "rwkv rwkv5 rwkv6 rwkv7 rwkv6qwen2 xlstm zamba zamba2 plamo2 hymba bailing_hybrid "
    "bailing_moe_linear bailing_moe_v2_5 mega stripedhyena retnet phi4flash",
    "some experts are empty and layers have two attentions": "longcat_flash",
    "text and image tokens have experts of their own": "ernie4_5_moe_vl ernie4_5_vl_moe ernie4_5_vl_moe_text",
    "its attention is the difference of two": "diffllama",
    "its experts are looked up in pairs of keys": "doge",
    "its attention heads are experts": "jetmoe",
    "its dense MLPs beside the experts are not modelled": "git grok grok-2",
    "its attention skips blocks of the context in a pattern that is not modelled": "phi3small",
    "its attention is factorised in a way that is not modelled": "step3_vl step3_text step3",
    "its config.json does not say which language model it holds": "minicpmv minicpmo",
    "it reads bytes in patches of changing length": "blt",
    "its fields do not tell all parts of its layers": "beam flint muse_glimmer muse_glimmer_text muse_spark "
    "muse_spark_text molmo molmo2 molmo2_text chameleon cohere_compass cohere_compass_text",
    "its layers run in loops": "hrm_text ouro dory lara_mini",
    _DIFFUSION: "llada llada2_moe dream Dream sdar diffusion_gemma",
    _SPEECH: "moshi musicgen musicgen_melody csm dia kyutai_speech_to_text bark",
    _BOTH: "t5 mt5 umt5 longt5 byt5 t5gemma bart mbart barthez pegasus pegasus_x marian m2m_100 nllb-moe "
    "blenderbot led mvp plbart prophetnet fsmt whisper speech_to_text seamless_m4t encoder-decoder "
    "speech-encoder-decoder vision-encoder-decoder trocr switch_transformers bigbird_pegasus florence2",
    _ENCODER: "bert albert roberta roberta-prelayernorm xlm-roberta xlm-roberta-xl camembert deberta "
    "deberta-v2 distilbert electra ernie ernie_m mpnet mobilebert squeezebert funnel longformer big_bird "
    "nystromformer convbert new roc_bert roformer rembert megatron-bert bert-generation data2vec-text xlm "
    "flaubert xmod modernbert neobert nomic_bert eurobert jina_bert luke layoutlm layoutlmv3 lilt esm "
    "perceiver canine ibert fnet yoso mra nezha clip clip_text_model siglip siglip2 altclip vit deit "
    "beit swin dinov2 convnext resnet sam wav2vec2 hubert wavlm data2vec-audio",
    "it predicts tokens in changing orders": "xlnet",
    "its attention hashes tokens into buckets": "reformer",
}

#: model_type -> why the family is not modelled.
REFUSED = {kind: reason for reason, kinds in _REASONS.items() for kind in kinds.split()}

#: Ends of class names (patterns) in ``architectures`` that are no language models, and what they are.
_CLASSES = {
    "MaskedLM": _ENCODER,
    "SequenceClassification": "this is a classifier, whose head writes no text",
    "TokenClassification": "this is a classifier, whose head writes no text",
    "MultipleChoice": "this is a classifier, whose head writes no text",
    "QuestionAnswering": "this marks answers in a text and writes none",
    "RewardModel": "this is a reward model, whose head writes no text",
    r"(Eagle|Medusa)\w*": "this drafts tokens for another model and is none of its own",
    "ImageClassification": "this is a classifier, whose head writes no text",
}


def refuse(fields: Fields, kind: str) -> None:
    """Raise where the family is known not to be modelled, or the fields say so."""
    if not re.fullmatch(r"[\w.-]{1,64}", kind, re.ASCII):
        raise fields.error(
            f"{fields.label('model_type')} must be a family's name, such as llama, got {shown(kind)}"
        )
    if fields.raw("is_encoder_decoder") is True:
        raise fields.error(f"family {shown(kind)} is not modelled: {_BOTH}")
    if kind in REFUSED:
        raise fields.error(f"family {shown(kind)} is not modelled: {REFUSED[kind]}")
    for name, least in (("cla_share_factor", 1), ("num_kv_shared_layers", 0)):
        value, is_off = fields.raw(name), name == "cla_share_factor" and fields.raw("use_cla") is False
        if isinstance(value, int) and value > least and not is_off:
            raise fields.error(f"{fields.label(name)} is {value:,}: {_KV}")


def bare_class(fields: Fields) -> str | None:
    """The class in ``architectures`` that is a model without a head; None where there is none."""
    names = fields.raw("architectures")
    for name in names if isinstance(names, list) else []:
        if isinstance(name, str) and re.fullmatch(r"[A-Z]\w{1,40}(?<!LMHead)(?<!Chat)(?<!GLM)Model", name):
            return name
    return None


def refuse_classes(fields: Fields) -> None:
    """Raise where the file says that the whole model is no language model that goes token by token."""
    for name, value in (("use_bidirectional_attention", True), ("is_causal", False)):
        if fields.raw(name) is value:
            raise fields.error(f"{fields.label(name)} is {shown(value)}: {_ENCODER}")
    names = fields.raw("architectures")
    for name in names if isinstance(names, list) else []:
        if not isinstance(name, str):
            continue
        for end, reason in _CLASSES.items():
            if re.search(rf"{end}$", name):
                raise fields.error(f"{fields.label('architectures')} says {shown(name)}: {reason}")
