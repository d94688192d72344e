"""What the catalogue holds, as tables for a terminal and as JSON for a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from pdviz import units
from pdviz.catalogue import Catalogue, ModelEntry
from pdviz.costmodel.accelerator import Accelerator
from pdviz.errors import InputError
from pdviz.model_fields import Json, field_lines, model_fields
from pdviz.names import normalised
from pdviz.tables import Row, aligned, detail

DETAILS_LIMIT = 3  # up to so many entries are listed with their sources

T = TypeVar("T", bound=ModelEntry | Accelerator)


def _found(entries: tuple[T, ...], find: Callable[[str], T], search: str) -> list[T]:
    """Entries whose names hold every word of ``search``; where none does, what ``find`` makes of it."""
    words = [normalised(word) for word in search.split()]
    if not words:
        return list(entries)
    found = []
    for entry in entries:
        names = [normalised(n) for n in (entry.id, entry.name, *entry.aliases, getattr(entry, "vendor", ""))]
        if all(any(word in name for name in names) for word in words):
            found.append(entry)
    return found if found and any(words) else [find(search)]


def _plain(entry: ModelEntry | Accelerator) -> Json:
    return msgspec.json.decode(msgspec.json.encode(entry), type=Json)


def _model_json(catalogue: Catalogue, entry: ModelEntry) -> Json:
    found: Json = {**_plain(entry), "problem": None}
    del found["config"]
    try:
        return {**found, **model_fields(catalogue.architecture(entry.id))}
    except InputError as error:
        return {**found, "problem": str(error)}


def models_json(catalogue: Catalogue, search: str = "") -> Json:
    """The models that ``search`` finds, in SI units, with what was published and where.

    A model whose configuration is not supported says so in "problem" and has no figures. Raises
    InputError (the three nearest names) where nothing is found.
    """
    found = _found(catalogue.models, catalogue.model, search)
    return {"models": [_model_json(catalogue, entry) for entry in found]}


def models_fields(catalogue: Catalogue, search: str = "") -> str:
    """Every field of the models that ``search`` finds, with where they are from."""
    found = models_json(catalogue, search)["models"]
    return "\n".join("\n".join(_model_lines(model, everything=True)) + "\n" for model in found)


def models_table(catalogue: Catalogue, search: str = "") -> str:
    """The models that ``search`` finds, one a line; a few are followed by their sources."""
    found = models_json(catalogue, search)["models"]
    head: Row = ("Model", "Parameters", "Active", "Layers", "BF16 weights", "BF16 KV a token", "Context")
    lines = aligned([head, *(_model_row(model) for model in found)], "<>>>>>>")
    for model in found if len(found) <= DETAILS_LIMIT else ():
        lines += ["", *_model_lines(model)]
    return "\n".join(lines) + "\n"


def _model_lines(model: Json, everything: bool = False) -> list[str]:
    """A model's name and what is known about it."""
    lines = [model["name"], *detail("also found as", ", ".join((model["id"], *model["aliases"])))]
    lines += detail("not usable", model["problem"])
    if everything and model["problem"] is None:
        lines += field_lines(model)
    if model["published_parameters"] is not None:
        count = units.count(model["published_parameters"])
        lines += detail("published", f"{count} parameters, {model['published_where']}")
    lines += detail("configuration from", model["source"])
    lines += detail("note", model["note"], *model.get("notes", ()))
    return lines + detail("not counted", ", ".join(model.get("left_out", ())))


def _model_row(model: Json) -> Row:
    if model["problem"] is not None:
        return (model["name"], *("-" * 6))
    total, active, limit = model["parameters"], model["active_parameters"], model["max_context_tokens"]
    return (
        model["name"],
        units.parameters(total),
        units.parameters(active) if active != total else "all",
        units.count(model["layers"]),
        units.size(model["weights_bytes_bf16"]),
        units.binary_size(model["kv_bytes_per_token_bf16"]),
        units.count(limit) if limit is not None else "-",
    )


def accelerators_json(catalogue: Catalogue, search: str = "") -> Json:
    """The accelerators that ``search`` finds, in SI units, with sources and rejected figures.

    Raises InputError (the three nearest names) where nothing is found.
    """
    found = []
    for accelerator in _found(catalogue.accelerators, catalogue.accelerator, search):
        ridges = {d: accelerator.ridge_flops_per_byte(d) for d in accelerator.peak_flops_per_s}
        found.append({**_plain(accelerator), "ridge_flops_per_byte": ridges})
    return {"accelerators": found}


def accelerators_table(catalogue: Catalogue, search: str = "") -> str:
    """The accelerators that ``search`` finds, one a line; a few are followed by their sources."""
    found = _found(catalogue.accelerators, catalogue.accelerator, search)
    head: Row = (
        "Accelerator",
        "Memory",
        "Bandwidth",
        "16-bit FLOP/s",
        "FP8 FLOP/s",
        "Ridge",
        "Power",
        "Figures",
    )
    lines = aligned([head, *(_accelerator_row(accelerator) for accelerator in found)], "<>>>>>><")
    for a in found if len(found) <= DETAILS_LIMIT else ():
        peaks = (f"{dtype.upper()} {units.si(peak, 'FLOP/s')}" for dtype, peak in a.peak_flops_per_s.items())
        lines += ["", a.name, *detail("also found as", ", ".join((a.id, *a.aliases)))]
        lines += detail("dense peaks", ", ".join(peaks))
        lines += detail(
            "memory", ", ".join(filter(None, (units.binary_size(a.memory_bytes), a.memory_basis)))
        )
        if a.link_bytes_per_s is not None:
            speed = f"{units.si(a.link_bytes_per_s, 'B/s')} one way"
            lines += detail("link", "; ".join(filter(None, (f"{a.link}, {speed}", a.link_note))))
        lines += detail("source", *a.sources)
        lines += detail("rejected", *(f"{r.value}, {r.where}: {r.reason}" for r in a.rejected))
        lines += detail("note", *a.notes)
    return "\n".join(lines) + "\n"


def _accelerator_row(a: Accelerator) -> Row:
    peaks = a.peak_flops_per_s
    wide = next((d for d in ("bf16", "fp16") if d in peaks), None)
    return (
        a.name,
        units.size(a.memory_bytes),
        units.si(a.memory_bandwidth_bytes_per_s, "B/s"),
        units.si(peaks[wide], "") if wide else "-",
        units.si(peaks["fp8"], "") if "fp8" in peaks else "-",
        units.significant(a.ridge_flops_per_byte(wide)) if wide else "-",
        units.si(a.power_w, "W") if a.power_w is not None else "-",
        a.confidence,
    )
