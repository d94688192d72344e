"""What is explained at a point is what is drawn there."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from PySide6.QtCore import QPoint, QRect
from pytestqt.qtbot import QtBot

from pdviz.evaluation import Result, evaluate
from pdviz.explain import KEYS
from pdviz.scenario import Scenario
from pdviz.scene.marks.parts import Text
from pdviz.widgets.controls.memory_view import MemoryView
from pdviz.widgets.kit.palette import text_width
from pdviz.widgets.request.meters import MetersView

SCENARIOS = {
    "one prompt": Scenario(),
    "busy": Scenario(others=31),
    "latent": Scenario(model="DeepSeek V3", accelerators=16, others=31),
    "too large": Scenario(model="DeepSeek V3"),
    "more than is left": Scenario(prompt_tokens=100_000, others=60),
}
MEMORY_KEYS = {
    "weights": "memory.weights",
    "KV": "memory.kv",
    "hatched": "memory.reserve",
    "room": "memory.largest_batch",
    "any": "memory.largest_batch",
    "fits": "memory.fewest",
}


def result_of(name: str) -> Result:
    return evaluate(SCENARIOS[name])


def span(text: Text) -> tuple[int, int, int]:
    """(left, right, middle down) of what is written, in whole pixels inside it."""
    width = text_width(text.text, text.size, text.bold)
    spare = {"left": 0.0, "right": text.box.w - width, "center": (text.box.w - width) / 2}[text.align]
    left = text.box.x + spare
    return round(left + 1), round(left + width - 1), round(text.box.y + text.box.h / 2)


def keys_along(view: MemoryView | MetersView, text: Text, limit: int) -> set[str | None]:
    """What is explained from the first letter to the last that is in the widget."""
    left, right, y = span(text)
    points = (QPoint(x, y) for x in range(max(left, 0), min(right, limit)))
    return {found.key if found is not None else None for found in map(view.explain_at, points)}


def texts_of(view: MemoryView | MetersView) -> Iterable[Text]:
    layout = view.layout_now()
    assert layout is not None
    return layout.texts


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.35])
@pytest.mark.parametrize("name", SCENARIOS)
def test_that_each_part_of_the_memory_legend_explains_itself(qtbot: QtBot, name: str, scale: float) -> None:
    view = MemoryView()
    qtbot.addWidget(view)
    view.scale = scale
    view.resize(round(288 * scale), round(76 * scale))
    view.show_memory(result_of(name))
    seen = set()
    for text in texts_of(view):
        key = MEMORY_KEYS.get(text.text.split()[0].rstrip(":"), "memory.fits")
        assert keys_along(view, text, view.width()) == {key}, text.text
        seen.add(key)
    assert len(seen) >= 4


def test_that_the_legend_answers_up_to_where_the_next_part_is_drawn(qtbot: QtBot) -> None:
    view = MemoryView()
    qtbot.addWidget(view)
    view.resize(288, 76)
    view.show_memory(result_of("one prompt"))
    layout = view.layout_now()
    assert layout is not None
    weights, kv = layout.swatches
    y = round(weights.box.y + weights.box.h / 2)
    for x in range(round(weights.box.x), round(kv.box.right) + 1):
        found = view.explain_at(QPoint(x, y))
        assert found is not None
        assert found.key == ("memory.weights" if x < kv.box.x else "memory.kv"), x


def test_that_the_memory_bar_explains_what_is_used_and_where_it_ends(qtbot: QtBot) -> None:
    view = MemoryView()
    qtbot.addWidget(view)
    view.resize(288, 76)
    assert view.explain_at(QPoint(10, 10)) is None
    view.show_memory(result_of("one prompt"))
    layout = view.layout_now()
    assert layout is not None
    y = round(layout.bar.y + layout.bar.h / 2)
    found = [view.explain_at(QPoint(x, y)) for x in (1, 140, round(layout.reserve.x + 2), 286)]
    assert [one.key for one in found if one] == [*["memory.used"] * 2, *["memory.capacity"] * 2]
    assert found[0] is not None
    assert found[0].box is not None
    assert found[0].box.contains(1, y)
    assert found[0].pass_index is None


def test_that_a_low_memory_bar_explains_only_what_it_shows(qtbot: QtBot) -> None:
    view = MemoryView()
    qtbot.addWidget(view)
    view.resize(288, 58)
    view.show_memory(result_of("one prompt"))
    layout = view.layout_now()
    assert layout is not None
    shown = {place.key for place in layout.places}
    assert shown == {"memory.fits", "memory.capacity", "memory.used", "memory.weights", "memory.kv"}


@pytest.mark.parametrize(("width", "height", "scale"), [(226, 400, 1.0), (181, 290, 0.8), (305, 640, 1.35)])
@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("name", ["one prompt", "busy", "latent"])
def test_that_each_text_of_the_meters_explains_itself(
    qtbot: QtBot, name: str, index: int, width: int, height: int, scale: float
) -> None:
    result = result_of(name)
    view = MetersView()
    qtbot.addWidget(view)
    view.scale = scale
    view.resize(width, height)
    assert view.explain_at(QPoint(10, 10)) is None
    cost = result.request.pass_cost(index)
    view.show_pass(cost, result.machine, index)
    phase = "prefill" if index == 0 else "decode"
    names = [f"{phase}.bound"]
    for bound in ("compute", "bandwidth"):
        names += [f"{phase}.{bound}_utilisation"] * 2 + [f"{phase}.{bound}_rate"]
        names += [f"{phase}.bound"] if bound == cost.bound else []
    names += [f"{phase}.intensity", "ridge"]
    texts = list(texts_of(view))
    assert [keys_along(view, text, width) for text in texts] == [{key} for key in names]
    assert {text.text for text in texts} >= {"Compute", "Bandwidth", "the limit"}
    layout = view.layout_now()
    assert layout is not None
    for meter in layout.meters:
        found = view.explain_at(QPoint(round(meter.well.x + 3), round(meter.well.y + 3)))
        assert found is not None
        assert (found.key, found.pass_index) == (f"{phase}.{meter.bound}_utilisation", index)


def test_that_every_point_of_the_meters_explains_something(qtbot: QtBot) -> None:
    result = result_of("one prompt")
    view = MetersView()
    qtbot.addWidget(view)
    view.resize(226, 400)
    view.show_pass(result.request.pass_cost(0), result.machine, 0)
    area = QRect(0, 0, 226, 400)
    for x in range(2, 226, 16):
        for y in range(2, 400, 3):
            found = view.explain_at(QPoint(x, y))
            assert found is not None, (x, y)
            assert found.key in KEYS
            assert found.box is not None
            assert area.adjusted(-1, -1, 1, 1).contains(found.box)
            assert found.box.contains(x, y)
