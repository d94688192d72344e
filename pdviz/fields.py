"""The fields of a scenario as users meet them: one table.

It feeds the control panel, the command line, validation, help and accessible names, so that a field
exists once. Text forms (command line, share line, JSON) use the short ``key`` of a field.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from pdviz.costmodel.dtypes import KV_DTYPES, WEIGHT_DTYPES
from pdviz.costmodel.fidelities import FIDELITIES
from pdviz.errors import InputError
from pdviz.names import shown
from pdviz.units import parse_amount, parse_count, parse_fraction

POLICIES = ("static", "continuous", "chunked", "interleaved", "disaggregated")
"""How a server may form its passes."""
TOKENS_LIMIT = 2**24
OTHERS_LIMIT = 65_535
ACCELERATORS_LIMIT = 4_096


class Field(msgspec.Struct, frozen=True):
    """One field of the scenario as users meet it.

    ``name`` is the attribute, ``key`` its name in text, ``kind`` one of "name", "choice", "count",
    "fraction", "amount" (of ``unit``, from ``low`` on). ``optional`` ones may be absent (None), which is
    written ``absent``.

    The window lays itself out from the rest. ``group`` is where the field is edited: "panel",
    "assumptions" or "server" (what comes to a server of many requests, its policies and knobs).
    ``control`` is how: "picker", "times" (a narrow count), "slider" (with its value to type), "entry"
    (part of the row above), "chips" or "share". ``beside``: in the row of the field before. A slider goes
    to ``slider_high``, or where ``reach`` says ("context": the model's, "prompt": inside it).
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
    absent: str = "same"
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
                if str(text).strip().lower() == self.absent:
                    return None
                as_this = " as this request" if self.absent == "same" else ""
                name = f'{self.key} must be "{self.absent}"{as_this}, or it'
                return parse_count(str(text), name, self.low, self.high)
            return parse_count(str(text), self.key, self.low, self.high)
        if self.kind == "amount":
            return parse_amount(text, self.key, self.unit, self.low)
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
        if self.kind == "amount":
            return f"a number of {self.unit}, at least {self.low}"
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
    Field(
        "workload",
        "workload",
        "Workload",
        "What comes to the server: a preset, a trace file, requests such as 0.5:512>128 (at 0.5 s, a prompt "
        "of 512 tokens, 128 to write), or a preset or file and requests, separated by spaces.",
        "name",
        group="server",
    ),
    Field(
        "policy",
        "policy",
        "Policy",
        "How the server forms its passes.",
        "choice",
        choices=POLICIES,
        group="server",
    ),
    Field(
        "against",
        "against",
        "Beside it",
        "A second policy for the same requests, shown below the first.",
        "choice",
        choices=("none", *POLICIES),
        group="server",
    ),
    Field(
        "token_budget",
        "token-budget",
        "Token budget",
        "Most tokens in a pass that mixes pieces of prompts with decoding (chunked, interleaved).",
        "count",
        unit="token",
        group="server",
        control="slider",
        slider_high=8_192,
    ),
    Field(
        "max_batched_tokens",
        "max-batched-tokens",
        "Prompt tokens a pass",
        "Most tokens in a pass of whole prompts; the first prompt always goes.",
        "count",
        unit="token",
        group="server",
        control="slider",
        slider_high=65_536,
    ),
    Field(
        "max_seqs",
        "max-seqs",
        "Seats",
        "Most sequences that run at a time.",
        "count",
        high=OTHERS_LIMIT,
        group="server",
        control="slider",
        slider_high=1_024,
    ),
    Field(
        "capacity_tokens",
        "capacity-tokens",
        "KV cache",
        "Tokens of KV cache of one engine; what its memory leaves room for unless set.",
        "count",
        high=2**31,
        unit="token",
        optional=True,
        absent="memory",
        group="server",
        control="entry",
    ),
    Field(
        "prefill_steps",
        "prefill-steps",
        "Prefill passes in a row",
        "At most so many prompt passes before decoding has its turn (interleaved).",
        "count",
        high=10_000,
        group="server",
        control="entry",
    ),
    Field(
        "decode_steps",
        "decode-steps",
        "Decode passes in a row",
        "So many decode passes before prompts have their turn again (interleaved).",
        "count",
        high=10_000,
        group="server",
        control="entry",
    ),
    Field(
        "replicas",
        "replicas",
        "Servers",
        "Whole servers side by side; a request goes to the one with the fewest tokens.",
        "count",
        high=1_024,
        group="server",
        control="entry",
    ),
    Field(
        "prefill_engines",
        "prefill-engines",
        "Prefill engines",
        "Engines that run prompts (disaggregated).",
        "count",
        high=1_024,
        group="server",
        control="entry",
    ),
    Field(
        "decode_engines",
        "decode-engines",
        "Decode engines",
        "Engines that decode (disaggregated).",
        "count",
        high=1_024,
        group="server",
        control="entry",
    ),
    Field(
        "link_bytes_per_s",
        "link-bandwidth",
        "Link",
        "Bytes a second between a prefill and a decode engine (disaggregated).",
        "amount",
        unit="bytes per second",
        group="server",
        control="entry",
    ),
    Field(
        "link_latency_s",
        "link-latency",
        "Link latency",
        "Seconds before a prompt's KV cache begins to travel (disaggregated).",
        "amount",
        low=0,
        unit="seconds",
        group="server",
        control="entry",
    ),
    Field(
        "ttft_target_s",
        "ttft-target",
        "Target: first token",
        "Seconds within which a first token should come.",
        "amount",
        low=0,
        unit="seconds",
        group="server",
        control="entry",
    ),
    Field(
        "itl_target_s",
        "itl-target",
        "Target: each token",
        "Seconds within which each further token should come.",
        "amount",
        low=0,
        unit="seconds",
        group="server",
        control="entry",
    ),
)
BY_NAME = {field.name: field for field in FIELDS}
BY_KEY = {field.key: field for field in FIELDS}
