"""Draws queries as rows of boxes, what they share in colour, and a legend beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from elsinore.sharing.explain import Box, Cut, ExplainedSavings, figure_text
from elsinore.sharing.sharable import SharableSet, kleene_sharers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Height of a row and of a box in it, and how far a shared unit's ground stands out.
_ROW, _BOX, _RIM = 25.0, 17.0, 3.0
#: Between units, between boxes of one, around a box's text, and the width of a group's tag.
_GAP, _INNER, _PAD, _TAG = 12.0, 4.0, 5.0, 24.0
#: Longest text in a box and in the legend, in characters, and the most groups in the legend.
_TEXT, _PATTERN, _MOST_GROUPS = 30, 48, 60
#: Colours that stay apart for colour-blind eyes, dark enough for white text; then they repeat.
_COLOURS = (
    *("#0072b2", "#c75000", "#00805c", "#b0408a", "#6a51a3", "#8c6d1f"),
    *("#17879c", "#b2182b", "#3f5fd0", "#4d7c0f", "#9a4a22", "#5d6d7e"),
)
_KINDS = (
    (Box("Type", 0, 1, frozenset(), negated=False), "computed by the query itself"),
    (Box("Type+", 0, 1, frozenset({"Type"}), negated=False), "Kleene plus"),
    (Box("NOT Type", 0, 1, frozenset(), negated=True), "must not be matched"),
)


@dataclass(frozen=True)
class Group:
    """What several queries share: a chosen candidate, or E+ in a sharable set.

    Attributes:
        name: the candidate's id, or `s1`, `s2`, ... for the sets.
        text: the pattern.
        members: of each query the boxes that take part, from the first to before the second.
        net: what sharing saves, in count updates per longest window; None if that is not known.
        kleene: of E+ how it is shared; else None.
    """

    name: str
    text: str
    members: Mapping[str, tuple[int, int]]
    net: float | None
    kleene: str | None


@dataclass(frozen=True, slots=True)
class Unit:
    """Boxes of a row that stay together: those of a group, or a single private one."""

    boxes: tuple[Box, ...]
    group: int | None


@dataclass(frozen=True)
class Rows:
    """Queries as rows.

    Attributes:
        names: of the queries, from top to bottom.
        units: of each row, from left to right.
        groups: what the units' numbers mean.
    """

    names: tuple[str, ...]
    units: tuple[tuple[Unit, ...], ...]
    groups: tuple[Group, ...]

    @property
    def margin(self) -> float:
        """Room for the names of the queries."""
        return max((text_width(name, BODY, bold=True) for name in self.names), default=0.0) + 14.0

    @property
    def width(self) -> float:
        """Names and the longest row."""
        rows = (sum(_unit_width(unit) + _GAP for unit in row) for row in self.units)
        return self.margin + max(rows, default=0.0)

    @property
    def height(self) -> float:
        """All rows."""
        return _ROW * len(self.names)


def groups_of(
    cuts: Sequence[Cut],
    savings: ExplainedSavings,
    sharing: Sequence[tuple[str, SharableSet, str]],
) -> tuple[Group, ...]:
    """The chosen candidates, the largest saving first, then the E+ that queries share.

    Args:
        cuts: of every query.
        savings: what the chosen candidates save.
        sharing: the queries that run together: a name, what they share, and how.
    """
    by_name = {cut.query: cut for cut in cuts}
    groups = []
    for each in savings.shared:
        candidate = each.candidate
        members = {
            place.query: _boxes_at(by_name[place.query], place.start, place.stop)
            for place in candidate.shared_occurrences
        }
        text = f"({', '.join(candidate.pattern)})"
        groups.append(Group(candidate.id, text, members, each.net, None))
    for name, found, how in sharing:
        groups += _kleene_groups(name, found, how, by_name)
    return tuple(groups)


def row_order(queries: Sequence[str], groups: Sequence[Group]) -> list[int]:
    """The places of the queries from top to bottom, those of the first groups first.

    Queries that share nothing follow; among those that share alike the workload's order holds.
    """
    held = [[n for n, group in enumerate(groups) if name in group.members] for name in queries]
    return sorted(range(len(queries)), key=lambda place: (not held[place], held[place]))


def units_of(cut: Cut, groups: Sequence[Group]) -> tuple[Unit, ...]:
    """The units of a row, from left to right."""
    begins = {
        group.members[cut.query][0]: (number, group.members[cut.query][1])
        for number, group in reversed(list(enumerate(groups)))
        if cut.query in group.members
    }
    boxes, units, at = cut.boxes, [], 0
    while at < len(boxes):
        number, stop = begins.get(at, (None, at + 1))
        units.append(Unit(boxes[at:stop], number))
        at = stop
    return tuple(units)


def _boxes_at(cut: Cut, start: int, stop: int) -> tuple[int, int]:
    """The boxes that cover positions `start` to `stop - 1`."""
    inside = [n for n, box in enumerate(cut.boxes) if box.start < stop and start < box.stop]
    return inside[0], inside[-1] + 1


def _kleene_groups(
    name: str, found: SharableSet, how: str, by_name: Mapping[str, Cut]
) -> list[Group]:
    """One for each E+ of a set; several of them in one box of a query go by the first."""
    merged, groups = found.merged, []
    taken: set[tuple[str, int]] = set()
    for state, queries in kleene_sharers(found).items():
        members = {}
        for number in queries:
            query = found.queries[number].name
            own = merged.templates[number].states[merged.states[state].members[number]]
            at = min(own.positions)
            place = _boxes_at(by_name[query], at, at + 1)
            if (query, place[0]) not in taken:
                taken.add((query, place[0]))
                members[query] = place
        if len(members) > 1:
            text = f"{merged.states[state].type}+"
            groups.append(Group(name, text, members, None, how))
    return groups


# ---- ink


def draw_rows(axes: Axes, rows: Rows, corner: Point) -> None:
    """Names and boxes; the upper left corner at a point."""
    y = corner[1] + _ROW / 2
    for name, units in zip(rows.names, rows.units, strict=True):
        write(axes, (corner[0], y), name, BODY, bold=any(u.group is not None for u in units))
        x = corner[0] + rows.margin
        for number, unit in enumerate(units):
            if number:
                axes.plot([x - _GAP, x], [y, y], color=LINE, linewidth=0.8, zorder=0.3)
            _draw_unit(axes, unit, rows.groups, (x, y))
            x += _unit_width(unit) + _GAP
        y += _ROW


def legend_size(groups: Sequence[Group]) -> tuple[float, float]:
    """Width and height of the legend."""
    lines = len(groups[:_MOST_GROUPS]) + (len(groups) > _MOST_GROUPS)
    return max(_figures_at(groups) + 110.0, 220.0), _ROW * (lines + len(_KINDS) + 1)


def draw_legend(axes: Axes, groups: Sequence[Group], corner: Point) -> None:
    """The groups with what they save, then the kinds of boxes."""
    x, y = corner[0], corner[1] + _ROW / 2
    for number, group in enumerate(groups[:_MOST_GROUPS]):
        _draw_tag(axes, number, group, (x, y))
        write(axes, (x + _TAG + 8.0, y), _listed(group), BODY)
        at = x + _figures_at(groups), y
        if group.kleene:
            write(axes, at, group.kleene, BODY, colour=FAINT)
        elif group.net is not None:
            write(axes, at, figure_text(group.net), BODY)
        y += _ROW
    if len(groups) > _MOST_GROUPS:
        more = f"and {len(groups) - _MOST_GROUPS} more"
        write(axes, (x + _TAG + 8.0, y), more, BODY, colour=FAINT)
        y += _ROW
    for box, text in _KINDS:
        y += _ROW
        _draw_box(axes, box, (x, y), LINE)
        write(axes, (x + _box_width(box) + 10.0, y), text, BODY, colour=FAINT)


def _listed(group: Group) -> str:
    return f"{_shortened(group.text, _PATTERN)} in {len(group.members)} queries"


def _figures_at(groups: Sequence[Group]) -> float:
    """Where the column of savings begins."""
    return _TAG + 24.0 + block_width([_listed(group) for group in groups[:_MOST_GROUPS]], BODY)


def _shortened(text: str, most: int = _TEXT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _box_width(box: Box) -> float:
    return text_width(_shortened(box.text), LABEL) + 2 * _PAD


def _unit_width(unit: Unit) -> float:
    """Width of a unit: its boxes, and its tag if it is shared."""
    boxes = sum(map(_box_width, unit.boxes)) + _INNER * (len(unit.boxes) - 1)
    return boxes if unit.group is None else boxes + _TAG + _INNER


def _draw_unit(axes: Axes, unit: Unit, groups: Sequence[Group], at: Point) -> None:
    from matplotlib.patches import Rectangle

    x, y = at
    colour = LINE
    if unit.group is not None:
        colour = _COLOURS[unit.group % len(_COLOURS)]
        width = _unit_width(unit) + 2 * _RIM
        axes.add_patch(
            Rectangle((x - _RIM, y - _ROW / 2), width, _ROW, facecolor=colour, alpha=0.28,
                      linewidth=0, zorder=0.6)
        )  # fmt: skip
        _draw_tag(axes, unit.group, groups[unit.group], at)
        x += _TAG + _INNER
    for box in unit.boxes:
        _draw_box(axes, box, (x, y), colour)
        x += _box_width(box) + _INNER


def _draw_tag(axes: Axes, number: int, group: Group, at: Point) -> None:
    """A group's name in its colour; round for E+."""
    colour = _COLOURS[number % len(_COLOURS)]
    _draw_capsule(axes, at, _TAG, colour, colour, round_=group.kleene is not None)
    size = LABEL if len(group.name) < 4 else LABEL - 2.0
    middle = at[0] + _TAG / 2, at[1]
    write(axes, middle, group.name, size, colour="white", bold=True, align="center")


def _draw_box(axes: Axes, box: Box, at: Point, colour: str) -> None:
    """A part of a pattern, its left end and middle at a point: round for E+, red for NOT."""
    width = _box_width(box)
    ink, fill = (CROSSED, NEGATIVE_FILL) if box.negated else (colour, "white")
    _draw_capsule(axes, at, width, ink, fill, round_=bool(box.kleene))
    middle = at[0] + width / 2, at[1]
    text = _shortened(box.text)
    write(axes, middle, text, LABEL, colour=CROSSED if box.negated else TEXT, align="center")


def _draw_capsule(
    axes: Axes, at: Point, width: float, ink: str, fill: str, *, round_: bool
) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={_BOX / 2 - 0.1 if round_ else 1.5}"
    axes.add_patch(
        FancyBboxPatch((at[0], at[1] - _BOX / 2), width, _BOX, boxstyle=style, facecolor=fill,
                       edgecolor=ink, linewidth=1.1, zorder=1.5)
    )  # fmt: skip
