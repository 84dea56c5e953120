"""Find what queries can share: candidates (Sharon Algorithm 7) and Kleene sub-patterns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from elsinore.query.bound import Workload
from elsinore.query.segments import Place, Segment, signature, sub_segments
from elsinore.query.syntax import (
    AnyOf,
    EventPattern,
    Negation,
    Pattern,
    bounds_of,
    event_patterns,
    parts_of,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sharing candidate `(p, Q_p)` (Sharon Definition 3)."""

    id: str  #: `p1`, `p2`, ... in the order of `mine_candidates`
    pattern: tuple[str, ...]  #: the event types of p
    #: the occurrence of p in each of its queries, by name of the query. If p occurs several times
    #: in a query (section 7.3), it is shared at its first occurrence, the split of Definition 4.
    occurrences: tuple[Segment, ...]

    @property
    def queries(self) -> tuple[str, ...]:
        """Return the names of the queries Q_p."""
        return tuple(occurrence.query for occurrence in self.occurrences)


def mine_candidates(workload: Workload) -> tuple[Candidate, ...]:
    """Return all contiguous sub-patterns of length > 1 that more than one query contains.

    Sub-patterns are the same if their `signature` is: their types, and everything that must agree
    by section 7.2. They are sorted by pattern, then by signature, independent of the order of the
    queries. Takes O(n l^2) for n queries of length l.
    """
    found: dict[str, dict[str, Segment]] = {}
    for query in workload.queries:
        for segment in sub_segments(query):  # from left to right: the first occurrence wins
            found.setdefault(signature(query, segment), {}).setdefault(query.name, segment)
    sharable = sorted(
        (segments[0].types, text, segments)
        for text, by_query in found.items()
        if len(by_query) > 1
        for segments in [tuple(by_query[name] for name in sorted(by_query))]
    )
    return tuple(
        Candidate(f"p{number}", types, segments)
        for number, (types, _, segments) in enumerate(sharable, start=1)
    )


def places_of(candidate: Candidate, queries: Collection[str] | None = None) -> Iterator[Place]:
    """Yield the positions of a candidate in the queries that share it, by default in all.

    Two candidates are in conflict exactly if they have a position in common (Sharon Definition 6).
    Any common position counts, including containment: in Table 1 and Figure 4, `(OakSt, MainSt)`
    conflicts with `(ParkAve, OakSt, MainSt)`. The formula of the definition leaves this open.
    """
    for occurrence in candidate.occurrences:
        if queries is None or occurrence.query in queries:
            yield from occurrence.places


# ---- Kleene sub-patterns, which Hamlet shares


def shared_kleene(workload: Workload) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return event types E whose `E+` more than one query contains, with the names of the queries.

    `E*` and `E{n,}` contain E+. Parts under NOT are ignored. Hamlet Definition 3.2 has further
    conditions for sharing E+, which are not checked here.
    """
    found: dict[str, list[str]] = {}
    for query in workload.queries:
        for event_type in sorted(set(kleene_types(query.pattern))):
            found.setdefault(event_type, []).append(query.name)
    return tuple(
        (kind, tuple(sorted(names))) for kind, names in sorted(found.items()) if len(names) > 1
    )


def kleene_types(pattern: Pattern) -> Iterator[str]:
    """Yield the type E of each E+, E* and E{n,} of a pattern, outside of NOT.

    For an ANY, these are all of its types.
    """
    if isinstance(pattern, Negation):
        return
    bounds = bounds_of(pattern)
    body = parts_of(pattern)[0] if bounds is not None and bounds[1] is None else None
    if isinstance(body, EventPattern | AnyOf):
        yield from (event.type for event in event_patterns(body))
    for part in parts_of(pattern):
        yield from kleene_types(part)
