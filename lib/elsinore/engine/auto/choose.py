"""Decides which queries run together: by the segments, sweeps and sets that pay.

Queries that are equal but for what they return are run once (`alike`), so one of them is weighed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from elsinore.engine.auto.alike import alike, distinct
from elsinore.engine.auto.sets import SetChoice, choose_sets, in_words, planned_sets, without
from elsinore.engine.auto.sharing import GRETA, HAMLET, SEGMENTS, SWEEP, TWOSTEP, Choice, Sharing
from elsinore.engine.auto.sweeps import COLLAPSED, choose_sweeps, sweepable
from elsinore.engine.hamlet.traffic import Stream
from elsinore.engine.segments.choose import choose_segments, segments_that_pay, without_losers
from elsinore.engine.segments.costs import MEASURED
from elsinore.engine.segments.predict import predict
from elsinore.engine.segments.shared import shared_segments
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.candidates import Segment
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.profile import StreamProfile
from elsinore.sharing.statistics import Statistics
from elsinore.template.support import aseq_refusals, greta_refusals

#: Segments that are shared, and what the queries of fixed length cost without and with them.
_Segments = tuple[Sequence[Sequence[Segment]], float, float]


def fixed_length(workload: Workload) -> Workload:
    """The queries of a workload that A-Seq and Sharon can run."""
    queries = tuple(query for query in workload.queries if not aseq_refusals(query))
    return Workload(workload.schema, queries)


def share_by_plan(workload: Workload, plan: StaticPlan, statistics: Statistics) -> Sharing:
    """The segments of a static plan that pay by measured costs, and its sets that it says pay.

    Collapsed queries are swept where that costs less, whatever the plan says of their sets.

    Raises:
        ParameterError: the statistics lack a type of the workload.
        PlanError: a set of the plan is none of this workload; the plan is for another, or for
            another build.
    """
    run = distinct(workload)
    queries, stream = fixed_length(run), Stream(statistics)
    known = queries.by_name
    planned = [[p for p in places if p.query in known] for places in shared_segments(plan)]
    planned = [places for places in planned if len(places) > 1]
    paying = segments_that_pay(planned, queries, statistics)
    kept = without_losers(paying, queries, statistics)
    weighed = _weighed(queries, kept, statistics)
    others = workload.by_name.keys() - run.by_name.keys()
    sets = without(planned_sets(workload, plan), workload, others, stream)
    return _for_all(workload, _sharing(run, weighed, sets, stream))


def executors_by_plan(workload: Workload, plan: StaticPlan) -> tuple[Choice, ...]:
    """Who runs each query under a plan.

    Without statistics it is not known which segments pay; sweeping is taken to pay, as it mostly
    does.

    Raises:
        PlanError: as `share_by_plan`.
    """
    chosen = planned_sets(workload, plan)
    swept = {q.name: COLLAPSED for found in sweepable(workload) for q in found.queries}
    return tuple(_choice(query, lambda _: "", swept, chosen) for query in workload.queries)


def share_freely(
    workload: Workload, statistics: Statistics, profiles: Sequence[StreamProfile] = ()
) -> Sharing:
    """The segments, sweeps and sets with which a workload should be quickest.

    Args:
        workload: the queries.
        statistics: of their stream.
        profiles: of parts of it, for bursts and selectivities.

    Raises:
        ParameterError: the statistics lack a type of the workload.
    """
    run = distinct(workload)
    queries = fixed_length(run)
    segments = choose_segments(queries, statistics)
    weighed = _weighed(queries, segments, statistics)
    stream = Stream(statistics, tuple(profiles))
    sharing = _sharing(run, weighed, choose_sets(run, statistics, profiles), stream)
    return _for_all(workload, sharing)


def _for_all(workload: Workload, sharing: Sharing) -> Sharing:
    """What was decided of the queries that are run, with a choice for each of the workload."""
    made = {choice.query: choice for choice in sharing.choices}
    choices = {
        query.name: made[found.run.name]
        if query.name == found.run.name
        else Choice(
            query.name, made[found.run.name].executor, f"has the same trends as {found.run.name}"
        )
        for found in alike(workload.queries)
        for query in found.queries
    }
    return replace(sharing, choices=tuple(choices[query.name] for query in workload.queries))


def _weighed(
    queries: Workload, shared: Sequence[Sequence[Segment]], statistics: Statistics
) -> _Segments:
    """Segments, or none of them if they do not pay."""
    alone, together = (
        predict(queries, segments, statistics, MEASURED) * statistics.per
        for segments in ([], shared)
    )
    return (shared, alone, together) if together < alone else ((), alone, alone)


def _sharing(workload: Workload, fixed: _Segments, chosen: SetChoice, stream: Stream) -> Sharing:
    segments, alone, together = fixed
    sharing = {place.query for places in segments for place in places}
    sweeps = choose_sweeps(workload, stream)
    swept = [found for found in sweeps if found.pays]
    words = {name: found.in_words() for found in swept for name in found.queries}
    left = without(chosen, workload, words, stream)

    def shares(name: str) -> str:
        return "; shares segments" if name in sharing else "; shares no segment"

    return Sharing(
        segments=tuple(map(tuple, segments)),
        sweeps=tuple(found.queries for found in swept),
        sets=tuple(found.queries for found in left.sets if found.pays),
        choices=tuple(_choice(query, shares, words, left) for query in workload.queries),
        alone=alone + sum(found.alone for found in swept) + sum(found.alone for found in left.sets),
        together=together
        + sum(found.together for found in swept)
        + sum(found.together if found.pays else found.alone for found in left.sets),
    )


def _choice(
    query: BoundQuery, shares: Callable[[str], str], swept: Mapping[str, str], chosen: SetChoice
) -> Choice:
    name = query.name
    if not aseq_refusals(query):
        return Choice(name, SEGMENTS, f"of fixed length{shares(name)}")
    if refusals := greta_refusals(query):
        return Choice(name, TWOSTEP, "; ".join(refusals))
    if name in swept:
        return Choice(name, SWEEP, swept[name])
    found = chosen.by_query.get(name)
    if found is None:
        return Choice(name, GRETA, chosen.beside[name])
    return Choice(name, HAMLET if found.pays else GRETA, in_words(found))
