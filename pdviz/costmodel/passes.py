"""FLOPs and bytes of one pass: a forward run over new tokens of some sequences.

A pass holds slices; slice i brings ``n`` new tokens to a sequence with ``p`` tokens in its KV cache.
One weight read serves them all. Plain arithmetic throughout, so that tokens may be numbers or numpy
arrays (then all results are arrays).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import msgspec

from pdviz.costmodel.architecture import Architecture, Experts
from pdviz.costmodel.dtypes import DTYPES, PUBLISHED
from pdviz.costmodel.stored import StoredBytes

TEXTBOOK, IDEAL = "textbook", "ideal"
FIDELITIES = (TEXTBOOK, IDEAL)

STATE_BYTES = 2.0
"""Bytes of an element of a recurrent state: engines keep it at 16 bit, however keys and values are cached."""

Tokens = Any  # int, float or a numpy array of them


class Slice(msgspec.Struct, frozen=True):
    """``sequences`` sequences that each bring ``new`` tokens after ``past`` cached ones.

    ``decodes`` tells a decode slice (it reads its whole context, the new token included) from a piece
    of a prompt (it reads what was cached). ``samples`` is true where the slice ends a prompt or
    decodes, so that it needs logits.
    """

    new: Tokens
    past: Tokens = 0
    sequences: Tokens = 1
    decodes: bool = False
    samples: bool = True

    @classmethod
    def prompt(cls, tokens: Tokens, cached: Tokens = 0, last: bool = True) -> Slice:
        """A prompt, or a piece of one, of ``tokens`` new tokens after ``cached`` ones."""
        return cls(tokens, cached, samples=last)

    @classmethod
    def decode(cls, context: Tokens, sequences: Tokens = 1) -> Slice:
        """One new token for each of ``sequences`` sequences, ``context`` tokens long with it."""
        return cls(1, context - 1, sequences, decodes=True)


def _least(a: Tokens, b: Tokens) -> Tokens:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a if a < b else b
    import numpy as np

    return np.minimum(a, b)


def _most(a: Tokens, b: Tokens) -> Tokens:
    return -_least(-a, -b)


def attention_pairs(new: Tokens, past: Tokens, window: int | None = None) -> Tokens:
    """Causal (query, key) pairs per layer: the sum over new tokens of how many keys each sees.

    Without a window ``n p + n (n + 1) / 2``; with one, each token sees at most ``window`` keys.
    """
    pairs = new * past + new * (new + 1) / 2
    if window is None:
        return pairs
    clipped = _least(new, _most(past + new - window, 0))
    return pairs - clipped * _most(past - window, 0) - clipped * (clipped + 1) / 2


def distinct_experts(total: int, active: int, tokens: Tokens) -> Tokens:
    """Experts of one layer that ``tokens`` tokens hit, uniform routing: E (1 - (1 - k/E)^T)."""
    return total * (1 - (1 - active / total) ** tokens)


class ModelCost(msgspec.Struct, frozen=True, dict=True):
    """A model in given formats, ready to be asked what a pass costs.

    ``fidelity`` "textbook" counts 2 FLOPs for each active parameter and reads every parameter;
    "ideal" counts exact operations: no multiplication by the embedding table, logits for the
    sampled positions only, KV written as well as read.
    """

    architecture: Architecture
    weights_dtype: str
    kv_dtype: str
    fidelity: str = TEXTBOOK

    @cached_property
    def _bytes_per(self) -> tuple[float, float]:
        """Bytes of (a matrix element, an element that stays wide)."""
        dtype = DTYPES[self.weights_dtype]
        return dtype.bytes_per_weight, 2.0 if dtype.is_quantised else dtype.bytes_per_weight

    def _expert_bytes(self, block: Experts) -> float:
        narrow, wide = self._bytes_per
        weights = sum(m.weights for m in block.expert)
        return weights * narrow + (sum(m.parameters for m in block.expert) - weights) * wide

    @cached_property
    def stored(self) -> StoredBytes:
        """Bytes of the weights in memory, by when a pass reads them."""
        if self.weights_dtype == PUBLISHED:
            from pdviz.costmodel.weights import stored_bytes

            return stored_bytes(self.architecture)
        narrow, wide = self._bytes_per
        model = self.architecture
        return StoredBytes(
            embedding=model.embedding.weights * wide,
            head=0.0 if model.head is None else model.head.weights * wide,
            dense=model.dense_weights * narrow + model.vector_parameters * wide,
            experts=sum(n * block.total * self._expert_bytes(block) for n, block in model.experts()),
        )

    def bytes_per_parameter(self, part: str) -> float:
        """Mean bytes of a parameter of "embedding", "head", "dense" or "experts"; 0 where it has none."""
        model = self.architecture
        counts = {
            "embedding": model.embedding.weights,
            "head": 0 if model.head is None else model.head.weights,
            "dense": model.dense_weights + model.vector_parameters,
            "experts": sum(n * b.total * model.expert_parameters(b) for n, b in model.experts()),
        }
        return getattr(self.stored, part) / counts[part] if counts[part] else 0.0

    @cached_property
    def always_read_bytes(self) -> float:
        """Weight bytes that every pass reads, whatever its tokens: all but routed experts.

        The table of a tied head is read in any case, as the head.
        """
        stored = self.stored
        skips = self.fidelity == IDEAL and self.architecture.head is not None
        return stored.dense + stored.head + (0.0 if skips else stored.embedding)

    @cached_property
    def routed(self) -> tuple[tuple[int, int, float], ...]:
        """(experts, active of them, bytes of one over all its layers) for each kind of mixture."""
        published = self.weights_dtype == PUBLISHED
        sums: dict[tuple[int, int], float] = {}
        for n, block in self.architecture.experts():
            kind = block.total, block.active
            one = self.architecture.expert_parameters(block) if published else self._expert_bytes(block)
            sums[kind] = sums.get(kind, 0.0) + n * one
        if published and sums:  # so far parameters; a file's bytes are shared out by them
            scale = self.stored.experts / sum(kind[0] * one for kind, one in sums.items())
            sums = {kind: one * scale for kind, one in sums.items()}
        return tuple((*kind, one) for kind, one in sums.items())

    def weights_read_bytes(self, tokens: Tokens) -> Tokens:
        """Weight bytes that a pass over ``tokens`` tokens reads: routed experts by how many it hits."""
        total = self.always_read_bytes
        for experts, active, expert_bytes in self.routed:
            total = total + distinct_experts(experts, active, tokens) * expert_bytes
        return total

    @cached_property
    def stored_weights_bytes(self) -> float:
        """Bytes of all weights in memory."""
        return float(self.stored.total)

    def divides_among(self, accelerators: int) -> bool:
        """True where the query heads of every layer with attention are a multiple of ``accelerators``."""
        heads = (a.query_heads for _, a in self.architecture.attentions() if a.kind != "recurrent")
        return all(count % accelerators == 0 for count in heads)

    def fullest_weights_bytes(self, accelerators: int) -> float:
        """Weights on the accelerator that holds most: experts are placed whole while there are enough.

        Tables, attention and MLPs are in equal shares, projections to KV heads with their heads, those to
        latents on each; of each layer's E experts it holds E / n rounded up, or where n is larger than E
        an equal share of all.
        """
        routed = sum(total * one for total, _, one in self.routed)
        held = (self.stored_weights_bytes - routed) / accelerators
        for total, _, one in self.routed:
            share = -(-total // accelerators) if total >= accelerators else total / accelerators
            held += share * one
        return held + self.copied_weights_bytes(accelerators)

    def copied_weights_bytes(self, accelerators: int) -> float:
        """What each accelerator holds of projections to KV heads and latents beyond an equal share."""
        elements = 0.0
        for count, a in self.architecture.attentions():
            for m in a.matrices if a.kind != "recurrent" else ():
                if m.name in ("q_down", "kv_down"):
                    elements += count * m.weights * (1 - 1 / accelerators)
                elif m.name == "qkv":
                    width = a.kv_heads * (a.head_dim + a.value_head_dim)
                    share = -(-a.kv_heads // accelerators) / a.kv_heads
                    elements += count * m.inputs * min(width, m.outputs) * (share - 1 / accelerators)
        published = self.weights_dtype == PUBLISHED
        return elements * (self.bytes_per_parameter("dense") if published else self._bytes_per[0])

    @cached_property
    def kernel_dtype(self) -> str:
        """The format whose kernels multiply the weights: their own, unless they are as published."""
        if self.weights_dtype != PUBLISHED:
            return self.weights_dtype
        from pdviz.costmodel.weights import kernel_format

        return kernel_format(self.architecture, self.weights_dtype)

    @cached_property
    def weights_title(self) -> str:
        """What the weights are stored as, for people: "FP8", or what the file holds."""
        if self.weights_dtype != PUBLISHED:
            return DTYPES[self.weights_dtype].title
        from pdviz.costmodel.weights import weights_title

        return weights_title(self.architecture, self.weights_dtype)

    @cached_property
    def _kv_layers(self) -> tuple[tuple[int | None, float], ...]:
        """(window, bytes that a token adds) for each window that occurs, summed over layers."""
        element = DTYPES[self.kv_dtype].bytes_per_element
        sums: dict[int | None, float] = {}
        for n, attention in self.architecture.attentions():
            if attention.cache_elements:
                window = attention.window_tokens
                sums[window] = sums.get(window, 0.0) + n * attention.cache_elements * element
        return tuple(sums.items())

    @cached_property
    def windows(self) -> tuple[int, ...]:
        """Context lengths at which the growth of KV traffic or of attention changes, ascending."""
        return tuple(sorted({w for w, _ in self._kv_layers + self._pair_flops if w is not None}))

    @cached_property
    def state_bytes(self) -> float:
        """Fixed state of one sequence (recurrent layers), whatever its length and the format of the cache."""
        return STATE_BYTES * sum(n * a.state_elements for n, a in self.architecture.attentions())

    @cached_property
    def kv_bytes_per_token(self) -> float:
        """What one token adds to the KV cache while it is inside every window."""
        return sum(b for _, b in self._kv_layers)

    def kv_bytes(self, context: Tokens) -> Tokens:
        """KV cache of one sequence of ``context`` tokens, windows respected, state included."""
        total: Tokens = self.state_bytes * (context > 0)  # nothing to read before the first token
        for window, token_bytes in self._kv_layers:
            kept = context if window is None else _least(context, window)
            total = total + token_bytes * kept
        return total

    def context_of_kv_bytes(self, kv_bytes: float) -> float | None:
        """The context at which one sequence's KV cache takes ``kv_bytes``; None where it never does."""
        left, start = max(kv_bytes - self.state_bytes, 0.0), 0.0
        for end in (*self.windows, math.inf):
            slope = sum(b for window, b in self._kv_layers if window is None or window > start)
            if slope and left <= slope * (end - start):
                return start + left / slope
            left, start = left - slope * (end - start), end
        return None

    def stored_kv_bytes(self, context: int, accelerators: int = 1) -> float:
        """Memory that one sequence's KV cache takes over all ``accelerators`` together.

        Each holds whole heads: where they are more than the KV heads (one for a latent), heads are
        kept more than once.
        """
        total = float(self.kv_bytes(context))
        element = DTYPES[self.kv_dtype].bytes_per_element
        for n, a in self.architecture.attentions():
            again = -(-a.kv_heads // accelerators) * accelerators / a.kv_heads - 1
            if again and a.cache_elements:
                kept = context if a.window_tokens is None else min(context, a.window_tokens)
                total += n * again * a.cache_elements * element * kept
        return total

    @cached_property
    def _pair_flops(self) -> tuple[tuple[int | None, float], ...]:
        """(window, FLOPs of one (query, key) pair) summed over layers: 2 n_q (d_qk + d_v)."""
        sums: dict[int | None, float] = {}
        for n, a in self.architecture.attentions():
            if a.kind != "recurrent":
                each = n * 2.0 * a.query_heads * (a.head_dim + a.value_head_dim)
                sums[a.window_tokens] = sums.get(a.window_tokens, 0.0) + each
        return tuple(sums.items())

    @cached_property
    def flops_per_token(self) -> float:
        """Multiply-adds of the weights that a token meets, two FLOPs each; attention apart."""
        model = self.architecture
        if self.fidelity == TEXTBOOK:
            return 2.0 * model.active_parameters
        routed = sum(n * b.active * sum(m.weights for m in b.expert) for n, b in model.experts())
        return 2.0 * (model.dense_weights + routed)

    @cached_property
    def flops_per_sample(self) -> float:
        """FLOPs of one position's logits where they are counted apart (ideal), else 0."""
        model = self.architecture
        return 0.0 if self.fidelity == TEXTBOOK else 2.0 * (model.head or model.embedding).weights

    def tokens(self, slices: tuple[Slice, ...]) -> Tokens:
        """New tokens in a pass."""
        return sum(s.new * s.sequences for s in slices)

    def attention_flops(self, slices: tuple[Slice, ...]) -> Tokens:
        """FLOPs of attention scores and of weighting the values."""
        total: Tokens = 0.0
        for s in slices:
            for window, each in self._pair_flops:
                total = total + each * s.sequences * attention_pairs(s.new, s.past, window)
        return total

    def flops(self, slices: tuple[Slice, ...]) -> Tokens:
        """FLOPs of a pass."""
        sampled = sum(s.sequences for s in slices if s.samples)
        weights = self.flops_per_token * self.tokens(slices) + self.flops_per_sample * sampled
        return weights + self.attention_flops(slices)

    def kv_traffic_bytes(self, slices: tuple[Slice, ...]) -> Tokens:
        """KV bytes of a pass: read by decode slices over their context, by prompts over their past."""
        total: Tokens = 0.0
        for s in slices:
            total = total + s.sequences * self.kv_bytes(s.past + 1 if s.decodes else s.past)
            if self.fidelity == IDEAL:
                total = total + s.sequences * s.new * self.kv_bytes_per_token
        return total

    def bytes(self, slices: tuple[Slice, ...]) -> Tokens:
        """Bytes that a pass moves: weights once, and the KV cache of every slice."""
        return self.weights_read_bytes(self.tokens(slices)) + self.kv_traffic_bytes(slices)
