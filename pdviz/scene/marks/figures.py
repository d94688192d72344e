"""A figure that is shown large, and how model, accelerator and scenario are called."""

from __future__ import annotations

import os.path
import re

import msgspec

from pdviz.costmodel.dtypes import DTYPES, PUBLISHED
from pdviz.evaluation import Result
from pdviz.scenario import Scenario
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import elided
from pdviz.scene.marks.parts import MeasureText, Text
from pdviz.units import count, plural


class Figure(msgspec.Struct, frozen=True):
    """A headline figure. ``bound`` colours its detail where something limits it; ``brief`` is shorter."""

    title: str
    value: str
    detail: str
    bound: str | None = None
    brief: str = ""

    @property
    def spoken(self) -> str:
        return f"{self.title}: {self.value}, {self.detail}"


def lay_out_figure(box: Box, figure: Figure, scale: float, measure: MeasureText) -> tuple[Text, ...]:
    """Title, value and detail in a tile; the value shrinks, the detail is shortened where it is narrow."""
    s, bold = scale, figure.bound is not None
    x, width = box.x + 16 * s, box.w - 28 * s
    rows = ((0.13, 0.20), (0.34, 0.36), (0.71, 0.20))
    title, value, detail = (Box(x, box.y + box.h * top, width, box.h * high) for top, high in rows)
    large = 28 * s
    while large > 16 * s and measure(figure.value, large, True) > width:
        large -= 2 * s
    words = figure.detail
    if figure.brief and measure(words, 13 * s, bold) > width:
        words = figure.brief
    role = f"{figure.bound}_text" if figure.bound else "muted"
    return tuple(
        Text(row, elided(text, width, size, is_bold, measure), code, size, is_bold)
        for row, text, code, size, is_bold in (
            (title, figure.title, "muted", 13.5 * s, False),
            (value, figure.value, "text", large, True),
            (detail, words, role, 13 * s, bold),
        )
    )


def short_name(name: str) -> str:
    """A catalogue name as it is; of a person's own file what tells it apart."""
    folder, file = os.path.split(name)
    if not folder:
        return name
    return os.path.basename(folder) if file.lower() == "config.json" and os.path.basename(folder) else file


_HASH = re.compile(r"[0-9a-f]{32,64}")


def model_name(result: Result) -> str:
    """The model as the catalogue calls it; of a file the name that a GGUF gives, else the file's own."""
    path, name = result.scenario.model, result.architecture.name
    short = short_name(path)
    if short == path:
        return path
    says_itself = result.architecture.census is not None and name != os.path.splitext(short)[0]
    return name if says_itself or _HASH.fullmatch(short) else short


def accelerator_name(result: Result) -> str:
    """The accelerator's name, a file's too."""
    return result.accelerator.name


def scenario_words(of: Scenario | Result) -> str:
    """A scenario in one line of words, for titles and captions; a result knows its files' own names."""
    if isinstance(of, Result):
        s, model, accelerator = of.scenario, model_name(of), accelerator_name(of)
    else:
        s, model, accelerator = of, short_name(of.model), short_name(of.accelerator)
    weights, kv = DTYPES[s.weights_dtype].title, DTYPES[s.kv_dtype].title
    if s.weights_dtype == PUBLISHED:
        formats = f", published weights, {kv} KV"
    else:
        formats = f" {weights}" if weights == kv else f", {weights} weights, {kv} KV"
    words = [f"{model}{formats}", f"{s.accelerators} × {accelerator}"]
    cached = f" ({count(s.cached_tokens)} cached)" if s.cached_tokens else ""
    words.append(f"{count(s.prompt_tokens)}{cached} → {plural(s.output_tokens, 'token')}")
    if s.others:
        at = f" at {plural(s.others_context_tokens, 'token')}" if s.others_context_tokens is not None else ""
        words.append(f"{count(s.others)} others alongside{at}")
    return " · ".join(words)


def machine_words(scenario: str, coming: str) -> str:
    """The words of a scenario with what comes to the server in the place of its one request."""
    model, machine = scenario.split(" · ")[:2]
    return f"{model} · {machine} · {coming}"


def workload_words(text: str) -> str:
    """A workload's text for a place with little room: its preset or file, and how many are placed by hand.

    >>> workload_words("long-prompt 1.5:16384>20"), workload_words("/home/me/azure.csv")
    ('long-prompt + 1', 'azure.csv')
    >>> workload_words("0:512>128 1:512>128")
    '2 placed by hand'
    """
    words = text.split()
    placed = sum(">" in word for word in words)
    base = " ".join(word for word in words if ">" not in word).replace("\\", "/").rpartition("/")[2]
    if not base:
        return f"{placed} placed by hand"
    return f"{base} + {placed}" if placed else base
