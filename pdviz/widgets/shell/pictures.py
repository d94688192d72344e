"""A page as a file: PNG, SVG or PDF by the name's ending, carrying its scenario as text."""

from __future__ import annotations

import os
from collections.abc import Callable

from PySide6.QtCore import QBuffer, QMarginsF, QRectF, QSize, QSizeF
from PySide6.QtGui import QImage, QImageWriter, QPageLayout, QPageSize, QPaintDevice, QPainter, QPdfWriter

from pdviz.errors import InputError
from pdviz.files import write_atomically
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
    kind = os.path.splitext(path)[1].lower().removeprefix(".")
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    if kind == "svg":
        _draw_svg(buffer, paint, width, height, scale, line)
    elif kind == "pdf":
        _draw_pdf(buffer, paint, width, height, line)
    elif not QImageWriter(buffer, kind.encode()).write(draw_image(paint, width, height, scale, line)):
        raise InputError(f"{os.path.basename(path)}: it cannot be written (expected .png, .svg or .pdf)")
    write_atomically(path, bytes(buffer.data().data()))


def _draw_svg(
    buffer: QBuffer, paint: Callable[[QPainter], None], width: int, height: int, scale: float, line: str
) -> None:
    from PySide6.QtSvg import QSvgGenerator

    device = QSvgGenerator()
    device.setOutputDevice(buffer)
    device.setSize(QSize(round(width * scale), round(height * scale)))
    device.setViewBox(QRectF(0, 0, width, height))
    device.setResolution(96)
    device.setTitle("pdviz")
    device.setDescription(line)
    _draw_on(device, paint, 1.0)


def _draw_pdf(buffer: QBuffer, paint: Callable[[QPainter], None], width: int, height: int, line: str) -> None:
    device = QPdfWriter(buffer)
    points = 72 / 96
    device.setPageSize(QPageSize(QSizeF(width * points, height * points), QPageSize.Unit.Point))
    device.setPageMargins(QMarginsF(0, 0, 0, 0), QPageLayout.Unit.Point)
    device.setResolution(96 * PDF_DOTS_PER_PX)
    device.setTitle("pdviz")
    device.setCreator(f"pdviz {line}")
    _draw_on(device, paint, device.width() / width)


def _draw_on(device: QPaintDevice, paint: Callable[[QPainter], None], factor: float) -> None:
    with QPainter(device) as p:
        p.scale(factor, factor)
        paint(p)
