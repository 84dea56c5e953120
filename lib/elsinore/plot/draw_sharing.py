"""Draws rows of boxes, and coloured spans over those that share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elsinore.plot.draw import write
from elsinore.plot.ink import (
    BODY,
    CROSSED,
    LABEL,
    LINE,
    NEGATIVE_FILL,
    TEXT,
    text_width,
)
from elsinore.plot.layout import Point
from elsinore.plot.sharing_columns import INNER, TAG, box_width, shortened, unit_width
from elsinore.plot.sharing_rows import Group, Unit
from elsinore.sharing.explain import Box

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Height of a row and of a box in it.
ROW, BOX = 25.0, 17.0
#: How far a span stands out around the boxes of a shared unit.
_RIM = 3.0
#: Colours that stay apart for colour-blind eyes, dark enough for white text; then they repeat.
_COLOURS = (
    *("#0072b2", "#c75000", "#00805c", "#b0408a", "#6a51a3", "#8c6d1f"),
    *("#17879c", "#b2182b", "#3f5fd0", "#4d7c0f", "#9a4a22", "#5d6d7e"),
)
#: Order of drawing: spines, spans, boxes, text (Matplotlib's own).
_SPINE, _SPAN, _BOX = 0.3, 0.6, 1.5


def colour_of(group: int) -> str:
    """The colour of a group by its number."""
    return _COLOURS[group % len(_COLOURS)]


@dataclass(frozen=True)
class Rows:
    """Rows with a place for every unit.

    Attributes:
        names: of the queries, from top to bottom.
        units: of each row.
        places: left end of each unit, in points from the first column.
        groups: what the units' numbers mean.
        aligned: groups whose units stand in one column each.
    """

    names: tuple[str, ...]
    units: tuple[tuple[Unit, ...], ...]
    places: Sequence[Sequence[float]]
    groups: tuple[Group, ...]
    aligned: frozenset[int]

    @property
    def width(self) -> float:
        """From the first column to the end of the longest row."""
        ends = [p[-1] + unit_width(u[-1]) for u, p in zip(self.units, self.places, strict=True)]
        return max(ends, default=0.0)

    @property
    def margin(self) -> float:
        """Room for the names of the queries."""
        return max((text_width(name, BODY, bold=True) for name in self.names), default=0.0) + 14.0

    @property
    def height(self) -> float:
        """All rows."""
        return ROW * len(self.names)


def draw_rows(axes: Axes, rows: Rows, corner: Point) -> None:
    """Names, boxes, and the spans that join what is shared; the upper left corner at a point."""
    left, top = corner[0] + rows.margin, corner[1]
    middles = [top + ROW * (number + 0.5) for number in range(len(rows.names))]
    _joined(axes, rows, left, middles)
    for name, units, places, y in zip(rows.names, rows.units, rows.places, middles, strict=True):
        write(axes, (corner[0], y), name, BODY, bold=any(u.group is not None for u in units))
        end = left + places[-1]
        axes.plot([left + places[0], end], [y, y], color=LINE, linewidth=0.8, zorder=_SPINE + 0.1)
        for unit, place in zip(units, places, strict=True):
            _unit(axes, unit, rows.groups, (left + place, y))


def _joined(axes: Axes, rows: Rows, left: float, middles: Sequence[float]) -> None:
    """A span over neighbouring rows of a group, and a spine from one span to the next."""
    for number in range(len(rows.groups)):
        found = [
            (row, rows.places[row][at], unit_width(unit))
            for row, units in enumerate(rows.units)
            for at, unit in enumerate(units)
            if unit.group == number
        ]
        width = max((wide for _, _, wide in found), default=0.0)
        for n, (row, place, wide) in enumerate(found):
            whole = width if number in rows.aligned else wide
            span(axes, number, (left + place, middles[row]), whole, BOX)
            if n == 0 or number not in rows.aligned:
                continue
            above = found[n - 1][0]
            if row - above == 1:
                middle = (middles[row] + middles[above]) / 2
                span(axes, number, (left + place, middle), whole, ROW)
            else:
                x = left + place - _RIM / 2 + TAG / 2
                axes.plot(
                    [x, x], [middles[above] + BOX / 2, middles[row] - BOX / 2],
                    color=colour_of(number), linewidth=4.0, alpha=0.55, zorder=_SPINE,
                    solid_capstyle="butt",
                )  # fmt: skip


def span(axes: Axes, group: int, at: Point, width: float, height: float) -> None:
    """A group's colour behind a unit, its left end and middle at a point."""
    from matplotlib.patches import Rectangle

    corner = at[0] - _RIM, at[1] - height / 2 - _RIM
    axes.add_patch(
        Rectangle(corner, width + 2 * _RIM, height + 2 * _RIM, linewidth=0, zorder=_SPAN,
                  facecolor=tint(colour_of(group), 0.72))
    )  # fmt: skip


