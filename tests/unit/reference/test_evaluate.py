"""Expressions: three-valued truth, arithmetic without an answer, mixed types."""

from __future__ import annotations

import math
from typing import Any

import pytest

from elsinore.query.expressions import BoundExpression
from elsinore.reference.evaluate import reader
from elsinore.reference.event import Event
from tests.golden_cases import bound_query, stream_schema

LARGEST = 2**63 - 1
SMALLEST = -(2**63)

SCHEMA = stream_schema(
    {
        "A": {
            "v": "long",
            "w": "long",
            "x": "double",
            "y": "double",
            "s": "string",
            "b": "boolean",
            "t": "timestamp",
            "u": "timestamp",
        }
    },
    "us",
)
ATTRIBUTES = SCHEMA.by_name["A"].by_name


def condition(text: str, **values: Any) -> bool | None:
    """The truth of a condition on one event; attributes not given are NULL."""
    query = bound_query(f"RETURN COUNT(*) PATTERN A WHERE {text} WITHIN 10", SCHEMA)
    event = Event(0, "A", 5, dict.fromkeys(ATTRIBUTES) | values)
    (predicate,) = query.local_predicates
    truth: bool | None = reader(predicate.condition)(event, None)
    return truth


def holds(condition: BoundExpression, earlier: Event, later: Event) -> bool:
    """Whether a condition on a pair of events is true."""
    return reader(condition)(earlier, later) is True


