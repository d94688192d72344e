"""A page as a file: PNG, SVG or PDF by the name's ending, carrying its scenario as text."""

from __future__ import annotations

import os
from collections.abc import Callable

from PySide6.QtCore import QMarginsF, QRectF, QSize, QSizeF
from PySide6.QtGui import QImage, QPageLayout, QPageSize, QPaintDevice, QPainter, QPdfWriter

from pdviz.errors import InputError
from pdviz.share import PICTURE_KEY

PDF_DOTS_PER_PX = 4


def draw_image(paint: Callable[[QPainter], None], width: int, height: int, scale: float, line: str) -> QImage:
    """The page as an image of ``width`` x ``height`` logical pixels, ``scale`` device pixels for each."""
    image = QImage(round(width * scale), round(height * scale), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.setText("Title", "pdviz")
    image.setText(PICTURE_KEY, line)
    with QPainter(image) as p:
        paint(p)
    return image


def write_picture(
    path: str, paint: Callable[[QPainter], None], width: int, height: int, scale: float, line: str
) -> None:
    """Writes the page that ``paint`` draws. Raises InputError where the file cannot be written."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".svg":
        written = _write_svg(path, paint, width, height, scale, line)
    elif suffix == ".pdf":
        written = _write_pdf(path, paint, width, height, line)
    else:
        written = draw_image(paint, width, height, scale, line).save(path)
    if not written:
        raise InputError(f'"{path}" cannot be written')


def _write_svg(
    path: str, paint: Callable[[QPainter], None], width: int, height: int, scale: float, line: str
) -> bool:
    from PySide6.QtSvg import QSvgGenerator

    device = QSvgGenerator()
    device.setFileName(path)
    device.setSize(QSize(round(width * scale), round(height * scale)))
    device.setViewBox(QRectF(0, 0, width, height))
    device.setResolution(96)
    device.setTitle("pdviz")
    device.setDescription(line)
    return _draw_on(device, paint, 1.0)


def _write_pdf(path: str, paint: Callable[[QPainter], None], width: int, height: int, line: str) -> bool:
    device = QPdfWriter(path)
    points = 72 / 96
    device.setPageSize(QPageSize(QSizeF(width * points, height * points), QPageSize.Unit.Point))
    device.setPageMargins(QMarginsF(0, 0, 0, 0), QPageLayout.Unit.Point)
    device.setResolution(96 * PDF_DOTS_PER_PX)
    device.setTitle("pdviz")
    device.setCreator(f"pdviz {line}")
    return _draw_on(device, paint, device.width() / width)


def _draw_on(device: QPaintDevice, paint: Callable[[QPainter], None], factor: float) -> bool:
    with QPainter() as p:
        if not p.begin(device):
            return False
        p.scale(factor, factor)
        paint(p)
    return True
