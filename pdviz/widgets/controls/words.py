"""What the controls say of a field from the result, by its name, and how far its slider goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pdviz.costmodel.dtypes import DTYPES
from pdviz.costmodel.fidelities import FIDELITIES
from pdviz.evaluation import Result
from pdviz.field import Field
from pdviz.scene.marks.figures import accelerator_name, model_name, workload_words
from pdviz.units import binary_size, count, duration, parameters, plural, si, significant


class Hint(msgspec.Struct, frozen=True):
    """The line below a picker, and the keys of the figures in it, which " · " stands between."""

    words: Callable[[Result], str]
    keys: tuple[str, ...]


def accelerator_words(result: Result) -> str:
    """What the accelerators together offer."""
    machine = result.machine
    return (
        f"{si(machine.peak_flops_per_s, 'FLOP/s')} · {si(machine.bandwidth_bytes_per_s, 'B/s')} · "
        f"ridge {significant(machine.ridge_flops_per_byte)}"
    )


def model_words(result: Result) -> str:
    model = result.architecture
    kv = f"{binary_size(result.model.kv_bytes_per_token)} KV/token"
    if model.is_mixture:
        return f"{parameters(model.parameters)} ({parameters(model.active_parameters)} active) · {kv}"
    return f"{parameters(model.parameters)} parameters · {kv}"


def _crossover(result: Result) -> tuple[int | None, str]:
    tokens = result.crossover_prompt_tokens
    return (None, "") if tokens is None else (tokens, f"compute-bound from {count(tokens)}")


def is_used(field: Field, result: Result) -> bool:
    """Whether a policy that is shown uses the knob."""
    s = result.scenario
    return not field.policies or s.policy in field.policies or s.against in field.policies


HINTS = {
    "model": Hint(model_words, ("parameters", "kv_bytes_per_token")),
    "accelerator": Hint(accelerator_words, ("peak", "bandwidth", "ridge")),
}
MARKS: dict[str, Callable[[Result], tuple[int | None, str]]] = {"prompt_tokens": _crossover}
"""A value worth a tick on the slider of a field, with a few words."""
EXPLAINED = {"prompt_tokens": "crossover", "others": "half_speed_context"}
"""The figure that the slider of a field is about."""
WORKLOADS = {
    "long-prompt": "A long prompt",
    "two-prompts": "Two prompts",
    "chat": "Steady chat",
    "agents": "Agents",
    "batch": "Offline batch",
    "ramp": "Overload",
}
"""The presets of what comes to a server, as their chips are called."""
POLICY_FIELDS = ("policy", "against")
POLICY_TITLES = {
    "static": "Static batches",
    "continuous": "Whole prompts first",
    "chunked": "Chunked prefill",
    "interleaved": "Interleaved",
    "disaggregated": "Disaggregated",
    "none": "Nothing",
}
TITLES = {name: fidelity.title for name, fidelity in FIDELITIES.items()}
"""Choices that are not called by their own name."""
_NAMES: dict[str, Callable[[Result], str]] = {"model": model_name, "accelerator": accelerator_name}
_REACHES: dict[str, Callable[[Result], int | None]] = {
    "context": lambda result: result.architecture.max_context_tokens,
    "prompt": lambda result: result.scenario.prompt_tokens - 1,
}
"""How far a slider goes, by the ``reach`` of its field; None: as far as usual."""


def choice_words(field: Field, result: Result) -> str:
    """What a picker shows."""
    if field.name in _NAMES:
        return _NAMES[field.name](result)
    if field.name in POLICY_FIELDS:
        return POLICY_TITLES[getattr(result.scenario, field.name)]
    return DTYPES[getattr(result.scenario, field.name)].title


def entry_words(field: Field, value: Any) -> tuple[str, str]:
    """What an entry shows at rest, and while it is edited."""
    if field.kind == "name":
        return workload_words(value), value
    if field.kind == "amount":
        text = duration(value) if field.unit == "seconds" else si(value, "B/s")
        return text, f"{value:g}"
    if value is None:
        return "same as this" if field.absent == "same" else f"from {field.absent}", field.absent
    return plural(value, field.unit) if field.unit else count(value), str(value)


def slider_range(field: Field, result: Result) -> tuple[int, int]:
    """The ends of a slider; no value lies beyond them."""
    reach = _REACHES[field.reach](result) if field.reach else None
    return field.low, max(reach or field.slider_high, getattr(result.scenario, field.name))
