"""Every golden case on every executor of `elsinore run`: its rows, or a refusal by name."""

from __future__ import annotations

from collections import Counter

import pytest

from elsinore.cli.run import answer
from elsinore.engine.plan import Executor, require
from elsinore.errors import UnsupportedQueryError
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.reference.budget import Budget
from elsinore.results.row import ResultRow
from tests.golden_cases import GoldenCase, golden_cases, row_texts

CASES = golden_cases("twostep")
EXECUTORS = [executor for executor in Executor if executor is not Executor.TWOSTEP]


def _with_twin(case: GoldenCase) -> Workload:
    """The query beside a second one like it, so that there is something to share."""
    clauses = case.query.text.split("\n", 1)[1]
    text = f"QUERY q {clauses} QUERY twin {clauses}"
    return bind_workload(parse_workload(text), case.events.schema)


def _refusal(workload: Workload, executor: Executor) -> UnsupportedQueryError | None:
    try:
        require(workload.queries, executor)
    except UnsupportedQueryError as refusal:
        return refusal
    return None


def _rows(workload: Workload, case: GoldenCase, executor: Executor) -> list[ResultRow]:
    return answer(workload, case.events, executor, Budget())


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rows_worked_out_by_hand_or_a_refusal_by_name(
    case: GoldenCase, executor: Executor
) -> None:
    workload = _with_twin(case)
    refusal = _refusal(workload, executor)
    if refusal is not None:
        assert refusal.fields["executor"] == executor
        assert str(refusal).count(f"{executor} cannot run") == 2
        return
    rows = _rows(workload, case, executor)
    found = Counter(row.query for row in rows)
    assert row_texts(row for row in rows if row.query == "q") == case.rows
    assert found["q"] == found["twin"] == len(case.rows)
