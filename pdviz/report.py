"""Words and tables: a result for a terminal, for a program, and short texts for labels.

Pure: every function takes values and returns text or plain JSON. Numbers become text through
``pdviz.units`` only; JSON holds SI units, unscaled.
"""

from __future__ import annotations

from pdviz import units
from pdviz.costmodel.dtypes import DTYPES, PUBLISHED
from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.memory import RESERVE_SHARE
from pdviz.costmodel.request import CROSSOVER_LIMIT_TOKENS
from pdviz.evaluation import Result
from pdviz.model_fields import Json
from pdviz.scenario import Scenario, to_keys
from pdviz.tables import Row, aligned
from pdviz.tables import paragraph as paragraph

# --- short texts -----------------------------------------------------------------------------------


def title(result: Result) -> str:
    """Model and machine: "Llama 3.1 8B on 2 × H100 SXM"."""
    several = f"{units.count(result.machine.accelerators)} × " if result.machine.accelerators > 1 else ""
    return f"{result.architecture.name} on {several}{result.accelerator.name}"


def request_text(scenario: Scenario) -> str:
    """What is asked for: "512 prompt tokens (256 cached), 128 output tokens, 63 others alongside"."""
    prompt = units.plural(scenario.prompt_tokens, "prompt token")
    if scenario.cached_tokens:
        prompt += f" ({units.count(scenario.cached_tokens)} cached)"
    text = f"{prompt}, {units.plural(scenario.output_tokens, 'output token')}"
    if scenario.others:
        text += f", {units.plural(scenario.others, 'other')} alongside"
        if scenario.others_context_tokens is not None:
            text += f" at {units.plural(scenario.others_context_tokens, 'token')} each"
    return text


def fidelity_text(result: Result) -> str:
    """Which cost model answered, and what it assumed."""
    return result.fidelity.said(result.machine)


def bound_text(cost: PassCost) -> str:
    """What a pass is limited by: "limited by memory bandwidth"."""
    return f"limited by {cost.bound.words}"


def crossover_text(result: Result) -> str:
    """From which prompt length on prefill is limited by compute."""
    tokens, cached = result.crossover_prompt_tokens, result.scenario.cached_tokens
    if tokens is None:
        limit = units.count(CROSSOVER_LIMIT_TOKENS)
        return f"none below {limit} tokens: prefill is limited by memory bandwidth"
    if tokens == cached + 1:
        return "none: prefill is limited by compute at any length"
    reads = f"the weights and {units.count(cached)} cached tokens" if cached else "the weights, once"
    return (
        f"{units.plural(tokens, 'prompt token')}; a shorter prompt takes as long as it takes to read {reads}"
    )


def half_speed_text(result: Result) -> str:
    """At which context a decode step reads as much KV cache as weights."""
    tokens = result.half_speed_context_tokens
    if tokens is None:
        return "none: the KV cache of this model does not grow"
    limit = result.architecture.max_context_tokens
    beyond = f" (the model was made for {units.count(limit)})" if limit is not None and tokens > limit else ""
    each = " of each sequence" if result.streams > 1 else ""
    context = f"{units.plural(max(round(tokens), 1), 'token')} of context{each}{beyond}"
    return f"{context}; there a decode step reads as many bytes of KV cache as of weights"


def memory_text(result: Result) -> str:
    """Whether it fits, and by how much: "fits, 60.8 GB free"."""
    amount = units.size(abs(result.memory.free_bytes))
    return f"fits, {amount} free" if result.memory.fits else f"does not fit, {amount} is missing"


# --- estimate --------------------------------------------------------------------------------------


_FIGURES = ("ttft_s", "itl_s", "e2e_s", "decode_share", "tokens_per_s_stream", "tokens_per_s_total")
_PASS = ("time_s", "flops", "bytes", "bound", "compute_utilisation", "bandwidth_utilisation")
_EACH = ("weights_bytes", "kv_bytes", "reserve_bytes", "free_bytes", "capacity_bytes")
_MEMORY = (*_EACH, "fits", "free_tokens", "free_sequences", "largest_batch")


