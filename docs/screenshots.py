"""Takes the pictures of the README from the running program: `make screenshots`.

The same window as a user sees, drawn without a display, so that the pictures are the same on every
machine. Sizes and themes beyond the README's are taken with --all, for looking at them one by one.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtWidgets import QApplication

from pdviz.app import compose, load_look, make_application
from pdviz.scenario import PRESETS, Scenario
from pdviz.widgets.views import VIEW_NAMES

FOLDER = Path(__file__).resolve().parent / "pictures"
SIZES = ((1280, 720), (1920, 1080), (3840, 2160))
LARGE = Scenario(model="gpt-oss 120B", weights_dtype="published", prompt_tokens=4_096, others=7)
README = (
    ("chat-dark", PRESETS[0], "request", "dark", (1920, 1080), 0.0628),
    ("short-prompt-light", PRESETS[1], "request", "light", (1920, 1080), 0.0538),
    ("busy-server-dark", PRESETS[4], "request", "dark", (1920, 1080), 0.0768),
    ("roofline-light", PRESETS[0], "roofline", "light", (1920, 1080), 0.0628),
    ("shapes-dark", PRESETS[0], "shapes", "dark", (1920, 1080), 0.0628),
    ("server-dark", PRESETS[0], "server", "dark", (1920, 1080), 0.62),
    ("anatomy-dark", LARGE, "anatomy", "dark", (1920, 1080), 0.0),
)


def take(name: str, scenario: Scenario, view: str, theme: str, size: tuple[int, int], time_s: float) -> None:
    """One picture of the window, the playhead at ``time_s``."""
    with tempfile.TemporaryDirectory() as folder:
        window, _ = compose(scenario, folder, theme=theme)
        window.resize(*size)
        window.show()
        window.show_view(view)
        while window.current.is_waiting:
            QApplication.processEvents()
        window.player.seek(time_s)
        end = time.monotonic() + 0.3  # a jump of the view may be under way
        while time.monotonic() < end:
            QApplication.processEvents()
        window.grab().save(str(FOLDER / f"{name}.png"))
        window.close()
        window.deleteLater()


def main() -> None:
    """All pictures of the README, or with --all every view of every preset at every size in both themes."""
    application = make_application()
    load_look()
    FOLDER.mkdir(exist_ok=True)
    for name, preset, view, theme, size, time_s in README:
        scenario = preset if isinstance(preset, Scenario) else preset.apply(Scenario())
        take(name, scenario, view, theme, size, time_s)
    if "--all" in sys.argv:
        for number, preset in enumerate(PRESETS):
            for view, theme, size in product(VIEW_NAMES, ("dark", "light"), SIZES):
                name = f"all-{number}-{view}-{theme}-{size[0]}"
                take(name, preset.apply(Scenario()), view, theme, size, 0.06)
    del application


if __name__ == "__main__":
    main()
