"""Colour roles as plain text. Two hues carry meaning and nothing else may use them.

Orange is compute, blue is memory bandwidth; they differ in lightness too and every use is named in
words beside it. Text roles keep 4.5:1 on the surfaces they stand on.
"""

from __future__ import annotations

import msgspec


class Theme(msgspec.Struct, frozen=True):
    """Role -> #rrggbb. ``veil`` dims what has not been played yet: (colour, opacity)."""

    name: str
    is_dark: bool
    window: str
    surface: str
    raised: str
    line: str
    grid: str
    text: str
    muted: str
    faint: str
    accent: str
    on_accent: str
    compute: str
    compute_text: str
    on_compute: str
    compute_soft: str
    bandwidth: str
    bandwidth_text: str
    on_bandwidth: str
    bandwidth_soft: str
    link: str
    link_text: str
    on_link: str
    link_soft: str
    overhead: str
    overhead_text: str
    on_overhead: str
    overhead_soft: str
    memory_weights: str
    memory_kv: str
    part_table: str
    part_mixer: str
    part_mlp: str
    part_expert: str
    part_vector: str
    warning: str
    warning_soft: str
    veil_opacity: float

    def bound(self, bound: str) -> str:
        """The fill of what ``bound`` limits."""
        return str(getattr(self, f"{bound}"))

    def bound_text(self, bound: str) -> str:
        return str(getattr(self, f"{bound}_text"))

    def bound_soft(self, bound: str) -> str:
        return str(getattr(self, f"{bound}_soft"))

    def on_bound(self, bound: str) -> str:
        return str(getattr(self, f"on_{bound}"))


DARK = Theme(
    name="dark",
    is_dark=True,
    window="#0d1015",
    surface="#151920",
    raised="#1f2530",
    line="#2a313d",
    grid="#222833",
    text="#f2f5f9",
    muted="#a9b3c1",
    faint="#8791a0",
    accent="#f2f5f9",
    on_accent="#12161c",
    compute="#ef8a2b",
    compute_text="#ffa64d",
    on_compute="#1c0f00",
    compute_soft="#57391a",
    bandwidth="#7cd5ff",
    bandwidth_text="#5fc8ff",
    on_bandwidth="#001a29",
    bandwidth_soft="#173f57",
    link="#c3cad4",
    link_text="#c3cad4",
    on_link="#12161c",
    link_soft="#3a4350",
    overhead="#98a2b0",
    overhead_text="#a9b3c1",
    on_overhead="#12161c",
    overhead_soft="#2f3742",
    memory_weights="#8b95a5",
    memory_kv="#5fd38a",
    part_table="#566274",
    part_mixer="#b79bd6",
    part_mlp="#8b95a5",
    part_expert="#d9a0bd",
    part_vector="#e3e8ee",
    warning="#f5d90a",
    warning_soft="#332f10",
    veil_opacity=0.55,
)

LIGHT = Theme(
    name="light",
    is_dark=False,
    window="#f3f5f8",
    surface="#ffffff",
    raised="#eef1f5",
    line="#d7dde5",
    grid="#e8ecf1",
    text="#141a22",
    muted="#4d5866",
    faint="#636e7c",
    accent="#141a22",
    on_accent="#ffffff",
    compute="#d96c00",
    compute_text="#b05200",
    on_compute="#1c0f00",
    compute_soft="#fbe0c6",
    bandwidth="#005a9e",
    bandwidth_text="#0a68b0",
    on_bandwidth="#ffffff",
    bandwidth_soft="#cfe7f8",
    link="#3f4a58",
    link_text="#3f4a58",
    on_link="#ffffff",
    link_soft="#cfd6df",
    overhead="#636e7c",
    overhead_text="#4d5866",
    on_overhead="#ffffff",
    overhead_soft="#e3e8ee",
    memory_weights="#6b7686",
    memory_kv="#2f9e5d",
    part_table="#a9b2bf",
    part_mixer="#7a55a8",
    part_mlp="#6b7686",
    part_expert="#a3476f",
    part_vector="#20262f",
    warning="#7a5d00",
    warning_soft="#fff4c2",
    veil_opacity=0.58,
)

PRINT = msgspec.structs.replace(
    LIGHT, name="print", window="#ffffff", raised="#f4f4f4", line="#bfc5cd", veil_opacity=0.0
)

THEMES: dict[str, Theme] = {theme.name: theme for theme in (DARK, LIGHT, PRINT)}


def _linear(channel: int) -> float:
    value = channel / 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2)."""
    red, green, blue = (_linear(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2.2), 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
