"""A model in given formats: the bytes of its weights, what sequences keep, and what a pass costs."""

from __future__ import annotations

import math
from functools import cached_property

import msgspec

from pdviz.costmodel.architecture import Architecture, Experts, MatrixRole
from pdviz.costmodel.dtypes import DTYPES, PUBLISHED
from pdviz.costmodel.fidelities import TEXTBOOK, Fidelity, PassCost
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.stored import StoredBytes
from pdviz.costmodel.terms import Role, Slice, Slices, Terms, Tokens, least, new_tokens, pair_flops

STATE_BYTES = 2.0
"""Bytes of an element of a recurrent state: engines keep it at 16 bit, however keys and values are cached."""


class ModelCost(msgspec.Struct, frozen=True, dict=True):
    """A model in given formats, ready to be asked what a pass costs in a fidelity's count."""

    architecture: Architecture
    weights_dtype: str
    kv_dtype: str
    fidelity: Fidelity = TEXTBOOK

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
        return float(sum(t.bytes_each for t in self.weight_terms if t.experts is None))

    @property
    def reads_embedding(self) -> bool:
        """Whether the whole embedding table counts as read: always where it is the head too."""
        tied = self.architecture.head is None
        return tied or any(term.role is Role.EMBEDDING for term in self.weight_terms)

    @cached_property
    def weight_terms(self) -> Terms:
        """What the weights cost, for each token and once, as the fidelity counts them."""
        return self.fidelity.weights(self)

    @cached_property
    def expert_kinds(self) -> tuple[tuple[tuple[int, int], int, int, float], ...]:
        """((experts, active), parameters that a token meets, of these in matrices, bytes of one expert)."""
        met: dict[tuple[int, int], tuple[int, int]] = {}
        for n, block in self.architecture.experts():
            kind = block.total, block.active
            parameters, matrices = met.get(kind, (0, 0))
            matrices += n * block.active * sum(m.weights for m in block.expert)
            met[kind] = parameters + n * block.active * self.architecture.expert_parameters(block), matrices
        return tuple(((total, active), *met[total, active], one) for total, active, one in self.routed)

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
                if m.role in (MatrixRole.Q_DOWN, MatrixRole.KV_DOWN):
                    elements += count * m.weights * (1 - 1 / accelerators)
                elif m.role is MatrixRole.QKV:
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
    def kv_layers(self) -> tuple[tuple[int | None, float], ...]:
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
        return tuple(sorted({w for w, _ in self.kv_layers + self.pair_flops if w is not None}))

    @cached_property
    def state_bytes(self) -> float:
        """Fixed state of one sequence (recurrent layers), whatever its length and the format of the cache."""
        return STATE_BYTES * sum(n * a.state_elements for n, a in self.architecture.attentions())

    @cached_property
    def kv_bytes_per_token(self) -> float:
        """What one token adds to the KV cache while it is inside every window."""
        return sum(b for _, b in self.kv_layers)

    def kv_bytes(self, context: Tokens) -> Tokens:
        """KV cache of one sequence of ``context`` tokens, windows respected, state included."""
        total: Tokens = self.state_bytes * (context > 0)  # nothing to read before the first token
        for window, token_bytes in self.kv_layers:
            kept = context if window is None else least(context, window)
            total = total + token_bytes * kept
        return total

    def context_of_kv_bytes(self, kv_bytes: float) -> float | None:
        """The context at which one sequence's KV cache takes ``kv_bytes``; None where it never does."""
        left, start = max(kv_bytes - self.state_bytes, 0.0), 0.0
        for end in (*self.windows, math.inf):
            slope = sum(b for window, b in self.kv_layers if window is None or window > start)
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
    def pair_flops(self) -> tuple[tuple[int | None, float], ...]:
        """(window, FLOPs of one (query, key) pair) summed over layers: 2 n_q (d_qk + d_v)."""
        sums: dict[int | None, float] = {}
        for n, a in self.architecture.attentions():
            if a.kind != "recurrent":
                each = n * pair_flops(a.query_heads, a.head_dim, a.value_head_dim)
                sums[a.window_tokens] = sums.get(a.window_tokens, 0.0) + each
        return tuple(sums.items())

    def terms(self, slices: Slices) -> Terms:
        """What a pass over ``slices`` is made of."""
        return self.fidelity.terms(self, slices)

    def cost(self, machine: Machine, slices: Slices) -> PassCost:
        """What a pass over ``slices`` costs."""
        return self.fidelity.cost(machine, self.terms(slices), new_tokens(slices))

    def weights_read_bytes(self, tokens: Tokens) -> Tokens:
        """Weight bytes that a pass over ``tokens`` tokens reads: routed experts by how many it hits."""
        total: Tokens = 0
        for term in self.terms((Slice.prompt(tokens),)):
            if term.role.is_weights:
                total = total + term.bytes
        return total
