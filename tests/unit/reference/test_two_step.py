"""Windows asked for, budgets, refusals and long trends."""

from __future__ import annotations

import pickle
import time

import pytest

from elsinore.errors import BudgetError, ParameterError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.reference.budget import Meter
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from elsinore.timeline import Instant
from tests.golden_cases import bound_query, event_table, stream_schema

SCHEMA = stream_schema({"A": {"v": "long", "k": "long"}, "B": {"k": "long"}, "N": {"k": "long"}})


def query(text: str) -> BoundQuery:
    return bound_query(text, SCHEMA)


def events(text: str) -> EventTable:
    return event_table(text, SCHEMA)


def count(row: ResultRow) -> int:
    value = dict(row.values)["COUNT(*)"]
    assert isinstance(value, int)
    return value


# ---- windows
def test_only_the_windows_asked_for() -> None:
    tumbling = query("RETURN COUNT(*) PATTERN A+ WITHIN 2")
    rows = two_step(tumbling, events("a0 a1 a2 a4 a5"), windows=range(1, 3))
    assert [(row.window_start, row.window_end, count(row)) for row in rows] == [
        (2, 4, 1),
        (4, 6, 3),
    ]


def test_windows_without_events_have_no_row() -> None:
    tumbling = query("RETURN COUNT(*) PATTERN A+ WITHIN 2")
    assert two_step(tumbling, events("a0"), windows=[7, -3]) == []
    assert two_step(tumbling, events("a0"), windows=[]) == []
    assert two_step(tumbling, events("")) == []


