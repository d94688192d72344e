"""The state of everything: one frozen Scenario, and its text forms."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec

from pdviz.costmodel.request import Request
from pdviz.errors import InputError
from pdviz.fields import BY_KEY, BY_NAME, FIELDS
from pdviz.files import is_file_name
from pdviz.names import shown
from pdviz.units import plural


class Scenario(Request, frozen=True):
    """A request, the server that it comes to, and what else comes to it. Names are the catalogue's."""

    model: str = "Llama 3.1 8B"
    accelerator: str = "H100 SXM"
    accelerators: int = 1
    weights_dtype: str = "bf16"
    kv_dtype: str = "bf16"
    fidelity: str = "textbook"
    compute_efficiency: float = 0.55
    bandwidth_efficiency: float = 0.75
    workload: str = "long-prompt"
    policy: str = "continuous"
    against: str = "chunked"
    token_budget: int = 512
    max_batched_tokens: int = 8192
    max_seqs: int = 256
    capacity_tokens: int | None = None
    prefill_steps: int = 1
    decode_steps: int = 1
    replicas: int = 1
    prefill_engines: int = 1
    decode_engines: int = 1
    link_bytes_per_s: float = 50e9
    link_latency_s: float = 0.0
    ttft_target_s: float = 1.0
    itl_target_s: float = 0.05


class Preset(msgspec.Struct, frozen=True):
    """A named request that a chip sets; model, accelerator and formats stay."""

    title: str
    prompt_tokens: int
    output_tokens: int
    others: int = 0
    cached_tokens: int = 0

    def apply(self, scenario: Scenario) -> Scenario:
        """``scenario`` with this request."""
        return msgspec.structs.replace(
            scenario,
            prompt_tokens=self.prompt_tokens,
            output_tokens=self.output_tokens,
            others=self.others,
            others_context_tokens=None,
            cached_tokens=self.cached_tokens,
        )

    def matches(self, scenario: Scenario) -> bool:
        """True while ``scenario`` is this request."""
        return self.apply(scenario) == scenario


PRESETS: tuple[Preset, ...] = (
    Preset("Chat", 512, 128),
    Preset("128-token prompt", 128, 128),
    Preset("32K document", 32_768, 256),
    Preset("Code completion", 2_000, 40),
    Preset("Busy server", 512, 128, others=63),
    Preset("Agent turn", 16_384, 256, cached_tokens=15_360),
)


def changed(old: Scenario, new: Scenario) -> frozenset[str]:
    """Names of the fields in which two scenarios differ."""
    return frozenset(f.name for f in FIELDS if getattr(old, f.name) != getattr(new, f.name))


def edit(scenario: Scenario, **values: object) -> Scenario:
    """``scenario`` with some fields set from text or numbers, checked.

    Raises InputError that names the field. A cached prefix must leave at least one prompt token.
    """
    parsed = {name: BY_NAME[name].parse(value) for name, value in values.items()}
    result: Scenario = msgspec.structs.replace(scenario, **parsed)
    if result.cached_tokens >= result.prompt_tokens:
        prompt = plural(result.prompt_tokens, "token")
        raise InputError(
            f"cached must be below prompt ({prompt}), since at least one token has to be computed, "
            f"got {result.cached_tokens:,}"
        )
    return result


def to_keys(scenario: Scenario) -> dict[str, Any]:
    """The scenario under its short keys, all of them."""
    return {field.key: getattr(scenario, field.name) for field in FIELDS}


def parse_keys(values: dict[str, Any], where: str) -> dict[str, Any]:
    """Attributes and their values from short keys, each checked by itself; ``where`` names the source.

    Raises InputError for an unknown key or a bad value.
    """
    unknown = [key for key in values if key not in BY_KEY]
    if unknown:
        raise InputError(f"{where}: unknown key {shown(unknown[0])}, expected one of {', '.join(BY_KEY)}")
    try:
        return {BY_KEY[key].name: BY_KEY[key].parse(value) for key, value in values.items()}
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def from_keys(values: dict[str, Any], where: str) -> Scenario:
    """A scenario from short keys, missing ones as by default. Raises InputError."""
    parsed = parse_keys(values, where)
    try:
        return edit(Scenario(), **parsed)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def to_line(scenario: Scenario) -> str:
    """One line of text that ``from_line`` reads: model and gpu always, the rest where not default.

    A model's file comes with the format of its weights: without, a command line takes the file's own.
    """
    default = Scenario()
    always = ["model", "accelerator", "prompt_tokens", "output_tokens"]
    if is_file_name(scenario.model):
        always.append("weights_dtype")
    words = []
    for field in FIELDS:
        value = getattr(scenario, field.name)
        if field.name in always or value != getattr(default, field.name):
            words.append(f"{field.key}={shlex.quote(str(value))}")
    return " ".join(words)


LINE = "scenario line"
LINE_LIMIT = 2**13
"""Characters of the longest line that is looked at: splitting takes time with the square of it."""


def line_keys(line: str) -> dict[str, str]:
    """The words of a share line by their keys. Raises InputError."""
    if len(line) > LINE_LIMIT:
        raise InputError(f"{LINE}: too long ({len(line):,} characters), expected up to {LINE_LIMIT:,}")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InputError(f"{LINE}: {str(error).lower()}, expected words like prompt=512") from None
    values: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise InputError(f'{LINE}: "{word}" is not of the form key=value, such as prompt=512')
        if key in values:
            raise InputError(f"{LINE}: {key} is given twice")
        values[key] = value
    if not values:
        raise InputError(f'{LINE}: it is empty, expected words like model="Llama 3.1 8B" prompt=512')
    return values


def from_line(line: str) -> Scenario:
    """The scenario that a share line describes. Raises InputError."""
    return from_keys(line_keys(line), LINE)
