"""What imports what in the widgets: no module needs one that needs it, not even for its types."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget

import pdviz

ROOT = Path(pdviz.__file__).parent


def name_of(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source: str) -> set[str]:
    """All modules that a source imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def circle(sources: dict[str, str]) -> list[str]:
    """Modules that need each other in turn; empty where there are none."""
    graph = {name: (imported(source) & sources.keys()) - {name} for name, source in sources.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_that_no_widget_module_needs_one_that_needs_it() -> None:
    sources = {name_of(file): file.read_text("utf-8") for file in (ROOT / "widgets").rglob("*.py")}
    assert len(sources) > 50
    assert circle(sources) == []


def test_that_a_circle_is_seen_even_where_it_is_only_of_types() -> None:
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import A"
    assert set(circle({"a": "def late():\n    import b", "b": types})) == {"a", "b"}
    assert circle({"a": "import b", "b": "import os"}) == []


@pytest.fixture
def family(qtbot: object, tmp_path: Path) -> dict[str, set[str]]:
    """The parts of the window, and of each the names of the widgets in it."""
    from pdviz.app import compose, load_look

    load_look()
    window, _ = compose(None, str(tmp_path))
    found = {
        child: {name for name, part in vars(widget).items() if is_of_widgets(part)}
        for child, widget in vars(window).items()
        if isinstance(widget, QWidget)
    }
    found["current"] = {name for name, part in vars(window.current).items() if is_of_widgets(part)}
    window.close()
    return found


def is_of_widgets(part: object) -> bool:
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, (list, tuple)):
        return any(isinstance(one, QWidget) for one in part)
    return isinstance(part, QWidget)


def test_that_nothing_in_the_shell_reaches_into_a_part_of_the_window(family: dict[str, set[str]]) -> None:
    assert {"stage", "meters"} <= family["current"]
    assert {"sliders", "memory"} <= family["panel"]
    reaches = [
        rf"\.{child}\.{name}\b"
        for child, names in family.items()
        for name in names
        if not name.startswith("_")
    ]
    for file in (ROOT / "widgets" / "shell").glob("*.py"):
        text = file.read_text("utf-8")
        assert [found for pattern in reaches for found in re.findall(pattern, text)] == [], file.name
