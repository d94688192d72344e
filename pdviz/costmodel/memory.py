"""What a scenario keeps in accelerator memory, and whether it fits."""

from __future__ import annotations

import msgspec

RESERVE_SHARE = 0.10
RESERVE_SOURCE = (
    "10 % of memory is kept for activations, workspace and the runtime, as vLLM does by default "
    "(gpu_memory_utilization = 0.9)"
)


class Memory(msgspec.Struct, frozen=True):
    """Bytes over all accelerators together. ``capacity_bytes`` is what the driver reports."""

    weights_bytes: float
    kv_bytes: float
    capacity_bytes: float
    sequences: int
    longest_context_tokens: int

    @property
    def reserve_bytes(self) -> float:
        return RESERVE_SHARE * self.capacity_bytes

    @property
    def used_bytes(self) -> float:
        return self.weights_bytes + self.kv_bytes

    @property
    def free_bytes(self) -> float:
        """What is left beside weights, KV and reserve; negative where it does not fit."""
        return self.capacity_bytes - self.reserve_bytes - self.used_bytes

    @property
    def fits(self) -> bool:
        return self.free_bytes >= 0

    @property
    def weights_fit(self) -> bool:
        return self.weights_bytes + self.reserve_bytes <= self.capacity_bytes
