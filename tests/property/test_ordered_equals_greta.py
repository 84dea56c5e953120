"""Queries that share order trees against each by itself, and against the reference."""

from __future__ import annotations

from collections import Counter

from elsinore.engine.aggregate_ordered import (
    aggregate_ordered,
    lower_ordered,
    only_compares,
    ordered_sets,
)
from elsinore.engine.columns import EventColumns
from elsinore.engine.finish import finish
from elsinore.errors import BudgetError
from elsinore.events import EventTable
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from elsinore.sharing.sharable import SharableSet, sets_of, sharable_sets
from elsinore.template.support import greta_refusals
from elsinore.timeline import Interval
from tests.draws import draws
from tests.property.compare import assert_same_rows, greta
from tests.property.random_cases import SCHEMA
from tests.unit.hamlet.random_sets import random_set

WORKLOADS = draws(150, 3_000)


def _parts(queries: Workload) -> list[SharableSet]:
    usable = [query for query in queries.queries if not greta_refusals(query)]
    found = filter(only_compares, sharable_sets(usable).sets)
    return [part for each in found for part in ordered_sets(each)]


def _rows(
    part: SharableSet, events: EventTable, owned: Interval | None = None
) -> dict[str, list[ResultRow]]:
    table = aggregate_ordered(lower_ordered(part), EventColumns.of(events), owned)
    rows = finish(Workload(SCHEMA, part.queries), table)
    return {q.name: [row for row in rows if row.query == q.name] for q in part.queries}


def test_random_sets() -> None:
    tally: Counter[str] = Counter()
    for number in range(WORKLOADS):
        case = random_set(f"{'long ' if number % 2 else ''}ordered:{number}")
        owned = Interval(10, 25) if number % 3 == 0 else None
        for part in _parts(case.workload):
            found = _rows(part, case.events, owned)
            tally["sets"] += 1
            tally["carriers"] += any(len(query.aggregates) > 1 for query in part.queries)
            for query in part.queries:
                assert_same_rows(found[query.name], greta(query, case.events, owned))
                tally["answers"] += bool(found[query.name])
                tally["compared"] += bool(query.edge_predicates)
                if owned is None and number % 2 == 0:
                    try:
                        expected = two_step(query, case.events, budget=Budget(3_000))
                    except BudgetError:
                        continue
                    assert_same_rows(found[query.name], expected)
                    tally["enumerated"] += 1
    assert tally["sets"] > WORKLOADS // 2
    assert min(tally[name] for name in ("carriers", "compared", "answers")) > WORKLOADS // 2
    assert tally["enumerated"] > WORKLOADS // 4


def test_counts_of_any_width_window_by_window() -> None:
    """Equal values: 2^n - 1 trends of n events; windows overlap and hold up to 5,000 of them.

    So some are counted in 64 bits and others in thousands; the largest go on where they outgrow
    one width (`climb.BY_ITSELF`).
    """
    text = "".join(
        f"QUERY q{n} RETURN COUNT(*), SUM(B.x) PATTERN SEQ({kind}, B+) WHERE B.x <= NEXT(B).x"
        " WITHIN 5000 SLIDE 2500;"
        for n, kind in enumerate("ACD")
    )
    times = [0, 1, 2, *range(10, 40), *range(2_500, 7_000), *range(12_000, 12_030)]
    kinds = ["A", "C", "A", *"B" * (len(times) - 3)]
    rows = [(kind, time, {"x": 7}) for kind, time in zip(kinds, times, strict=True)]
    events = EventTable.of(SCHEMA, [*rows, ("C", 9_000, {}), ("D", 11_999, {})])
    (part,) = _parts(bind_workload(parse_workload(text), SCHEMA))
    found = _rows(part, events)
    assert sets_of(Workload(SCHEMA, part.queries)).sets == (part,)
    for query in part.queries:
        assert_same_rows(found[query.name], greta(query, events))
    counts = {
        name: {row.window_start: dict(row.values)["COUNT(*)"] for row in rows}
        for name, rows in found.items()
    }
    assert counts["q0"][0] == 2 * (2 ** (30 + 2_500) - 1)
    assert counts["q2"] == {7_500: 2**30 - 1, 10_000: 2**30 - 1}