def _values(thing: object, names: Row) -> Json:
    return {name: getattr(thing, name) for name in names}


def _pass_json(cost: PassCost | None) -> Json | None:
    if cost is None:
        return None
    band = ("low_s", "high_s") if cost.time.has_band else ()
    return {
        **_values(cost, (*_PASS, *band, "intensity_flops_per_byte")),
        **{f"{bound}_s": seconds for bound, seconds in cost.times[2:]},
        "bound": str(cost.bound),
    }


def _bands(result: Result) -> Json:
    """Low and high of the times, where the fidelity states a band."""
    named = {"ttft": result.ttft, "itl": result.itl, "e2e": result.e2e}
    found: Json = {}
    for name, one in named.items():
        if one is not None and one.has_band:
            found |= {f"{name}_low_s": one.low, f"{name}_high_s": one.high}
    return found


def estimate_json(result: Result) -> Json:
    """The result as plain JSON in SI units: what ``pdviz estimate --json`` prints.

    Without decode steps "decode", "decode_last", "itl_s" and the streaming speeds are None.
    """
    return {
        "scenario": to_keys(result.scenario),
        "fidelity": result.scenario.fidelity,
        **_values(result, _FIGURES),
        **_bands(result),
        "ridge_flops_per_byte": result.machine.ridge_flops_per_byte,
        **_values(result, ("crossover_prompt_tokens", "half_speed_context_tokens")),
        "prefill": _pass_json(result.prefill),
        "decode": _pass_json(result.decode),
        "decode_last": _pass_json(result.decode_last),
        "memory": {
            **_values(result.memory, _MEMORY),
            "fewest_accelerators": result.fewest_accelerators,
            "per_accelerator": {name: getattr(result.memory, f"{name}_each") for name in _EACH},
        },
        "model": {
            **_values(result.architecture, ("name", "parameters", "active_parameters")),
            "kv_bytes_per_token": result.model.kv_bytes_per_token,
        },
        "warnings": list(result.warnings),
        "notes": list(result.notes),
    }


def estimate_text(result: Result) -> str:
    """The result as a table to read: what ``pdviz estimate`` prints."""
    scenario, machine = result.scenario, result.machine
    weights, math = result.model.weights_title, DTYPES[machine.math_dtype].title
    as_published = scenario.weights_dtype == PUBLISHED
    formats = f"Weights as published ({weights})" if as_published else f"{weights} weights"
    formats += "" if math == weights else f" multiplied in {math}"
    formats += f", {DTYPES[scenario.kv_dtype].title} KV cache"
    parts = [paragraph(warning, "WARNING  ", " " * 9) for warning in result.warnings]
    if parts:
        parts.append("")
    parts += [title(result), paragraph(request_text(scenario)), formats, paragraph(fidelity_text(result))]
    for lines in (_headline_lines, _pass_lines, _machine_lines, _memory_lines):
        parts += ["", *lines(result)]
    if result.notes:
        parts += ["", *(paragraph(note, "Note: ", " " * 6) for note in result.notes)]
    return "\n".join(parts) + "\n"


def _headline_lines(result: Result) -> list[str]:
    ttft, e2e = units.written(result.ttft), units.written(result.e2e)
    rows = [("Time to first token", ttft, bound_text(result.prefill))]
    itl, first, last = result.itl, result.decode, result.decode_last
    speed, total = result.tokens_per_s_stream, result.tokens_per_s_total
    if itl is None or first is None or last is None or speed is None or total is None:
        rows.append(("Inter-token latency", "-", "one token is asked for, nothing is decoded"))
        rows.append(("End to end", e2e, "prefill only"))
        return aligned(rows, "<><")
    bound = bound_text(first)
    if last.bound != first.bound:
        bound += f", in the end by {last.bound.words}"
    rows.append(("Inter-token latency (mean)", units.written(itl), bound))
    rows.append(("End to end", e2e, f"{units.percent(result.decode_share)} of it decoding"))
    alone = "of one stream"
    if result.streams > 1:
        alone += f"; {units.significant(total)} of all {units.count(result.streams)} together"
    rows.append(("Tokens per second", units.significant(speed), alone))
    return aligned(rows, "<><")


