"""The cost models that can be chosen, by name. A further one is a module here and a line in the table."""

from __future__ import annotations

from pdviz.costmodel.fidelities.base import Fidelity, PassCost
from pdviz.costmodel.fidelities.ideal import IDEAL
from pdviz.costmodel.fidelities.textbook import TEXTBOOK

__all__ = ["FIDELITIES", "FLOOR", "TEXTBOOK", "Fidelity", "PassCost"]

FIDELITIES: dict[str, Fidelity] = {one.name: one for one in (TEXTBOOK, IDEAL)}

FLOOR = IDEAL
"""What no other may be faster than."""
