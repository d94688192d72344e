"""What comes into the window: files and folders, opened, dropped and pasted, and files that go away."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import PySide6
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from pdviz import opening
from pdviz.app import compose
from pdviz.catalogue import default_catalogue
from pdviz.opening import Opened, path_in
from pdviz.report import estimate_text
from pdviz.scenario import Scenario, to_line
from pdviz.scene.marks.figures import scenario_words
from pdviz.settings import RECENT_LIMIT
from pdviz.share import PICTURE_KEY, to_toml
from pdviz.widgets.kit import worker
from pdviz.widgets.kit.pointed import Pointed
from pdviz.widgets.shell import sharing
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
    window.explainer.open(window.views["request"].figures[0], Pointed("ttft"), pin=True)
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


# --- while something is being read -----------------------------------------------------------------


class SlowDisk:
    """A disk that gives a file's contents only once it is ``opened``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened, self.asked = threading.Event(), threading.Event()
        self.slow: set[str] = set()

        def open_path(path: str, watch: Callable[[float], None]) -> Opened:
            if path in self.slow:
                self.asked.set()
                self.opened.wait(20)
            return opening.open_path(path, watch)

        monkeypatch.setattr(sharing, "open_path", open_path)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowDisk]:
    made = SlowDisk(monkeypatch)
    yield made
    made.opened.set()


def test_that_a_slow_disk_freezes_nothing_and_is_waited_for_in_words(
    window: MainWindow, tmp_path: Path, disk: SlowDisk, qtbot: QtBot
) -> None:
    path = model_file(tmp_path)
    disk.slow = {path}
    begin_s = monotonic()
    window.sharing.open_file(path)
    assert monotonic() - begin_s < 0.1
    qtbot.waitUntil(lambda: bool(window.toast.sentences), timeout=2_000)
    assert window.toast.sentences == ("Reading mine.json … Escape gives it up.",)
    assert not window.toast._timer.isActive(), "it is said for as long as it lasts"
    window.panel.edit(prompt_tokens=999)
    window.store.flush()
    assert window.store.result.scenario.prompt_tokens == 999, "work goes on meanwhile"
    assert window.toast.sentences == ("Reading mine.json … Escape gives it up.",)
    disk.opened.set()
    settle(window)
    assert window.store.scenario == Scenario(model=path, prompt_tokens=999)
    assert window.toast.sentences == ("mine.json: opened as the model.",)
    assert window.toast._timer.isActive()