def _pass_lines(result: Result) -> list[str]:
    names = ("Prefill", "First decode", "Last decode")
    costs = [c for c in (result.prefill, result.decode, result.decode_last) if c is not None]
    rows: list[Row] = [
        ("", *names[: len(costs)]),
        ("Time", *(units.written(c.time) for c in costs)),
        ("Limited by", *(c.bound.value for c in costs)),
        ("New tokens", *(units.count(c.tokens) for c in costs)),
        ("Arithmetic", *(units.si(c.flops, "FLOP") for c in costs)),
        ("Memory traffic", *(units.size(c.bytes) for c in costs)),
        ("FLOPs per byte", *(units.significant(c.intensity_flops_per_byte) for c in costs)),
        ("Compute used, of peak", *(units.percent(c.compute_utilisation) for c in costs)),
        ("Bandwidth used, of peak", *(units.percent(c.bandwidth_utilisation) for c in costs)),
    ]
    return aligned(rows, "<" + ">" * len(costs))


def _machine_lines(result: Result) -> list[str]:
    machine = result.machine
    peak = f"{units.si(machine.peak_flops_per_s, 'FLOP/s')} {DTYPES[machine.math_dtype].title}"
    ridge = f"{units.significant(machine.ridge_flops_per_byte)} FLOPs per byte"
    ridge += f" ({peak} over {units.si(machine.bandwidth_bytes_per_s, 'B/s')})"
    if machine.achievable_ridge_flops_per_byte != machine.ridge_flops_per_byte:
        ridge += f"; {units.significant(machine.achievable_ridge_flops_per_byte)} as assumed"
    rows = (("Ridge", ridge), ("Crossover", crossover_text(result)), ("Half speed", half_speed_text(result)))
    return [paragraph(text, f"{label:<13}", " " * 13) for label, text in rows]


def _memory_lines(result: Result) -> list[str]:
    memory, model = result.memory, result.architecture
    weights = f"{units.parameters(model.parameters)} parameters"
    if model.active_parameters != model.parameters:
        weights += f", {units.parameters(model.active_parameters)} active for a token"
    kv = (
        f"{units.binary_size(result.model.kv_bytes_per_token)} a token, "
        f"{units.plural(memory.sequences, 'sequence')} of "
        f"{'up to ' if result.scenario.others_context_tokens and result.scenario.others else ''}"
        f"{units.plural(memory.longest_context_tokens, 'token')}"
    )
    reserve = f"{units.percent(RESERVE_SHARE)} kept for activations, workspace and the runtime"
    rows = [
        ("Memory", units.size(memory.capacity_bytes), memory_text(result)),
        ("  weights", units.size(memory.weights_bytes), weights),
        ("  KV cache", units.size(memory.kv_bytes), kv),
        ("  reserve", units.size(memory.reserve_bytes), reserve),
    ]
    if memory.uneven_bytes:
        why = "what does not divide evenly: the fullest accelerator sets the room of all"
        rows.append(("  uneven", units.size(memory.uneven_bytes), why))
    if memory.accelerators > 1:
        each = f"weights {units.size(memory.weights_bytes_each)}, KV cache {units.size(memory.kv_bytes_each)}"
        rows.insert(1, ("  each of them", units.size(memory.capacity_bytes_each), each))
    return [*aligned(rows, "<><"), *_room_lines(result)]


def _room_lines(result: Result) -> list[str]:
    """How much more would fit: tokens, sequences, the largest batch."""
    memory = result.memory
    if memory.free_sequences is None or memory.largest_batch is None:
        return []
    text = "for "
    if memory.free_tokens is not None:
        text += f"{units.plural(memory.free_tokens, 'token')} more, "
    text += f"{units.plural(memory.free_sequences, 'sequence')} of "
    text += f"{units.plural(memory.other_context_tokens, 'token')}; "
    text += f"the largest batch has {units.count(memory.largest_batch)}"
    return [paragraph(text, "  room      ", " " * 12)]
