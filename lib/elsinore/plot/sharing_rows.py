"""What is to be drawn of a plan: queries as rows of boxes, and the groups that join them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from elsinore.lowering.sharable import SharableSet, Sharing, kleene_sharers
from elsinore.sharing.explain import Box, Cut, ExplainedSavings


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
