"""Where the units of rows stand, so that what is shared stands in one column.

Each row reads from left to right. A group whose members can all stand in one column does so; where
two groups stand in different orders in two rows, or the page would grow too wide, the one of less
weight is not aligned. Places are longest paths over the units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from elsinore.plot.ink import LABEL, text_width
from elsinore.plot.sharing_rows import Group, Unit

#: Between units, between boxes of one, around a box's text, and the width of a group's tag.
GAP, INNER, PAD, TAG = 12.0, 4.0, 5.0, 24.0
#: Longest text in a box, in characters.
MOST_TEXT = 30
#: Rows are aligned as long as they are not wider than this.
_WIDEST = 1_000.0

Node = Hashable


def shortened(text: str) -> str:
    """A text that fits a box."""
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"


def box_width(text: str) -> float:
    """Width of a box around a text."""
    return text_width(shortened(text), LABEL) + 2 * PAD


def unit_width(unit: Unit) -> float:
    """Width of a unit: its boxes, and its tag if it is shared."""
    boxes = sum(box_width(box.text) for box in unit.boxes) + INNER * (len(unit.boxes) - 1)
    return boxes if unit.group is None else boxes + TAG + INNER


def columns_of(
    rows: Sequence[Sequence[Unit]], groups: Sequence[Group]
) -> tuple[list[list[float]], frozenset[int]]:
    """The left end of each unit of each row, in points, and the groups that are aligned."""
    aligned: set[int] = set()
    drawn = Counter(unit.group for row in rows for unit in row if unit.group is not None)
    order = sorted(
        (group for group, members in drawn.items() if members > 1),
        key=lambda group: (-len(groups[group].members), group),
    )
    places = _places(rows, frozenset())
    assert places is not None  # rows that are not joined cannot contradict each other
    for group in order:
        found = _places(rows, frozenset(aligned | {group}))
        if found is not None and _width(rows, found) <= _WIDEST:
            aligned.add(group)
            places = found
    return places, frozenset(aligned)


def _width(rows: Sequence[Sequence[Unit]], places: Sequence[Sequence[float]]) -> float:
    ends = (at[-1] + unit_width(row[-1]) for row, at in zip(rows, places, strict=True) if row)
    return max(ends, default=0.0)


def _places(rows: Sequence[Sequence[Unit]], aligned: frozenset[int]) -> list[list[float]] | None:
    """Longest paths; None if the aligned groups contradict each other."""
    nodes = [
        [_node(number, place, unit, aligned) for place, unit in enumerate(row)]
        for number, row in enumerate(rows)
    ]
    width: dict[Node, float] = {}
    for row, names in zip(rows, nodes, strict=True):
        for unit, node in zip(row, names, strict=True):
            width[node] = max(width.get(node, 0.0), unit_width(unit))
    before: dict[Node, set[Node]] = {node: set() for node in width}
    for names in nodes:
        for earlier, later in pairwise(names):
            before[later].add(earlier)
    try:
        order = list(TopologicalSorter(before).static_order())
    except CycleError:
        return None
    left: dict[Node, float] = {}
    for node in order:
        left[node] = max((left[e] + width[e] + GAP for e in before[node]), default=0.0)
    _pull_right(nodes, rows, left, width)
    return [[left[node] for node in names] for names in nodes]


def _node(number: int, place: int, unit: Unit, aligned: frozenset[int]) -> Node:
    return ("group", unit.group) if unit.group in aligned else (number, place)


def _pull_right(
    nodes: Sequence[Sequence[Node]],
    rows: Sequence[Sequence[Unit]],
    left: dict[Node, float],
    width: Mapping[Node, float],
) -> None:
    """Private units move up to the shared unit that follows them in their row."""
    for names, row in zip(nodes, rows, strict=True):
        limit: float | None = None
        for node, unit in zip(reversed(names), reversed(row), strict=True):
            if unit.group is None and limit is not None:
                left[node] = limit - GAP - width[node]
            limit = left[node] if unit.group is not None or limit is not None else None
