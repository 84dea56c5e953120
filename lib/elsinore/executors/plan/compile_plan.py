"""Decide which executor runs each query, by rules and, for segments, by predicted costs.

`benchmarks.auto` measures the rules. Queries that differ only in name and RETURN run as one query
(`alike`), so the rules see one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log2
from typing import NamedTuple

from elsinore.choices import Executor, Optimizer
from elsinore.events import EventTable
from elsinore.executors.aggregates import needs_pairs_of_events
from elsinore.executors.graph.aggregate_ordered import only_compares, ordered_sets
from elsinore.executors.graph.span_sets import span_sets
from elsinore.executors.hamlet.decisions import ALWAYS, DYNAMIC
from elsinore.executors.linear.sweep_sets import sweep_refusals, sweep_sets
from elsinore.executors.plan.alike import alike
from elsinore.executors.plan.choose_cached import choose_cached
from elsinore.executors.plan.choose_segments import (
    choose_segments,
    predict,
    shared_segments,
    window_rate,
)
from elsinore.executors.plan.runtime_plan import RuntimePlan, measure_units, places_within
from elsinore.executors.plan.units import (
    GRETA,
    HAMLET,
    SEGMENTS,
    SWEEP,
    TWOSTEP,
    AloneUnit,
    Choice,
    HamletUnit,
    ParticipationUnit,
    SegmentsUnit,
    SweepUnit,
    Unit,
)
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.segments import Segment
from elsinore.sharing.observe import observe
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.sharable import SharableSet, sets_of, sharable_sets
from elsinore.sharing.statistics import Statistics
from elsinore.template import support
from elsinore.template.measures import measure_queries
from elsinore.template.support import (
    aseq_refusals,
    counts_trends,
    greta_refusals,
    needs_pairs,
    of_steps,
    participation_refusals,
)


def compile_plan(
    workload: Workload,
    statistics: Statistics | None = None,
    *,
    static_plan: StaticPlan | None = None,
    slice_length: int | None = None,
) -> RuntimePlan:
    """Return the runtime plan of a workload.

    1. Queries with windows that are much longer than a slice are computed from panes that are
       cached between runs (`choose_cached`).
    2. Other queries that the sweep supports are swept (`_swept_queries`).
    3. Other queries of fixed length share segments if this is predicted to be faster. With a static
       plan (Sharon), they share only segments of the plan.
    4. Other queries with a common Kleene sub-pattern share order trees or run by Hamlet
       (`_choose_sets`).

    Without statistics, costs cannot be predicted. Then all segments of the static plan are shared,
    and no panes are cached.

    Args:
        workload: the queries.
        statistics: rates and numbers of partitions of the stream, if known.
        static_plan: the segments that may be shared; None: any.
        slice_length: the length of the slices that the pipeline computes, in microseconds; None:
            no panes can be cached between runs.

    Raises:
        ParameterError: the statistics lack a type of the workload.
    """
    workload = support.lowered(workload)
    classes = alike(workload.queries)
    running = [each for each in classes if not each.run.steps]
    cached = choose_cached(running, statistics, slice_length)
    counting = [each.run for each in running if counts_trends(each.run)]
    uncached = [query for query in counting if query.name not in cached]
    swept = _swept_queries(uncached, statistics)
    rest = [query for query in uncached if query.name not in swept]
    fixed = Workload(workload.schema, tuple(q for q in rest if not aseq_refusals(q)))
    pairs = Workload(workload.schema, tuple(q for q in rest if aseq_refusals(q)))
    segments = _choose_segments(fixed, statistics, static_plan)
    sets = _choose_sets(pairs, statistics)
    choices: dict[str, Choice] = {}
    for each in classes:
        own = _choice(each.run, cached | swept, segments, sets)
        same = f"has the same trends as {own.query}"
        for query in each.queries:
            name = query.name
            found = own if name == own.query else Choice(name, own.executor, same)
            choices[name] = _with_squares(found, query)
    return RuntimePlan.of(
        workload.queries,
        classes,
        cached=cached,
        segments=segments.shared,
        sweeps=[tuple(swept)],
        ordered=sets.ordered,
        sets=sets.hamlet,
        choices=[choices[query.name] for query in workload.queries],
        predicted=segments.alone,
        together=segments.together,
    )


class _Segments(NamedTuple):
    """The segments that queries share, and the predicted nanoseconds without and with them."""

    shared: Sequence[Sequence[Segment]]
    alone: float = 0.0
    together: float = 0.0


def _choose_segments(
    fixed: Workload, statistics: Statistics | None, static_plan: StaticPlan | None
) -> _Segments:
    """Choose the segments that queries of fixed length share, within the static plan if given."""
    planned = (
        None if static_plan is None else places_within(shared_segments(static_plan), fixed.queries)
    )
    if statistics is None:
        return _Segments(planned or [])
    shared = choose_segments(fixed, statistics, planned)
    alone, together = (
        predict(fixed, places, statistics) * statistics.per for places in ([], shared)
    )
    return _Segments(shared, alone, together) if together < alone else _Segments([], alone, alone)


def _with_squares(choice: Choice, query: BoundQuery) -> Choice:
    """Return a choice that names the executor of variances of measures, if it is another one."""
    if choice.executor in (GRETA, TWOSTEP) or not any(
        map(needs_pairs_of_events, measure_queries(query))
    ):
        return choice
    return replace(choice, why=f"{choice.why}; greta computes STDDEV and VARIANCE of measures")


def _choice(
    query: BoundQuery, swept: Mapping[str, str], segments: _Segments, sets: _Sets
) -> Choice:
    name = query.name
    if query.steps:
        return Choice(name, TWOSTEP, "; ".join(greta_refusals(query)))
    if not counts_trends(query) and not greta_refusals(query):
        if needs_pairs(query):
            return Choice(name, GRETA, "finds participating events by a pass in each direction")
        return Choice(name, SWEEP, "finds participating events by two time bounds per state")
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


# ---- swept queries: collapsed queries, and queries of fixed length if the sweep is faster

#: Limits for sweeping a query of fixed length: maximum number of open windows, and maximum expected
#: bits of a count. Counts should fit 64 bits, and windows differ from the mean.
_OVERLAP, _NARROW = 2, 48

_COLLAPSED = "has no edge predicate"
_QUICKER = "of fixed length; the sweep is faster if windows hardly overlap"


def _swept_queries(queries: Sequence[BoundQuery], statistics: Statistics | None) -> dict[str, str]:
    """Return the names of the queries that are swept, with the reason for each.

    Collapsed queries are always swept, because `benchmarks.auto` found the sweep never slower than
    greta or Hamlet. Queries of fixed length are swept by `_is_quicker`, which needs statistics.

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
    """Return whether the sweep is expected to run a query of fixed length faster than segments.

    It is 1.6 to 4 times faster if at most two windows overlap, the query returns only COUNT(*), and
    counts fit 64 bits. Otherwise it is up to 6 times slower (`benchmarks.fixed_length`).
    """
    return (
        query.window.within <= _OVERLAP * query.window.slide
        and all(aggregate.counts_trends for aggregate in query.counted)
        and _expected_bits(query, statistics) <= _NARROW
    )


