"""Two pictures, compared pixel by pixel with a small tolerance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtGui import QImage

FAR = 16  # levels of 255 in one channel; below it lies how another processor rounds
MOST_SHARE = 2e-5  # of the pixels may be far off: 10 of 960 x 540


def pixels(path: Path) -> np.ndarray:
    """Height x width x 3 levels."""
    image = QImage(str(path)).convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def save(levels: np.ndarray, path: Path) -> None:
    height, width, _ = levels.shape
    QImage(np.ascontiguousarray(levels).data, width, height, 3 * width, QImage.Format.Format_RGB888).save(
        str(path)
    )


def far_off(golden: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Which pixels differ; all of them where the sizes do."""
    if golden.shape != new.shape:
        return np.ones(new.shape[:2], bool)
    return np.abs(golden.astype(int) - new).max(axis=2) > FAR


def problem(name: str, golden: np.ndarray, new: np.ndarray, failures: Path) -> str | None:
    """What differs, both the new picture and the difference put into ``failures``; None for the same."""
    far = far_off(golden, new)
    if far.mean() <= MOST_SHARE:
        return None
    failures.mkdir(parents=True, exist_ok=True)
    save(new, failures / f"{name}-new.png")
    dimmed = new // 4
    dimmed[far] = (255, 0, 160)
    save(dimmed, failures / f"{name}-difference.png")
    rows, columns = np.nonzero(far)
    return (
        f"{name} differs in {int(far.sum()):,} pixels, within x {columns.min()} to {columns.max()}, "
        f"y {rows.min()} to {rows.max()}: see {failures}/{name}-new.png and -difference.png. "
        "Where the change is meant: make pictures, look at what it retook, commit."
    )
