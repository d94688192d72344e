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


Parts = tuple[tuple[str, int], ...]
"""(part, bytes) of each part that has any; the parts are those of `pdviz.costmodel.anatomy`."""


class Census(msgspec.Struct, frozen=True):
    """What the tensors of a file take, exactly.

    ``layers`` holds runs of layers that take the same: (how many, the bytes of one by part).
    ``outside`` is what belongs to no layer. ``types`` holds (name, bytes) of each type, the one with
    the most bytes first.
    """

    layers: tuple[tuple[int, Parts], ...]
    outside: Parts
    types: tuple[tuple[str, int], ...]

    @property
    def stored(self) -> StoredBytes:
        """The same by when a pass reads it."""
        apart = dict(self.outside)
        routed = sum(count * dict(parts).get("experts", 0) for count, parts in self.layers)
        everything = sum(count * size for count, parts in self.layers for _, size in parts)
        embedding, head = apart.get("embedding", 0), apart.get("head", 0)
        dense = everything - routed + sum(apart.values()) - embedding - head
        return StoredBytes(embedding, head, dense, routed)
