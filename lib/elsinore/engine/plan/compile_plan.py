"""Decides who runs what: the segments, sweeps and sets that pay.

Queries that are equal but for what they return are run once (`alike`), so one of them is weighed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elsinore.engine.hamlet.traffic import Stream
from elsinore.engine.plan.alike import Alike, alike
from elsinore.engine.plan.runtime_plan import Choice, RuntimePlan
from elsinore.engine.plan.sample import sample_profiles
from elsinore.engine.plan.sets import SetChoice, choose_sets, in_words, planned_sets, without
from elsinore.engine.plan.sweeps import swept_queries
from elsinore.engine.plan.units import GRETA, HAMLET, SEGMENTS, SWEEP, TWOSTEP
from elsinore.engine.segments.aggregate import shared_segments
from elsinore.engine.segments.choose import choose_segments, segments_that_pay, without_losers
from elsinore.engine.segments.costs import MEASURED
from elsinore.engine.segments.predict import predict
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.candidates import Segment
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.statistics import Statistics
from elsinore.template.support import aseq_refusals, greta_refusals

_Segments = Sequence[Sequence[Segment]]


def compile_plan(
    workload: Workload,
    statistics: Statistics | None = None,
    events: EventTable | None = None,
    *,
    static_plan: StaticPlan | None = None,
) -> RuntimePlan:
    """Decide who runs what, by rules and predicted costs.

    What the sweep can do it does (`swept_queries`). Of the others those of fixed length share
    segments, and those with a common Kleene sub-pattern run by Hamlet, where that pays; under a
    static plan only what that shares and says pays. Without statistics it is not known what pays:
    then all that the static plan shares is shared.

    Args:
        workload: the queries.
        statistics: of their stream.
        events: of which a sample is looked at, for bursts and selectivities.
        static_plan: Sharon's.

    Raises:
        ParameterError: the statistics lack a type of the workload.
        PlanError: a set of the plan is none of this workload; the plan is for another, or for
            another build.
    """
    if statistics is None:
        return _unweighed(workload, static_plan)
    classes = alike(workload.queries)
    run = Workload(workload.schema, tuple(found.run for found in classes))
    swept = swept_queries(run, statistics)
    rest = Workload(run.schema, tuple(q for q in run.queries if q.name not in swept))
    fixed = fixed_length(rest)
    if static_plan is None:
        segments: _Segments = choose_segments(fixed, statistics)
        profiles = () if events is None else sample_profiles(rest, events)
        sets = choose_sets(rest, statistics, profiles)
    else:
        paying = segments_that_pay(_planned(static_plan, fixed), fixed, statistics)
        segments = without_losers(paying, fixed, statistics)
        others = workload.by_name.keys() - rest.by_name.keys()
        planned = planned_sets(workload, static_plan)
        sets = without(planned, workload, others, Stream(statistics))
    alone, together = (
        predict(fixed, shared, statistics, MEASURED) * statistics.per for shared in ([], segments)
    )
    if together >= alone:
        segments, together = [], alone
    sharing = {place.query for places in segments for place in places}
    shares = {
        name: "; shares segments" if name in sharing else "; shares no segment"
        for name in fixed.by_name
    }
    return RuntimePlan.of(
        workload.queries,
        classes,
        segments=segments,
        sweeps=[tuple(swept)],
        sets=[found.queries for found in sets.sets if found.pays],
        choices=_choices(workload, classes, shares, swept, sets),
        alone=alone + sum(found.alone for found in sets.sets),
        together=together
        + sum(found.together if found.pays else found.alone for found in sets.sets),
    )


def _unweighed(workload: Workload, static_plan: StaticPlan | None) -> RuntimePlan:
    if static_plan is None:
        return RuntimePlan.of(workload.queries)
    classes = alike(workload.queries)
    sets, swept = planned_sets(workload, static_plan), swept_queries(workload, None)
    return RuntimePlan.of(
        workload.queries,
        classes,
        segments=_planned(static_plan, fixed_length(workload)),
        sweeps=[tuple(swept)],
        sets=[found.queries for found in sets.sets if found.pays],
        choices=_choices(workload, classes, {}, swept, sets),
    )


def fixed_length(workload: Workload) -> Workload:
    """The queries of a workload that A-Seq and Sharon can run."""
    queries = tuple(query for query in workload.queries if not aseq_refusals(query))
    return Workload(workload.schema, queries)


def _planned(plan: StaticPlan, queries: Workload) -> _Segments:
    """The segments of a plan, as far as two of the queries or more share them."""
    known = queries.by_name
    planned = [[p for p in places if p.query in known] for places in shared_segments(plan)]
    return [places for places in planned if len(places) > 1]


def _choices(
    workload: Workload,
    classes: Sequence[Alike],
    shares: Mapping[str, str],
    swept: Mapping[str, str],
    chosen: SetChoice,
) -> list[Choice]:
    """One for each query of the workload, by what is run for it."""
    made: dict[str, Choice] = {}
    for found in classes:
        choice = _choice(found.run, shares, swept, chosen)
        same = f"has the same trends as {found.run.name}"
        made |= {query.name: Choice(query.name, choice.executor, same) for query in found.queries}
        made[found.run.name] = choice
    return [made[query.name] for query in workload.queries]


def _choice(
    query: BoundQuery, shares: Mapping[str, str], swept: Mapping[str, str], chosen: SetChoice
) -> Choice:
    name = query.name
    if name in swept:
        return Choice(name, SWEEP, swept[name])
    if not aseq_refusals(query):
        return Choice(name, SEGMENTS, f"of fixed length{shares.get(name, '')}")
    if refusals := greta_refusals(query):
        return Choice(name, TWOSTEP, "; ".join(refusals))
    found = chosen.by_query.get(name)
    if found is None:
        return Choice(name, GRETA, chosen.beside[name])
    return Choice(name, HAMLET if found.pays else GRETA, in_words(found))
