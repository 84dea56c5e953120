"""Swept queries beside greta, and the reference where it can, on one stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from elsinore.engine.finish import finish
from elsinore.engine.sweep import aggregate_sweep, sweep_refusals, sweep_sets
from elsinore.errors import BudgetError
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from elsinore.template.support import greta_refusals
from tests.property.compare import assert_same_rows, greta

#: What the reference may spend on one query.
REFERENCE_STEPS = 4_000

#: However it is run, the rows are the same.
WAYS: tuple[dict[str, Any], ...] = ({}, {"panes": True}, {"panes": False, "threads": 3})


def judge_sweep(
    queries: Sequence[BoundQuery],
    swept: EventTable,
    events: EventTable,
    tally: Counter[str],
    described: str,
) -> None:
    """Compare all swept sets of some queries, over `swept`, with greta over the same `events`,
    and greta with the reference.

    Raises:
        AssertionError: the executors differ.
    """
    asked = [query for query in queries if not greta_refusals(query)]
    found = sweep_sets(asked)
    assert {q.name for q, _ in found.beside} == {q.name for q in asked if sweep_refusals(q)}
    tally["workloads"] += 1
    tally["beside"] += len(found.beside)
    for members in found.sets:
        tally["sets"] += 1
        tally["queries"] += len(members.queries)
        expected = {query.name: _expected(query, events, tally) for query in members.queries}
        for way in WAYS:
            table = aggregate_sweep(members, swept, **way)
            rows = finish(Workload(events.schema, members.queries), table)
            for query in members.queries:
                mine = [row for row in rows if row.query == query.name]
                wanted = expected[query.name]
                try:
                    assert_same_rows(mine, wanted)
                except AssertionError as error:
                    sides = [[(row.key, row.values) for row in side] for side in (mine, wanted)]
                    raise AssertionError(
                        f"{way}: {query.text}\nfound {sides[0]}\nexpected {sides[1]}\n{described}"
                    ) from error
                tally["rows"] += len(wanted)


def _expected(query: BoundQuery, events: EventTable, tally: Counter[str]) -> list[ResultRow]:
    """Greta's rows, which are the reference's where it has the budget for all trends."""
    rows = greta(query, events)
    try:
        assert_same_rows(rows, two_step(query, events, budget=Budget(REFERENCE_STEPS)))
        tally["with reference"] += 1
    except BudgetError:
        tally["too large for the reference"] += 1
    return rows
