"""Bytes of stored weights, by when a pass reads them."""

from __future__ import annotations

import msgspec

#: Dtypes of published weights -> bytes of a parameter.
PLAIN_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4, "float64": 8}


class StoredBytes(msgspec.Struct, frozen=True):
    """Bytes of the main model's weights by when a pass reads them.

    ``embedding``: rows of new tokens only. ``head``: 0 where it is tied. ``dense``: every pass
    (attention, dense and shared MLPs, routers, norms, biases, positions). ``experts``: all routed
    experts; a pass reads those that its tokens hit.
    """

    embedding: float
    head: float
    dense: float
    experts: float

    @property
    def total(self) -> float:
        return self.embedding + self.head + self.dense + self.experts


class Census(msgspec.Struct, frozen=True):
    """What the tensors of a file take: ``stored`` by part, and (name, bytes) of each of its types.

    The types are those of the main model, the one with the most bytes first.
    """

    stored: StoredBytes
    types: tuple[tuple[str, int], ...]
