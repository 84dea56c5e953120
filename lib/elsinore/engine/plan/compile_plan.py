"""Decides who runs what: the segments, sweeps and sets that pay.

Queries that are equal but for what they return are run once (`alike`), so one of them is weighed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from elsinore.engine.plan.alike import alike
from elsinore.engine.plan.runtime_plan import RuntimePlan
from elsinore.engine.plan.sets import SetChoice, choose_sets
from elsinore.engine.plan.sweeps import swept_queries
from elsinore.engine.plan.units import SEGMENTS, SWEEP, TWOSTEP, Choice
from elsinore.engine.segments.aggregate import shared_segments
from elsinore.engine.segments.choose import choose_segments
from elsinore.engine.segments.costs import predict
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.candidates import Segment
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.statistics import Statistics
from elsinore.template.support import aseq_refusals, greta_refusals


def compile_plan(
    workload: Workload,
    statistics: Statistics | None = None,
    *,
    static_plan: StaticPlan | None = None,
) -> RuntimePlan:
    """Decide who runs what: by rules, and for segments by predicted costs.

    What the sweep can do it does (`swept_queries`). Of the others those of fixed length share
    segments where that pays; under a static plan only what that shares. Those with a common Kleene
    sub-pattern share order trees or run by Hamlet (`choose_sets`). Without statistics it is not
    known what pays: then all that the static plan shares is shared.

    Args:
        workload: the queries.
        statistics: of their stream.
        static_plan: Sharon's.

    Raises:
        ParameterError: the statistics lack a type of the workload.
    """
    classes = alike(workload.queries)
    swept = swept_queries([each.run for each in classes], statistics)
    rest = [each.run for each in classes if each.run.name not in swept]
    fixed = Workload(workload.schema, tuple(q for q in rest if not aseq_refusals(q)))
    pairs = Workload(workload.schema, tuple(q for q in rest if aseq_refusals(q)))
    segments = _choose_segments(fixed, statistics, static_plan)
    sets = choose_sets(pairs, statistics)
    choices: dict[str, Choice] = {}
    for each in classes:
        own = _choice(each.run, swept, segments, sets)
        same = f"has the same trends as {each.run.name}"
        choices |= {query.name: Choice(query.name, own.executor, same) for query in each.queries}
        choices[each.run.name] = own
    return RuntimePlan.of(
        workload.queries,
        classes,
        segments=segments.shared,
        sweeps=[tuple(swept)],
        ordered=sets.ordered,
        sets=sets.hamlet,
        choices=[choices[query.name] for query in workload.queries],
        alone=segments.alone,
        together=segments.together,
    )


class _Segments(NamedTuple):
    """The segments that queries share, and predicted nanoseconds without and with them."""

    shared: Sequence[Sequence[Segment]]
    alone: float = 0.0
    together: float = 0.0


def _choose_segments(
    fixed: Workload, statistics: Statistics | None, static_plan: StaticPlan | None
) -> _Segments:
    """What queries of fixed length share: what pays, of what the static plan shares if there is."""
    planned = None if static_plan is None else _planned(static_plan, fixed)
    if statistics is None:
        return _Segments(planned or [])
    shared = choose_segments(fixed, statistics, planned)
    alone, together = (
        predict(fixed, places, statistics) * statistics.per for places in ([], shared)
    )
    return _Segments(shared, alone, together) if together < alone else _Segments([], alone, alone)


def _planned(plan: StaticPlan, queries: Workload) -> Sequence[Sequence[Segment]]:
    """The segments of a plan, as far as two of the queries or more share them."""
    known = queries.by_name
    planned = [[p for p in places if p.query in known] for places in shared_segments(plan)]
    return [places for places in planned if len(places) > 1]


def _choice(
    query: BoundQuery, swept: Mapping[str, str], segments: _Segments, sets: SetChoice
) -> Choice:
    name = query.name
    if name in swept:
        return Choice(name, SWEEP, swept[name])
    if not aseq_refusals(query):
        sharing = any(place.query == name for places in segments.shared for place in places)
        return Choice(
            name, SEGMENTS, f"of fixed length; shares {'segments' if sharing else 'no segment'}"
        )
    if refusals := greta_refusals(query):
        return Choice(name, TWOSTEP, "; ".join(refusals))
    return sets.by_query[name]