def tint(colour: str, white: float) -> tuple[float, float, float]:
    """A colour mixed with white."""
    from matplotlib.colors import to_rgb

    red, green, blue = (part + (1 - part) * white for part in to_rgb(colour))
    return red, green, blue


def _unit(axes: Axes, unit: Unit, groups: Sequence[Group], at: Point) -> None:
    x, y = at
    colour = LINE
    if unit.group is not None:
        colour = colour_of(unit.group)
        tag(axes, unit.group, groups[unit.group], at)
        x += TAG + INNER
    for box in unit.boxes:
        draw_box(axes, box, (x, y), colour, shared=unit.group is not None)
        x += box_width(box.text) + INNER


def tag(axes: Axes, number: int, group: Group, at: Point) -> None:
    """A group's name in its colour; round for E+."""
    from matplotlib.patches import FancyBboxPatch

    x, y = at
    rounding = BOX / 2 - 0.1 if group.kleene else 1.5
    axes.add_patch(
        FancyBboxPatch((x, y - BOX / 2), TAG, BOX, facecolor=colour_of(number), linewidth=0,
                       zorder=_BOX,
                       boxstyle=f"round,pad=0,rounding_size={rounding}")
    )  # fmt: skip
    size = LABEL if len(group.name) < 4 else LABEL - 2.0
    _centred(axes, (x + TAG / 2, y), group.name, size, "white", bold=True)


def draw_box(axes: Axes, box: Box, at: Point, colour: str, *, shared: bool) -> None:
    """A part of a pattern, its left end and middle at a point: round for E+, red for NOT."""
    from matplotlib.patches import FancyBboxPatch

    x, y = at
    width = box_width(box.text)
    ink = CROSSED if box.negated else colour if shared else LINE
    style = f"round,pad=0,rounding_size={BOX / 2 - 0.1 if box.kleene else 1.5}"
    axes.add_patch(
        FancyBboxPatch((x, y - BOX / 2), width, BOX, boxstyle=style, edgecolor=ink, zorder=_BOX,
                       facecolor=NEGATIVE_FILL if box.negated else "white",
                       linewidth=1.4 if shared else 0.9)
    )  # fmt: skip
    if box.kleene:
        inner = f"round,pad=0,rounding_size={BOX / 2 - 2.1}"
        axes.add_patch(
            FancyBboxPatch((x + 2, y - BOX / 2 + 2), width - 4, BOX - 4, boxstyle=inner,
                           edgecolor=ink, facecolor="none", linewidth=0.7, zorder=_BOX)
        )  # fmt: skip
    _centred(axes, (x + width / 2, y), shortened(box.text), LABEL, CROSSED if box.negated else TEXT)


def _centred(
    axes: Axes, at: Point, text: str, size: float, colour: str, *, bold: bool = False
) -> None:
    width = text_width(text, size, bold=bold)
    write(axes, (at[0] - width / 2, at[1]), text, size, colour=colour, bold=bold)
