"""The first-order model that the field teaches: two FLOPs a parameter and token, every weight read once.

flops = 2 P_active T + pair FLOPs x pairs        bytes = W + KV that is read
time  = max(flops / (e_c peak), bytes / (e_b bandwidth))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdviz.costmodel.fidelities.base import Fidelity
from pdviz.costmodel.terms import Role, Term, Terms
from pdviz.units import percent

if TYPE_CHECKING:
    from pdviz.costmodel.passes import ModelCost
    from pdviz.costmodel.roofline import Machine


class Textbook(Fidelity):
    """Right for a talk: every parameter that a token meets, nothing else."""

    name = "textbook"
    title = "Textbook"
    help = "textbook (first order)"
    about = (
        "First order: 2 FLOPs for each active parameter and token, every weight read once a pass. Kernels "
        "reach a share of peak and of bandwidth, the same for every accelerator: 55 % and 75 % are the "
        "usual round figures for well tuned kernels, no measurement of yours. Public timings: a large matrix "
        "product reaches about 79 % of an H100's peak, 128 rows of it 27 %; weights stream at about 84 %."
    )
    counted = (
        "Counted: two FLOPs for each active parameter and token, attention over the causal half; every "
        "weight once for each pass, KV cache as far as it is read.",
        "Prefill reads weights only, unless a prefix is cached; a decode pass reads weights and the KV cache "
        "of every sequence.",
    )
    flops_words = "Two FLOPs for each parameter that a new token meets, and attention over all that it sees."
    summary = "What the textbook model takes kernels to reach, and what it leaves out."

    def said(self, machine: Machine) -> str:
        return (
            f"Textbook estimate, not a measurement: assumes that kernels reach "
            f"{percent(machine.compute_efficiency)} of peak compute and "
            f"{percent(machine.bandwidth_efficiency)} of memory bandwidth."
        )

    def labels(self, machine: Machine) -> tuple[str, str]:
        of_peak = f"{machine.compute_efficiency * 100:.3g} %"
        of_bandwidth = f"{machine.bandwidth_efficiency * 100:.3g} %"
        long = f"Textbook: kernels reach {of_peak} of peak, {of_bandwidth} of bandwidth"
        return long, f"Textbook {of_peak}, {of_bandwidth}"

    def weights(self, model: ModelCost) -> Terms:
        stored, met = model.stored, model.architecture
        found = [Term(Role.DENSE, 2 * (met.dense_weights + met.vector_parameters), bytes_each=stored.dense)]
        if met.head is not None:
            found.append(Term(Role.HEAD, 2 * met.head.weights, bytes_each=stored.head))
        found.append(Term(Role.EMBEDDING, 2 * met.embedding.weights, bytes_each=stored.embedding))
        for kind, parameters, _, expert_bytes in model.expert_kinds:
            found.append(Term(Role.EXPERTS, 2 * parameters, bytes_each=expert_bytes, experts=kind))
        return tuple(found)


TEXTBOOK = Textbook()