def _expected_bits(query: BoundQuery, statistics: Statistics) -> float:
    """Return the bits of the number of combinations of a window's events, one per position."""
    rates = (window_rate(query, position.index, statistics) for position in query.positions)
    return sum(log2(max(1.0, rate)) for rate in rates)


# ---- which sharable sets run together, and how


@dataclass
class _Sets:
    """The sharable sets of some queries, and the executor of each query with its reason."""

    ordered: list[SharableSet] = field(default_factory=list)  #: sets that share order trees
    #: sets that run by Hamlet; all sets are disjoint.
    hamlet: list[SharableSet] = field(default_factory=list)
    #: the choice for each query, in a set or not.
    by_query: dict[str, Choice] = field(default_factory=dict)

    def alone(self, beside: Iterable[tuple[BoundQuery, str]]) -> None:
        """Add queries that run separately, each with its reason."""
        for query, why in beside:
            self.by_query[query.name] = Choice(query.name, GRETA, why)

    def add(self, found: SharableSet, executor: str, text: str) -> None:
        """Add the choices for the queries of a set; `{}` in the text is what they share."""
        kinds = sorted(found.merged.shared_types)
        number = len(found.queries) - 1
        others = f"{', '.join(f'{kind}+' for kind in kinds)} with {number} other{'s'[: number > 1]}"
        why = text.replace("{}", others)
        self.by_query |= {q.name: Choice(q.name, executor, why) for q in found.queries}


def _choose_sets(workload: Workload, statistics: Statistics | None) -> _Sets:
    """Choose how the sharable sets of a workload run.

    A set runs by Hamlet unless all its conditions on pairs are single comparisons. Hamlet computes
    the pairs of events once for all queries.

    Comparisons need no pairs: greta's trees take logarithmic time in the number of a window's
    events. Queries that accept the same events in the same windows share the trees. Other queries
    run separately if windows are large, and by Hamlet if they are small. Without statistics,
    windows count as small.
    """
    sharing, choice = sets_of(workload), _Sets()
    choice.alone(sharing.beside)
    for found in sharing.sets:
        if only_compares(found):
            _choose_by_order(found, statistics, choice)
        else:
            choice.hamlet.append(found)
            choice.add(found, HAMLET, "shares {}")
    for together in span_sets(workload.queries):
        number = len(together.queries) - 1
        why = f"counts trends with a span, with {number} other{'s'[: number > 1]}"
        choice.alone((query, why) for query in together.queries)
    return choice


