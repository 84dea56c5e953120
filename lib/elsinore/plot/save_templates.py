"""Draws the templates of queries and saves them as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elsinore.plot.diagram import Drawing, Sheet, draw, drawing_of, sheet_of
from elsinore.plot.ink import (
    BODY,
    CROSSED,
    FAINT,
    LEADING,
    TITLE,
    Point,
    block_height,
    block_width,
    page,
    require_picture,
    save,
    text_width,
    write,
)
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
    require_picture(path)
    blocks = [_block(sheet_of(query)) for query in queries]
    corners, width, height = _corners(blocks)
    figure, axes = page(width, height)
    for block, corner in zip(blocks, corners, strict=True):
        _draw_block(axes, block, corner)
    write(axes, (_MARGIN, height - _MARGIN), _LEGEND, BODY, colour=FAINT)
    save(figure, path)


def _block(sheet: Sheet) -> _Block:
    drawings = tuple(map(drawing_of, sheet.diagrams))
    widths = [text_width(sheet.title, TITLE, bold=True), block_width(list(sheet.lines), BODY)]
    widths += [drawing.width for drawing in drawings]
    widths += [text_width(diagram.caption, BODY) for diagram in sheet.diagrams]
    height = _heading(sheet) + sum(_caption(d) + d.height + 8.0 for d in drawings)
    return _Block(sheet, drawings, max(widths), height)


def _heading(sheet: Sheet) -> float:
    return TITLE * LEADING + block_height(len(sheet.lines), BODY) + 8.0


def _caption(drawing: Drawing) -> float:
    return BODY * LEADING + 4.0 if drawing.diagram.caption else 0.0


def _corners(blocks: Sequence[_Block]) -> tuple[list[Point], float, float]:
    """The upper left corner of each block, line by line, and the size of the page."""
    corners: list[Point] = []
    x, y, lowest, widest = _MARGIN, _MARGIN, _MARGIN, text_width(_LEGEND, BODY)
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
    write(axes, (x, y + TITLE * LEADING / 2), block.sheet.title, TITLE, bold=True)
    y += TITLE * LEADING
    for line in block.sheet.lines:
        write(axes, (x, y + BODY * LEADING / 2), line, BODY, colour=FAINT)
        y += BODY * LEADING
    y += 8.0
    for drawing in block.drawings:
        if drawing.diagram.caption:
            colour = CROSSED if drawing.diagram.negative else FAINT
            at = (x, y + BODY * LEADING / 2)
            write(axes, at, drawing.diagram.caption, BODY, colour=colour)
        y += _caption(drawing)
        draw(axes, drawing, (x, y))
        y += drawing.height + 8.0
