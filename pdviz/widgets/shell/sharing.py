"""Taking a scenario out of the window and bringing one in: clipboard, files, drops, recent ones."""

from __future__ import annotations

import os
from functools import partial

import msgspec
from PySide6.QtCore import QMimeData, QObject, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QWidget

from pdviz.errors import InputError
from pdviz.evaluation import Result, as_stored, with_names
from pdviz.files import write_atomically
from pdviz.jobs import Job
from pdviz.opening import MODEL, SCENARIO, WORKLOAD, Opened, fields_in, open_path, open_text, path_in
from pdviz.scenario import Scenario, edit, to_line
from pdviz.scene.marks.theme import Theme
from pdviz.settings import RECENT_LIMIT
from pdviz.store import ScenarioStore
from pdviz.widgets.kit.worker import Worker

PAGE = (1920, 1080)
PICTURE_FILTER = "Pictures (*.png *.svg *.pdf)"
OPEN_FILTER = (
    "All that can be opened (*.json *.gguf *.toml *.txt *.png *.svg *.csv *.jsonl);;"
    "Models (*.json *.gguf);;Requests (*.csv *.jsonl);;"
    "Accelerators and scenarios (*.toml *.txt);;Pictures (*.png *.svg);;All files (*)"
)


MOST_FILES = 8
"""Files of one drop that are opened."""
BUSY_MS = 300
"""After so long it is said that something is being read."""


class Source(msgspec.Struct, frozen=True):
    """What is to be opened: a file by its ``path``, or a ``text``."""

    path: str = ""
    text: str = ""

    @property
    def name(self) -> str:
        return os.path.basename(os.path.normpath(self.path)) if self.path else ""

    def refusal(self, error: InputError) -> str:
        """The sentence about an error of this source; a file's opens with its name."""
        said = str(error)
        if not self.path:
            return f"{said}."
        said = said.removeprefix(os.path.dirname(self.path) + os.sep)
        opens = (self.name, "config.json") if os.path.isdir(self.path) else self.name
        return f"{said}." if said.startswith(opens) else f"{self.name}: {said}."


def read_sources(sources: tuple[Source, ...], job: Job) -> tuple[tuple[Source, Opened | str], ...]:
    """Each source with what it holds, or with the sentence why it cannot be opened."""
    found: list[tuple[Source, Opened | str]] = []
    for number, source in enumerate(sources):

        def watch(share: float, done: int = number, name: str = source.name) -> None:
            job.report((done + share) / len(sources), f"Reading {name or 'what was pasted'} …")

        watch(0.0)
        path = path_in(source.text) if source.text else source.path
        source = Source(path=path) if path else source
        try:
            found.append((source, open_path(path, watch) if path else open_text(source.text)))
        except InputError as error:
            found.append((source, source.refusal(error)))
    return tuple(found)


