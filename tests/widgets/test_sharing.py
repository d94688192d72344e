"""What comes into the window: files and folders, opened, dropped and pasted, and files that go away."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import PySide6
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from pdviz.app import compose
from pdviz.catalogue import default_catalogue
from pdviz.opening import path_in
from pdviz.scenario import Scenario, to_line
from pdviz.scene.marks.figures import scenario_words
from pdviz.widgets.kit.pointed import Pointed
from pdviz.widgets.shell.drop_cue import DropCue
from pdviz.widgets.shell.window import MainWindow

sys.path.insert(0, str(Path(__file__).parent.parent / "costmodel"))
import gguf_files as gguf

CHIP = """
[accelerator]
name = "My chip"
memory_bytes = 96000000000
memory_bandwidth_bytes_per_s = 2.0e12
peak_flops_per_s = { bf16 = 500e12, fp8 = 1000e12 }
"""


def model_file(folder: Path, name: str = "mine.json") -> str:
    folder.mkdir(exist_ok=True)
    config = {**default_catalogue().model("Llama 3.1 8B").config, "num_hidden_layers": 7}
    (folder / name).write_text(json.dumps(config), encoding="utf-8")
    return str(folder / name)


def chip_file(folder: Path) -> str:
    if sys.version_info < (3, 11):
        pytest.importorskip("tomli")
    (folder / "chip.toml").write_text(CHIP, encoding="utf-8")
    return str(folder / "chip.toml")


def entering(data: QMimeData) -> QDragEnterEvent:
    """The start of a drag of ``data`` over a window."""
    # Before 6.12 the place was made of integers; from then on that is deprecated.
    place = QPointF if PySide6.__version_info__[:2] >= (6, 12) else QPoint
    buttons, modifiers = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    return QDragEnterEvent(place(400, 300), Qt.DropAction.CopyAction, data, buttons, modifiers)


def dropped(window: MainWindow, data: QMimeData) -> None:
    """A drop of ``data`` on the window, from its first move to its end."""
    at, action = QPointF(400, 300), Qt.DropAction.CopyAction
    buttons, modifiers = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(window, entering(data))
    QApplication.sendEvent(window, QDropEvent(at, action, data, buttons, modifiers))
    settle(window)


def settle(window: MainWindow) -> None:
    """Until what is being read has been read, and is shown."""
    end_s = monotonic() + 10
    while window.sharing.is_reading:
        assert monotonic() < end_s
        QApplication.processEvents()
    window.store.flush()


def opened(window: MainWindow, *paths: str) -> None:
    window.sharing.open_file(*paths)
    settle(window)


def pasted(window: MainWindow, text: str) -> None:
    window.sharing.open_text(text)
    settle(window)


def files(*paths: str) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(path) for path in paths])
    return data


# --- opening -------------------------------------------------------------------------------------


def test_that_the_dialog_shows_everything_that_can_be_opened(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def ask(parent: QWidget, *words: str) -> tuple[str, str]:
        asked.append(words)
        return "", ""

    monkeypatch.setattr(QFileDialog, "getOpenFileName", ask)
    window.actions_by_id["file.open"].trigger()
    ((title, _, filters),) = asked
    assert title == "Open"
    for suffix in ("json", "gguf", "toml", "txt", "png", "svg"):
        assert f"*.{suffix}" in filters.split(";;")[0]


def test_that_a_dropped_folder_is_the_model_whose_configuration_it_holds(
    window: MainWindow, tmp_path: Path
) -> None:
    path = model_file(tmp_path / "My model", "config.json")
    dropped(window, files(str(tmp_path / "My model")))
    assert window.store.scenario.model == path
    assert window.store.result.architecture.layers == 7
    assert window.toast.sentences == ("My model: opened as the model.",)


def test_that_a_folder_of_other_things_is_one_sentence(window: MainWindow, tmp_path: Path) -> None:
    (tmp_path / "things").mkdir()
    dropped(window, files(str(tmp_path / "things")))
    (sentence,) = window.toast.sentences
    assert sentence.startswith("things: this folder holds no config.json; expected a model (")
    assert window.store.scenario == Scenario()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x01", b"\0\0\0", b"[1, 2]", b"7"])
def test_that_what_cannot_be_opened_is_answered_with_what_can(
    window: MainWindow, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    dropped(window, files(str(path)))
    (sentence,) = window.toast.sentences
    assert sentence.startswith("odd.json: ")
    for word in ("config.json", "GGUF", "accelerator", "scenario line", "PNG or SVG"):
        assert word in sentence


@pytest.mark.parametrize("form", ["{}", '"{}"', "'{}'", " {}\n"])
def test_that_a_pasted_path_opens_its_file(window: MainWindow, tmp_path: Path, form: str) -> None:
    path = model_file(tmp_path / "with space=1")
    pasted(window, form.format(path))
    assert window.store.scenario.model == path


def test_that_a_pasted_address_of_a_file_opens_it_and_a_wrong_one_is_said(
    window: MainWindow, tmp_path: Path
) -> None:
    path = model_file(tmp_path)
    pasted(window, QUrl.fromLocalFile(path).toString())
    assert window.store.scenario.model == path
    pasted(window, str(tmp_path / "no.json"))
    assert window.toast.sentences == ("no.json: there is no such file.",)


def test_that_a_scenario_line_with_a_file_is_no_path(tmp_path: Path) -> None:
    assert path_in(to_line(Scenario(model=model_file(tmp_path)))) is None
    assert path_in("prompt=512 model=x.json") is None
    assert path_in("prompt = 512\nmodel = 'x.json'") is None
    assert path_in("") is path_in("  ") is path_in("prompt=512") is None


# --- what files are called --------------------------------------------------------------------------


def test_that_files_are_called_what_they_call_themselves(window: MainWindow, tmp_path: Path) -> None:
    opened(window, model_file(tmp_path, "dsv3.json"))
    opened(window, chip_file(tmp_path))
    window.panel.edit(weights_dtype="published")
    window.store.flush()
    assert window.panel.pickers["model"].choice == "dsv3.json"
    assert window.panel.pickers["accelerator"].choice == "My chip"
    words = scenario_words(window.store.result)
    assert words.startswith("dsv3.json, published weights, BF16 KV · 1 × My chip · ")
    assert scenario_words(window.store.scenario).startswith(
        "dsv3.json, published weights, BF16 KV · 1 × chip.toml"
    )
    assert window.top.words == words
    assert f"gpu={tmp_path}" in to_line(window.store.scenario)


@pytest.mark.parametrize(
    ("said", "shown"), [("Meta Llama 3.1 8B Instruct", "Meta Llama 3.1 8B Instruct"), ("", "tiny-Q4.gguf")]
)
def test_that_a_gguf_is_called_by_its_own_name_where_it_has_one(
    window: MainWindow, tmp_path: Path, said: str, shown: str
) -> None:
    catalogue = default_catalogue()
    metadata, tensors = gguf.model(
        catalogue.architecture("Llama 3.1 8B"), catalogue.model("Llama 3.1 8B").config
    )
    path = tmp_path / "tiny-Q4.gguf"
    made, size = gguf.header({**metadata, "general.name": said}, tensors)
    with path.open("wb") as file:
        file.write(made)
        file.truncate(size)
    opened(window, str(path))
    assert window.panel.pickers["model"].choice == shown
    assert window.top.words.startswith(shown)
    assert str(path) in to_line(window.store.scenario)


def test_that_a_configuration_in_a_cache_is_not_called_by_a_hash(window: MainWindow, tmp_path: Path) -> None:
    snapshot = tmp_path / "models--acme--Tiny-7B" / "snapshots" / ("0123456789abcdef" * 2 + "01234567")
    snapshot.mkdir(parents=True)
    model_file(snapshot, "config.json")
    opened(window, str(snapshot))
    assert window.panel.pickers["model"].choice == "Tiny-7B"


# --- files that go away ----------------------------------------------------------------------------


def test_that_the_window_works_on_once_its_files_have_gone(window: MainWindow, tmp_path: Path) -> None:
    model, chip = model_file(tmp_path), chip_file(tmp_path)
    opened(window, model)
    opened(window, chip)
    os.remove(model)
    window.panel.apply_preset(1)
    window.store.flush()
    assert window.store.result.scenario.prompt_tokens == 128
    assert window.toast.sentences == ("mine.json: the file has gone; what was read of it is used on.",)
    window.panel.edit(prompt_tokens=99)
    window.store.flush()
    assert window.store.result.scenario.prompt_tokens == 99
    assert window.toast.sentences, "it has not been seen for long enough"
    window.toast.dismiss()
    window.panel.edit(prompt_tokens=100)
    window.store.flush()
    assert window.toast.sentences == (), "said once"
    Path(chip).write_text("[accelerator]\nname = 3", encoding="utf-8")
    window.panel.edit(prompt_tokens=101)
    window.store.flush()
    (sentence,) = window.toast.sentences
    assert sentence.startswith("chip.toml: ")
    assert sentence.endswith("; what was read of it is used on.")
    assert str(tmp_path) not in sentence


def test_that_opening_what_has_gone_says_so(window: MainWindow, tmp_path: Path) -> None:
    path = model_file(tmp_path)
    opened(window, path)
    Path(path).write_text("{", encoding="utf-8")
    opened(window, path)
    (sentence,) = window.toast.sentences
    assert sentence.startswith("mine.json: not JSON at line 1")


@pytest.mark.parametrize("gone", ["model", "accelerator", "both"])
def test_that_a_restart_without_a_file_puts_only_the_standard_one_in_its_place(
    qtbot: QtBot, tmp_path: Path, folder: str, gone: str
) -> None:
    given = {"model": model_file(tmp_path), "accelerator": chip_file(tmp_path)}
    kept = Scenario(**given, prompt_tokens=777, output_tokens=33, kv_dtype="fp8", accelerators=2)
    window, messages = compose(kept, folder)
    qtbot.addWidget(window)
    assert messages == []
    window.close()
    lost = ("model", "accelerator") if gone == "both" else (gone,)
    for field in lost:  # under another name than any that this process has read
        settings = Path(folder) / "settings.json"
        stale = given[field].replace("mine", "another").replace("chip", "another")
        settings.write_text(
            settings.read_text(encoding="utf-8").replace(json.dumps(given[field]), json.dumps(stale)),
            encoding="utf-8",
        )
    window, messages = compose(None, folder)
    qtbot.addWidget(window)
    now = window.store.scenario
    assert (now.prompt_tokens, now.output_tokens, now.kv_dtype, now.accelerators) == (777, 33, "fp8", 2)
    for field in ("model", "accelerator"):
        assert getattr(now, field) == (getattr(Scenario(), field) if field in lost else given[field])
    assert len(messages) == len(lost)
    assert all(
        "there is no such file; " in m and m.endswith("the standard one, is shown in its place.")
        for m in messages
    )


# --- while something is dragged over the window ----------------------------------------------------


def cue_of(window: MainWindow) -> DropCue | None:
    return next((cue for cue in window.findChildren(DropCue) if cue.isVisible()), None)


def enter(window: MainWindow, data: QMimeData) -> bool:
    event = entering(data)
    event.ignore()
    QApplication.sendEvent(window, event)
    return event.isAccepted()


@pytest.mark.parametrize("end", ["leave", "drop", "escape"])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_that_a_drag_over_the_window_shows_what_may_be_dropped_until_it_ends(
    open_window: Callable[..., MainWindow], tmp_path: Path, qtbot: QtBot, theme: str, end: str
) -> None:
    window = open_window(theme=theme)
    data = files(model_file(tmp_path))
    before = window.grab().toImage()
    for _ in range(2):  # and once more
        assert cue_of(window) is None
        assert enter(window, data)
        cue = cue_of(window)
        assert cue is not None
        assert cue.geometry() == window.rect()
        assert cue.theme is window.theme
        assert window.childAt(400, 300) is not cue
        assert window.grab().toImage() != before
        window.resize(window.width() - 40, window.height() - 20)
        assert cue.geometry() == window.rect()
        if end == "leave":
            QApplication.sendEvent(window, QDragLeaveEvent())
        elif end == "escape":
            qtbot.keyClick(window, Qt.Key.Key_Escape)
        else:
            dropped(window, data)
        assert cue_of(window) is None
    assert len(window.findChildren(DropCue)) == 1


def test_that_what_cannot_be_dropped_is_not_welcomed(window: MainWindow) -> None:
    assert not enter(window, QMimeData())
    assert cue_of(window) is None


@pytest.mark.parametrize("view", ["request", "roofline", "shapes", "anatomy"])
def test_that_nothing_in_the_window_takes_a_drop_for_itself(window: MainWindow, view: str) -> None:
    window.show_view(view)
    window.explainer.open(window.request.figures[0], Pointed("ttft"), pin=True)
    for child in window.findChildren(QWidget):
        assert not (child.acceptDrops() and child.isEnabled()), child


def test_that_all_files_of_one_drop_are_opened_and_said(
    window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    model, chip, wrong = model_file(tmp_path), chip_file(tmp_path), tmp_path / "wrong.gguf"
    wrong.write_bytes(bytes(range(64)))
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in (model, chip, wrong)])
    told: list[str] = []
    failed: list[str] = []
    window.sharing.told.connect(told.append)
    window.sharing.failed.connect(failed.append)
    dropped(window, data)
    assert window.store.scenario.model == model
    assert window.store.scenario.accelerator == chip
    assert told == ["mine.json: opened as the model. chip.toml: opened as the accelerator."]
    assert failed == ["wrong.gguf: this is no GGUF file."]
