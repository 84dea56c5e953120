"""Which queries are collapsed and can be swept together.

Where nothing is asked of a pair of adjacent events but their order, a state needs one accumulator
for all of its events (spec section 3, idea 3). Then an event, and a whole burst, is a linear map on
the accumulators of all queries at once, whatever their patterns are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from elsinore.lowering.carriers import Carriers, carriers_of
from elsinore.query.bound import BoundQuery
from elsinore.sharing.merged import Standings, standings_of, type_of
from elsinore.sharing.sharable import partition_signature, plain_template
from elsinore.template.template import ALWAYS, Template, reachable

#: A state of a query, by their numbers.
Place = tuple[int, int]


@dataclass(frozen=True)
class Member:
    """One query of a sweep, or one copy of it.

    Attributes:
        query, template: what is counted.
        basis: None for trends from START on; else a state, and only what goes on from there counts,
            as if one trend ended there before (a row of a pane's matrix).
    """

    query: BoundQuery
    template: Template
    basis: int | None = None

    @property
    def carriers(self) -> Carriers:
        """Those of the query."""
        return carriers_of(self.query)

    @cached_property
    def states(self) -> frozenset[int]:
        """The states that count anything."""
        if self.basis is None:
            return frozenset(self.template.trend_states)
        return frozenset(reachable([self.basis], self.after.__getitem__))

    @cached_property
    def cyclic(self) -> frozenset[int]:
        """The states of which a trend may have several events."""
        after = self.after
        return frozenset(s for s in self.states if s in reachable(after[s], after.__getitem__))

    @cached_property
    def after(self) -> dict[int, frozenset[int]]:
        """The states that may come right after each."""
        found: dict[int, set[int]] = {s: set() for s in self.template.trend_states}
        for arrow in self.template.transitions:
            found[arrow.earlier].add(arrow.later)
        return {state: frozenset(later) for state, later in found.items()}

    @cached_property
    def sources(self) -> dict[int, tuple[int, ...]]:
        """The other states that may come right before each."""
        return {
            state: tuple(s for s in sorted(self.states) if s != state and state in self.after[s])
            for state in self.states
        }

    def loops(self, state: int) -> bool:
        """Return whether events of a state may follow each other."""
        return state in self.after[state]

    def starts(self, state: int) -> bool:
        """Return whether a trend may start at a state."""
        return self.basis is None and state in self.template.starts

    @cached_property
    def depth(self) -> dict[int, int]:
        """How many transitions it takes at least to get to each state."""
        level = {s for s in self.template.starts if s in self.states}
        found: dict[int, int] = dict.fromkeys(level, 0)
        step = 0
        while level:
            step += 1
            level = {t for s in level for t in self.after[s] if t not in found}
            found |= dict.fromkeys(level, step)
        return {state: found.get(state, step) for state in self.states}


def place_cells(members: Sequence[Member]) -> list[Place]:
    """All (member, state), in the order of their counts: neighbours in work lie side by side.

    States of one type and depth lie together, in the order of what precedes them.
    """
    placed: dict[Place, int] = {}
    deepest = max((d for member in members for d in member.depth.values()), default=-1)
    for depth in range(deepest + 1):
        level = [
            (n, state)
            for n, member in enumerate(members)
            for state in sorted(member.states)
            if member.depth[state] == depth
        ]
        for place in sorted(level, key=lambda place: _neighbourhood(members, placed, place)):
            placed[place] = len(placed)
    return list(placed)


def _neighbourhood(
    members: Sequence[Member], placed: dict[Place, int], place: Place
) -> tuple[str, bool, int, int, int]:
    n, state = place
    member = members[n]
    before = [placed[n, s] for s in member.sources[state] if (n, s) in placed]
    kind = type_of(member.query, member.template.states[state])
    return kind, not member.loops(state), min(before, default=-1), n, state


# ---- what can be swept

#: Queries of one set at most: their accumulators should stay in the nearest cache.
LARGEST_SET = 512


@dataclass(frozen=True, eq=False)
class SweepSet:
    """Collapsed queries whose trends are partitioned alike; equal to itself alone."""

    queries: tuple[BoundQuery, ...]  #: one or more, with windows of any kind
    templates: tuple[Template, ...]  #: of each query

    @cached_property
    def standings(self) -> Standings[Place]:
        """The (query, state) at which events may stand."""
        return standings_of(self.queries, self.templates)


def sweep_sets(queries: Sequence[BoundQuery]) -> tuple[SweepSet, ...]:
    """The sets of queries that are swept together; queries that cannot be swept are in none."""
    alike: dict[object, list[tuple[BoundQuery, Template]]] = {}
    for query in queries:
        template = sweep_template(query)
        if isinstance(template, Template):
            alike.setdefault(partition_signature(query, template), []).append((query, template))
    return tuple(
        SweepSet(*zip(*members[first : first + LARGEST_SET], strict=True))
        for members in alike.values()
        for first in range(0, len(members), LARGEST_SET)
    )


def sweep_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Why a query cannot be swept; empty if it can."""
    found = sweep_template(query)
    return (found,) if isinstance(found, str) else ()


def sweep_template(query: BoundQuery) -> Template | str:
    """The template of a collapsed query; else the reason why it is none."""
    template = plain_template(query)
    if isinstance(template, str):
        return template
    if any(arrow.condition != ALWAYS for arrow in template.transitions):
        return "an edge predicate looks at pairs of events"
    return template
