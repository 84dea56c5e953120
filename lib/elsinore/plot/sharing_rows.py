"""What is to be drawn of a plan: queries as rows of boxes, and the groups that join them.

Each row reads from left to right. A group whose members can all stand in one column does so; where
two groups stand in different orders in two rows, or the page would grow too wide, the one of less
weight is not aligned. Places are longest paths over the units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from elsinore.lowering.kleene_sharers import kleene_sharers
from elsinore.lowering.sharable import SharableSet, Sharing
from elsinore.plot.ink import LABEL, text_width
from elsinore.sharing.explain_cuts import Box, Cut
from elsinore.sharing.explain_savings import ExplainedSavings

#: Between units, between boxes of one, around a box's text, and the width of a group's tag.
GAP, INNER, PAD, TAG = 12.0, 4.0, 5.0, 24.0
#: Longest text in a box, in characters.
MOST_TEXT = 30
#: Rows are aligned as long as they are not wider than this.
_WIDEST = 1_000.0
Node = Hashable


@dataclass(frozen=True)
class Group:
    """What several queries share: a chosen candidate, or E+ in a sharable set.

    Attributes:
        name: the candidate's id, or `s1`, `s2`, ... for the sets.
        text: the pattern.
        members: of each query the boxes that take part, from the first to before the second.
        net: what sharing saves, in count updates per longest window; None if that is not known.
        kleene: whether it is E+.
    """

    name: str
    text: str
    members: Mapping[str, tuple[int, int]]
    net: float | None
    kleene: bool


@dataclass(frozen=True, slots=True)
class Unit:
    """Boxes of a row that stay together: those of a group, or a single private one."""

    boxes: tuple[Box, ...]
    group: int | None


def groups_of(
    cuts: Sequence[Cut],
    savings: ExplainedSavings,
    sharing: Sharing,
    idle: Collection[str] = (),
) -> tuple[Group, ...]:
    """The chosen candidates, the largest saving first, then the E+ of the sharable sets.

    `idle` names the sets ("s1") whose queries are run one by one: they share nothing.
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
        groups.append(Group(candidate.id, text, members, each.net, kleene=False))
    for number, found in enumerate(sharing.sets, 1):
        if f"s{number}" not in idle:
            groups += _kleene_groups(f"s{number}", found, by_name)
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


def _kleene_groups(name: str, found: SharableSet, by_name: Mapping[str, Cut]) -> list[Group]:
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
            groups.append(Group(name, text, members, None, kleene=True))
    return groups


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
