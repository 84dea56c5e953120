"""Sharing conflicts: candidates that give contradictory instructions for a common query."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from elsinore.sharing.candidates import Candidate

#: A position of a query's pattern, by the query's name.
Place = tuple[str, int]


def places_of(candidate: Candidate, queries: Collection[str] | None = None) -> Iterator[Place]:
    """The positions that a candidate occupies in the queries that share it, by default in all.

    Two candidates are in conflict exactly if they meet at a place (Sharon Definition 6). Any common
    position counts, containment included: Table 1 and Figure 4 make `(OakSt, MainSt)` conflict with
    `(ParkAve, OakSt, MainSt)`, which the formula of the definition alone leaves open.
    """
    for occurrence in candidate.occurrences:
        if queries is None or occurrence.query in queries:
            for position in range(occurrence.start, occurrence.stop):
                yield occurrence.query, position
