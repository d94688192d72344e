"""The longest context that a config.json gives, scaled rotary positions included."""

from __future__ import annotations

from pdviz.readers.hf.fields import MOST_TOKENS, Fields, shown
from pdviz.readers.hf.traits import Family

_SPELLINGS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "n_ctx",
)
#: Ways of scaling that multiply the context; with others the file's own number is scaled already.
_MULTIPLYING = ("linear", "dynamic", "yarn")


def context_of(fields: Fields, family: Family) -> int | None:
    """The longest context of a family's file in tokens; None where the file has none."""
    tokens: int | None = None
    for spelling in _SPELLINGS:
        tokens = tokens or fields.count_or_none(spelling, most=MOST_TOKENS)
    name = "model_max_length"
    if tokens is None or family.prefers_longest:
        longest = fields.count_or_none(name, most=MOST_TOKENS)
        if longest is not None and (tokens is None or longest > tokens):
            beside = "" if tokens is None else f"; max_position_embeddings says {tokens:,}"
            fields.remark(f"The context length is the {longest:,} of {fields.label(name)}{beside}.")
            return longest
    if tokens is None and not fields.present(_SPELLINGS[0]) and family.context_tokens is not None:
        tokens = family.context_tokens
        fields.take(_SPELLINGS[0], tokens)
    return tokens if tokens is None or family.is_scaled else _scaled(fields, tokens)


def _scaled(fields: Fields, tokens: int) -> int:
    name = "rope_scaling" if fields.has("rope_scaling") else "rope_parameters"
    if not isinstance(fields.raw(name), dict):
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
