"""Composes the application: guard, settings, store, window. The only place that runs an event loop."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

from pdviz.errors import InputError
from pdviz.scenario import Scenario

if TYPE_CHECKING:
    from pdviz.catalogue import Catalogue
    from pdviz.widgets.shell.window import MainWindow


SETTLED_MS = 2000


def run(scenario: Scenario | None, *, theme: str | None = None, reset: bool = False) -> int:
    """Opens the window on ``scenario`` (else the last one) and runs until it is closed.

    Raises InputError where the environment cannot show a window or the scenario names what does
    not exist.
    """
    from pdviz.binding import binding_problem, window_problem

    hold()
    problem = window_problem(os.environ, sys.platform) or binding_problem()
    if problem is not None:
        raise InputError(problem)
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    application = make_application()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C in the terminal closes the program
    load_look()
    window, messages = compose(scenario, settings_folder(), theme=theme, reset=reset)
    window.restore_geometry()
    window.show()
    if messages:
        window.toast.tell(*messages, stays=True)
    window.start_playing()
    QTimer.singleShot(SETTLED_MS, window, settle)
    del application
    return int(QApplication.exec())


def hold() -> None:
    """Keeps the garbage collector from looking through what start-up makes while it makes it."""
    gc.disable()


def settle() -> None:
    """Takes what start-up has made out of the garbage collector's rounds, which begin now.

    It lives as long as the program, and looking through it again and again would cost frames.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def make_application() -> object:
    """The QApplication, in a neutral style that the theme's palette colours."""
    from PySide6.QtCore import QCoreApplication
    from PySide6.QtWidgets import QApplication

    existing = QApplication.instance()
    if existing is not None:
        return existing
    QCoreApplication.setOrganizationName("pdviz")
    QCoreApplication.setApplicationName("pdviz")
    application = QApplication(sys.argv[:1])
    application.setDesktopFileName("pdviz")
    application.setStyle("Fusion")
    return application


def load_look() -> None:
    """The bundled font, and what assistive technology needs, for all that is made from now on."""
    from pdviz.widgets.kit.accessibility import install
    from pdviz.widgets.kit.palette import load_font

    load_font()
    install()


def settings_folder() -> str:
    """Where settings are kept, as the platform has it."""
    from PySide6.QtCore import QStandardPaths

    return os.path.join(
        QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericConfigLocation), "pdviz"
    )


def compose(
    scenario: Scenario | None, folder: str, *, theme: str | None = None, reset: bool = False
) -> tuple[MainWindow, list[str]]:
    """The window, not yet shown, and what is to be said once it is.

    Raises InputError where ``scenario`` names a model or accelerator that does not exist.
    """
    import msgspec

    from pdviz import settings as memory
    from pdviz.catalogue import default_catalogue
    from pdviz.evaluation import with_names
    from pdviz.store import ScenarioStore
    from pdviz.widgets.shell.window import MainWindow

    if reset:
        memory.forget(folder)
    kept, messages = memory.load(folder)
    if theme is not None:
        kept = msgspec.structs.replace(kept, theme=theme)
    catalogue = default_catalogue().keeping_files()
    messages += [f"{problem}." for problem in catalogue.problems]
    if scenario is not None:
        store = ScenarioStore(with_names(scenario, catalogue), catalogue)
    else:
        try:
            last, said = with_what_is_left(kept.scenario or Scenario(), catalogue)
            store = ScenarioStore(last, catalogue)
            messages += said
        except InputError as error:
            which, shown = ("last", "the standard") if kept.scenario is not None else ("standard", "another")
            messages.append(f"The {which} scenario cannot be opened ({error}); {shown} one is shown.")
            store = ScenarioStore(first_scenario(catalogue), catalogue)
    window = MainWindow(store, kept)
    window.closing.connect(lambda now: memory.save(folder, now))
    if scenario is not None and scenario.workload != Scenario().workload:
        window.show_view("server")
    return window, messages


def with_what_is_left(scenario: Scenario, catalogue: Catalogue) -> tuple[Scenario, list[str]]:
    """``scenario`` with the standard model or accelerator where its own cannot be had, and what to say of it.

    Raises InputError where the standard one cannot be had either.
    """
    import msgspec

    from pdviz.evaluation import with_names

    messages = []
    for field in ("model", "accelerator"):
        standard = getattr(Scenario(), field)
        alone = msgspec.structs.replace(Scenario(), **{field: getattr(scenario, field)})
        try:
            named = getattr(with_names(alone, catalogue), field)
        except InputError as error:
            if getattr(scenario, field) == standard:
                raise
            said = str(error).removeprefix(os.path.dirname(getattr(scenario, field)) + os.sep)
            messages.append(f"{said}; {standard}, the standard one, is shown in its place.")
            named = standard
        scenario = msgspec.structs.replace(scenario, **{field: named})
    return with_names(scenario, catalogue), messages


def first_scenario(catalogue: Catalogue) -> Scenario:
    """The standard scenario, or one with what a damaged catalogue still holds."""
    import msgspec

    standard = Scenario()
    models = [m.name for m in catalogue.models]
    accelerators = [a.name for a in catalogue.accelerators]
    if not models or not accelerators:
        missing = "models" if not models else "accelerators"
        reason = f" ({catalogue.problems[0]})" if catalogue.problems else ""
        raise InputError(f"the catalogue holds no usable {missing}{reason}; install pdviz again")
    chosen: Scenario = msgspec.structs.replace(
        standard,
        model=standard.model if standard.model in models else models[0],
        accelerator=standard.accelerator if standard.accelerator in accelerators else accelerators[0],
    )
    return chosen