def test_that_nothing_is_said_of_what_is_read_at_once(
    window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    said: list[str] = []
    window.sharing.reading.connect(said.append)
    opened(window, model_file(tmp_path))
    qtbot.wait(sharing.BUSY_MS + 100)
    assert said == []


def test_that_escape_gives_up_what_is_being_read(
    window: MainWindow, tmp_path: Path, disk: SlowDisk, qtbot: QtBot
) -> None:
    path = model_file(tmp_path)
    disk.slow = {path}
    window.showFullScreen()
    window.sharing.open_file(path)
    assert disk.asked.wait(5)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.sharing.is_reading
    assert window.isFullScreen(), "one key, one thing"
    disk.opened.set()
    qtbot.wait(sharing.BUSY_MS + 100)
    assert window.toast.sentences == ()
    assert window.store.scenario == Scenario()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isFullScreen()


def test_that_what_is_opened_later_wins(window: MainWindow, tmp_path: Path, disk: SlowDisk) -> None:
    slow, quick = model_file(tmp_path, "slow.json"), chip_file(tmp_path)
    disk.slow = {slow}
    window.sharing.open_file(slow)
    assert disk.asked.wait(5)
    opened(window, quick)
    disk.opened.set()
    QApplication.processEvents()
    assert window.store.scenario == Scenario(accelerator=quick)
    assert window.toast.sentences == ("chip.toml: opened as the accelerator.",)


def test_that_a_window_closes_at_once_while_something_is_read(
    window: MainWindow, tmp_path: Path, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    monkeypatch.setattr(worker, "END_S", 0.05)
    path = model_file(tmp_path)
    disk.slow = {path}
    window.sharing.open_file(path)
    assert disk.asked.wait(5)
    begin_s = monotonic()
    window.close()
    assert monotonic() - begin_s < 2
    disk.opened.set()
    qtbot.wait(50)
    assert window.store.scenario == Scenario()


def test_that_a_mistake_in_a_reader_is_said(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    def fail(path: str, watch: Callable[[float], None]) -> Opened:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(sharing, "open_path", fail)
    with qtbot.capture_exceptions() as caught:
        opened(window, model_file(tmp_path))
    assert window.toast.sentences == ("a mistake in pdviz itself (ZeroDivisionError: division by zero).",)
    assert len(caught) == 1


def test_that_a_refusal_outlasts_what_the_same_drop_shows(window: MainWindow, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"no")
    opened(window, model_file(tmp_path), str(wrong))
    QApplication.processEvents()
    assert window.store.result.architecture.layers == 7
    assert window.toast.sentences == ("wrong.gguf: this is no GGUF file.",)


def test_that_a_scenario_takes_the_place_of_all_and_its_refusal_names_the_file(
    window: MainWindow, tmp_path: Path
) -> None:
    wanted = Scenario(model="Gemma 3 27B", others=63)
    window.panel.edit(prompt_tokens=999)
    (tmp_path / "a.toml").write_text(to_toml(wanted), encoding="utf-8")
    opened(window, str(tmp_path / "a.toml"))
    assert window.store.scenario == wanted
    assert window.toast.sentences == ("a.toml: opened as a scenario.",)
    assert window.sharing.recent[0] == to_line(wanted)
    (tmp_path / "b.toml").write_text('model = "no such model"', encoding="utf-8")
    opened(window, str(tmp_path / "b.toml"))
    (sentence,) = window.toast.sentences
    assert sentence.startswith('b.toml: unknown model "no such model"')
    (tmp_path / "c.toml").write_text("prompt = 5\ncached = 7", encoding="utf-8")
    opened(window, str(tmp_path / "c.toml"))
    (sentence,) = window.toast.sentences
    assert sentence.startswith("c.toml: ")
    assert window.store.scenario == wanted


# --- clipboard -------------------------------------------------------------------------------------


ASKED = Scenario(model="Gemma 3 27B", others=63, kv_dtype="fp8")


def test_that_a_copied_line_is_the_scenario_and_comes_back(open_window: Callable[..., MainWindow]) -> None:
    window = open_window(ASKED)
    window.actions_by_id["edit.copy"].trigger()
    assert QApplication.clipboard().text() == to_line(ASKED)
    assert window.toast.sentences == (f"Copied the scenario: {to_line(ASKED)}",)
    assert window.sharing.recent == (to_line(ASKED),)
    window.store.put(Scenario())
    window.actions_by_id["edit.paste"].trigger()
    settle(window)
    assert window.store.scenario == ASKED
    assert window.toast.sentences == ("Opened the pasted scenario.",)


def test_that_copied_figures_are_the_report(open_window: Callable[..., MainWindow]) -> None:
    window = open_window(ASKED)
    window.actions_by_id["edit.figures"].trigger()
    assert QApplication.clipboard().text() == estimate_text(window.store.result)
    assert window.toast.sentences == ("Copied the figures as text.",)


def test_that_a_copied_picture_is_of_the_moment_and_carries_its_scenario(
    open_window: Callable[..., MainWindow],
) -> None:
    window = open_window(ASKED)
    images = []
    for share in (0.2, 0.8):
        window.player.seek(share * window.store.result.e2e_s)
        window.actions_by_id["edit.picture"].trigger()
        images.append(QApplication.clipboard().image())
    image = images[1]
    assert image != images[0], "it shows the playhead"
    assert image.text(PICTURE_KEY) == to_line(ASKED)
    assert (image.width(), image.height()) == sharing.PAGE
    assert window.toast.sentences == ("Copied the view as a picture, 1920 × 1080.",)
    window.store.put(Scenario())
    window.actions_by_id["edit.paste"].trigger()
    settle(window)
    assert window.store.scenario == ASKED


@pytest.mark.parametrize("content", ["", "  ", "picture"])
def test_that_an_empty_clipboard_is_one_sentence(window: MainWindow, content: str) -> None:
    data = QMimeData()
    if content == "picture":
        data.setImageData(QImage(3, 3, QImage.Format.Format_RGB32))
    else:
        data.setText(content)
    QApplication.clipboard().setMimeData(data)
    window.sharing.paste()
    assert not window.sharing.is_reading
    assert window.toast.sentences == (
        "The clipboard holds no scenario; expected a line such as prompt=512, or a file.",
    )


def test_that_a_pasted_line_that_is_none_is_one_sentence(window: MainWindow) -> None:
    pasted(window, "promt=5")
    (sentence,) = window.toast.sentences
    assert sentence.startswith('scenario line: unknown key "promt", expected one of model')
    assert sentence.endswith(".")
    assert window.store.scenario == Scenario()


def test_that_a_megabyte_of_text_is_refused_at_once(window: MainWindow) -> None:
    begin_s = monotonic()
    pasted(window, json.dumps({"a": ["b=c" * 10] * 30_000}, separators=(",", ":")))
    (sentence,) = window.toast.sentences
    assert sentence.startswith("pasted text: too long for a scenario (")
    assert monotonic() - begin_s < 1


def test_that_recent_scenarios_are_each_there_once_newest_first_and_few(window: MainWindow) -> None:
    scenarios = [Scenario(prompt_tokens=100 + number) for number in range(RECENT_LIMIT + 3)]
    for scenario in (*scenarios, scenarios[5]):
        window.sharing.remember(scenario)
    kept = [scenarios[5], *(s for s in reversed(scenarios) if s != scenarios[5])][:RECENT_LIMIT]
    assert window.sharing.recent == tuple(to_line(scenario) for scenario in kept)


# --- saving ----------------------------------------------------------------------------------------


def choose(monkeypatch: pytest.MonkeyPatch, path: str) -> list[tuple[str, ...]]:
    """The file that is chosen in the next dialogs; what these were asked with."""
    asked: list[tuple[str, ...]] = []

    def answer(parent: QWidget, *words: str) -> tuple[str, str]:
        asked.append(words)
        return path, ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", answer)
    return asked


def test_that_a_saved_scenario_comes_back(
    open_window: Callable[..., MainWindow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(ASKED)
    asked = choose(monkeypatch, str(tmp_path / "mine"))
    window.actions_by_id["file.save"].trigger()
    assert asked == [("Save the scenario", "scenario.toml", "Scenarios (*.toml)")]
    assert window.toast.sentences == ("Saved the scenario as mine.toml.",)
    assert window.sharing.recent == (to_line(ASKED),)
    window.store.put(Scenario())
    choose(monkeypatch, str(tmp_path / "mine.toml"))
    window.actions_by_id["file.open"].trigger()
    settle(window)
    assert window.store.scenario == ASKED


@pytest.mark.parametrize("command", ["file.save", "file.picture", "file.open"])
def test_that_a_dialog_without_an_answer_does_nothing(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    asked = choose(monkeypatch, "")
    window.actions_by_id[command].trigger()
    assert len(asked) == 1
    assert window.toast.sentences == ()
    assert not window.sharing.is_reading


@pytest.mark.parametrize("name", ["mine.toml", "mine.png", "mine.svg", "mine.pdf"])
def test_that_what_cannot_be_written_is_one_sentence(window: MainWindow, tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "no folder" / name)
    if name.endswith(".toml"):
        window.sharing.save_scenario(path)
    else:
        window.sharing.save_picture("request", 0.0, window.theme, path)
    (sentence,) = window.toast.sentences
    assert name in sentence
    assert "cannot be written" in sentence


@pytest.mark.parametrize("view", ["request", "roofline"])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_that_a_saved_picture_shows_the_playhead_and_carries_its_scenario(
    open_window: Callable[..., MainWindow],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    view: str,
) -> None:
    window = open_window(ASKED)
    window.show_view(view)
    pictures = []
    for share in (0.2, 0.8, 0.8):
        window.player.seek(share * window.store.result.e2e_s)
        path = tmp_path / f"{len(pictures)}.{suffix}"
        asked = choose(monkeypatch, str(path))
        window.actions_by_id["file.picture"].trigger()
        assert asked == [("Save the picture", f"{view}.png", sharing.PICTURE_FILTER)]
        assert window.toast.sentences == (
            f"Saved the view as {path.name}; opening it brings the scenario back.",
        )
        pictures.append(path.read_bytes())
    assert pictures[0] != pictures[1] == pictures[2]
    window.store.put(Scenario())
    opened(window, str(path))
    assert window.store.scenario == ASKED
    assert window.toast.sentences == (f"{path.name}: opened the scenario of this picture.",)
