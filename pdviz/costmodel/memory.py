"""What a scenario keeps in accelerator memory, whether it fits, and how much more would."""

from __future__ import annotations

import math

import msgspec

RESERVE_SHARE = 0.10
RESERVE_SOURCE = (
    "10 % of memory is kept for activations, workspace and the runtime, as vLLM does by default "
    "(gpu_memory_utilization = 0.9)"
)


class Memory(msgspec.Struct, frozen=True):
    """Bytes over all accelerators together. ``capacity_bytes`` is what the driver reports.

    Each accelerator keeps an equal share of the weights and whole KV heads: one that several keep
    counts several times in ``kv_bytes``. ``uneven_bytes`` is what that room costs all together which
    the fullest accelerator needs for weights beyond an equal share: experts are not cut in pieces.
    ``own_kv_bytes`` is the KV cache of this request's sequence, ``other_kv_bytes`` that of one further
    sequence, there or still to come, which is ``other_context_tokens`` long. ``grows`` is false where
    tokens take no memory.
    """

    weights_bytes: float
    kv_bytes: float
    capacity_bytes: float
    sequences: int
    longest_context_tokens: int
    accelerators: int = 1
    own_kv_bytes: float = 0.0
    other_kv_bytes: float = 0.0
    other_context_tokens: int = 0
    uneven_bytes: float = 0.0
    grows: bool = True

    @property
    def reserve_bytes(self) -> float:
        return RESERVE_SHARE * self.capacity_bytes

    @property
    def used_bytes(self) -> float:
        return self.weights_bytes + self.kv_bytes

    @property
    def free_bytes(self) -> float:
        """What is left beside weights, KV and reserve; negative where it does not fit."""
        return self.capacity_bytes - self.reserve_bytes - self.used_bytes - self.uneven_bytes

    @property
    def room_bytes(self) -> float:
        """What reserve and weights leave for KV caches; negative where the weights do not fit."""
        return self.capacity_bytes - self.reserve_bytes - self.weights_bytes - self.uneven_bytes

    @property
    def fits(self) -> bool:
        return self.free_bytes >= 0

    @property
    def weights_fit(self) -> bool:
        return self.weights_bytes + self.uneven_bytes + self.reserve_bytes <= self.capacity_bytes

    @property
    def capacity_bytes_each(self) -> float:
        """What one accelerator has."""
        return self.capacity_bytes / self.accelerators

    @property
    def weights_bytes_each(self) -> float:
        """Weights on the accelerator that holds most, rounded up to a byte."""
        return float(math.ceil((self.weights_bytes + self.uneven_bytes) / self.accelerators))

    @property
    def kv_bytes_each(self) -> float:
        """KV cache on each accelerator, heads that it shares with others included."""
        return self.kv_bytes / self.accelerators

    @property
    def reserve_bytes_each(self) -> float:
        return self.reserve_bytes / self.accelerators

    @property
    def free_bytes_each(self) -> float:
        """What is left on one accelerator; negative where it does not fit."""
        return self.free_bytes / self.accelerators

    @property
    def free_sequences(self) -> int | None:
        """Further sequences like the others that have room; None where they take no memory."""
        if not self.other_kv_bytes:
            return None
        return max(math.floor(self.free_bytes / self.other_kv_bytes), 0)

    @property
    def free_tokens(self) -> int | None:
        """The room that is left in tokens of KV cache, each at its mean size in such a sequence.

        None where tokens take no memory.
        """
        if not self.other_kv_bytes or not self.grows:
            return None
        return max(math.floor(self.free_bytes / self.other_kv_bytes * self.other_context_tokens), 0)

    @property
    def largest_batch(self) -> int | None:
        """Sequences that fit together, this request's included; None where there is no limit.

        0 where not even this request's fits beside the weights.
        """
        room = self.room_bytes - self.own_kv_bytes
        if room < 0:
            return 0
        return 1 + math.floor(room / self.other_kv_bytes) if self.other_kv_bytes else None
