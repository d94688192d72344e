"""The speed of light: exact operations, every efficiency 1, one maximum over the whole pass.

flops = 2 P_matrices T + 2 h V for each sampled position + pair FLOPs x pairs
bytes = weights without the embedding table + KV that is read + KV that is written
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdviz.costmodel.fidelities.base import Fidelity
from pdviz.costmodel.terms import Role, Term, Terms

if TYPE_CHECKING:
    from pdviz.costmodel.passes import ModelCost
    from pdviz.costmodel.roofline import Machine


class Ideal(Fidelity):
    """What no engine can beat: the floor that the others are checked against."""

    name = "ideal"
    title = "Speed of light"
    help = "ideal (speed of light: exact operations, nothing lost)"
    about = (
        "Exact operations, every efficiency 1, one maximum over the pass: what no engine can beat. The "
        "embedding table is not read, logits are made for the last position only, KV is written too."
    )
    counted = (
        "Counted: exact operations, logits for the positions that are sampled only; weights without the "
        "embedding table, KV cache read and written.",
    )
    met = ("P_m", "weight", "elements of the matrices that a token meets, embedding and head apart")
    flops_words = (
        "Two FLOPs for each matrix element that a new token meets, logits where a token is drawn, "
        "and attention over all that it sees."
    )
    shares_words = summary = "Ideal takes all of it: the speed of light."
    unused_words = "At the speed of light nothing is lost: the efficiencies that are set are not used."
    convention = False
    uses_efficiencies = False
    is_floor = True
    samples_logits = True
    writes_kv = True

    def efficiencies(self, compute: float, bandwidth: float) -> tuple[float, float]:
        return 1.0, 1.0

    def said(self, machine: Machine) -> str:
        return "Ideal, the speed of light: exact operations, nothing lost. No engine can be faster."

    def labels(self, machine: Machine) -> tuple[str, str]:
        return ("Speed of light: no engine beats it",) * 2

    def weights(self, model: ModelCost) -> Terms:
        stored, met = model.stored, model.architecture
        table = met.head or met.embedding  # a tied table is read as the head
        read = stored.embedding if met.head is None else stored.head
        found = [
            Term(Role.DENSE, 2 * met.dense_weights, bytes_each=stored.dense),
            Term(Role.HEAD, 2.0 * table.weights, bytes_each=read),
        ]
        for kind, _, matrices, expert_bytes in model.expert_kinds:
            found.append(Term(Role.EXPERTS, 2 * matrices, bytes_each=expert_bytes, experts=kind))
        return tuple(found)


IDEAL = Ideal()