class Sharing(QObject):
    """Copies, saves and opens. ``told(sentence)`` says what was done, ``failed(sentence)`` why not.

    ``warned(sentence)``: a file that is open cannot be read any more; said once. ``reading(sentence)``:
    it takes a while. ``view_wanted(name)``: what was opened is seen there.
    """

    told = Signal(str)
    failed = Signal(str)
    warned = Signal(str)
    reading = Signal(str)
    view_wanted = Signal(str)

    def __init__(self, store: ScenarioStore, window: QWidget, recent: tuple[str, ...]) -> None:
        super().__init__(window)
        self._store, self._window = store, window
        self.recent = recent
        self._stale: frozenset[str] = frozenset()
        store.changed.connect(self._watch_files)
        self._worker = Worker(self)
        self._worker.done.connect(self._take)
        self._worker.failed.connect(self._fail)
        self._worker.progressed.connect(self._say_on)
        self._busy = QTimer(self)
        self._busy.setSingleShot(True)
        self._busy.setInterval(BUSY_MS)
        self._busy.timeout.connect(self._say_busy)

    def remember(self, scenario: Scenario) -> None:
        """Puts a scenario first in the list of recent ones."""
        line = to_line(scenario)
        self.recent = (line, *(other for other in self.recent if other != line))[:RECENT_LIMIT]

    # --- out -----------------------------------------------------------------------------------

    def copy_line(self) -> None:
        """The scenario as one line of text."""
        line = to_line(self._store.scenario)
        QGuiApplication.clipboard().setText(line)
        self.remember(self._store.scenario)
        self.told.emit(f"Copied the scenario: {line}")

    def copy_figures(self) -> None:
        """The figures as a readable table."""
        from pdviz.report import estimate_text

        QGuiApplication.clipboard().setText(estimate_text(self._store.result))
        self.told.emit("Copied the figures as text.")

    def copy_picture(self, view: str, time_s: float, theme: Theme) -> None:
        """The view as a picture that carries the scenario line."""
        from pdviz.widgets.shell.pages import paint_page
        from pdviz.widgets.shell.pictures import draw_image

        line = to_line(self._store.scenario)
        width, height = PAGE
        paint = partial(paint_page, view, self._store.result, time_s, theme, width, height)
        QGuiApplication.clipboard().setImage(draw_image(paint, width, height, 1.0, line))
        self.told.emit("Copied the view as a picture, 1920 × 1080.")

    def save_scenario(self, path: str | None = None) -> None:
        """The scenario as a TOML file."""
        from pdviz.share import to_toml

        path = path or self._ask("Save the scenario", "scenario.toml", "Scenarios (*.toml)", ".toml")
        if not path:
            return
        try:
            write_atomically(path, to_toml(self._store.scenario).encode())
        except InputError as error:
            self.failed.emit(f"{error}.")
            return
        self.remember(self._store.scenario)
        self.told.emit(f"Saved the scenario as {os.path.basename(path)}.")

    def save_picture(self, view: str, time_s: float, theme: Theme, path: str | None = None) -> None:
        """The view as PNG, SVG or PDF, carrying its scenario."""
        from pdviz.widgets.shell.pages import paint_page
        from pdviz.widgets.shell.pictures import write_picture

        path = path or self._ask("Save the picture", f"{view}.png", PICTURE_FILTER, ".png")
        if not path:
            return
        width, height = PAGE
        paint = partial(paint_page, view, self._store.result, time_s, theme, width, height)
        try:
            write_picture(path, paint, width, height, 2.0, to_line(self._store.scenario))
        except InputError as error:
            self.failed.emit(f"{error}.")
            return
        self.told.emit(f"Saved the view as {os.path.basename(path)}; opening it brings the scenario back.")

    def _ask(self, title: str, name: str, kinds: str, suffix: str) -> str:
        from PySide6.QtWidgets import QFileDialog

        path, _ = QFileDialog.getSaveFileName(self._window, title, name, kinds)
        return path + suffix if path and not os.path.splitext(path)[1] else path

    # --- in ------------------------------------------------------------------------------------

    def open_dialog(self) -> None:
        """Asks for a file and opens it."""
        from PySide6.QtWidgets import QFileDialog

        path, _ = QFileDialog.getOpenFileName(self._window, "Open", "", OPEN_FILTER)
        if path:
            self.open_file(path)

    def open_file(self, *paths: str) -> None:
        """Scenarios, pictures that carry one, models (folders too), accelerators; one after the other."""
        self._open(*(Source(path=path) for path in paths))

    def open_text(self, text: str) -> None:
        """A scenario in a text, or the path of a file, as pasted or dropped."""
        self._open(Source(text=text))

    def _open(self, *sources: Source) -> None:
        """Reads beside the event loop; what is opened later takes the place of what is still being read."""
        self._worker.submit(partial(read_sources, sources))
        self._busy.start()

    @property
    def is_reading(self) -> bool:
        return self._worker.is_busy

    def stop_reading(self) -> bool:
        """Waits no longer for what is being read; False where nothing is."""
        was_busy = self._worker.is_busy
        self._worker.cancel()
        self._busy.stop()
        return was_busy

    def close(self) -> None:
        """The window closes: nothing arrives any more."""
        self._busy.stop()
        self._worker.close()

    @Slot()
    def _say_busy(self) -> None:
        if self._worker.is_busy:
            share, words = self._worker.progress
            self.reading.emit(f"{words} {f'{share:.0%}. ' if share else ''}Escape gives it up.")

    @Slot()
    def _say_on(self) -> None:
        if not self._busy.isActive():
            self._say_busy()

    @Slot(str)
    def _fail(self, sentence: str) -> None:
        self._busy.stop()
        self.failed.emit(f"{sentence}.")

    @Slot(object)
    def _take(self, found: tuple[tuple[Source, Opened | str], ...]) -> None:
        """Takes over what was read, and says of each source what it was taken for or why not."""
        self._busy.stop()
        told, failed = [], []
        for source, opened in found:
            if isinstance(opened, str):
                failed.append(opened)
                continue
            try:
                self._use(opened)
            except InputError as error:
                failed.append(source.refusal(error))
                continue
            told.append(f"{source.name}: {opened.words}." if source.path else f"{opened.words}.")
        if told:
            self.told.emit(" ".join(told))
        if failed:
            self._store.flush()  # what is shown anew takes away what was said before it
            self.failed.emit(" ".join(failed))

    def _use(self, opened: Opened) -> None:
        """A scenario takes the place of the present one; a model or an accelerator its place in it."""
        catalogue = self._store.catalogue
        fields = fields_in(opened, catalogue)
        base = Scenario() if opened.kind == SCENARIO else self._store.scenario
        named = with_names(edit(base, **fields), catalogue)
        if opened.kind == MODEL:
            named = as_stored(named, catalogue)
        self._store.put(named)
        self.remember(named)
        if opened.kind == WORKLOAD:
            self.view_wanted.emit("server")

    @Slot(object, object)
    def _watch_files(self, result: Result, names: object) -> None:
        """Tells which files of the scenario cannot be read any more, each once."""
        stale = {}
        for path in (result.scenario.model, result.scenario.accelerator):
            reason = self._store.catalogue.stale(path)
            if reason is not None:
                stale[path] = reason
        for path, reason in stale.items():
            if path not in self._stale:
                name = os.path.basename(path)
                why = "the file has gone" if not os.path.exists(path) else reason.rpartition(f"{name}: ")[2]
                self.warned.emit(f"{name}: {why}; what was read of it is used on.")
        self._stale = frozenset(stale)

    def paste(self) -> None:
        """What the clipboard holds."""
        data = QGuiApplication.clipboard().mimeData()
        if data is None or not self.open_mime(data):
            self.failed.emit(
                "The clipboard holds no scenario; expected a line such as prompt=512, or a file."
            )

    def open_mime(self, data: QMimeData) -> bool:
        """Files or text from clipboard or drop; False where there is neither."""
        paths = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
        if paths:
            self.open_file(*paths[:MOST_FILES])
        elif data.hasText() and data.text().strip():
            self.open_text(data.text())
        elif data.hasImage() and (line := self._carried(data)):
            self.open_text(line)
        else:
            return False
        return True

    def _carried(self, data: QMimeData) -> str:
        """The scenario line of a copied picture, if it is one of ours."""
        from pdviz.share import PICTURE_KEY

        image = data.imageData()
        return image.text(PICTURE_KEY) if isinstance(image, QImage) else ""
