"""The state of everything: one frozen Scenario, its fields as a table, its text forms.

The table feeds the control panel, the command line, validation, help and accessible names, so that
a field exists once. Text forms (command line, share line, JSON) use the short ``key`` of a field.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection
from typing import Any

import msgspec

from pdviz.costmodel.dtypes import KV_DTYPES, WEIGHT_DTYPES
from pdviz.costmodel.fidelities import FIDELITIES
from pdviz.costmodel.request import Request
from pdviz.errors import InputError
from pdviz.files import is_file_name
from pdviz.names import shown
from pdviz.units import parse_count, parse_fraction, plural

TOKENS_LIMIT = 2**24
OTHERS_LIMIT = 65_535
ACCELERATORS_LIMIT = 4_096


class Scenario(Request, frozen=True):
    """One request on one server, as asked for. Names are looked up in the catalogue."""

    model: str = "Llama 3.1 8B"
    accelerator: str = "H100 SXM"
    accelerators: int = 1
    weights_dtype: str = "bf16"
    kv_dtype: str = "bf16"
    fidelity: str = "textbook"
    compute_efficiency: float = 0.55
    bandwidth_efficiency: float = 0.75


class Field(msgspec.Struct, frozen=True):
    """One field of the scenario as users meet it.

    ``name`` is the attribute, ``key`` its name in text, ``kind`` one of "name", "choice", "count",
    "fraction". ``optional`` counts may be absent (None, written "same").

    The window lays itself out from the rest. ``group`` is where the field is edited: "panel" or
    "assumptions". ``control`` is how: "picker", "times" (a narrow count), "slider" (with its value to
    type), "entry" (part of the row above), "chips" or "share". ``beside``: in the row of the field before.
    A slider goes to ``slider_high``, or where ``reach`` says ("context": the model's, "prompt": inside it).
    """

    name: str
    key: str
    label: str
    help: str
    kind: str
    low: int = 1
    high: int = TOKENS_LIMIT
    choices: Collection[str] = ()
    unit: str = ""
    optional: bool = False
    group: str = "panel"
    control: str = "picker"
    beside: bool = False
    slider_high: int = 0
    reach: str = ""

    def parse(self, value: object) -> Any:
        """``value`` as the field's type. Raises InputError that names the field."""
        text = value if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
        if value is None and self.optional:
            return None
        if text is None:
            raise InputError(f"{self.key} must be {self.expectation}, got {shown(value)}")
        if self.kind == "count":
            if self.optional:
                if str(text).strip().lower() == "same":
                    return None
                return parse_count(
                    str(text), f'{self.key} must be "same" as this request, or it', self.low, self.high
                )
            return parse_count(str(text), self.key, self.low, self.high)
        if self.kind == "fraction":
            return parse_fraction(text, self.key)
        if self.kind == "choice":
            choice = str(text).strip().lower()
            if choice not in self.choices:
                raise InputError(f"{self.key} must be one of {', '.join(self.choices)}, got {shown(text)}")
            return choice
        if not str(text).strip():
            raise InputError(f"{self.key} must be a name, got nothing")
        if not str(text).isprintable():
            raise InputError(f"{self.key} must be a name in printable characters, got {shown(text)}")
        return str(text).strip()

    @property
    def expectation(self) -> str:
        """What the field takes, in words."""
        if self.kind == "count":
            return f"a whole number from {self.low:,} to {self.high:,}"
        if self.kind == "fraction":
            return "a number above 0 and up to 1"
        return f"one of {', '.join(self.choices)}" if self.choices else "a name"


FIELDS: tuple[Field, ...] = (
    Field("model", "model", "Model", "The language model: a name, or a config.json or GGUF file.", "name"),
    Field("accelerator", "gpu", "Accelerator", "The accelerator it runs on: a name, or a TOML file.", "name"),
    Field(
        "accelerators",
        "tp",
        "Accelerators",
        "How many share the model (tensor parallel): their compute and bandwidth add up, "
        "communication is not counted.",
        "count",
        high=ACCELERATORS_LIMIT,
        control="times",
        beside=True,
    ),
    Field(
        "weights_dtype",
        "weights",
        "Weights",
        "The format in which the weights are stored and read.",
        "choice",
        choices=WEIGHT_DTYPES,
    ),
    Field(
        "kv_dtype",
        "kv",
        "KV cache",
        "The format in which keys and values are cached.",
        "choice",
        choices=KV_DTYPES,
        beside=True,
    ),
    Field(
        "prompt_tokens",
        "prompt",
        "Prompt",
        "Tokens in the prompt; prefill runs over them in one pass.",
        "count",
        unit="token",
        control="slider",
        slider_high=131_072,
        reach="context",
    ),
    Field(
        "output_tokens",
        "output",
        "Output",
        "Tokens to write: the first comes from prefill, each further one from a decode pass.",
        "count",
        unit="token",
        control="slider",
        slider_high=8_192,
    ),
    Field(
        "others",
        "others",
        "Others decoding alongside",
        "Further sequences that decode in the same passes and share the weight read.",
        "count",
        low=0,
        high=OTHERS_LIMIT,
        control="slider",
        slider_high=1_023,
    ),
    Field(
        "others_context_tokens",
        "others-context",
        "Their context",
        "Tokens of context that each of the others holds; the same as this request unless set.",
        "count",
        unit="token",
        optional=True,
        control="entry",
    ),
    Field(
        "cached_tokens",
        "cached",
        "Cached prefix",
        "Prompt tokens whose keys and values are reused: prefill computes only the rest.",
        "count",
        low=0,
        unit="token",
        control="slider",
        reach="prompt",
    ),
    Field(
        "fidelity",
        "fidelity",
        "Fidelity",
        f"Which cost model: {' or '.join(one.help for one in FIDELITIES.values())}.",
        "choice",
        choices=FIDELITIES,
        group="assumptions",
        control="chips",
    ),
    Field(
        "compute_efficiency",
        "compute-efficiency",
        "Compute efficiency",
        "Share of peak FLOP/s that kernels reach (textbook).",
        "fraction",
        group="assumptions",
        control="share",
    ),
    Field(
        "bandwidth_efficiency",
        "bandwidth-efficiency",
        "Bandwidth efficiency",
        "Share of memory bandwidth that kernels reach (textbook).",
        "fraction",
        group="assumptions",
        control="share",
    ),
)
BY_NAME = {field.name: field for field in FIELDS}
BY_KEY = {field.key: field for field in FIELDS}


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
