"""The fixed-length part of a query's pattern: what Sharon can share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import EventPattern, Semantics, Sequence, event_patterns


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive plain event types in one query (Sharon Definition 1).

    Attributes:
        query: name of the query.
        start: index of the first position in the query's pattern; the others follow it.
        types: the event types, from left to right.
    """

    query: str
    start: int
    types: tuple[str, ...]

    @property
    def stop(self) -> int:
        """The index after the last position."""
        return self.start + len(self.types)


def segments(query: BoundQuery) -> tuple[Segment, ...]:
    """The maximal runs of plain event types (no Kleene, no NOT, no choice) at the top of a query.

    A NOT between two types ends a run: its gap must stay visible to whoever combines the parts.
    Queries with other semantics than skip-till-any-match have none: what is adjacent there depends
    on events outside of the run.
    """
    if query.semantics is not Semantics.ANY:
        return ()
    parts = query.pattern.parts if isinstance(query.pattern, Sequence) else (query.pattern,)
    found: list[Segment] = []
    run: list[str] = []
    place = 0
    for part in parts:
        if isinstance(part, EventPattern):
            run.append(part.type)
            place += 1
            continue
        if run:
            found.append(Segment(query.name, place - len(run), tuple(run)))
        run = []
        place += sum(1 for _ in event_patterns(part))
    if run:
        found.append(Segment(query.name, place - len(run), tuple(run)))
    return tuple(found)


def sub_segments(query: BoundQuery) -> Iterator[Segment]:
    """All contiguous sub-patterns of length > 1 that stand on their own (Sharon Algorithm 7).

    A sub-pattern with an edge predicate across its border is left out: its count alone does not say
    which of its matches fit the events before or after it.
    """
    for whole in segments(query):
        for start in range(whole.start, whole.stop - 1):
            for stop in range(start + 2, whole.stop + 1):
                if not _is_cut(query, start, stop):
                    types = whole.types[start - whole.start : stop - whole.start]
                    yield Segment(query.name, start, types)


def _is_cut(query: BoundQuery, start: int, stop: int) -> bool:
    inside = range(start, stop)
    return any((edge.earlier in inside) != (edge.later in inside) for edge in query.edge_predicates)
