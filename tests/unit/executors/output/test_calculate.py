"""Expressions of RETURN and HAVING over columns of rows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from elsinore.catalog.stream import AttributeType
from elsinore.executors.output.calculate import Values, calculate
from elsinore.query.load_workload import read_workload
from elsinore.reference.functions import function_value
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({"A": {"v": "long", "x": "double", "k": "string", "t": "timestamp"}})
HUGE = 7 * 10**400
DAY = 86_400_000_000


def values_of(expression: str, *columns: tuple[str, AttributeType, list[Any]]) -> list[Any]:
    """Return the values of an expression over aggregates, which are given as columns."""
    text = f"QUERY q RETURN {expression} AS it, MAX(A.t) AS last PATTERN A GROUP-BY k WITHIN 5;"
    [query] = read_workload(text, SCHEMA).queries
    given = {label: Values.of(kind, values) for label, kind, values in columns}
    size = len(columns[0][2])
    none = [None] * size
    slots = [given.get(one.label, Values.of(one.value_type, none)) for one in query.aggregates]
    groups = [given.get("k", Values.of(AttributeType.STRING, none))]
    return calculate(query.outputs[0].expression, slots, groups, size).to_list()


COUNTS = "COUNT(*)", AttributeType.LONG, [0, 7, HUGE, -3]
SUMS = "SUM(A.x)", AttributeType.DOUBLE, [0.5, math.nan, math.inf, None]
LONGS = "SUM(A.v)", AttributeType.LONG, [None, 2, 2**70, 3]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("COUNT(*) + 1", [1, 8, HUGE + 1, -2]),
        ("COUNT(*) * COUNT(*)", [0, 49, HUGE**2, 9]),
        ("COUNT(*) % 4", [0, 3, HUGE % 4, -3]),
        ("7 % COUNT(*)", [None, 0, 7, 1]),
        ("-SUM(A.v)", [None, -2, -(2**70), -3]),
        ("COUNT(*) / (2 * COUNT(*))", [None, 0.5, 0.5, 0.5]),
        ("COUNT(*) / 2", [0.0, 3.5, math.inf, -1.5]),
        ("SUM(A.v) / SUM(A.x)", [None, math.nan, 0.0, None]),
        ("COUNT(*) / SUM(A.x)", [0.0, math.nan, 0.0, None]),
        ("SUM(A.x) * 2", [1.0, math.nan, math.inf, None]),
        ("SUM(A.x) % 2", [0.5, math.nan, math.nan, None]),
        ("COUNT(*) > SUM(A.x)", [False, None, False, None]),
        ("COUNT(*) = 7.0 OR SUM(A.v) > 3", [None, True, True, False]),
        ("NOT (COUNT(*) = 7 AND SUM(A.v) = 2)", [True, False, True, True]),
        ("SUM(A.v) IS NULL", [True, False, False, False]),
        ("coalesce(SUM(A.v), -1)", [-1, 2, 2**70, 3]),
        ("coalesce(SUM(A.x), COUNT(*))", [0.5, math.nan, math.inf, -3.0]),
        ("least(COUNT(*), SUM(A.v))", [0, 2, 2**70, -3]),
        ("greatest(SUM(A.x), 1)", [1.0, math.nan, math.inf, 1.0]),
        ("least(SUM(A.x), 1)", [0.5, 1.0, 1.0, 1.0]),
        ("abs(COUNT(*))", [0, 7, HUGE, 3]),
    ],
)
def test_numbers(expression: str, expected: list[Any]) -> None:
    found = values_of(expression, COUNTS, SUMS, LONGS)
    assert repr_of(found) == repr_of(expected)


def repr_of(values: list[Any]) -> list[Any]:
    """Values that compare strictly: 1 is not 1.0, and NaN is NaN."""
    return [value if isinstance(value, int) else repr(value) for value in values]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("upper(k)", ["AB", "", None]),
        ("k LIKE 'a%'", [True, False, None]),
        ("k = 'aB'", [True, False, None]),
        ("coalesce(k, 'none')", ["aB", "", "none"]),
        ("k IN ('', 'x')", [False, True, None]),
    ],
)
def test_strings(expression: str, expected: list[Any]) -> None:
    assert values_of(expression, ("k", AttributeType.STRING, ["aB", "", None])) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("extract(weekday FROM MAX(A.t))", [4, 5, None]),
        ("extract(hour FROM MAX(A.t) - 3600000000)", [23, 23, None]),
        ("MAX(A.t) - MIN(A.t)", [0, DAY, None]),
        ("MAX(A.t) + 300000000000000000", [None, None, None]),
        ("MAX(A.t) > '1970-01-01T12:00:00Z'", [False, True, None]),
    ],
)
def test_timestamps(expression: str, expected: list[Any]) -> None:
    columns = (
        ("MAX(A.t)", AttributeType.TIMESTAMP, [0, DAY, None]),
        ("MIN(A.t)", AttributeType.TIMESTAMP, [0, 0, None]),
    )
    assert values_of(expression, *columns) == expected


#: A count of 30,103 digits, which no double is near, and more than Python converts to text.
COUNT = 2**100_000
AS_LONG = 10**30_103
LONG_INTEGERS = [
    ("round(COUNT(*), -30102)", "round", [COUNT, -30_102], AS_LONG),
    ("round(COUNT(*), -30103)", "round", [COUNT, -30_103], AS_LONG),
    ("round(COUNT(*), -30104)", "round", [COUNT, -30_104], 0),
    ("round(COUNT(*), -2000000000)", "round", [COUNT, -2_000_000_000], 0),
    ("round(COUNT(*), 2)", "round", [COUNT, 2], COUNT),
    ("power(COUNT(*), 2)", "power", [COUNT, 2], None),
    ("power(COUNT(*), -1)", "power", [COUNT, -1], 0.0),
    ("power(COUNT(*), 0)", "power", [COUNT, 0], 1.0),
    ("exp(COUNT(*))", "exp", [COUNT], None),
    ("exp(-COUNT(*))", "exp", [-COUNT], 0.0),
    ("sqrt(COUNT(*))", "sqrt", [COUNT], None),
    ("ln(COUNT(*))", "ln", [COUNT], 100_000 * math.log(2)),
    ("sign(COUNT(*))", "sign", [COUNT], 1),
    ("ceil(COUNT(*))", "ceil", [COUNT], COUNT),
]


@pytest.mark.parametrize(
    ("expression", "name", "values", "expected"),
    LONG_INTEGERS,
    ids=[expression for expression, *_ in LONG_INTEGERS],
)
def test_functions_of_integers_beyond_all_doubles(
    expression: str, name: str, values: list[int], expected: float | None
) -> None:
    """2^100,000 is 9.99e30102, by its logarithm 30102.9996 and 10^0.9996 = 9.990."""
    [found] = values_of(expression, ("COUNT(*)", AttributeType.LONG, [COUNT]))
    assert type(found) is type(expected)
    assert found == (pytest.approx(expected) if isinstance(expected, float) else expected)
    assert function_value(name, values) == found