def test_windows_asked_for_give_what_all_windows_give() -> None:
    sliding = query("RETURN COUNT(*) PATTERN SEQ(NOT N, A+, B) WITHIN 5 SLIDE 2")
    stream = events("a0 b1 n2 a3 a4 b6 b7 a8 b9")
    every = two_step(sliding, stream)
    assert len(every) > 2
    for row in every:
        assert two_step(sliding, stream, windows=[row.window_start // 2]) == [row]


def test_rows_are_in_canonical_order() -> None:
    grouped = query("RETURN COUNT(*) PATTERN A GROUP-BY k WITHIN 2")
    rows = two_step(grouped, events("a3(k=1) a0(k=2) a1(k=1) a2"))
    assert [(dict(row.group)["k"], row.window_start) for row in rows] == [
        (None, 2),
        (1, 0),
        (1, 2),
        (2, 0),
    ]


def test_bounds_are_instants_where_time_is_calendar_time() -> None:
    for unit, instants in (("us", True), ("integer", False)):
        schema = stream_schema({"A": {}}, unit)
        tumbling = bound_query("RETURN COUNT(*) PATTERN A WITHIN 10", schema)
        (row,) = two_step(tumbling, event_table("a1", schema))
        assert isinstance(row.window_start, Instant) is instants
        assert isinstance(row.window_end, Instant) is instants
        start = "1970-01-01T00:00:00.000000Z" if instants else "0"
        with pytest.raises(BudgetError, match=f"more than 1 steps .* in the window from {start} "):
            two_step(tumbling, event_table("a1 a2", schema), budget=1)


# ---- budget
def test_a_budget_bounds_the_enumeration() -> None:
    every = query("RETURN COUNT(*) PATTERN A+ WITHIN 100 SLIDE 50")
    stream = events(" ".join(f"a{n}" for n in range(60)))
    with pytest.raises(BudgetError) as caught:
        two_step(every, stream, budget=1000)
    assert caught.value.fields == {"query": "q", "window": -1, "steps": 1000}
    assert "q takes more than 1000 steps to enumerate its trends in the window from -50" in str(
        caught.value
    )
    assert pickle.loads(pickle.dumps(caught.value)).fields == caught.value.fields


def test_a_budget_that_suffices_changes_nothing() -> None:
    # A window; 2 first events; an event after (a1); no event after (a2) and after (a1 a2).
    every = query("RETURN COUNT(*) PATTERN A+ WITHIN 100")
    assert count(two_step(every, events("a1 a2"), budget=6)[0]) == 3
    with pytest.raises(BudgetError):
        two_step(every, events("a1 a2"), budget=5)


def test_pairs_and_negated_matches_take_steps_too() -> None:
    stream = events("a1 a2 a3 a4 b5 b6 b7 b8")
    pairs = query("RETURN COUNT(*) PATTERN A AND B WITHIN 100")
    with pytest.raises(BudgetError):
        two_step(pairs, stream, budget=20)
    guarded = query("RETURN COUNT(*) PATTERN SEQ(A, NOT (SEQ(A x+, B y, N)), B) WITHIN 100")
    assert count(two_step(guarded, stream, budget=1000)[0]) == 16
    with pytest.raises(BudgetError):
        two_step(guarded, stream, budget=30)


#: Ways to make one step of the search expensive; the budget has to count what they cost.
EXPENSIVE = {
    "alternatives": f"({' OR '.join(f'A a{n}' for n in range(300))})+ WITHIN 1000",
    "conditions": "SEQ(A x, A y+) WHERE "
    + " AND ".join(f"y.v + {n} * 0 <= NEXT(y).v" for n in range(400))
    + " WITHIN 1000",
    "windows": "A+ WITHIN 10000 SLIDE 1",
    "long trends": "A+ WITHIN 1000 SEMANTICS contiguous",
}


@pytest.mark.parametrize("name", EXPENSIVE)
def test_a_budget_counts_all_the_work(name: str) -> None:
    expensive = query(f"RETURN COUNT(*) PATTERN {EXPENSIVE[name]}")
    stream = events(" ".join(f"a{n}(v={n})" for n in range(600 if name == "long trends" else 40)))
    began = time.process_time()
    with pytest.raises(BudgetError):
        two_step(expensive, stream, budget=10_000)
    # A plain step takes less than 10 us on any machine; binding and the first look at all events
    # are not part of the search.
    assert time.process_time() - began < 3


def test_windows_are_enumerated_one_at_a_time() -> None:
    every = query("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10000 SLIDE 1")
    with pytest.raises(BudgetError):
        two_step(every, events(" ".join(f"a{n * 20_000}" for n in range(2_000))), budget=10)


def test_a_budget_is_positive() -> None:
    with pytest.raises(ParameterError):
        Meter("q", 0)


# ---- size
@pytest.mark.slow
@pytest.mark.parametrize("length", [200, 1100])
def test_trends_may_be_long(length: int) -> None:
    # Values rise by one from the first event on: (0, 1), (0, 1, 2), ... and nothing else.
    rising = query(
        "RETURN COUNT(*), COUNT(A), MAX(y.v) PATTERN SEQ(A x, A y+) "
        "WHERE x.v = 0 AND x.v + 1 = NEXT(y).v AND y.v + 1 = NEXT(y).v WITHIN 10000"
    )
    stream = events(" ".join(f"a{n}(v={n})" for n in range(length)))
    (row,) = two_step(rising, stream)
    assert dict(row.values) == {
        "COUNT(*)": length - 1,
        "COUNT(A)": sum(range(2, length + 1)),
        "MAX(y.v)": length - 1,
    }


def test_ambiguous_loops_cost_no_more_than_their_trends() -> None:
    nested = query("RETURN COUNT(*) PATTERN (SEQ(A+, B?))+ WITHIN 100")
    stream = events(" ".join(f"a{n}" for n in range(12)))
    rows = two_step(nested, stream, budget=3 * 2**12)
    assert [count(row) for row in rows] == [2**12 - 1]


def test_contiguous_prunes_as_it_goes() -> None:
    unbroken = query("RETURN COUNT(*) PATTERN A+ WHERE [k] WITHIN 1000 SEMANTICS contiguous")
    stream = events(" ".join(f"a{n}(k=1)" for n in range(100)))
    rows = two_step(unbroken, stream, budget=400_000)
    assert [count(row) for row in rows] == [100 * 101 // 2]


# ---- ambiguity
@pytest.mark.parametrize(
    "text",
    [
        "RETURN COUNT(x) PATTERN SEQ(A x+, A y+) WITHIN 10",
        "RETURN SUM(y.v) PATTERN SEQ(A x?, A y?) WITHIN 10",
        "RETURN COUNT(*) PATTERN A x OR A y GROUP-BY x.k WITHIN 10",
        "RETURN COUNT(*) PATTERN (A x OR A y) AND B GROUP-BY x.k WITHIN 10",
    ],
)
def test_a_trend_with_two_results_is_refused(text: str) -> None:
    stream = events("a1(v=1, k=7) a2(v=2, k=7) a3(v=3, k=7) b4(k=7)")
    with pytest.raises(UnsupportedQueryError, match="ambiguous") as caught:
        two_step(query(text), stream)
    assert caught.value.fields["query"] == "q"
    assert caught.value.fields["executor"] == "twostep"
    assert caught.value.fields["reasons"]


def test_an_ambiguity_that_no_trend_shows_is_none() -> None:
    # Only a trend of three or more events can be split in two ways.
    rows = two_step(
        query("RETURN COUNT(x) PATTERN SEQ(A x+, A y+) WITHIN 10"), events("a1(v=1) a2(v=2)")
    )
    assert dict(rows[0].values) == {"COUNT(x)": 1}
