"""Which queries are collapsed and can be swept together.

Where nothing is asked of a pair of adjacent events but their order, a state needs one accumulator
for all of its events (spec section 3, idea 3). Then an event, and a whole burst, is a linear map on
the accumulators of all queries at once, whatever their patterns are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elsinore.lowering.plain import plain_template
from elsinore.lowering.sharable import partition_signature
from elsinore.query.bound import BoundQuery
from elsinore.query.remember import of_queries
from elsinore.template.support import refuse_all
from elsinore.template.template import Template

#: Queries of one set at most: their accumulators should stay in the nearest cache.
LARGEST_SET = 512


@dataclass(frozen=True, eq=False)
class SweepSet:
    """Collapsed queries whose trends are partitioned alike; equal to itself alone.

    Attributes:
        queries: one or more, with windows of any kind.
        templates: of each query.
    """

    queries: tuple[BoundQuery, ...]
    templates: tuple[Template, ...]


@dataclass(frozen=True)
class Sweeps:
    """What of a workload can be swept.

    Attributes:
        sets: disjoint sets of queries.
        beside: the other queries, with the reason why each cannot.
    """

    sets: tuple[SweepSet, ...]
    beside: tuple[tuple[BoundQuery, str], ...]


@of_queries
def sweep_sets(queries: Sequence[BoundQuery]) -> Sweeps:
    """Partition queries into sets that are swept together and those that cannot be swept.

    The same queries have the same sets, so that what is known of a set is found again.
    """
    beside: list[tuple[BoundQuery, str]] = []
    alike: dict[object, list[tuple[BoundQuery, Template]]] = {}
    for query in queries:
        found = sweep_template(query)
        if isinstance(found, str):
            beside.append((query, found))
        else:
            alike.setdefault(partition_signature(query, found), []).append((query, found))
    sets = []
    for members in alike.values():
        for first in range(0, len(members), LARGEST_SET):
            part = members[first : first + LARGEST_SET]
            sets.append(SweepSet(tuple(q for q, _ in part), tuple(t for _, t in part)))
    return Sweeps(tuple(sets), tuple(beside))


def sweep_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Why a query cannot be swept; empty if it can."""
    found = sweep_template(query)
    return (found,) if isinstance(found, str) else ()


def require_sweep(queries: Iterable[BoundQuery]) -> None:
    """Refuse all queries at once that cannot be swept.

    Raises:
        UnsupportedQueryError: fields `executor` and `queries`, the names.
    """
    refuse_all("sweep", {query: sweep_refusals(query) for query in queries})


def sweep_template(query: BoundQuery) -> Template | str:
    """The template of a collapsed query; else the reason why it is none."""
    template = plain_template(query)
    if isinstance(template, str):
        return template
    if any(arrow.condition is not None for arrow in template.transitions):
        return "an edge predicate looks at pairs of events"
    return template
