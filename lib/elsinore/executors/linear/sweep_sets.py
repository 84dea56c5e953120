"""Find the queries that can be swept, and group them.

If no condition compares adjacent events except for their order, a state needs one accumulator for
all of its events. Then an event, and a whole burst, is a linear map on the accumulators of all
queries at once, whatever their patterns are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import is_

from elsinore.executors.aggregates import Accumulators, accumulators_of
from elsinore.query.bound import BoundQuery
from elsinore.template.placement import (
    Placements,
    partition_signature,
    placements_of,
    plain_template,
    type_of,
)
from elsinore.template.template import ALWAYS, Template, reachable

#: The numbers of a query and of its state.
Place = tuple[int, int]


@dataclass(frozen=True)
class Member:
    """One query of a sweep, or one copy of it.

    Attributes:
        query, template: the query, and its template.
        basis: None for trends from START on. Otherwise a state: only its continuations count, as if
            one trend ended there before (a row of a pane's matrix).
    """

    query: BoundQuery
    template: Template
    basis: int | None = None

    @property
    def accumulators(self) -> Accumulators:
        """Return the accumulators of the query."""
        return accumulators_of(self.query)

    @cached_property
    def states(self) -> frozenset[int]:
        """Return the states that count trends."""
        if self.basis is None:
            return frozenset(self.template.trend_states)
        return frozenset(reachable([self.basis], self.after.__getitem__))

    @cached_property
    def cyclic(self) -> frozenset[int]:
        """Return the states of which a trend can have several events."""
        after = self.after
        return frozenset(s for s in self.states if s in reachable(after[s], after.__getitem__))

    @cached_property
    def after(self) -> dict[int, frozenset[int]]:
        """Return the states that can come right after each state."""
        found: dict[int, set[int]] = {s: set() for s in self.template.trend_states}
        for arrow in self.template.transitions:
            found[arrow.earlier].add(arrow.later)
        return {state: frozenset(later) for state, later in found.items()}

    @cached_property
    def sources(self) -> dict[int, tuple[int, ...]]:
        """Return the other states that can come right before each state."""
        return {
            state: tuple(s for s in sorted(self.states) if s != state and state in self.after[s])
            for state in self.states
        }

    def loops(self, state: int) -> bool:
        """Return whether events of a state can follow each other."""
        return state in self.after[state]

    def starts(self, state: int) -> bool:
        """Return whether a trend can start at a state."""
        return self.basis is None and state in self.template.starts

    @cached_property
    def depth(self) -> dict[int, int]:
        """Return the least number of transitions to each state."""
        level = {s for s in self.template.starts if s in self.states}
        found: dict[int, int] = dict.fromkeys(level, 0)
        step = 0
        while level:
            step += 1
            level = {t for s in level for t in self.after[s] if t not in found}
            found |= dict.fromkeys(level, step)
        return {state: found.get(state, step) for state in self.states}


def place_cells(members: Sequence[Member]) -> list[Place]:
    """Return all (member, state) pairs in the order of their counts.

    States of one depth and type are adjacent, in the order of their predecessors. So operations
    work on runs of cells.
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

#: The most queries of a set: their accumulators should stay in the nearest cache.
LARGEST_SET = 512


@dataclass(frozen=True, eq=False)
class SweepSet:
    """Queries to sweep together, whose trends are partitioned alike; compared by identity."""

    queries: tuple[BoundQuery, ...]  #: one or more, with windows of any kind
    templates: tuple[Template, ...]  #: the template of each query

    def running(self, queries: Sequence[BoundQuery]) -> SweepSet:
        """Return the set with queries that run for its queries, with other accumulators."""
        if all(map(is_, queries, self.queries)):
            return self
        return SweepSet(tuple(queries), self.templates)

    @cached_property
    def placements(self) -> Placements[Place]:
        """Return the (query, state) pairs in which events can be."""
        return placements_of(self.queries, self.templates)


def sweep_sets(queries: Sequence[BoundQuery]) -> tuple[SweepSet, ...]:
    """Return the sets of queries that are swept together; other queries are in none."""
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
    """Return why a query cannot be swept; empty if it can."""
    found = sweep_template(query)
    return (found,) if isinstance(found, str) else ()


def sweep_template(query: BoundQuery) -> Template | str:
    """Return the template of a query that can be swept; otherwise the reason why it cannot."""
    template = plain_template(query)
    if isinstance(template, str):
        return template
    if any(arrow.condition != ALWAYS for arrow in template.transitions):
        return "an edge predicate looks at pairs of events"
    return template
