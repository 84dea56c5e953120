"""Counting trends without building them gives what building them gives, and far more of them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings

from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.reference.budget import Meter
from elsinore.reference.tally import tally_trends
from elsinore.reference.two_step import answer_windows, two_step
from elsinore.results.row import ResultRow
from tests.draws import draws
from tests.golden_cases import bound_query, golden_cases, row_texts, stream_schema
from tests.unit.reference.test_two_step_by_subsets import SCHEMA, Shape, Stream
from tests.unit.reference.test_two_step_by_subsets import cases as patterns
from tests.unit.reference.test_two_step_negation_by_subsets import Case, Row
from tests.unit.reference.test_two_step_negation_by_subsets import cases as negations

STOCK = stream_schema({"S": {"price": "double", "sector": "string"}, "T": {"sector": "string"}})


def tallied(query: BoundQuery, events: EventTable, steps: int = 1_000_000) -> list[ResultRow]:
    return answer_windows(query, events, None, Meter(query.name, steps), tally_trends)


def tallied_or_assume(query: BoundQuery, events: EventTable) -> list[ResultRow]:
    try:
        return tallied(query, events)
    except UnsupportedQueryError:
        assume(False)
        raise


def stock(rows: list[tuple[str, int, float | None, str]]) -> EventTable:
    return EventTable.of(
        STOCK,
        [
            (kind, time, {"price": price, "sector": sector} if kind == "S" else {"sector": sector})
            for kind, time, price, sector in rows
        ],
    )


@pytest.mark.slow
@settings(max_examples=draws(100, 200), deadline=None)
@given(patterns(repeat=False))
def test_counts_what_enumeration_finds(case: tuple[Shape, Stream]) -> None:
    shape, stream = case
    query = bound_query(f"RETURN COUNT(*) PATTERN {shape.text} WITHIN 7 SLIDE 3", SCHEMA)
    events = EventTable.of(SCHEMA, [(kind, time, {}) for kind, time in stream])
    assert tallied_or_assume(query, events) == two_step(query, events)


@pytest.mark.slow
@settings(max_examples=draws(100, 200), deadline=None)
@given(negations())
def test_counts_what_enumeration_finds_under_not(found: tuple[Case, list[Row]]) -> None:
    case, stream = found
    query, events = case.bound(stream)
    assert tallied_or_assume(query, events) == two_step(query, events)


def test_golden_cases_that_can_be_counted_give_the_golden_rows() -> None:
    cases = golden_cases("twostep")
    refused = 0
    for case in cases:
        try:
            rows = tallied(case.query, case.events)
        except UnsupportedQueryError:
            refused += 1
            continue
        assert row_texts(rows) == case.rows, case
    assert refused < len(cases) / 2


def test_the_trends_of_two_hundred_events_are_counted_exactly() -> None:
    query = bound_query(
        "RETURN COUNT(*), COUNT(S), SUM(S.price), AVG(S.price), MIN(S.price), MAX(S.price) "
        "PATTERN S+ GROUP-BY sector WITHIN 1000",
        STOCK,
    )
    rows = [("S", n, None if n == 0 else float(n), "x") for n in range(200)]
    (row,) = tallied(query, stock(rows))
    # Every subset but the empty one; every event is in half of all subsets.
    prices = sum(range(200))
    assert dict(row.values) == {
        "COUNT(*)": 2**200 - 1,
        "COUNT(S)": 200 * 2**199,
        "SUM(S.price)": float(prices * 2**199),
        "AVG(S.price)": prices / 199,
        "MIN(S.price)": 1.0,
        "MAX(S.price)": 199.0,
    }


def test_groups_are_told_apart_where_only_the_last_event_tells_them() -> None:
    schema = stream_schema({"A": {}, "B": {"g": "long"}})
    query = bound_query("RETURN g, COUNT(*) PATTERN SEQ(A+, B) GROUP-BY g WITHIN 1000", schema)
    rows = [*(("A", n, {}) for n in range(70)), ("B", 70, {"g": 1}), ("B", 71, {"g": 2})]
    found = {row.group: row.values for row in tallied(query, EventTable.of(schema, rows))}
    assert found == {
        (("g", 1),): (("COUNT(*)", 2**70 - 1),),
        (("g", 2),): (("COUNT(*)", 2**70 - 1),),
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("RETURN COUNT(*) PATTERN SEQ(S x+, S y+) WITHIN 10", "in several ways"),
        ("RETURN COUNT(*) PATTERN S+ AND T+ WITHIN 10", "pairs of trends"),
        ("RETURN COUNT(*) PATTERN SEQ(S, NOT T, S y, T z) WHERE [z.sector] WITHIN 10", "keys"),
    ],
)
def test_what_cannot_be_counted_is_refused_with_the_reason(text: str, reason: str) -> None:
    events = stock(
        [("S", 1, 1.0, "x"), ("S", 2, 1.0, "x"), ("S", 3, 2.0, "x"), ("T", 4, None, "x")]
    )
    with pytest.raises(UnsupportedQueryError, match=reason):
        tallied(bound_query(text, STOCK), events)


def test_the_work_is_bounded() -> None:
    query = bound_query("RETURN COUNT(*) PATTERN S+ WITHIN 1000", STOCK)
    events = stock([("S", n, 1.0, "x") for n in range(100)])
    # A window; 100 first events and 4,950 pairs are tried, and none after the last event; 4,950
    # sums are made, and 100 of the begin's; to look through 100 events takes as long as 6 steps.
    assert tallied(query, events, steps=10_108)[0].values == (("COUNT(*)", 2**100 - 1),)
    with pytest.raises(BudgetError):
        tallied(query, events, steps=10_107)
