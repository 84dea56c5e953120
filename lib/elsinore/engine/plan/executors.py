"""The executors by the names of the command line: what each refuses, and the plan of its units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from elsinore.engine.hamlet.decisions import ALWAYS, DYNAMIC
from elsinore.engine.linear import sweep_refusals, sweep_sets
from elsinore.engine.linear.segments import shared_segments
from elsinore.engine.plan.compile_plan import compile_plan
from elsinore.engine.plan.runtime_plan import RuntimePlan
from elsinore.engine.plan.units import AloneUnit, HamletUnit, SegmentsUnit, SweepUnit, Unit
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.observe import observe
from elsinore.sharing.plan import Finder, StaticPlan
from elsinore.sharing.sharable import sharable_sets
from elsinore.template import support
from elsinore.template.support import aseq_refusals, greta_refusals


class Executor(StrEnum):
    """The executors of the specification."""

    AUTO = "auto"
    HAMLET = "hamlet"
    HAMLET_STATIC = "hamlet-static"
    SHARON = "sharon"
    SWEEP = "sweep"
    GRETA = "greta"
    ASEQ = "aseq"
    TWOSTEP = "twostep"


#: Why an executor cannot run a query; empty if it can. The others run every query.
REFUSALS: Mapping[Executor, Callable[[BoundQuery], tuple[str, ...]]] = {
    Executor.GRETA: greta_refusals,
    Executor.HAMLET: greta_refusals,
    Executor.HAMLET_STATIC: greta_refusals,
    Executor.SWEEP: sweep_refusals,
    Executor.SHARON: aseq_refusals,
    Executor.ASEQ: aseq_refusals,
}

_DECISIONS = {Executor.HAMLET: DYNAMIC, Executor.HAMLET_STATIC: ALWAYS}


def require(queries: Iterable[BoundQuery], executor: Executor) -> None:
    """Refuse queries that an executor cannot run; UnsupportedQueryError in its name."""
    if executor in REFUSALS:
        support.require(queries, executor, REFUSALS[executor])


def plan_for(
    executor: Executor,
    workload: Workload,
    events: EventTable,
    static_plan: StaticPlan | None = None,
) -> RuntimePlan:
    """The plan of a workload by one executor, which refuses none of it; `auto` chooses among all.

    `events` is what it will run over, to measure what is to be expected; without a `static_plan`
    sharon shares GWMIN's.
    """
    if executor is Executor.AUTO:
        return compile_plan(workload, observe(workload, events))
    if executor is Executor.TWOSTEP:
        return RuntimePlan(workload.queries, (), (), workload.queries)
    units = _units(executor, workload, events, static_plan)
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
        from elsinore.sharing.find_plan import find_plan  # the solver takes its time to load

        static_plan = find_plan(workload, observe(workload, events), finder=Finder.GWMIN)
    shared = () if static_plan is None else shared_segments(static_plan)
    return [SegmentsUnit.of(queries, shared)]


def _alone(query: BoundQuery) -> AloneUnit:
    return AloneUnit((query,))
