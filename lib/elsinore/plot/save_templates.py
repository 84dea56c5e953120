"""Draws the templates of queries and saves them as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elsinore.plot import ink
from elsinore.plot.diagram import Drawing, Sheet, draw, drawing_of, sheet_of
from elsinore.plot.ink import Point
from elsinore.query.bound import BoundQuery

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Sheets stand side by side up to this width, in points.
_PAGE = 1_000.0
_MARGIN = 24.0
_BETWEEN = 30.0
_LEGEND = (
    "An arrow from nowhere leads to where a trend may start; a double ring is where it may end. "
    "What a crossed circle names must not be matched on the way."
)


@dataclass(frozen=True)
class _Block:
    """A sheet with its drawings and its size in points."""

    sheet: Sheet
    drawings: tuple[Drawing, ...]
    width: float
    height: float


def save_templates(queries: Iterable[BoundQuery], path: Path) -> None:
    """Draw the templates of queries, each below its name and pattern.

    Args:
        queries: in the order in which they are drawn.
        path: a file that ends in .svg or .png.

    Raises:
        ParameterError: another ending, or the file cannot be written.
    """
    ink.require_picture(path)
    blocks = [_block(sheet_of(query)) for query in queries]
    corners, width, height = _corners(blocks)
    figure, axes = ink.page(width, height)
    for block, corner in zip(blocks, corners, strict=True):
        _draw_block(axes, block, corner)
    ink.write(axes, (_MARGIN, height - _MARGIN), _LEGEND, ink.BODY, colour=ink.FAINT)
    ink.save(figure, path)


def _block(sheet: Sheet) -> _Block:
    drawings = tuple(map(drawing_of, sheet.diagrams))
    widths = [
        ink.text_width(sheet.title, ink.TITLE, bold=True),
        ink.block_width(list(sheet.lines), ink.BODY),
    ]
    widths += [drawing.width for drawing in drawings]
    widths += [ink.text_width(diagram.caption, ink.BODY) for diagram in sheet.diagrams]
    height = _heading(sheet) + sum(_caption(d) + d.height + 8.0 for d in drawings)
    return _Block(sheet, drawings, max(widths), height)


def _heading(sheet: Sheet) -> float:
    return ink.TITLE * ink.LEADING + ink.block_height(len(sheet.lines), ink.BODY) + 8.0


def _caption(drawing: Drawing) -> float:
    return ink.BODY * ink.LEADING + 4.0 if drawing.diagram.caption else 0.0


def _corners(blocks: Sequence[_Block]) -> tuple[list[Point], float, float]:
    """The upper left corner of each block, line by line, and the size of the page."""
    corners: list[Point] = []
    x, y, lowest, widest = _MARGIN, _MARGIN, _MARGIN, ink.text_width(_LEGEND, ink.BODY)
    for block in blocks:
        if x > _MARGIN and x + block.width > _MARGIN + _PAGE:
            x, y = _MARGIN, lowest + _BETWEEN
        corners.append((x, y))
        x += block.width + 2 * _BETWEEN
        lowest = max(lowest, y + block.height)
        widest = max(widest, x - 2 * _BETWEEN - _MARGIN)
    return corners, widest + 2 * _MARGIN, lowest + _BETWEEN + 2 * _MARGIN


def _draw_block(axes: Axes, block: _Block, corner: Point) -> None:
    x, y = corner
    ink.write(axes, (x, y + ink.TITLE * ink.LEADING / 2), block.sheet.title, ink.TITLE, bold=True)
    y += ink.TITLE * ink.LEADING
    for line in block.sheet.lines:
        ink.write(axes, (x, y + ink.BODY * ink.LEADING / 2), line, ink.BODY, colour=ink.FAINT)
        y += ink.BODY * ink.LEADING
    y += 8.0
    for drawing in block.drawings:
        if drawing.diagram.caption:
            colour = ink.CROSSED if drawing.diagram.negative else ink.FAINT
            at = (x, y + ink.BODY * ink.LEADING / 2)
            ink.write(axes, at, drawing.diagram.caption, ink.BODY, colour=colour)
        y += _caption(drawing)
        draw(axes, drawing, (x, y))
        y += drawing.height + 8.0
