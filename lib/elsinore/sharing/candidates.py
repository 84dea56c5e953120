"""Mines the sharing candidates of a workload (Sharon Appendix A, Algorithm 7)."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.query.bound import Workload
from elsinore.sharing.segments import Segment, sub_segments
from elsinore.sharing.signature import signature


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sharing candidate `(p, Q_p)` (Sharon Definition 3).

    Attributes:
        id: `p1`, `p2`, ... in the order of `mine_candidates`.
        pattern: the event types of p.
        occurrences: where p stands in each of its queries, one a query, by the queries' names.
            Where p occurs several times in a query (section 7.3) it is shared at its first
            occurrence, which is the split that Definition 4 speaks of.
    """

    id: str
    pattern: tuple[str, ...]
    occurrences: tuple[Segment, ...]

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries Q_p."""
        return tuple(occurrence.query for occurrence in self.occurrences)


def mine_candidates(workload: Workload) -> tuple[Candidate, ...]:
    """All contiguous sub-patterns of length > 1 that more than one query holds.

    Sub-patterns are the same when their types and all that section 7.2 asks to agree are the same
    (`signature`). They are ordered alphabetically by pattern, then by signature, whatever the order
    of the queries; O(n l^2) for n queries of length l.
    """
    found: dict[str, dict[str, Segment]] = {}
    for query in workload.queries:
        for segment in sub_segments(query):  # from left to right: the first occurrence stays
            found.setdefault(signature(query, segment), {}).setdefault(query.name, segment)
    sharable = []
    for text, by_query in found.items():
        if len(by_query) > 1:
            places = tuple(by_query[name] for name in sorted(by_query))
            sharable.append((places[0].types, text, places))
    sharable.sort()
    return tuple(
        Candidate(f"p{number}", types, places)
        for number, (types, _, places) in enumerate(sharable, start=1)
    )
