"""What is to be said of a scenario beside its figures: what would not work, and what was assumed."""

from __future__ import annotations

from pdviz.costmodel.accelerator import Accelerator
from pdviz.costmodel.dtypes import DTYPES, PUBLISHED
from pdviz.costmodel.memory import Memory
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.request import MOST_ACCELERATORS, RequestCost, fewest_accelerators
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.terms import Role, Term
from pdviz.costmodel.weights import is_converted
from pdviz.scenario import Scenario
from pdviz.units import plural, size, written


def fewest(scenario: Scenario, model: ModelCost, accelerator: Accelerator) -> int | None:
    """The smallest count of such accelerators whose memory holds it."""
    return fewest_accelerators(model, accelerator.memory_bytes, scenario)


def warnings_of(
    scenario: Scenario, model: ModelCost, accelerator: Accelerator, memory: Memory
) -> tuple[str, ...]:
    """What would not work as asked."""
    found = []
    architecture = model.architecture
    where = f"{scenario.accelerators} × {accelerator.name}"
    enough = "" if memory.fits else _where_it_fits(scenario, model, accelerator)
    if not memory.weights_fit:
        found.append(
            f"Does not fit: the weights take {size(memory.weights_bytes)} and {where} has "
            f"{size(memory.capacity_bytes - memory.reserve_bytes)} to give; "
            f"{size(-memory.free_bytes)} is missing with the KV cache{enough}."
        )
    elif not memory.fits:
        room = memory.room_bytes
        found.append(
            f"Does not fit: the KV cache of {plural(memory.sequences, 'sequence')} grows to "
            f"{size(memory.kv_bytes)} and the weights leave {size(room)}; "
            f"{size(-memory.free_bytes)} is missing{enough}."
        )
    limit = architecture.max_context_tokens
    longest = scenario.prompt_tokens + scenario.output_tokens
    if limit is not None and longest > limit:
        found.append(
            f"Beyond the model's context: prompt and output are {longest:,} tokens, "
            f"{architecture.name} was made for {limit:,}, {longest - limit:,} fewer."
        )
    others = scenario.others_context_tokens
    if limit is not None and others is not None and scenario.others and others > limit:
        found.append(
            f"Beyond the model's context: the others hold {others:,} tokens each, "
            f"{architecture.name} was made for {limit:,}, {others - limit:,} fewer."
        )
    return tuple(found)


def _where_it_fits(scenario: Scenario, model: ModelCost, accelerator: Accelerator) -> str:
    enough = fewest(scenario, model, accelerator)
    if enough is None:
        return f"; it fits on no number of them up to {MOST_ACCELERATORS:,}"
    uneven = "" if model.divides_among(enough) else ", among which its query heads do not divide"
    return f"; it fits on {enough:,}{uneven}"


def notes_of(
    scenario: Scenario,
    model: ModelCost,
    accelerator: Accelerator,
    machine: Machine,
    request: RequestCost,
    memory: Memory,
) -> tuple[str, ...]:
    """What was assumed, what matters most first."""
    architecture = model.architecture
    notes = [
        *_sharing_notes(scenario, model, machine, request, memory),
        *architecture.notes,
        *_conversion_notes(scenario, model, accelerator, machine.math_dtype),
    ]
    usual = Scenario()
    given = scenario.compute_efficiency, scenario.bandwidth_efficiency
    taken = model.fidelity.uses_efficiencies
    if not taken and given != (usual.compute_efficiency, usual.bandwidth_efficiency):
        notes.append(model.fidelity.unused_words)
    if scenario.weights_dtype == PUBLISHED:
        is_said = architecture.census is not None or architecture.published_dtype is not None
        assumed = "" if is_said else "; what the file names no format for is taken as 16 bit"
        notes.append(
            f"Weights as published: {model.weights_title}, "
            f"{size(model.stored_weights_bytes)} in all{assumed}."
        )
    context = scenario.final_context
    windowed = float(model.kv_bytes(context))
    everything = model.state_bytes + context * model.kv_bytes_per_token
    if windowed < everything * (1 - 1e-9):
        notes.append(
            f"Layers with a window keep no more than that: a sequence takes {size(windowed)} of KV cache; "
            f"an engine that keeps every token takes {size(everything)}."
        )
    expanded = sum(n * (a.expanded_elements - a.cache_elements) for n, a in architecture.attentions())
    if expanded:
        element = DTYPES[model.kv_dtype].bytes_per_element
        notes.append(
            f"All heads share one latent: a sequence takes {size(windowed)} of KV cache; "
            f"an engine that keeps the expanded heads takes {size(windowed + context * expanded * element)}."
        )
    return tuple(notes)


