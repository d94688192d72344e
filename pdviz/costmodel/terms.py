"""What a pass is made of: slices of sequences, and the terms that they cost.

A pass holds slices; slice i brings ``n`` new tokens to a sequence with ``p`` tokens in its KV cache. A
term is some FLOPs and some bytes with one reason: so many each, so often. How often is counted by the
functions here, which take numbers, numpy arrays, or quantities that remember how they were made
(``pdviz.explain``): a rule is written once, and read aloud from where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

import msgspec

Tokens = Any  # int, float, a numpy array of them, or a traced quantity


class Slice(msgspec.Struct, frozen=True):
    """``sequences`` sequences that each bring ``new`` tokens after ``past`` cached ones: ``context`` in all.

    ``decodes`` tells a decode slice (it reads its whole context, the new token included) from a piece
    of a prompt (it reads what was cached). ``samples`` is true where the slice ends a prompt or
    decodes, so that it needs logits.
    """

    new: Tokens
    past: Tokens
    context: Tokens
    sequences: Tokens = 1
    decodes: bool = False
    samples: bool = True

    @classmethod
    def prompt(cls, tokens: Tokens, cached: Tokens = 0, last: bool = True) -> Slice:
        """A prompt, or a piece of one, of ``tokens`` new tokens after ``cached`` ones."""
        return cls(tokens, cached, cached + tokens, samples=last)

    @classmethod
    def decode(cls, context: Tokens, sequences: Tokens = 1) -> Slice:
        """One new token for each of ``sequences`` sequences, ``context`` tokens long with it."""
        return cls(1, context - 1, context, sequences, decodes=True)


Slices = tuple[Slice, ...]


class Role(str, Enum):
    """What a term is about, with its words."""

    words: str

    DENSE = "dense", "weights of the layers, routed experts apart"
    HEAD = "head", "the output head"
    EMBEDDING = "embedding", "the embedding table"
    EXPERTS = "experts", "routed experts"
    ATTENTION = "attention", "attention over what each token sees"
    KV_READ = "kv_read", "KV cache, read"
    STATE = "state", "fixed states of sequences"
    KV_WRITE = "kv_write", "KV cache, written"
    ELEMENTWISE = "elementwise", "element-wise work"
    COMMUNICATION = "communication", "exchange between accelerators"
    LAUNCH = "launch", "launches and host work"

    def __new__(cls, value: str, words: str) -> Role:
        made = str.__new__(cls, value)
        made._value_ = value
        made.words = words
        return made

    @property
    def is_weights(self) -> bool:
        """True for what is read once for all tokens of a pass."""
        return self in _WEIGHTS


_WEIGHTS = frozenset((Role.DENSE, Role.HEAD, Role.EMBEDDING, Role.EXPERTS))


class Term(msgspec.Struct, frozen=True):
    """Some FLOPs and bytes of a pass that have one reason.

    ``window`` is that of the layers which the term is about, ``experts`` the (total, active) experts of
    a layer. ``seconds`` is time that neither arithmetic nor memory traffic explains.
    """

    role: Role
    flops_each: float = 0
    flops_count: Tokens = 0
    bytes_each: float = 0
    bytes_count: Tokens = 0
    window: int | None = None
    experts: tuple[int, int] | None = None
    seconds: float = 0.0

    @property
    def flops(self) -> Tokens:
        return self.flops_each * self.flops_count

    @property
    def bytes(self) -> Tokens:
        return self.bytes_each * self.bytes_count


Terms = tuple[Term, ...]


def total_flops(terms: Iterable[Term]) -> Tokens:
    """FLOPs of all terms: weights first, whole numbers of them exactly, then logits, then attention."""
    weights: Tokens = 0
    logits: Tokens = 0
    rest: Tokens = 0
    for term in terms:
        each = term.flops_each
        if not each:
            continue
        if term.role is Role.ATTENTION:
            rest = rest + each * term.flops_count
        elif type(each) is int:
            weights = weights + each * term.flops_count
        else:
            logits = logits + each * term.flops_count
    return weights + logits + rest


def total_bytes(terms: Iterable[Term]) -> Tokens:
    """Bytes of all terms: the weights, then what sequences add."""
    weights: Tokens = 0
    rest: Tokens = 0
    for term in terms:
        each = term.bytes_each
        if not each:
            continue
        if term.role in _WEIGHTS:
            weights = weights + each * term.bytes_count
        else:
            rest = rest + each * term.bytes_count
    return weights + rest


def sequence_bytes(terms: Iterable[Term]) -> Tokens:
    """Bytes of what sequences keep: KV caches and states, read and written."""
    return total_bytes(term for term in terms if not term.role.is_weights)


# --- how often: each rule once -----------------------------------------------------------------------


def least(a: Tokens, b: Tokens) -> Tokens:
    """The smaller of two quantities."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a if a < b else b
    for one, other in ((a, b), (b, a)):
        if hasattr(one, "least"):
            return one.least(other)
    import numpy as np

    return np.minimum(a, b)


