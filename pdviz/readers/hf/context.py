"""The longest context that a config.json gives, scaled rotary positions included."""

from __future__ import annotations

from pdviz.readers.hf.fields import MOST_TOKENS, Fields, shown

_SPELLINGS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "n_ctx",
)
_CLASSES = {
    2048: "llama olmo olmo2 olmo3 exaone4 gpt_neox phi granite granitemoe granitemoeshared dbrx bitnet",
    4096: "phi3 starcoder2 stablelm nemotron olmoe arcee helium",
    8192: "gemma gemma2 cohere cohere2 falcon_h1",
    16_384: "persimmon",
    32_768: "qwen2 qwen2_moe qwen2_vl_text qwen2_5_vl_text qwen3 qwen3_moe smollm3 internlm3",
    131_072: "mistral ministral mixtral phimoe ernie4_5 ernie4_5_moe glm glm4 glm4_moe gpt_oss cwm",
    262_144: "jamba ministral3",
    524_288: "seed_oss",
}
#: Family -> the context length of its class, for files that leave out what equals it.
_DEFAULTS = {kind: tokens for tokens, kinds in _CLASSES.items() for kind in kinds.split()}
#: Ways of scaling that multiply the context; with others the file's own number is scaled already.
_MULTIPLYING = ("linear", "dynamic", "yarn")
#: Families whose files give the scaled context beside a factor.
_SCALED = ("gemma3", "gemma3_text")


def context_of(fields: Fields, kind: str) -> int | None:
    """The longest context of a family's file in tokens; None where the file has none."""
    tokens: int | None = None
    for spelling in _SPELLINGS:
        tokens = tokens or fields.count_or_none(spelling, most=MOST_TOKENS)
    name = "model_max_length"
    if tokens is None or kind == "cohere":
        longest = fields.count_or_none(name, most=MOST_TOKENS)
        if longest is not None and (tokens is None or longest > tokens):
            beside = "" if tokens is None else f"; max_position_embeddings says {tokens:,}"
            fields.remark(f"The context length is the {longest:,} of {fields.label(name)}{beside}.")
            return longest
    if tokens is None and not fields.present(_SPELLINGS[0]) and kind in _DEFAULTS:
        tokens = _DEFAULTS[kind]
        fields.take(_SPELLINGS[0], tokens)
    return None if tokens is None else _scaled(fields, kind, tokens)


def _scaled(fields: Fields, kind: str, tokens: int) -> int:
    name = "rope_scaling" if fields.has("rope_scaling") else "rope_parameters"
    if not isinstance(fields.raw(name), dict) or kind in _SCALED:
        return tokens
    scaling = fields.child(name)
    way = scaling.raw("rope_type") or scaling.raw("type")
    if way not in _MULTIPLYING:
        return tokens
    factor = scaling.raw("factor")
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1 <= factor <= 1 << 20:
        raise scaling.error(
            f"{scaling.label('factor')} must be a number from 1 to {1 << 20:,}, got {shown(factor)}"
        )
    base = scaling.count_or_none("original_max_position_embeddings", most=MOST_TOKENS) or tokens
    found = int(base * factor)
    if found > MOST_TOKENS:
        raise scaling.error(f"{scaling.label('factor')} makes a context of {found:,} tokens, too long")
    if found != tokens:
        fields.remark(
            f"The context length is {found:,}: {base:,} times the {factor:g} of {fields.label(name)} ({way})."
        )
    return found