def _choose_by_order(found: SharableSet, statistics: Statistics | None, choice: _Sets) -> None:
    """Choose how a set runs whose conditions on pairs are single comparisons."""
    ordered = ordered_sets(found)
    taken = {query.name for part in ordered for query in part.queries}
    left = sharable_sets([query for query in found.queries if query.name not in taken])
    choice.ordered.extend(ordered)
    for part in ordered:
        choice.add(part, GRETA, "shares {} and the order of values")
    alone = "no other query shares its order of values: windows, events or aggregates differ"
    choice.alone((query, alone) for query, _ in left.beside)
    for part in left.sets:
        events = 0.0 if statistics is None else _events_of_window(part, statistics)
        if events > _by_trees(len(part.queries)):
            large = f"compares values in windows of about {events:,.0f} events"
            choice.add(part, GRETA, f"could share {{}}, but {large}")
        else:
            choice.hamlet.append(part)
            choice.add(part, HAMLET, "shares {}")


def _by_trees(queries: int) -> int:
    """Return the number of events per window and partition from which trees are faster than pairs.

    Milliseconds by greta (query by query) and by Hamlet for 60,000 events in windows that overlap 4
    times:

    - 2 queries: 10.4 and 10.9 for windows of 400 events, 14.9 and 176 for 2,000.
    - 20 queries: 90 and 14.5 for windows of 400 events, 106 and 407 for 2,000.
    """
    return 40 * (queries + 8)


def _events_of_window(found: SharableSet, statistics: Statistics) -> float:
    """Return the largest mean number of events per window and partition of a set's queries."""
    partitions = statistics.partition_count(found.merged.keys)
    return max(
        sum(statistics.rate(name, query.window.longest) for name in query.event_types) / partitions
        for query in found.queries
    )


# ---- executors by the names of the command line


def _also_participation(
    refusals: Callable[[BoundQuery], tuple[str, ...]],
) -> Callable[[BoundQuery], tuple[str, ...]]:
    """Return why an executor cannot run a query, EACH and DISTINCT included.

    If conditions on pairs of events decide which events participate, the executor must support
    them, although greta finds these events.
    """

    def refused(query: BoundQuery) -> tuple[str, ...]:
        if found := participation_refusals(query):
            return found
        return refusals(query) if counts_trends(query) or needs_pairs(query) else ()

    return refused


#: Functions that return why an executor cannot run a query. Other executors run every query.
REFUSALS: Mapping[Executor, Callable[[BoundQuery], tuple[str, ...]]] = {
    Executor.GRETA: greta_refusals,
    Executor.HAMLET: greta_refusals,
    Executor.HAMLET_STATIC: greta_refusals,
    Executor.SWEEP: of_steps(_also_participation(sweep_refusals)),
    Executor.SHARON: of_steps(_also_participation(aseq_refusals)),
    Executor.ASEQ: of_steps(_also_participation(aseq_refusals)),
}

_DECISIONS = {Executor.HAMLET: DYNAMIC, Executor.HAMLET_STATIC: ALWAYS}


def require(queries: Iterable[BoundQuery], executor: Executor) -> None:
    """Raise an error if an executor cannot run one of the queries.

    Raises:
        UnsupportedQueryError: the executor cannot run some of the queries.
    """
    if executor in REFUSALS:
        support.require(queries, executor, REFUSALS[executor])


def plan_for(
    executor: Executor,
    workload: Workload,
    events: EventTable,
    static_plan: StaticPlan | None = None,
) -> RuntimePlan:
    """Return the plan of a workload for one executor; `auto` chooses per query.

    Args:
        executor: the executor; it must support all queries (`require`).
        workload: the queries.
        events: the events that the plan will run over, to measure statistics.
        static_plan: the plan for `sharon`; None: GWMIN's plan for the events.
    """
    if executor is Executor.AUTO:
        return compile_plan(workload, observe(workload, events))
    if executor is Executor.TWOSTEP:
        return RuntimePlan(workload.queries, (), (), workload.queries)
    workload = support.lowered(workload)
    counting = tuple(filter(counts_trends, workload.queries))
    units: list[Unit] = []
    if counting:
        counted = Workload(workload.schema, counting)
        units += _units(executor, counted, events, static_plan)
    units += [ParticipationUnit((query,)) for query in workload.queries if query.participating]
    measured = [part for query in workload.queries for part in measure_queries(query)]
    units += measure_units(measured, sweeping=executor is not Executor.GRETA)
    return RuntimePlan(workload.queries, (), tuple(units), ())


def _units(
    executor: Executor, workload: Workload, events: EventTable, static_plan: StaticPlan | None
) -> Iterable[Unit]:
    queries = workload.queries
    if executor is Executor.GRETA:
        return map(_alone, queries)
    if executor is Executor.SWEEP:
        return map(SweepUnit.of, sweep_sets(queries))
    if executor in _DECISIONS:
        sharing, decisions = sharable_sets(queries), _DECISIONS[executor]
        beside = (_alone(query) for query, _ in sharing.beside)
        return [*(HamletUnit.of(found, decisions) for found in sharing.sets), *beside]
    if executor is Executor.SHARON and static_plan is None:
        from elsinore.sharing.find_plan import find_plan  # lazy: the solver loads slowly

        static_plan = find_plan(workload, observe(workload, events), optimizer=Optimizer.GWMIN)
    shared = () if static_plan is None else shared_segments(static_plan)
    return [SegmentsUnit.of(queries, shared)]


def _alone(query: BoundQuery) -> AloneUnit:
    return AloneUnit((query,))
