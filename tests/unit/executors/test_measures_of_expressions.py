"""Measures of expressions whose integers exceed 64 bits."""

from __future__ import annotations

from typing import Any

import pytest

from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.executors.plan import Executor
from elsinore.library.results import answer
from elsinore.query.load_workload import read_workload
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({"A": {"x": "long", "y": "double"}, "B": {}})
BIG = 2**62


def value(returned: str, executor: Executor = Executor.AUTO) -> Any:
    """The value of a row of two A, with products of 125 and 124 bits, and a B."""
    asked = read_workload(f"QUERY q RETURN {returned} PATTERN SEQ(A+, B) WITHIN 9;", SCHEMA)
    events = [("A", 1, {"x": BIG, "y": 0.5}), ("A", 2, {"x": -BIG, "y": 2.0}), ("B", 3, {})]
    (row,) = answer(asked, EventTable.of(SCHEMA, events), executor)
    return row.values[0][1]


@pytest.mark.parametrize(
    "returned",
    [
        "MAX(TOTAL(A.x * 8))", "MIN(FIRST(A.x * A.x) * 0.5 + LAST(A.y))", "AVG(TOTAL(A.x * A.x))",
        "STDDEV(TOTAL(A.x * A.x))", "COUNT(LAST(A.x * A.x))", "MAX(TOTAL(A.x * A.x * 1.0))",
        "SUM(LAST(A.x * A.x * A.x) - FIRST(A.x))", "MAX(coalesce(LAST(A.x * 16), 1))",
    ],
)  # fmt: skip
def test_executors_give_the_value_of_the_reference(returned: str) -> None:
    expected = value(returned, Executor.TWOSTEP)
    assert expected is not None
    assert value(returned) == value(returned, Executor.GRETA) == expected


def test_beyond_96_bits_the_error_of_an_extreme_names_doubles() -> None:
    hint = r"more than 96 bits \(compute with doubles, as in TOTAL\(A.x \* 1.0\)\)"
    with pytest.raises(QueryError, match=hint):
        value("MAX(TOTAL(A.x * A.x))")
    assert value("MAX(TOTAL(A.x * A.x * 1.0))") == 2.0**125
