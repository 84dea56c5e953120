"""Every executor beside the two-step reference on one case, as `elsinore run` has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from elsinore.cli.run import answer
from elsinore.engine.plan import Executor, require
from elsinore.errors import UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.budget import Budget
from elsinore.results.row import ResultRow
from elsinore.sharing.sharable import sharable_sets
from elsinore.template.support import greta_refusals
from tests.property.compare import assert_answers, assert_same_rows, judge_greta
from tests.property.random_cases import RandomCase

#: Those that share among queries are given the query twice.
_HAMLET = (Executor.HAMLET, Executor.HAMLET_STATIC)
_SHARING = (Executor.SHARON, *_HAMLET)
_OTHERS = (*_SHARING, Executor.ASEQ, Executor.SWEEP, Executor.AUTO)


@dataclass
class EveryExecutor:
    """Judges cases by all executors, and counts the cases that each has answered rightly.

    What an executor leaves to greta or twostep is not run again: queries without a Kleene pattern
    to share under hamlet, and what greta refuses under auto.
    """

    ran: Counter[str] = field(default_factory=Counter)

    def __call__(self, case: RandomCase, expected: list[ResultRow] | None) -> tuple[str, ...]:
        """As `compare.judge_greta`, whose reasons it returns.

        Raises:
            AssertionError: an executor differs; the message has the smallest stream that shows it.
        """
        reasons = judge_greta(case, expected)
        self.ran["greta"] += not reasons
        for executor in _OTHERS if expected is not None else ():
            queries = _queries(case.query, executor)
            if queries:
                _compare(executor, case, queries, expected or [])
                self.ran[executor] += 1
        return reasons

    def __str__(self) -> str:
        return "compared: " + ", ".join(f"{name} {times}" for name, times in self.ran.items())


def _compare(
    executor: Executor, case: RandomCase, queries: Sequence[BoundQuery], expected: list[ResultRow]
) -> None:
    workload = Workload(case.schema, tuple(queries))

    def run(events: EventTable) -> list[ResultRow]:
        rows = answer(workload, events, executor, Budget())
        first, *others = ([row for row in rows if row.query == q.name] for q in queries)
        for twins in others:
            assert_same_rows([replace(row, query=case.query.name) for row in twins], first)
        return first

    assert_answers(executor, case, expected, run)


def _queries(query: BoundQuery, executor: Executor) -> tuple[BoundQuery, ...]:
    """The query, with its twin where it is shared; nothing where the executor does not run it."""
    twin = replace(query, source=replace(query.source, name="twin"))
    queries = (query, twin) if executor in _SHARING else (query,)
    if executor in (*_HAMLET, Executor.AUTO) and greta_refusals(query):
        return ()
    if executor in _HAMLET and not sharable_sets(queries).sets:
        return ()
    try:
        require(queries, executor)
    except UnsupportedQueryError:
        return ()
    return queries
