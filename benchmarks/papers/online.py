"""Every system of the papers by name, as what a process is to do: a task to rows.

The online ones are this engine's executors; the two-step ones stand in `systems`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

from benchmarks.papers import systems
from elsinore.choices import Optimizer
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.hamlet.decisions import ALWAYS, DYNAMIC, Decisions
from elsinore.executors.hamlet.observe import Observer
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.output.finish import finish
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.plan import EVERYTHING, AloneUnit, HamletUnit, Request, RuntimePlan
from elsinore.executors.plan.choose_segments import shared_segments
from elsinore.executors.plan.units import SegmentsUnit
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.segments import Segment
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.observe import observe
from elsinore.sharing.sharable import sharable_sets

#: Two-step, then online; of each those first that share nothing.
TWO_STEP = ("SASE", "Flink", "CET", "SPASS", "MCEP")
A_SEQ, GRETA, SHARON, GREEDY, STATIC, HAMLET = (
    "A-Seq", "GRETA", "Sharon", "Sharon, greedy", "Hamlet, static", "Hamlet"
)  # fmt: skip
ONLINE = (A_SEQ, GRETA, SHARON, GREEDY, STATIC, HAMLET)
#: Optimizers (Sharon section 8.3): all plans, those of the paper, the greedy one.
OPTIMIZERS = {
    "exhaustive": Optimizer.EXHAUSTIVE,
    "Sharon's": Optimizer.SHARON,
    "greedy": Optimizer.GWMIN,
}
SYSTEMS = (*TWO_STEP, *ONLINE, *OPTIMIZERS)
#: Events that a process runs over before it is watched.
FEW = 100
#: What answers are held against, and not shown.
REFERENCE = "reference"

_ALONE: dict[str, Callable[..., list[ResultRow]]] = {
    "SASE": systems.sase,
    "Flink": systems.flink,
    "CET": systems.cet,
    "MCEP": systems.mcep,
}
_HAMLET = {HAMLET: DYNAMIC, STATIC: ALWAYS}

#: What gives partial rows, or finished ones.
Work = Callable[[], list[Any]]
#: What a system does while it is watched, and then.
Prepared = tuple[Work, Callable[[list[Any]], list[Any]]]


@dataclass(frozen=True, eq=False)
class Task:
    """A workload over a stream; a task is the same as itself alone.

    Attributes:
        workload: the queries; with E+, unless `fixed`.
        events: the stream.
        flat: for systems that know no E+, its queries flattened (`queries.first_workload`).
        fixed: whether the queries are of fixed length as they are.
    """

    workload: Workload
    events: EventTable
    flat: Callable[[], Workload] | None = None
    fixed: bool = False


@lru_cache(maxsize=32)
def prepare(name: str, task: Task) -> Prepared:
    """The work of a system, prepared once a task; static plans are found then, not in the work."""
    queries, events = task.workload.queries, task.events
    if name == REFERENCE:
        budget = 10**12  # the time limit stops it
        return lambda: [r for q in queries for r in two_step(q, events, budget=budget)], list
    if name in _ALONE:
        return lambda: _ALONE[name](queries, events), list
    if name == GRETA:
        return lambda: _one_by_one(task.workload, events), _finisher(task.workload)
    if name in _HAMLET:
        work = lambda: [*chain.from_iterable(_plan(task, _HAMLET[name]).run(events))]  # noqa: E731
        return work, _finisher(task.workload)
    if name in OPTIMIZERS:
        return _optimizer(OPTIMIZERS[name], task)
    return _of_fixed_length(name, task)


@lru_cache(maxsize=2)
def beginning(task: Task, events: int = FEW) -> Task:
    """The same over the first events alone."""
    first = task.events.table.slice(0, events)
    return replace(task, events=EventTable(task.events.schema, first))


def _one_by_one(workload: Workload, events: EventTable) -> list[PartialRows]:
    columns = EventColumns(events)
    return [part for query in workload.queries for part in aggregate_query(query, columns)]


def _of_fixed_length(name: str, task: Task) -> Prepared:
    """A-Seq, SPASS and Sharon, which get flattened queries where there is E+."""
    workload, events = task.workload, task.events
    if not task.fixed:
        assert task.flat is not None
        workload = task.flat()
    rows = _finisher(workload)
    if name == A_SEQ:
        work: Work = lambda: _a_seq(workload, events)  # noqa: E731
    else:
        shared = _shared(
            workload, events, name, Optimizer.OPTIMAL if task.fixed else Optimizer.GWMIN
        )
        if name == "SPASS":
            work, rows = (lambda: systems.spass(workload.queries, events, shared)), list
        else:
            work = lambda: _segments(workload.queries, EventColumns(events), shared)  # noqa: E731
    if task.fixed:
        return work, rows
    return work, lambda tables: added_up(rows(tables))


def _a_seq(workload: Workload, events: EventTable) -> list[PartialRows]:
    columns = EventColumns(events)
    return [part for query in workload.queries for part in _segments((query,), columns, ())]


def _segments(
    queries: Sequence[BoundQuery], columns: EventColumns, shared: Sequence[Sequence[Segment]]
) -> list[PartialRows]:
    return SegmentsUnit.of(queries, shared).run(columns, EVERYTHING)


def _shared(
    workload: Workload, events: EventTable, name: str, optimizer: Optimizer
) -> Sequence[Sequence[Segment]]:
    chosen = Optimizer.GWMIN if name == GREEDY else optimizer
    return shared_segments(find_plan(workload, observe(workload, events), optimizer=chosen))


def _optimizer(optimizer: Optimizer, task: Task) -> Prepared:
    """Finding a plan; its answer is what it saves, which only GWMIN's may be less than."""
    statistics = observe(task.workload, task.events)
    return lambda: [find_plan(task.workload, statistics, optimizer=optimizer)], lambda plans: [
        round(plans[0].score, 6) if optimizer is not Optimizer.GWMIN else None
    ]


