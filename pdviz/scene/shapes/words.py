"""The moment of the shapes view in words."""

from __future__ import annotations

from collections.abc import Sequence

from pdviz.scene.shapes.page import ShapesRow, sweep_share
from pdviz.units import percent


def sweep_words(rows: Sequence[ShapesRow], time_s: float) -> str:
    """How far the weights of each row have been read when the playhead stands at ``time_s``."""
    read = (f"{row.title} {percent(sweep_share(row, time_s))}" for row in rows)
    return f"Weights read: {', '.join(read)}"
