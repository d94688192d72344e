"""Colours: text that can be read, and two hues that mean something to everybody's eyes."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

from pdviz.scene.marks.theme import DARK, LIGHT, PRINT, THEMES, Theme, contrast, luminance

each_theme = pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
GROUNDS = ("window", "surface", "raised")
BOUNDS = ("compute", "bandwidth")

# What is left of linear RGB (Machado, Oliveira, Fernandes 2009, severity 1), and a photocopy.
EYES = {
    "all colours": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
    "greys": np.array([[0.2126, 0.7152, 0.0722]] * 3),
}
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def oklab(colour: str, eyes: str = "all colours") -> np.ndarray:
    """Lightness, green-red, blue-yellow as those eyes see the colour."""
    seen = np.clip(EYES[eyes] @ linear(colour), 0.0, None)
    return TO_OKLAB @ np.cbrt(TO_CONES @ seen)


def hue_and_chroma(colour: str) -> tuple[float, float]:
    _, a, b = oklab(colour)
    return math.degrees(math.atan2(b, a)) % 360, math.hypot(a, b)


def colours(theme: Theme) -> dict[str, str]:
    """All colour roles."""
    return {
        role: value
        for role in theme.__struct_fields__
        if isinstance(value := getattr(theme, role), str) and role != "name"
    }


@each_theme
def test_that_every_role_is_a_colour(theme: Theme) -> None:
    assert all(re.fullmatch(r"#[0-9a-f]{6}", value) for value in colours(theme).values())
    assert 0.0 <= theme.veil_opacity < 1.0
    assert theme.is_dark == (luminance(theme.surface) < 0.5)


# --- text ----------------------------------------------------------------------------------------


@each_theme
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("role", ["text", "muted", "faint"])
def test_that_text_can_be_read_on_every_ground(theme: Theme, ground: str, role: str) -> None:
    assert contrast(getattr(theme, role), getattr(theme, ground)) >= 4.5


@each_theme
@pytest.mark.parametrize("bound", BOUNDS)
def test_that_the_name_of_a_bound_can_be_read_in_its_colour_and_on_it(theme: Theme, bound: str) -> None:
    assert contrast(theme.bound_text(bound), theme.surface) >= 4.5
    assert contrast(theme.on_bound(bound), theme.bound(bound)) >= 4.5
    assert contrast(theme.text, theme.bound_soft(bound)) >= 4.5


@each_theme
def test_that_warnings_and_pressed_buttons_can_be_read(theme: Theme) -> None:
    assert contrast(theme.warning, theme.warning_soft) >= 4.5
    for ground in ("surface", "raised"):
        assert contrast(theme.warning, getattr(theme, ground)) >= 4.5
    assert contrast(theme.on_accent, theme.accent) >= 4.5


@each_theme
@pytest.mark.parametrize("role", ["compute", "bandwidth", "accent", "memory_weights", "memory_kv"])
def test_that_what_is_drawn_stands_out_from_its_ground(theme: Theme, role: str) -> None:
    assert contrast(getattr(theme, role), theme.surface) >= 3.0


# --- two hues that mean something ----------------------------------------------------------------


@each_theme
@pytest.mark.parametrize("eyes", ["all colours", "protanopia", "deuteranopia", "tritanopia"])
def test_that_compute_and_bandwidth_are_told_apart_by_lightness_and_by_hue(theme: Theme, eyes: str) -> None:
    compute, bandwidth = oklab(theme.compute, eyes), oklab(theme.bandwidth, eyes)
    assert abs(compute[0] - bandwidth[0]) >= 0.08
    assert np.linalg.norm(compute - bandwidth) >= 0.2


@each_theme
def test_that_compute_and_bandwidth_are_told_apart_without_any_colour(theme: Theme) -> None:
    assert contrast(theme.compute, theme.bandwidth) >= 1.5
    assert abs(oklab(theme.compute, "greys")[0] - oklab(theme.bandwidth, "greys")[0]) >= 0.1


@each_theme
@pytest.mark.parametrize("eyes", ["all colours", "protanopia", "deuteranopia", "tritanopia"])
def test_that_soft_shades_of_the_bounds_are_told_apart_by_hue(theme: Theme, eyes: str) -> None:
    assert np.linalg.norm(oklab(theme.compute_soft, eyes) - oklab(theme.bandwidth_soft, eyes)) >= 0.06


@each_theme
def test_that_orange_is_compute_and_blue_is_bandwidth(theme: Theme) -> None:
    assert 40 <= hue_and_chroma(theme.compute)[0] <= 75
    assert 220 <= hue_and_chroma(theme.bandwidth)[0] <= 260
    for bound in BOUNDS:
        hue, chroma = hue_and_chroma(theme.bound(bound))
        assert chroma >= 0.1
        for shade in (theme.bound_text(bound), theme.bound_soft(bound)):
            assert abs((hue_and_chroma(shade)[0] - hue + 180) % 360 - 180) <= 20


@each_theme
def test_that_nothing_else_has_one_of_the_two_hues(theme: Theme) -> None:
    owned = re.compile(r"(on_)?(compute|bandwidth)(_text|_soft)?")
    for role, colour in colours(theme).items():
        hue, chroma = hue_and_chroma(colour)
        if owned.fullmatch(role) or chroma < 0.03:  # a hint of blue in the greys
            continue
        for bound in BOUNDS:
            apart = abs((hue - hue_and_chroma(theme.bound(bound))[0] + 180) % 360 - 180)
            assert apart >= 25, (role, bound, apart)


def test_that_every_bound_has_its_own_shades() -> None:
    for theme, one in itertools.product(THEMES.values(), BOUNDS):
        other = BOUNDS[1 - BOUNDS.index(one)]
        for shade in (Theme.bound, Theme.bound_text, Theme.bound_soft):
            assert shade(theme, one) != shade(theme, other)
        assert theme.bound(one) == getattr(theme, one)
        assert theme.bound_text(one) == getattr(theme, f"{one}_text")
        assert theme.bound_soft(one) == getattr(theme, f"{one}_soft")
        assert theme.on_bound(one) == getattr(theme, f"on_{one}")


# --- the measures themselves ---------------------------------------------------------------------


def test_that_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == contrast("#ffffff", "#000000") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#123456", "#123456") == 1.0
    assert luminance("#ff0000") == pytest.approx(0.2126)


def test_that_themes_are_found_by_name_and_print_is_on_white_without_a_veil() -> None:
    assert {name: theme.name for name, theme in THEMES.items()} == {name: name for name in THEMES}
    assert (DARK.is_dark, LIGHT.is_dark) == (True, False)
    assert PRINT.window == PRINT.surface == "#ffffff"
    assert PRINT.veil_opacity == 0.0
