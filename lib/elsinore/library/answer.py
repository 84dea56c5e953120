"""The rows of a workload by one executor."""

from __future__ import annotations

import os

import pyarrow as pa

from elsinore.engine.finish import finish
from elsinore.engine.plan import EVERYTHING, Executor, Request, plan_for
from elsinore.events import EventTable
from elsinore.query.bound import Workload
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.results.row import ResultRow
from elsinore.sharing.plan import StaticPlan

#: Steps that twostep may take for a query: some minutes.
STEPS = 20_000_000


def process_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def answer(
    workload: Workload,
    events: EventTable,
    executor: Executor,
    budget: Budget,
    *,
    static_plan: StaticPlan | None = None,
    request: Request = EVERYTHING,
) -> list[ResultRow]:
    """The rows of all queries of a workload by one executor.

    Args:
        workload: the queries; what the executor refuses was refused before.
        events: in any order.
        executor: which.
        budget: of each query that twostep runs.
        static_plan: what sharon shares; None: GWMIN's plan.
        request: of those that compiled executors run.
    """
    if not len(events):
        return []
    plan = plan_for(executor, workload, events, static_plan)
    tables = plan.run(events, request)
    rows = finish(workload, pa.concat_tables([PARTIAL_SCHEMA.empty_table(), *tables]))
    for query in plan.left:
        request.tell([query.name])
        rows += two_step(query, events, budget=budget)
    return rows
