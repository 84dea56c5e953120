"""Draws rows of boxes, coloured spans over those that share, and a legend beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elsinore.plot.ink import (
    BODY,
    CROSSED,
    FAINT,
    LABEL,
    LINE,
    NEGATIVE_FILL,
    TEXT,
    Point,
    block_width,
    text_width,
    write,
)
from elsinore.plot.sharing_rows import INNER, TAG, Group, Unit, box_width, shortened, unit_width
from elsinore.sharing.explain_cuts import Box
from elsinore.sharing.explain_savings import figure_text

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
#: Height of a line of the legend, the most groups in it, and the longest pattern, in characters.
_LINE, _MOST_GROUPS, _PATTERN = 21.0, 60, 48
_KINDS = (
    (Box("Type", 0, 1, frozenset(), negated=False), False, "computed by the query itself"),
    (Box("Type", 0, 1, frozenset(), negated=False), True, "computed once for all on the span"),
    (Box("Type+", 0, 1, frozenset({"Type"}), negated=False), False, "Kleene plus"),
    (Box("NOT Type", 0, 1, frozenset(), negated=True), False, "must not be matched"),
)


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
    write(axes, (x + TAG / 2, y), group.name, size, colour="white", bold=True, align="center")


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
    colour = CROSSED if box.negated else TEXT
    write(axes, (x + width / 2, y), shortened(box.text), LABEL, colour=colour, align="center")


def legend_size(groups: Sequence[Group]) -> tuple[float, float]:
    """Width and height of the legend."""
    lines = len(groups[:_MOST_GROUPS]) + (len(groups) > _MOST_GROUPS)
    kinds = max(text_width(text, BODY) + 60.0 for _, _, text in _KINDS)
    return max(_figures_at(groups) + 110.0, kinds), _LINE * (lines + len(_KINDS) + 1)


def draw_legend(axes: Axes, groups: Sequence[Group], corner: Point) -> None:
    """The groups with what they save, then the kinds of boxes."""
    x, y = corner[0], corner[1] + _LINE / 2
    for number, group in enumerate(groups[:_MOST_GROUPS]):
        tag(axes, number, group, (x, y))
        write(axes, (x + TAG + 8.0, y), _listed(group), BODY)
        at = x + _figures_at(groups), y
        if group.kleene:
            write(axes, at, "decided burst by burst", BODY, colour=FAINT)
        elif group.net is not None:
            write(axes, at, figure_text(group.net), BODY)
        y += _LINE
    if len(groups) > _MOST_GROUPS:
        more = f"and {len(groups) - _MOST_GROUPS} more"
        write(axes, (x + TAG + 8.0, y), more, BODY, colour=FAINT)
        y += _LINE
    for box, shared, text in _KINDS:
        y += _LINE
        width = box_width(box.text)
        if shared:
            span(axes, 0, (x, y), width, BOX)
        draw_box(axes, box, (x, y), colour_of(0), shared=shared)
        write(axes, (x + width + 10.0, y), text, BODY, colour=FAINT)


def _listed(group: Group) -> str:
    text = group.text if len(group.text) <= _PATTERN else f"{group.text[: _PATTERN - 1]}…"
    return f"{text} in {len(group.members)} queries"


def _figures_at(groups: Sequence[Group]) -> float:
    """Where the column of savings begins."""
    return TAG + 24.0 + block_width([_listed(group) for group in groups[:_MOST_GROUPS]], BODY)
