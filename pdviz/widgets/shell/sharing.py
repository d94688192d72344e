"""Taking a scenario out of the window and bringing one in: clipboard, files, drops, recent ones."""

from __future__ import annotations

import os
from functools import partial

from PySide6.QtCore import QMimeData, QObject, QUrl, Signal, Slot
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QWidget

from pdviz.errors import InputError
from pdviz.evaluation import Result, as_stored, with_names
from pdviz.files import full_path, is_file_name
from pdviz.scenario import Scenario, edit, to_line
from pdviz.scene.marks.theme import Theme
from pdviz.settings import RECENT_LIMIT
from pdviz.store import ScenarioStore

PAGE = (1920, 1080)
PICTURE_FILTER = "Pictures (*.png *.svg *.pdf)"
OPEN_FILTER = (
    "All that can be opened (*.json *.gguf *.toml *.txt *.png *.svg);;"
    "Models (*.json *.gguf);;Accelerators and scenarios (*.toml *.txt);;Pictures (*.png *.svg);;All files (*)"
)


def path_in(text: str) -> str | None:
    """The path that a pasted text is, plain, quoted or as a file: address; None where it is none."""
    line = text.strip()
    if len(line.splitlines()) != 1:
        return None
    if len(line) > 1 and line[0] == line[-1] and line[0] in "\"'":
        line = line[1:-1].strip()
    if line.lower().startswith("file:"):
        return QUrl(line).toLocalFile() or None
    if not is_file_name(line):
        return None
    path = full_path(line)
    return None if "=" in line and not os.path.exists(path) else path


MOST_FILES = 8
"""Files of one drop that are opened."""


class Sharing(QObject):
    """Copies, saves and opens. ``told(sentence)`` says what was done, ``failed(sentence)`` why not.

    ``warned(sentence)``: a file that is open cannot be read any more; said once.
    """

    told = Signal(str)
    failed = Signal(str)
    warned = Signal(str)

    def __init__(self, store: ScenarioStore, window: QWidget, recent: tuple[str, ...]) -> None:
        super().__init__(window)
        self._store, self._window = store, window
        self.recent = recent
        self._stale: frozenset[str] = frozenset()
        store.changed.connect(self._watch_files)

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
        if path:
            try:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(to_toml(self._store.scenario))
            except OSError as error:
                self.failed.emit(f"{os.path.basename(path)}: it cannot be written ({error.strerror}).")
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
        found = [self._opened(path) for path in paths]
        for is_good, signal in ((True, self.told), (False, self.failed)):
            sentences = [sentence for good, sentence in found if good == is_good]
            if sentences:
                signal.emit(" ".join(sentences))

    def _opened(self, path: str) -> tuple[bool, str]:
        """Opens a file: whether that went well, and what there is to say."""
        from pdviz.share import meant_file, read_file

        name = os.path.basename(os.path.normpath(path))
        try:
            path = meant_file(path)
            field = self._open_own(path)
            if field is not None:
                return True, f"{name}: opened as the {field}."
            fields, words = read_file(path)
            self._put(edit(Scenario(), **fields))
        except InputError as error:
            said = str(error).removeprefix(os.path.dirname(path) + os.sep)
            names = (name, os.path.basename(path))
            return False, f"{said}." if said.startswith(names) else f"{name}: {said}."
        return True, f"{words}."

    def _open_own(self, path: str) -> str | None:
        """A model's or an accelerator's file takes its place in the scenario; that field, else None."""
        from pdviz.own_files import field_of

        if os.path.splitext(path)[1].lower() in (".png", ".svg", ".pdf"):
            return None
        field = field_of(path)
        if field is None:
            return None
        changed = edit(self._store.scenario, **{field: path})
        named = with_names(changed, self._store.catalogue)
        stale = self._store.catalogue.stale(getattr(named, field))
        if stale is not None:
            raise InputError(stale)
        if field == "model":
            named = as_stored(named, self._store.catalogue)
        self._store.put(named)
        self.remember(named)
        return field

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

    def open_text(self, text: str) -> None:
        """A scenario in a text, or the path of a file, as pasted or dropped."""
        from pdviz.share import read_text

        path = path_in(text)
        if path is not None:
            self.open_file(path)
            return
        try:
            self._put(read_text(text))
        except InputError as error:
            self.failed.emit(f"{error}.")
            return
        self.told.emit("Opened the pasted scenario.")

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

    def _put(self, scenario: Scenario) -> None:
        named = with_names(scenario, self._store.catalogue)
        self._store.put(named)
        self.remember(named)