#: Conditions on one event, its attributes that are known, and what is true of it.
TRUTHS: list[tuple[str, dict[str, Any], bool | None]] = [
    # unknown is neither true nor false
    ("A.v < 1", {}, None),
    ("NOT A.v < 1", {}, None),
    ("A.v < 1 OR A.w < 1", {"w": 0}, True),
    ("A.v < 1 OR A.w < 1", {"w": 5}, None),
    ("A.v < 1 OR A.w < 1", {"v": 5, "w": 5}, False),
    ("NOT (A.v < 1 AND A.w < 1)", {"w": 5}, True),
    ("NOT (A.v < 1 AND A.w < 1)", {"w": 0}, None),
    ("A.v IS NULL", {}, True),
    ("A.v IS NOT NULL", {}, False),
    ("(A.v + 1) IS NULL", {"v": LARGEST}, True),
    ("A.v IN (1, 2)", {"v": 2}, True),
    ("A.v IN (1, 2)", {"v": 3}, False),
    ("A.v NOT IN (1, A.w)", {"v": 3}, None),
    ("A.v NOT IN (1, A.w)", {"v": 1}, False),
    ("A.v NOT BETWEEN 1 AND 3", {"v": 4}, True),
    ("A.v NOT BETWEEN 1 AND A.w", {"v": 0}, True),
    # NaN compares like NULL, but is not NULL
    ("A.x = A.x", {"x": math.nan}, None),
    ("A.x != 1", {"x": math.nan}, None),
    ("NOT A.x = 1", {"x": math.nan}, None),
    ("A.x IS NULL", {"x": math.nan}, False),
    # a long meets a double as a double: 2^53 + 1 rounds to 2^53
    ("A.v = A.x", {"v": 2**53 + 1, "x": 2.0**53}, True),
    ("A.v = A.w", {"v": 2**53 + 1, "w": 2**53}, False),
    ("A.x = 1", {"x": 1.0}, True),
    ("A.x = A.y", {"x": 0.0, "y": -0.0}, True),
    ("A.x > A.y", {"x": math.inf, "y": 1e308}, True),
    # longs stay within 64 bits
    ("A.v + 1 > 0", {"v": LARGEST}, None),
    ("A.v - 1 < 0", {"v": SMALLEST}, None),
    ("A.v * 2 > 0", {"v": 2**62}, None),
    ("-A.v > 0", {"v": SMALLEST}, None),
    ("-A.v > 0", {"v": -5}, True),
    ("A.v + 1.0 > 0", {"v": LARGEST}, True),
    # division
    ("A.v / 2 = 1.5", {"v": 3}, True),
    ("A.v / A.w = 1", {"v": 0, "w": 0}, None),
    ("A.x / A.y > 0", {"x": 1.0, "y": -0.0}, None),
    ("A.v % A.w = 0", {"v": 1, "w": 0}, None),
    ("A.x % A.y = 0", {"x": 1.0, "y": 0.0}, None),
    ("A.v % 3 = -1", {"v": -7}, True),
    ("A.v % -3 = 1", {"v": 7}, True),
    ("A.v % -1 = 0", {"v": SMALLEST}, True),
    ("A.x % 3 = -1", {"x": -7.0}, True),
    ("A.x % A.y = 7", {"x": 7.0, "y": math.inf}, True),
    ("A.x % 2 = 0", {"x": math.inf}, None),
    ("A.x % 2 = 0", {"x": math.nan}, None),
    # doubles go on to infinity
    ("A.x * 10 > 1.0e308", {"x": 1e308}, True),
    ("A.x - A.x = 0", {"x": math.inf}, None),
    ("-A.x < 0", {"x": 2.5}, True),
    # strings by code point, truth values by equality
    ("A.s < 'a'", {"s": "Z"}, True),
    ("A.s > '\uffff'", {"s": "\U0001f600"}, True),
    ("A.s = 'it''s'", {"s": "it's"}, True),
    ("A.b = TRUE", {"b": True}, True),
    ("A.b != TRUE", {"b": True}, False),
    ("A.b", {"b": False}, False),
    ("NOT A.b", {}, None),
    # instants
    ("A.t = '1970-01-01T00:00:01Z'", {"t": 1_000_000}, True),
    ("A.t + 1 second > A.u", {"t": 1_000_000, "u": 1_999_999}, True),
    ("A.u - A.t = 7", {"t": 1, "u": 8}, True),
    ("A.t + 1 > A.u", {"t": LARGEST, "u": 0}, None),
    ("A.time = '1970-01-01T00:00:00.000005Z'", {}, True),
    # abs
    ("ABS(A.v) = 5", {"v": -5}, True),
    ("abs(A.v) IS NULL", {"v": SMALLEST}, True),
    ("abs(A.v) = 9223372036854775807", {"v": SMALLEST + 1}, True),
    ("A.v = -9223372036854775808", {"v": SMALLEST}, True),
    ("abs(A.v) > 0", {}, None),
    ("abs(A.x) = 2.5", {"x": -2.5}, True),
    # least and greatest skip NULL; NaN ranks above every number
    ("least(A.v, A.w, 3) = 2", {"v": 7, "w": 2}, True),
    ("Greatest(A.v, A.w, 3) = 7", {"v": 7, "w": 2}, True),
    ("least(A.v, A.w) = 4", {"w": 4}, True),
    ("greatest(A.v, A.w) = -4", {"w": -4}, True),
    ("least(A.v, A.w) IS NULL", {}, True),
    ("least(A.x, A.y) = 1", {"x": math.nan, "y": 1.0}, True),
    ("least(A.y, A.x) = 1", {"x": math.nan, "y": 1.0}, True),
    ("least(A.x, A.y) = 1", {"x": math.nan}, None),
    ("least(A.x, A.y) IS NULL", {"x": math.nan}, False),
    ("greatest(A.x, A.y) >= 1", {"x": math.nan, "y": 1.0}, None),
    ("greatest(A.y, A.x) IS NULL", {"x": math.nan, "y": 1.0}, False),
    ("greatest(A.x, A.y) = 1", {"y": 1.0}, True),
    # ... and longs meet doubles as doubles: 2^53 + 1 rounds to 2^53
    ("least(A.v, 1.0e300) = 9007199254740992", {"v": 2**53 + 1}, True),
    ("coalesce(A.x, A.v) = 9007199254740992", {"v": 2**53 + 1}, True),
    ("least(A.v, A.w) = 9007199254740992", {"v": 2**53 + 1}, False),
    ("greatest(A.s, 'b') = 'b'", {"s": "B"}, True),
    ("least(A.t, A.u) = '1970-01-01'", {"t": 0, "u": 1}, True),
    ("greatest(A.t, '1970-01-02') = '1970-01-02'", {"t": 5}, True),
    # coalesce
    ("coalesce(A.v, A.w, 9) = 9", {}, True),
    ("coalesce(A.v, A.w, 9) = 3", {"w": 3}, True),
    ("coalesce(A.x, 1) = 1", {"x": math.nan}, None),
    ("coalesce(A.s, 'none') = ''", {"s": ""}, True),
    ("coalesce(A.b, FALSE)", {}, False),
    ("coalesce(A.t, A.u) = '1970-01-01T00:00:00.000001Z'", {"u": 1}, True),
    # case
    ("lower(A.s) = 'straße'", {"s": "STRAßE"}, True),
    ("upper(A.s) = 'STRASSE'", {"s": "straße"}, True),
    ("UPPER(A.s) = ''", {"s": ""}, True),
    ("lower(A.s) = 'a'", {}, None),
    # LIKE
    ("A.s LIKE 'a%'", {"s": "abc"}, True),
    ("A.s like 'a%'", {"s": "Abc"}, False),
    ("A.s LIKE 'a_c'", {"s": "abc"}, True),
    ("A.s LIKE 'a_c'", {"s": "ac"}, False),
    ("A.s LIKE '_'", {"s": "\U0001f600"}, True),
    ("A.s LIKE 'a%c'", {"s": "a\nb\r\nc"}, True),
    ("A.s LIKE 'a_c'", {"s": "a\nc"}, True),
    ("A.s LIKE 'a'", {"s": "a\n"}, False),
    ("A.s LIKE '%b%'", {"s": "abc"}, True),
    ("A.s LIKE '%a%a%'", {"s": "ba"}, False),
    ("A.s LIKE '%'", {"s": ""}, True),
    ("A.s LIKE ''", {"s": ""}, True),
    ("A.s LIKE ''", {"s": "a"}, False),
    ("A.s LIKE '_%'", {"s": ""}, False),
    ("A.s LIKE '50!%%' ESCAPE '!'", {"s": "50% off"}, True),
    ("A.s LIKE '50!%%' ESCAPE '!'", {"s": "50 off"}, False),
    ("A.s LIKE 'a!_!!' ESCAPE '!'", {"s": "a_!"}, True),
    ("A.s LIKE 'a%%b' ESCAPE '%'", {"s": "a%b"}, True),
    ("A.s LIKE 'a.*[b]\\'", {"s": "a.*[b]\\"}, True),
    ("A.s LIKE 'a.*'", {"s": "abc"}, False),
    ("A.s NOT LIKE 'a%'", {"s": "b"}, True),
    ("A.s NOT LIKE 'a%'", {}, None),
    # parts of an instant, in UTC: 2013-01-01 was a Tuesday, 1969-12-31 a Wednesday
    ("extract(hour FROM A.t) = 23", {"t": -1}, True),
    ("EXTRACT(WEEKDAY FROM A.t) = 3", {"t": -1}, True),
    ("extract(weekday FROM A.t) = 2", {"t": 1_356_998_400_000_000}, True),
    ("extract(weekday FROM A.t) = 7", {"t": 3 * 86_400_000_000}, True),
    ("extract(weekday FROM A.t) = 1", {"t": 4 * 86_400_000_000}, True),
    ("extract(hour FROM A.t + 90 minutes) = 1", {"t": 0}, True),
    ("extract(hour FROM A.time) = 0", {}, True),
    ("extract(hour FROM A.t) = 0", {}, None),
]