def _finisher(workload: Workload) -> Callable[[list[Any]], list[ResultRow]]:
    return lambda parts: finish(workload, parts)


def added_up(rows: list[ResultRow]) -> list[ResultRow]:
    """Rows of flattened queries (`<query>_<length>`, COUNT(*) alone) as those of the queries."""
    counts: Counter[ResultRow] = Counter()
    for row in rows:
        name = row.query.rpartition("_")[0]
        ((label, count),) = row.values
        assert isinstance(count, int)
        counts[ResultRow(name, row.group, row.window_start, row.window_end, ((label, None),))] += (
            count
        )
    return [
        ResultRow(r.query, r.group, r.window_start, r.window_end, ((r.values[0][0], count),))
        for r, count in counts.items()
    ]


def _plan(task: Task, decisions: Decisions) -> RuntimePlan:
    queries = task.workload.queries
    sharing = sharable_sets(queries)
    sets = [HamletUnit.of(found, decisions) for found in sharing.sets]
    beside = [AloneUnit((query,)) for query, _ in sharing.beside]
    return RuntimePlan(queries, (), (*sets, *beside), ())


def observer_of(name: str, task: Task) -> Callable[[], dict[str, int]] | None:
    """What asks hamlet for its counts; None for other systems."""
    if name not in _HAMLET:
        return None
    return lambda: _counts(task, _HAMLET[name])


def _counts(task: Task, decisions: Decisions) -> dict[str, int]:
    observers: list[Observer] = []

    def watch(_: object) -> Observer:
        observers.append(Observer(room=0))
        return observers[-1]

    sets = _plan(task, decisions).run(task.events, Request(observe=watch))
    assert sum(len(part) for parts in sets for part in parts)
    totals: Counter[str] = Counter()
    for watched in observers:
        totals.update(watched.counts)
    return dict(totals)
