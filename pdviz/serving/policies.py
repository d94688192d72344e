"""The policies of a server and their knobs."""

from __future__ import annotations

import math

import msgspec

from pdviz.errors import InputError

STATIC, CONTINUOUS, CHUNKED = "static", "continuous", "chunked"
DISAGGREGATED, INTERLEAVED = "disaggregated", "interleaved"
POLICIES = (STATIC, CONTINUOUS, CHUNKED, DISAGGREGATED, INTERLEAVED)

_COUNTS = (
    "max_seqs",
    "max_batched_tokens",
    "token_budget",
    "prefill_steps",
    "decode_steps",
    "prefill_engines",
    "decode_engines",
    "replicas",
)


class Knobs(msgspec.Struct, frozen=True):
    """How a server is run.

    ``max_batched_tokens`` bounds a pass of whole prompts, ``token_budget`` one of pieces;
    ``prefill_steps`` and ``decode_steps`` take turns in the interleaved policy. ``capacity_tokens`` is
    the KV cache of one engine (None: without end). ``replicas`` are whole servers side by side; the
    disaggregated policy has ``prefill_engines`` and ``decode_engines`` instead.
    """

    policy: str = CONTINUOUS
    capacity_tokens: int | None = None
    max_seqs: int = 256
    max_batched_tokens: int = 8192
    token_budget: int = 512
    prefill_steps: int = 1
    decode_steps: int = 1
    link_bytes_per_s: float = 50e9
    link_latency_s: float = 0.0
    prefill_engines: int = 1
    decode_engines: int = 1
    replicas: int = 1

    @property
    def engines(self) -> int:
        """All engines; in a disaggregated server those for prompts come first."""
        split = self.policy == DISAGGREGATED
        return self.prefill_engines + self.decode_engines if split else self.replicas

    def check(self) -> None:
        """Raises InputError for a knob that no server could have."""
        if self.policy not in POLICIES:
            raise InputError(f"policy: expected one of {', '.join(POLICIES)}, not {self.policy!r}")
        for name in _COUNTS:
            value = getattr(self, name)
            if value < 1 or value != int(value):
                raise InputError(f"{name}: expected a whole number of at least 1, not {value}")
        if self.capacity_tokens is not None and self.capacity_tokens < 1:
            raise InputError(
                f"capacity_tokens: expected room for at least 1 token of KV, not {self.capacity_tokens}"
            )
        if not (math.isfinite(self.link_latency_s) and self.link_latency_s >= 0):
            raise InputError(f"link_latency_s: expected 0 or more seconds, not {self.link_latency_s}")
        if not self.link_bytes_per_s > 0:
            raise InputError(f"link_bytes_per_s: expected more than 0 bytes/s, not {self.link_bytes_per_s}")