@pytest.mark.parametrize(("text", "values", "truth"), TRUTHS)
def test_condition(text: str, values: dict[str, Any], truth: bool | None) -> None:
    assert condition(text, **values) is truth


def test_functions_read_both_events() -> None:
    query = bound_query(
        "RETURN COUNT(*) PATTERN A+ WHERE abs(A.v - NEXT(A).v) = 2 "
        "AND greatest(A.v, NEXT(A).v) = 5 AND coalesce(A.s, NEXT(A).s) = 'x' "
        "AND least(A.t, NEXT(A).t) = '1970-01-01' "
        "AND extract(hour FROM least(A.time, NEXT(A).time)) = 0 "
        "AND lower(A.s) = lower(NEXT(A).s) WITHIN 10",
        SCHEMA,
    )
    assert len(query.edge_predicates) == 6
    earlier = Event(0, "A", 1, dict.fromkeys(ATTRIBUTES) | {"v": 3, "s": "x", "t": 0})
    later = Event(1, "A", 2, dict.fromkeys(ATTRIBUTES) | {"v": 5, "s": "X"})
    assert all(holds(edge.condition, earlier, later) for edge in query.edge_predicates)
    swapped = [holds(edge.condition, later, earlier) for edge in query.edge_predicates]
    assert swapped == [True, True, False, True, True, True]  # coalesce takes the earlier's X


def test_an_edge_predicate_reads_both_events() -> None:
    query = bound_query(
        "RETURN COUNT(*) PATTERN A+ WHERE A.v - NEXT(A).v = 2 AND A.time < NEXT(A).time WITHIN 10",
        SCHEMA,
    )
    difference, times = (edge.condition for edge in query.edge_predicates)
    earlier = Event(0, "A", 1, dict.fromkeys(ATTRIBUTES) | {"v": 5})
    later = Event(1, "A", 2, dict.fromkeys(ATTRIBUTES) | {"v": 3})
    assert holds(difference, earlier, later)
    assert not holds(difference, later, earlier)
    assert holds(times, earlier, later)
    assert not holds(times, later, earlier)
