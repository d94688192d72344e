"""Composing the application: whatever is on disk, a window opens and says what it could not use."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from pdviz import app, catalogue
from pdviz.app import compose, first_scenario, make_application, settings_folder, settle
from pdviz.assets import read_bytes
from pdviz.catalogue import Catalogue, default_catalogue
from pdviz.errors import InputError
from pdviz.evaluation import evaluate
from pdviz.scenario import Scenario
from pdviz.widgets.shell.window import MainWindow

Composed = Callable[..., tuple[MainWindow, list[str]]]


@pytest.fixture
def composed(qtbot: QtBot, folder: str) -> Composed:
    def make(scenario: Scenario | None = None, **options: object) -> tuple[MainWindow, list[str]]:
        window, messages = compose(scenario, folder, **options)
        qtbot.addWidget(window)
        window.resize(1200, 800)
        window.show()
        return window, messages

    return make


def keep(folder: str, content: object) -> Path:
    path = Path(folder) / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def is_one_sentence(text: str) -> bool:
    return text.endswith(".") and not text.endswith("..") and "\n" not in text


def with_catalogue(monkeypatch: pytest.MonkeyPatch, made: Catalogue) -> None:
    monkeypatch.setattr(catalogue, "default_catalogue", lambda: made)


# --- nothing on disk -----------------------------------------------------------------------------


def test_that_the_first_start_shows_the_standard_scenario_and_says_nothing(
    composed: Composed, folder: str
) -> None:
    window, messages = composed()
    assert messages == []
    assert window.store.scenario == Scenario()
    assert not os.path.exists(folder)
    window.close()
    assert os.listdir(folder) == ["settings.json"]


def test_that_a_scenario_given_by_the_user_goes_before_the_last_one(composed: Composed, folder: str) -> None:
    keep(folder, {"scenario": {"prompt": 77}})
    window, messages = composed(Scenario(prompt_tokens=99))
    assert messages == []
    assert window.store.scenario == Scenario(prompt_tokens=99)


def test_that_the_last_scenario_is_shown_again(composed: Composed, folder: str) -> None:
    keep(folder, {"scenario": {"prompt": 77, "gpu": "L4"}, "theme": "light"})
    window, messages = composed()
    assert messages == []
    assert window.store.scenario == Scenario(prompt_tokens=77, accelerator="L4")
    assert not window.theme.is_dark


@pytest.mark.parametrize(("theme", "is_dark"), [("dark", True), ("light", False)])
def test_that_a_theme_given_by_the_user_goes_before_the_last_one(
    composed: Composed, folder: str, theme: str, is_dark: bool
) -> None:
    keep(folder, {"theme": "light" if is_dark else "dark"})
    window, _ = composed(theme=theme)
    assert window.theme.is_dark is is_dark


def test_that_reset_forgets_everything(composed: Composed, folder: str) -> None:
    keep(folder, {"scenario": {"prompt": 77}, "rate": 0.5})
    window, messages = composed(reset=True)
    assert messages == []
    assert window.store.scenario == Scenario()
    assert window.player.clock.rate == 0.1


def test_that_names_are_put_as_the_catalogue_has_them(composed: Composed) -> None:
    window, _ = composed(Scenario(model="meta-llama/Llama-3.1-8B", accelerator="h100"))
    assert window.store.scenario == Scenario()


# --- damage on disk ------------------------------------------------------------------------------


def test_that_damaged_settings_cost_only_what_is_damaged(composed: Composed, folder: str) -> None:
    keep(folder, {"theme": "blue", "rate": 0.02, "scenario": {"prompt": 77}, "window": [1]})
    window, messages = composed()
    assert len(messages) == 2
    assert all(map(is_one_sentence, messages))
    assert "theme" in messages[0]
    assert "window" in messages[1]
    assert window.player.clock.rate == 0.02
    assert window.store.scenario == Scenario(prompt_tokens=77)


def test_that_a_settings_file_that_is_none_is_set_aside_and_the_window_opens(
    composed: Composed, folder: str
) -> None:
    keep(folder, "{ not json")
    window, messages = composed()
    assert len(messages) == 1
    assert is_one_sentence(messages[0])
    assert window.store.scenario == Scenario()
    window.close()
    assert (Path(folder) / "settings.json.damaged").read_text() == "{ not json"
    assert json.loads((Path(folder) / "settings.json").read_text())["scenario"]["prompt"] == 512


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ({"model": "No Such Model 9B"}, "No Such Model 9B"),
        ({"gpu": "H101"}, "H101"),
        ({"gpu": "TPU v5e", "weights": "fp32"}, "TPU v5e"),
    ],
)
def test_that_a_last_scenario_that_cannot_be_evaluated_is_one_sentence_and_the_standard_one_is_shown(
    composed: Composed, folder: str, scenario: dict[str, str], words: str
) -> None:
    keep(folder, {"scenario": scenario, "rate": 0.02})
    window, messages = composed()
    assert len(messages) == 1
    assert is_one_sentence(messages[0])
    assert words in messages[0]
    assert "standard" in messages[0]
    assert window.store.scenario == Scenario()
    assert window.player.clock.rate == 0.02


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(model="No Such Model"),
        Scenario(accelerator="H101"),
        Scenario(accelerator="TPU v5e", weights_dtype="fp32"),
    ],
)
def test_that_a_scenario_given_by_the_user_that_does_not_exist_is_refused(
    folder: str, scenario: Scenario
) -> None:
    with pytest.raises(InputError) as refused:
        compose(scenario, folder)
    assert "\n" not in str(refused.value)


def test_that_a_folder_that_cannot_be_written_keeps_no_window_from_closing(
    composed: Composed, folder: str
) -> None:
    window, _ = composed()
    Path(folder).write_text("a file where the folder should be")
    assert window.close()
    assert Path(folder).read_text() == "a file where the folder should be"


# --- a damaged catalogue -------------------------------------------------------------------------


def catalogue_bytes() -> tuple[bytes, bytes]:
    return read_bytes("catalogue/accelerators.json"), read_bytes("catalogue/models.json")


def test_that_a_damaged_entry_of_the_catalogue_is_said_and_the_rest_works(
    composed: Composed, monkeypatch: pytest.MonkeyPatch
) -> None:
    chips, models = catalogue_bytes()
    data = json.loads(models)
    data["models"][3].pop("config")
    with_catalogue(monkeypatch, Catalogue.from_bytes(chips, json.dumps(data).encode()))
    window, messages = composed()
    assert len(messages) == 1
    assert is_one_sentence(messages[0])
    assert "models.json" in messages[0]
    assert "config" in messages[0]
    assert window.store.scenario == Scenario()
    assert len(window.panel.choices("model")) == len(default_catalogue().models) - 1


@pytest.mark.parametrize(("key", "missing"), [("models", "Llama 3.1 8B"), ("accelerators", "H100 SXM")])
def test_that_a_catalogue_without_the_standard_names_opens_on_what_it_has(
    composed: Composed, monkeypatch: pytest.MonkeyPatch, key: str, missing: str
) -> None:
    files = dict(zip(("accelerators", "models"), catalogue_bytes(), strict=True))
    data = json.loads(files[key])
    data[key] = [entry for entry in data[key] if entry["name"] != missing][:5]
    files[key] = json.dumps(data).encode()
    with_catalogue(monkeypatch, Catalogue.from_bytes(files["accelerators"], files["models"]))
    window, messages = composed()
    assert len(messages) == 1
    assert is_one_sentence(messages[0])
    assert missing in messages[0]
    shown = window.store.scenario
    assert data[key][0]["name"] in (shown.model, shown.accelerator)
    assert window.store.result.e2e_s > 0


@pytest.mark.parametrize("key", ["models", "accelerators"])
def test_that_a_catalogue_that_holds_nothing_is_refused_in_one_sentence(
    folder: str, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    files = dict(zip(("accelerators", "models"), catalogue_bytes(), strict=True))
    files[key] = b"{"
    with_catalogue(monkeypatch, Catalogue.from_bytes(files["accelerators"], files["models"]))
    with pytest.raises(InputError) as refused:
        compose(None, folder)
    assert key in str(refused.value)
    assert "\n" not in str(refused.value)


def test_that_every_accelerator_can_show_the_first_scenario() -> None:
    full = default_catalogue()
    for accelerator in full.accelerators:
        only = Catalogue((accelerator,), full.models)
        assert evaluate(first_scenario(only), only).e2e_s > 0


# --- the application -----------------------------------------------------------------------------


def test_that_settings_are_kept_where_the_platform_keeps_them() -> None:
    assert os.path.basename(settings_folder()) == "pdviz"
    assert os.path.isabs(settings_folder())


def test_that_there_is_one_application(qapp: QApplication) -> None:
    assert make_application() is qapp


@pytest.mark.parametrize("problem", ["window_problem", "binding_problem"])
def test_that_an_environment_that_cannot_show_a_window_is_said_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    def refuse(*_: object) -> object:
        raise AssertionError("made too early")

    from pdviz import binding

    monkeypatch.setattr(binding, problem, lambda *_: "There is no display.")
    monkeypatch.setattr(app, "compose", refuse)
    monkeypatch.setattr(app, "make_application", refuse)
    with pytest.raises(InputError, match="There is no display"):
        app.run(None)


def test_that_what_start_up_made_is_not_looked_through_again_and_again() -> None:
    before = gc.get_freeze_count()
    try:
        settle()
        assert gc.get_freeze_count() > before + 1000
    finally:
        gc.unfreeze()
