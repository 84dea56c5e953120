"""Decides who runs what: the segments, sweeps and sets that pay.

Queries that are equal but for what they return are run once (`alike`), so one of them is weighed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import NamedTuple

from elsinore.engine.linear.choose import choose_segments, predict
from elsinore.engine.linear.segments import shared_segments
from elsinore.engine.plan.alike import alike
from elsinore.engine.plan.runtime_plan import RuntimePlan
from elsinore.engine.plan.sets import SetChoice, choose_sets
from elsinore.engine.plan.units import SEGMENTS, SWEEP, TWOSTEP, Choice
from elsinore.lowering.sweep import sweep_refusals, sweep_sets
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

    What the sweep can do it does (`_swept_queries`). Of the others those of fixed length share
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
    swept = _swept_queries([each.run for each in classes], statistics)
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


# ---- what is swept: collapsed queries, and those of fixed length that are quicker so

#: Windows that hold an instant, at most, and bits that a count is expected to take, where queries
#: of fixed length are swept: counts are to fit 64, and no window is like the mean.
_OVERLAP, _NARROW = 2, 48

_COLLAPSED = "nothing is asked of pairs of events"
_QUICKER = "of fixed length; counting in windows that hardly overlap is quicker swept"


def _swept_queries(queries: Sequence[BoundQuery], statistics: Statistics | None) -> dict[str, str]:
    """The names of the queries that are swept, each with the reason why, and with how many others.

    Collapsed queries always: by their rows of `benchmarks.auto` that is never slower than greta or
    Hamlet. Those of fixed length by `_is_quicker`, which is not known without statistics.

    Raises:
        ParameterError: the statistics lack a type of the queries.
    """
    reasons = {
        query.name: _QUICKER if not aseq_refusals(query) else _COLLAPSED
        for query in sorted(queries, key=lambda query: query.name)
        if not sweep_refusals(query)
        and (aseq_refusals(query) or (statistics and _is_quicker(query, statistics)))
    }
    for found in sweep_sets([query for query in queries if query.name in reasons]):
        others = len(found.queries) - 1
        for query in found.queries if others else ():
            reasons[query.name] += f"; with {others} other{'s' if others > 1 else ''}"
    return reasons


def _is_quicker(query: BoundQuery, statistics: Statistics) -> bool:
    """Whether a query of fixed length is answered by the sweep in less time than by segments.

    Its windows overlap twice at most, it asks for nothing but COUNT(*), and counts fit 64 bits: 1.6
    to 4 times as quick then, and else up to 6 times as slow (`benchmarks.fixed_length`).
    """
    return (
        query.window.within <= _OVERLAP * query.window.slide
        and all(aggregate.counts_trends for aggregate in query.aggregates)
        and _expected_bits(query, statistics) <= _NARROW
    )


def _expected_bits(query: BoundQuery, statistics: Statistics) -> float:
    """Of the combinations of a window's events, one at each position."""
    bits = 0.0
    for position in query.positions:
        keys = [key.attribute for key in query.keys if position.index in key.positions]
        bits += log2(max(1.0, statistics.rate(position.type, query.window.within, keys)))
    return bits