def _sharing_notes(
    scenario: Scenario, model: ModelCost, machine: Machine, request: RequestCost, memory: Memory
) -> list[str]:
    """What tensor parallelism leaves undivided."""
    n, architecture = scenario.accelerators, model.architecture
    notes: list[str] = []
    if n == 1:
        return notes
    attentions = [a for _, a in architecture.attentions() if a.kind != "recurrent"]
    queries = sorted({a.query_heads for a in attentions if a.query_heads % n})
    if queries:
        notes.append(
            f"The query heads ({', '.join(map(str, queries))}) do not divide among {n} accelerators: "
            "engines refuse that or leave some idle; it is counted as if they did."
        )
    heads = sorted({a.kv_heads for _, a in architecture.attentions() if a.cache_elements})
    if any(h % n for h in heads):
        what = (
            "latent" if heads == [1] and any(a.kind == "latent" for _, a in architecture.attentions()) else ""
        )
        kept = (
            f"Each of {n} accelerators keeps the whole latent"
            if what
            else f"The KV heads ({', '.join(map(str, heads))}) do not divide among {n} accelerators, "
            "so some are kept more than once"
        )
        copied = _copied_step_s(scenario, model, machine, request, memory)
        notes.append(f"{kept}: counted in memory, not in time{copied}.")
    if any(total % n for total, _, _ in model.routed if total >= n):
        fullest = size(memory.weights_bytes_each)
        notes.append(
            f"Experts are placed whole, so the fullest accelerator holds {fullest} of weights, "
            f"not an equal {size(memory.weights_bytes / n)}."
        )
    notes.append(
        f"{n} accelerators count as {n} times the compute and bandwidth; "
        "communication between them is not counted."
    )
    return notes


def _copied_step_s(
    scenario: Scenario, model: ModelCost, machine: Machine, request: RequestCost, memory: Memory
) -> str:
    """How long the last decode pass takes if every copy of the KV cache is read; nothing if no longer."""
    if not request.train.steps:
        return ""
    last = request.pass_cost(request.train.steps)
    once = float(model.kv_bytes(scenario.final_context))
    other = float(model.kv_bytes(memory.other_context_tokens)) * scenario.others
    copies = Term(Role.KV_READ, bytes_each=memory.kv_bytes - once - other, bytes_count=1)
    more = model.fidelity.cost(machine, (*last.terms, copies), last.tokens)
    if more.time_s <= last.time_s * 1.005:
        return ""
    return f" (read by each, it makes the last decode pass {written(more.time)}, not {written(last.time)})"


def _conversion_notes(scenario: Scenario, model: ModelCost, accelerator: Accelerator, math: str) -> list[str]:
    """What has to be converted to be multiplied."""
    notes = []
    if is_converted(model.architecture, scenario.weights_dtype, math):
        what = model.weights_title if scenario.weights_dtype != PUBLISHED else "Published"
        notes.append(
            f"{what} weights are converted to {DTYPES[math].title} to be multiplied on {accelerator.name}."
        )
    cache = DTYPES[scenario.kv_dtype]
    inside = next((name for name in cache.math if name in accelerator.peak_flops_per_s), None)
    if inside is not None and inside != cache.name and model.kv_bytes_per_token:
        notes.append(
            f"The {cache.title} KV cache is converted to {DTYPES[inside].title} for attention "
            f"on {accelerator.name}."
        )
    return notes
