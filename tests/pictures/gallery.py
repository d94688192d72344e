"""The golden pictures: pages and whole windows that a change must not move by a pixel.

Retake: `make pictures`, look at each in tests/pictures/golden, commit. They are taken in a process of its
own, with the bundled font alone, so that no other test, setting or installed font has a say.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pdviz.scenario import PRESETS, Scenario

GOLDEN = Path(__file__).parent / "golden"
CHAT, SHORT, DOCUMENT, CODE, BUSY, AGENT = (preset.apply(Scenario()) for preset in PRESETS)
MIXTURE = Scenario(model="gpt-oss 120B", weights_dtype="published", prompt_tokens=4_096, others=7)
RAMP = Scenario(workload="ramp")
LATENT = Scenario(model="DeepSeek V3", prompt_tokens=2_000)


@dataclass(frozen=True)
class Picture:
    """One picture: a view's page as it is exported, or the window that shows the view."""

    kind: str
    view: str
    scenario: Scenario
    theme: str
    width: int
    height: int
    time_s: float

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.view}-{self.theme}-{self.width}"


PICTURES = (
    Picture("page", "request", CHAT, "dark", 1920, 1080, 0.0628),
    Picture("page", "request", SHORT, "light", 960, 540, 0.0538),
    Picture("page", "request", MIXTURE, "print", 1280, 720, 0.2),
    Picture("page", "roofline", BUSY, "dark", 1280, 720, 0.0768),
    Picture("page", "roofline", CHAT, "light", 960, 540, 0.0),
    Picture("page", "shapes", CHAT, "dark", 1280, 720, 0.0628),
    Picture("page", "shapes", MIXTURE, "light", 960, 540, 0.0),
    Picture("page", "anatomy", LATENT, "light", 1280, 720, 0.0),
    Picture("page", "server", CHAT, "light", 1280, 720, 0.6),
    Picture("page", "server", RAMP, "dark", 1600, 900, 40.0),
    Picture("window", "request", DOCUMENT, "dark", 1280, 720, 2.0),
    Picture("window", "request", BUSY, "light", 1920, 1080, 0.0768),
    Picture("window", "roofline", AGENT, "light", 1280, 720, 0.15),
    Picture("window", "shapes", CODE, "light", 1280, 720, 0.0),
    Picture("window", "anatomy", MIXTURE, "dark", 1280, 720, 0.0),
    Picture("window", "server", CHAT, "dark", 1280, 720, 0.5),
)


def take_all(folder: Path) -> None:
    """Writes every picture into ``folder``, from a fresh process."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    with tempfile.TemporaryDirectory() as empty:
        fonts = Path(empty) / "fonts.conf"
        fonts.write_text("<fontconfig></fontconfig>", encoding="utf-8")
        environ = {key: value for key, value in os.environ.items() if not key.startswith("QT_")}
        environ |= {"QT_QPA_PLATFORM": "offscreen", "FONTCONFIG_FILE": str(fonts), "XDG_CONFIG_HOME": empty}
        subprocess.run([sys.executable, __file__, str(folder)], check=True, env=environ)


def _take(picture: Picture, path: str) -> None:
    from PySide6.QtWidgets import QApplication

    from pdviz.app import compose
    from pdviz.export import render

    if picture.kind == "page":
        size = {"width": picture.width, "height": picture.height}
        render(picture.view, picture.scenario, path, theme=picture.theme, time_s=picture.time_s, **size)
        return
    with tempfile.TemporaryDirectory() as settings:
        window, _ = compose(picture.scenario, settings, theme=picture.theme)
        window.resize(picture.width, picture.height)
        window.show()
        window.show_view(picture.view)
        for _ in range(20):
            QApplication.processEvents()
        while window.current.is_waiting:
            QApplication.processEvents()
        window.player.seek(picture.time_s)
        for _ in range(20):
            QApplication.processEvents()
        window.grab().save(path)
        window.close()
        window.deleteLater()


def main(folder: Path) -> None:
    from pdviz.app import load_look, make_application

    application = make_application()
    load_look()
    for picture in PICTURES:
        _take(picture, str(folder / f"{picture.name}.png"))
    del application


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        take_all(GOLDEN)
