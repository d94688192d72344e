"""Pictures of a view: written without a display, the same every time, carrying their scenario."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication

import pdviz
from pdviz.errors import InputError
from pdviz.evaluation import evaluate
from pdviz.export import LARGEST_SIDE_PX, SMALLEST_PX, SUFFIXES, render
from pdviz.opening import open_path
from pdviz.scenario import PRESETS, Scenario, from_line, to_line
from pdviz.scene.marks.figures import scenario_words
from pdviz.scene.marks.theme import THEMES
from pdviz.scene.request.figures import headline_figures
from pdviz.widgets.views import VIEW_NAMES

SMALL = {"width": 1280, "height": 720}
TOO_LARGE = Scenario(model="Llama 3.1 405B")

pytestmark = pytest.mark.usefixtures("qapp")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def said(path: Path) -> str:
    """All words in an SVG."""
    return unescape(" | ".join(re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))))


def share_of(image: QImage, code: str) -> float:
    """How much of a picture has exactly this colour."""
    wanted = QColor(code).rgb()
    step = 3
    xs, ys = range(0, image.width(), step), range(0, image.height(), step)
    return sum(image.pixel(x, y) == wanted for x in xs for y in ys) / (len(xs) * len(ys))


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEW_NAMES)
@pytest.mark.parametrize(("suffix", "head"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF-")])
def test_that_each_view_is_written_in_each_format(
    tmp_path: Path, view: str, suffix: str, head: bytes
) -> None:
    out = tmp_path / f"picture{suffix}"
    render(view, Scenario(), str(out), **SMALL)
    content = out.read_bytes()
    assert content.startswith(head)
    assert len(content) > 10_000
    assert os.listdir(tmp_path) == [out.name]


def test_that_the_ending_of_the_name_may_be_in_capitals(tmp_path: Path) -> None:
    out = tmp_path / "PICTURE.PNG"
    render("request", Scenario(), str(out), **SMALL)
    assert not QImage(str(out)).isNull()


@pytest.mark.parametrize(("width", "height", "scale"), [(1280, 720, 1.0), (960, 540, 2.0), (1000, 600, 1.5)])
def test_that_a_png_has_as_many_pixels_as_asked_for(
    tmp_path: Path, width: int, height: int, scale: float
) -> None:
    out = tmp_path / "picture.png"
    render("request", Scenario(), str(out), width=width, height=height, scale=scale)
    image = QImage(str(out))
    assert (image.width(), image.height()) == (round(width * scale), round(height * scale))


def test_that_an_svg_has_the_size_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "picture.svg"
    render("request", Scenario(), str(out), width=1000, height=600, scale=1.0)
    assert 'viewBox="0 0 1000 600"' in out.read_text(encoding="utf-8")


# --- the same every time -------------------------------------------------------------------------


def test_that_a_png_is_the_same_to_the_byte_every_time(tmp_path: Path) -> None:
    for name in ("one.png", "other.png"):
        render("request", Scenario(), str(tmp_path / name), **SMALL)
    assert digest(tmp_path / "one.png") == digest(tmp_path / "other.png")


def test_that_a_png_is_the_same_to_the_byte_from_a_process_without_a_window(tmp_path: Path) -> None:
    here, there = tmp_path / "here.png", tmp_path / "there.png"
    render("request", Scenario(), str(here), **SMALL)
    code = (
        "import sys; from pdviz.export import render; from pdviz.scenario import Scenario;"
        f"render('request', Scenario(), sys.argv[1], width={SMALL['width']}, height={SMALL['height']})"
    )
    environment = {key: value for key, value in os.environ.items() if key != "QT_QPA_PLATFORM"}
    environment["PYTHONPATH"] = str(Path(pdviz.__file__).parents[1])
    for key in ("DISPLAY", "WAYLAND_DISPLAY"):
        environment.pop(key, None)
    done = subprocess.run(
        [sys.executable, "-c", code, str(there)], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert digest(here) == digest(there)


def test_that_other_moments_scenarios_and_themes_are_other_pictures(tmp_path: Path) -> None:
    pictures = {
        "standard": {},
        "start": {"time_s": 0.0},
        "end": {"time_s": evaluate(Scenario()).e2e_s},
        "light": {"theme": "light"},
        "print": {"theme": "print"},
    }
    for name, options in pictures.items():
        render("request", Scenario(), str(tmp_path / f"{name}.png"), **SMALL, **options)
    render("request", Scenario(prompt_tokens=128), str(tmp_path / "short.png"), **SMALL)
    assert len({digest(path) for path in tmp_path.iterdir()}) == len(pictures) + 1


# --- the scenario goes along ---------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.title)
def test_that_a_png_carries_its_scenario_as_a_line(tmp_path: Path, preset: object) -> None:
    scenario = preset.apply(Scenario(weights_dtype="fp8"))
    out = tmp_path / "picture.png"
    render("request", scenario, str(out), width=640, height=400)
    line = QImage(str(out)).text("pdviz-scenario")
    assert line == to_line(scenario)
    assert from_line(line) == scenario


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_that_a_picture_can_be_opened_again(tmp_path: Path, suffix: str) -> None:
    scenario = Scenario(model="Gemma 3 27B", others=63, others_context_tokens=1_000)
    out = tmp_path / f"picture{suffix}"
    render("request", scenario, str(out), **SMALL)
    assert Scenario(**open_path(str(out)).value) == scenario


def test_that_a_scenario_is_carried_under_the_names_of_the_catalogue(tmp_path: Path) -> None:
    out = tmp_path / "picture.png"
    render("request", Scenario(model="meta-llama/Llama-3.1-8B", accelerator="h100"), str(out), **SMALL)
    assert from_line(QImage(str(out)).text("pdviz-scenario")) == Scenario()


def test_that_a_pdf_carries_its_scenario(tmp_path: Path) -> None:
    out = tmp_path / "picture.pdf"
    render("request", Scenario(prompt_tokens=128), str(out), **SMALL)
    words = "prompt=128"
    assert words.encode() in out.read_bytes() or words.encode("utf-16-be") in out.read_bytes()


# --- what is on the page -------------------------------------------------------------------------


def test_that_the_page_says_the_scenario_and_every_headline_figure(tmp_path: Path) -> None:
    out = tmp_path / "picture.svg"
    scenario = Scenario(others=63)
    render("request", scenario, str(out))
    words = said(out)
    assert scenario_words(scenario) in words
    for figure in headline_figures(evaluate(scenario)):
        assert figure.title in words
        assert figure.value in words
    for name in ("TTFT", "ITL", "E2E", "Prefill", "Decode", "compute", "bandwidth"):
        assert name in words


def test_that_an_svg_looks_the_same_where_the_font_is_not_installed(tmp_path: Path) -> None:
    out = tmp_path / "picture.svg"
    render("request", Scenario(), str(out))
    text = out.read_text(encoding="utf-8")
    letters = re.findall(r"<text[^>]*>", text)
    assert len(letters) > 50
    assert all('fill-opacity="0"' in words for words in letters)
    assert text.count("<path") >= len(letters)


def test_that_the_lesson_is_told_by_colour(tmp_path: Path) -> None:
    dark = THEMES["dark"]
    shares = {}
    for prompt in (32_768, 128):
        out = tmp_path / f"{prompt}.png"
        scenario = Scenario(prompt_tokens=prompt)
        render("request", scenario, str(out), **SMALL, time_s=evaluate(scenario).e2e_s)
        image = QImage(str(out))
        shares[prompt] = {bound: share_of(image, dark.bound(bound)) for bound in ("compute", "bandwidth")}
    assert shares[32_768]["compute"] > 0.01
    assert shares[32_768]["compute"] > 5 * shares[128]["compute"]
    assert shares[32_768]["compute"] > shares[32_768]["bandwidth"]
    assert shares[128]["bandwidth"] > 2 * shares[128]["compute"]


def test_that_what_does_not_fit_is_said_and_drawn_all_the_same(tmp_path: Path) -> None:
    fits, too_large = tmp_path / "fits.svg", tmp_path / "large.svg"
    render("request", Scenario(), str(fits))
    render("request", TOO_LARGE, str(too_large))
    assert "oes not fit" not in said(fits)
    assert "Does not fit" in said(too_large)
    assert "missing" in said(too_large)
    for name in ("TTFT", "ITL", "E2E"):
        assert name in said(too_large)


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(output_tokens=1),
        Scenario(prompt_tokens=1, output_tokens=2),
        Scenario(output_tokens=10**7),
        Scenario(prompt_tokens=2**20, others=4_095),
        Scenario(model="Mamba 2.8B", accelerator="TPU v5e"),
    ],
    ids=["one token", "tiny", "endless", "huge", "recurrent"],
)
def test_that_extreme_requests_are_drawn(tmp_path: Path, scenario: Scenario) -> None:
    out = tmp_path / "picture.png"
    render("request", scenario, str(out), **SMALL)
    assert not QImage(str(out)).isNull()


@pytest.mark.parametrize(("width", "height"), [SMALLEST_PX, (3840, 300), (400, 2000)])
def test_that_odd_sizes_are_drawn(tmp_path: Path, width: int, height: int) -> None:
    out = tmp_path / "picture.png"
    render("request", Scenario(), str(out), width=width, height=height)
    assert QImage(str(out)).width() == width


@pytest.mark.parametrize(("width", "height"), [(1, 1), (64, 64), (319, 180), (200, 2000)])
def test_that_what_could_not_be_read_is_refused(tmp_path: Path, width: int, height: int) -> None:
    with pytest.raises(InputError, match="legible"):
        render("request", Scenario(), str(tmp_path / "picture.png"), width=width, height=height)
    assert not list(tmp_path.iterdir())


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "scenario", "name", "options", "words"),
    [
        ("requests", Scenario(), "a.png", {}, ("--view", "request", "requests")),
        ("request", Scenario(), "a.bmp", {}, ("--out", ".png", "a.bmp")),
        ("request", Scenario(), "png", {}, ("--out", ".png")),
        ("request", Scenario(), "a.png", {"width": 64, "height": 64}, ("--size", "64x64")),
        ("request", Scenario(), "a.png", {"width": 0}, ("--size", "at least")),
        ("request", Scenario(), "a.png", {"height": -5}, ("--size", "at least")),
        ("request", Scenario(), "a.png", {"width": LARGEST_SIDE_PX + 1}, ("--size", "16,384")),
        ("request", Scenario(), "a.png", {"scale": 40.0}, ("--size", "--scale", "16,384")),
        ("request", Scenario(), "a.png", {"time_s": 1e6}, ("--at", "within the request")),
        ("request", Scenario(model="lama 3"), "a.png", {}, ("lama 3", "Llama 3 8B")),
        ("request", Scenario(accelerator="h101"), "a.png", {}, ("h101", "H100")),
        ("request", Scenario(accelerator="TPU v5e", weights_dtype="fp32"), "a.png", {}, ("TPU v5e", "FP32")),
    ],
)
def test_that_what_cannot_be_drawn_is_said_in_a_sentence_and_no_file_is_left(
    tmp_path: Path,
    view: str,
    scenario: Scenario,
    name: str,
    options: dict[str, float],
    words: tuple[str, ...],
) -> None:
    with pytest.raises(InputError) as refused:
        render(view, scenario, str(tmp_path / name), **options)
    assert "\n" not in str(refused.value)
    assert all(word in str(refused.value) for word in words)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.qt_log_level_fail("CRITICAL")  # Qt warns as well
def test_that_a_place_that_cannot_be_written_is_said_in_a_sentence(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / "no such folder" / f"picture{suffix}"
    with pytest.raises(InputError) as refused:
        render("request", Scenario(), str(out), **SMALL)
    assert out.name in str(refused.value)
    assert "written" in str(refused.value)
    assert not out.exists()


def test_that_drawing_leaves_no_window_behind(tmp_path: Path) -> None:
    before = len(QApplication.topLevelWidgets())
    render("request", Scenario(), str(tmp_path / "picture.png"), **SMALL)
    assert len(QApplication.topLevelWidgets()) == before
