"""Which matrices a quantised file's targets name: its patterns are matched against the names of modules.

Names are those of checkpoints, one for each matrix of each layer. Families whose modules go by other
names are refused where a file names targets, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pdviz.costmodel.quantisation import Kept
from pdviz.readers.hf.fields import Fields, shown
from pdviz.readers.hf.modules import Module
from pdviz.readers.hf.traits import Family

#: Before the layers' names, in files of language models alone and with a tower.
_BEFORE = ("model.", "model.language_model.", "language_model.model.")
#: Patterns with a repeated group, or with many repeats and choices, can take forever to match.
_REPEATED = r"\)(?:[*+]|\{)"
_REPEAT = r"[*+]|\{\d*,"
_CHOICE = r"(?<!\()\?|\([^()|]*\|"
_MOST_REPEATS = 4
_MOST_CHOICES = 6
_MOST_MATCHES = 200_000


class Checkpoint(NamedTuple):
    """A model with stored weights: its family by name and record; ``layers`` with prediction modules."""

    kind: str
    family: Family
    layers: int


def _matcher(pattern: str, fields: Fields, name: str) -> Callable[[str], bool]:
    """Whether a name opens with what the pattern describes, as libraries match it."""
    text = pattern[:1000]
    repeats = len(re.findall(_REPEAT, text))
    choices = repeats + len(re.findall(_CHOICE, text))
    is_involved = repeats > _MOST_REPEATS or choices > _MOST_CHOICES or re.search(_REPEATED, text)
    if len(pattern) > 1000 or is_involved:
        raise fields.error(
            f"{fields.label(name)} has {shown(pattern)}, a pattern too involved to be modelled"
        )
    try:
        compiled = re.compile(text)
    except (re.error, RecursionError, OverflowError):
        raise fields.error(
            f"{fields.label(name)} has {shown(pattern)}, no pattern that can be read"
        ) from None
    return lambda module: compiled.match(module) is not None


def _whole(kept: set[Kept], layers: int) -> tuple[Kept, ...]:
    """The same with every layer's as one."""
    by_module: dict[tuple[str, str | None], list[Kept]] = {}
    for one in kept:
        by_module.setdefault((one.part, one.module), []).append(one)
    found: list[Kept] = []
    for (part, module), ones in sorted(by_module.items(), key=str):
        if any(one.layer is None for one in ones) or len(ones) == layers:
            found.append(Kept(part, None, module))
        else:
            found += sorted(ones, key=lambda one: one.layer or 0)
    return tuple(found)


def _known(model: Checkpoint, fields: Fields, name: str) -> tuple[Module, ...]:
    if not model.family.modules:
        raise fields.error(
            f"{fields.label(name)} names modules, which is not modelled for the family {shown(model.kind)}"
        )
    return model.family.modules


def _some(
    fits: Callable[[str], bool], modules: Iterable[Module], layers: int, fields: Fields, name: str
) -> Iterator[Kept]:
    for module in modules:
        for layer in range(layers):
            hits = [
                any(fits(f"{before}layers.{layer}.{inner}") for before in _BEFORE) for inner in module.names
            ]
            if any(hits) and not all(hits):
                raise fields.error(f"{fields.label(name)} tells experts apart, which is not modelled")
            if all(hits):
                yield Kept(module.part, layer, module.module)
    if any(fits(head) for head in ("lm_head", "language_model.lm_head")):
        yield Kept("head")


def _matched(
    patterns: list[str], model: Checkpoint, fields: Fields, name: str, *, excluding: bool = False
) -> tuple[Kept, ...]:
    """What patterns single out in a family's model: ``re:`` opens a pattern, anything else is a whole name.

    ``excluding`` each is a pattern, and one that fits no module is a note; else it raises.
    """
    if not patterns:
        return ()
    modules = _known(model, fields, name)
    if len(patterns) * model.layers > _MOST_MATCHES:
        raise fields.error(f"{fields.label(name)} has {len(patterns):,} entries, too many to be modelled")
    found: set[Kept] = set()
    for pattern in patterns:
        if excluding or pattern.startswith("re:"):
            fits = _matcher(pattern.removeprefix("re:"), fields, name)
        else:
            fits = pattern.__eq__
        here = set(_some(fits, modules, model.layers, fields, name))
        if not here and excluding:
            fields.remark(f"{fields.label(name)}: nothing in this model fits {shown(pattern)}.")
        elif not here:
            raise fields.error(
                f"{fields.label(name)} has {shown(pattern)}, which fits none of the modules that are modelled"
            )
        found |= here
    return _whole(found, model.layers)


