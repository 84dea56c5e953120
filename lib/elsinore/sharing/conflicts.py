"""Sharing conflicts: candidates that give contradictory instructions for a common query."""

from __future__ import annotations

from itertools import combinations

from elsinore.sharing.candidates import Candidate


def in_conflict(first: Candidate, second: Candidate) -> bool:
    """Whether two candidates overlap in a query that both hold (Sharon Definition 6).

    Any common position counts, containment included: Table 1 and Figure 4 make `(OakSt, MainSt)`
    conflict with `(ParkAve, OakSt, MainSt)`, which the formula of the definition alone leaves open.
    """
    places = {place.query: place for place in second.occurrences}
    return any(
        own.start < other.stop and other.start < own.stop
        for own in first.occurrences
        if (other := places.get(own.query)) is not None
    )


def find_conflicts(candidates: tuple[Candidate, ...]) -> frozenset[tuple[str, str]]:
    """All pairs of candidates in conflict, as ids in the order of `candidates`.

    Candidates meet at a position of a query; only those that do are paired, so that large workloads
    with few conflicts cost little.
    """
    meeting: dict[tuple[str, int], list[str]] = {}
    for candidate in candidates:
        for place in candidate.occurrences:
            for position in range(place.start, place.stop):
                meeting.setdefault((place.query, position), []).append(candidate.id)
    return frozenset(pair for ids in meeting.values() for pair in combinations(ids, 2))
