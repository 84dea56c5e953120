"""Hamlet under several ways to decide, beside greta and the two-step reference."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import Any

from elsinore.engine.finish import finish
from elsinore.engine.hamlet import aggregate_set
from elsinore.engine.hamlet.decisions import ALWAYS, EQUATION, NEVER, Decisions
from elsinore.engine.plan import Executor, plan_for
from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.kernels.hamlet_ways import BESIDE
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from elsinore.sharing.sharable import sharable_sets
from elsinore.template.support import greta_refusals
from tests.property.compare import assert_same_rows, greta
from tests.property.random_cases import SCHEMA
from tests.unit.hamlet.random_sets import RandomSet

BUDGET = Budget(3_000)


def judge_set(case: RandomSet, tally: Counter[str], *, reference: bool) -> None:
    """Compare all sharable sets of one workload.

    Raises:
        AssertionError: two executors differ.
    """
    queries = [query for query in case.workload.queries if not greta_refusals(query)]
    sharing = sharable_sets(queries)
    tally["workloads"] += 1
    tally["beside"] += len(sharing.beside)
    _check_beside(case, queries, {query.name for query, _ in sharing.beside}, tally, reference)
    for found in sharing.sets:
        tally["sets"] += 1
        tally["queries"] += len(found.queries)
        expected = {query.name: greta(query, case.events) for query in found.queries}
        if reference:
            for query in found.queries:
                _check_reference(query, case, expected[query.name], tally)
        for name, options in decisions_of(case.name, len(found.queries)):
            table = aggregate_set(found, case.events, **options)
            rows = finish(Workload(SCHEMA, found.queries), table)
            for query in found.queries:
                mine = [row for row in rows if row.query == query.name]
                wanted = expected[query.name]
                try:
                    assert_same_rows(mine, wanted)
                except AssertionError as error:
                    sides = [[(row.key, row.values) for row in side] for side in (mine, wanted)]
                    raise AssertionError(
                        f"{name} differs for {query.name}\nfound {sides[0]}\n"
                        f"expected {sides[1]}\n{case.described()}"
                    ) from error
                tally["answers"] += bool(mine)


def _check_beside(
    case: RandomSet,
    queries: list[BoundQuery],
    beside: set[str],
    tally: Counter[str],
    reference: bool,
) -> None:
    """What shares nothing runs with the sets in one call, and answers as by itself."""
    named = {query.name: query for query in queries}
    rows: list[ResultRow] = []
    workload = Workload(SCHEMA, tuple(queries))
    for table in plan_for(Executor.HAMLET, workload, case.events).run(case.events):
        rows += finish(workload, table)
    assert {row.query for row in rows} <= set(named)
    for name in sorted(beside):
        expected = greta(named[name], case.events)
        assert_same_rows([row for row in rows if row.query == name], expected)
        if reference:
            _check_reference(named[name], case, expected, tally)


def decisions_of(name: str, queries: int) -> list[tuple[str, dict[str, Any]]]:
    """The ways to decide that every case is run with."""
    return [
        ("dynamic", {}),
        ("always", {"decisions": ALWAYS}),
        ("never", {"decisions": NEVER}),
        ("equation", {"decisions": EQUATION}),
        ("random", {"decisions": Decisions.random(zlib.crc32(name.encode()))}),
        ("side by side", {"decisions": Decisions.of(((BESIDE,) * queries,))}),
    ]


def _check_reference(
    query: BoundQuery, case: RandomSet, expected: list[ResultRow], tally: Counter[str]
) -> None:
    try:
        rows = two_step(query, case.events, budget=BUDGET)
    except (BudgetError, UnsupportedQueryError):
        tally["beyond the reference"] += 1
        return
    tally["against the reference"] += 1
    assert_same_rows(expected, rows)