def _within_layers(names: list[str], model: Checkpoint, fields: Fields, name: str) -> tuple[Kept, ...]:
    """What names of modules within a layer single out, for every layer."""
    modules, listed = _known(model, fields, name), set(names)
    found: dict[Kept, None] = {}
    for module in modules:
        hits = [inner in listed for inner in module.names]
        if any(hits) and not all(hits):
            raise fields.error(f"{fields.label(name)} tells experts apart, which is not modelled")
        if all(hits):
            found[Kept(module.part, None, module.module)] = None
    known = {re.sub(r"\.\d+\.", ".0.", inner) for module in modules for inner in module.names}
    for other in names:
        if re.sub(r"\.\d+\.", ".0.", other[:200]) not in known:
            raise fields.error(
                f"{fields.label(name)} has {shown(other)}, which fits none of the modules that are modelled"
            )
    return tuple(found)


def excluded_by(fields: Fields, model: Checkpoint, usual: tuple[int, int]) -> tuple[Kept, ...]:
    """What ``dynamic`` excludes; raises where it gives modules a format other than the ``usual``."""
    if not fields.has("dynamic") or fields.raw("dynamic") is False:
        return ()
    excluded: list[str] = []
    for pattern, value in fields.child("dynamic").items():
        if pattern.startswith("-:"):
            excluded.append(pattern[2:])
        elif not isinstance(value, dict) or any(
            value.get(name, own) != (-1 if name == "group_size" and not own else own)
            for name, own in zip(("bits", "group_size"), usual, strict=True)
        ):
            raise fields.error(
                f"{fields.label('dynamic')} gives {shown(pattern)} a format of its own, which is not modelled"
            )
    return _matched(excluded, model, fields, "dynamic", excluding=True)


def within_blocks(fields: Fields, model: Checkpoint) -> tuple[Kept, ...] | None:
    """What alone is quantised where a file lists it: lists of names of modules within a layer."""
    name = "modules_in_block_to_quantize"
    listed = fields.entries(name)
    if not listed:
        return None
    inner = [one for entry in listed for one in (entry if isinstance(entry, list) else [entry])]
    names = [one for one in inner if isinstance(one, str)]
    if len(names) != len(inner):
        raise fields.error(f"{fields.label(name)} must hold lists of module names, got {shown(listed)}")
    return _within_layers(names, model, fields, name)


def targets_of(groups: Fields, model: Checkpoint) -> tuple[Kept, ...] | None:
    """What alone the groups' targets quantise; None where that is every linear layer."""
    found: dict[Kept, None] = {}
    for name in groups.names():
        group = groups.child(name)
        targets = group.entries("targets")
        if targets is None or "Linear" in targets:
            return None
        names = [target for target in targets if isinstance(target, str)]
        if not targets or len(names) != len(targets):
            raise group.error(f"{group.label('targets')} must hold module names, got {shown(targets)}")
        found |= dict.fromkeys(_matched(names, model, group, "targets"))
    return tuple(found)


def refuse_sparse(fields: Fields) -> None:
    """Raise where weights are stored without their zeros."""
    if fields.has("sparsity_config"):
        sparsity = fields.child("sparsity_config")
        form = sparsity.text("format")
        if form not in (None, "dense"):
            raise sparsity.error(
                f"{sparsity.label('format')} is {shown(form)}: sparse weights are not modelled"
            )
    if (form := fields.text("format")) is not None and ("24" in form or "sparse" in form):
        raise fields.error(f"{fields.label('format')} is {shown(form)}: sparse weights are not modelled")
