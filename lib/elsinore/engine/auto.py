"""The executor `auto`: which queries run together, which share segments, and which run alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.segments import aggregate_segments
from elsinore.engine.segments.choose import choose_segments, segments_that_pay, without_losers
from elsinore.engine.segments.costs import MEASURED
from elsinore.engine.segments.predict import predict
from elsinore.engine.segments.shared import shared_segments
from elsinore.events.table import EventTable
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.segments import Segment
from elsinore.sharing.statistics import Statistics
from elsinore.template.fixed_length import aseq_refusals
from elsinore.timeline import Interval

#: Segments by their places in the queries that share them.
Shared = tuple[tuple[Segment, ...], ...]


@dataclass(frozen=True, slots=True)
class Sharing:
    """What the queries of fixed length share at run time.

    Attributes:
        shared: the segments that pay, each with its places.
        alone: predicted nanoseconds of these queries without them (A-Seq), over the statistics'
            windows.
        together: the same with them.
    """

    shared: Shared
    alone: float
    together: float

    @property
    def saved(self) -> float:
        """The share of the predicted cost that sharing saves, from 0 to 1."""
        return 1 - self.together / self.alone if self.alone else 0.0

    def in_words(self) -> str:
        """For people: how many queries share how much, and what that saves.

        >>> NOTHING_SHARED.in_words()
        'no segment is shared'
        """
        if not self.shared:
            return "no segment is shared"
        queries = len({place.query for places in self.shared for place in places})
        plural = "s" if len(self.shared) > 1 else ""
        return f"{len(self.shared)} segment{plural} in {queries} queries saves {self.saved:.1%}"


NOTHING_SHARED = Sharing((), 0.0, 0.0)


def fixed_length(workload: Workload) -> Workload:
    """The queries of a workload that A-Seq and Sharon can run."""
    queries = tuple(query for query in workload.queries if not aseq_refusals(query))
    return Workload(workload.schema, queries)


def share_by_plan(workload: Workload, plan: StaticPlan, statistics: Statistics) -> Sharing:
    """The segments of a static plan that pay by this engine's measured costs.

    Raises:
        ParameterError: the statistics lack a type of the workload.
    """
    queries = fixed_length(workload)
    known = queries.by_name
    planned = [[p for p in places if p.query in known] for places in shared_segments(plan)]
    planned = [places for places in planned if len(places) > 1]
    paying = segments_that_pay(planned, queries, statistics)
    return _weighed(queries, without_losers(paying, queries, statistics), statistics)


def share_freely(workload: Workload, statistics: Statistics) -> Sharing:
    """The segments with which the queries of fixed length should be quickest.

    Raises:
        ParameterError: the statistics lack a type of the workload.
    """
    queries = fixed_length(workload)
    return _weighed(queries, choose_segments(queries, statistics), statistics)


def _weighed(
    queries: Workload, shared: Sequence[Sequence[Segment]], statistics: Statistics
) -> Sharing:
    alone, together = (
        predict(queries, segments, statistics, MEASURED) for segments in ([], shared)
    )
    if together >= alone:
        return Sharing((), alone, alone)
    return Sharing(tuple(map(tuple, shared)), alone, together)


def aggregate_auto(
    queries: Collection[BoundQuery],
    events: EventTable,
    shared: Shared = (),
    *,
    owned: Interval | None = None,
) -> Iterator[pa.Table]:
    """Unfinished rows (`results.partial`) of queries over all events of a table.

    Queries of fixed length run in one pass, with the segments that they share; each of the others
    runs by itself.

    Raises:
        UnsupportedQueryError: greta cannot run a query.
    """
    together = [query for query in queries if not aseq_refusals(query)]
    names = {query.name for query in together}
    here = [[place for place in places if place.query in names] for places in shared]
    if together:
        wanted = [places for places in here if len(places) > 1]
        yield aggregate_segments(together, events, wanted, owned=owned)
    for query in queries:
        if query.name not in names:
            yield aggregate_query(query, events, owned=owned)