def most(a: Tokens, b: Tokens) -> Tokens:
    """The larger of two quantities."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a if a >= b else b
    for one, other in ((a, b), (b, a)):
        if hasattr(one, "most"):
            return one.most(other)
    import numpy as np

    return np.maximum(a, b)


def attention_pairs(new: Tokens, past: Tokens, window: Tokens | None = None) -> Tokens:
    """Causal (query, key) pairs per layer: the sum over new tokens of how many keys each sees.

    Without a window ``n p + n (n + 1) / 2``; with one, each token sees at most ``window`` keys.
    """
    pairs = new * past + new * (new + 1) / 2
    if window is None:
        return pairs
    clipped = least(new, most(past + new - window, 0))
    return pairs - clipped * most(past - window, 0) - clipped * (clipped + 1) / 2


def distinct_experts(total: Tokens, active: Tokens, tokens: Tokens) -> Tokens:
    """Experts of one layer that ``tokens`` tokens hit, uniform routing: E (1 - (1 - k/E)^T)."""
    return total * (1 - (1 - active / total) ** tokens)


def pair_flops(heads: Tokens, key_width: Tokens, value_width: Tokens) -> Tokens:
    """FLOPs of one attention pair in one layer: a score and a weighted value for each query head."""
    return 2.0 * heads * (key_width + value_width)


def _kept(tokens: Tokens, window: Tokens | None) -> Tokens:
    return tokens if window is None else least(tokens, window)


def new_tokens(slices: Slices) -> Tokens:
    """Tokens that a pass brings."""
    total: Tokens = 0
    for s in slices:
        total = total + s.sequences * s.new
    return total


def positions(slices: Slices) -> Tokens:
    """Positions with logits."""
    total: Tokens = 0
    for s in slices:
        if s.samples:
            total = total + s.sequences
    return total


def pairs(slices: Slices, window: Tokens | None = None) -> Tokens:
    """Attention pairs in one layer; a decode slice's token sees its context."""
    total: Tokens = 0
    for s in slices:
        one = _kept(s.context, window) if s.decodes else attention_pairs(s.new, s.past, window)
        total = total + s.sequences * one
    return total


def held(slices: Slices, window: Tokens | None = None) -> Tokens:
    """Tokens whose KV a pass reads in one layer: a decode slice its context, a prompt what is cached."""
    total: Tokens = 0
    for s in slices:
        total = total + s.sequences * _kept(s.context if s.decodes else s.past, window)
    return total


def states(slices: Slices) -> Tokens:
    """Sequences whose fixed state a pass reads: those that have one yet."""
    total: Tokens = 0
    for s in slices:
        if s.decodes or s.past > 0:
            total = total + s.sequences
    return total


COUNTS: dict[Role, Callable[..., Tokens]] = {
    Role.ATTENTION: pairs,
    Role.KV_READ: held,
}
"""How often a term of a kind of layers occurs: a function of slices and window."""
