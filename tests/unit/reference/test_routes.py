"""Ways on through a pattern: options, loops, and the NOT that are passed."""

from __future__ import annotations

import pytest

from elsinore.query.syntax import Negation
from elsinore.reference.routes import Route, routes
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema({"A": {}, "B": {}, "C": {}, "N": {}})


def ways(pattern: str, *taken: str) -> set[tuple[str | None, int]]:
    """Aliases that may come next (None: the end) after some events, each with its NOT count."""
    query = bound_query(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 10", SCHEMA)
    found = routes((query.pattern, None), 0)
    for number, alias in enumerate(taken, start=1):
        (way,) = (way for way in found if way.next is not None and way.next.alias == alias)
        found = routes(way.rest, number)
    return {_named(way) for way in found}


def _named(way: Route) -> tuple[str | None, int]:
    assert all(isinstance(guard, Negation) for guard in way.guards)
    return (way.next.alias if way.next else None, len(way.guards))


@pytest.mark.parametrize(
    ("pattern", "taken", "expected"),
    [
        ("SEQ(A+, B)", [], {("A", 0)}),
        ("SEQ(A+, B)", ["A"], {("A", 0), ("B", 0)}),
        ("SEQ(A+, B)", ["A", "B"], {(None, 0)}),
        ("(SEQ(A+, B))+", ["A", "B"], {(None, 0), ("A", 0)}),
        ("SEQ(A?, B*, C)", [], {("A", 0), ("B", 0), ("C", 0)}),
        ("A OR B", [], {("A", 0), ("B", 0)}),
        ("(SEQ(A?, B?))+", [], {("A", 0), ("B", 0), (None, 0)}),
        ("(SEQ(A?, B?))+", ["A"], {("A", 0), ("B", 0), (None, 0)}),
        ("((SEQ(A*, B*))*)+", ["B"], {("A", 0), ("B", 0), (None, 0)}),
        ("SEQ(NOT N, A)", [], {("A", 1)}),
        ("SEQ(A, NOT N)", ["A"], {(None, 1)}),
        ("SEQ(A, NOT N, B?, C)", ["A"], {("B", 1), ("C", 1)}),
        ("(SEQ(NOT N, A, NOT C))+", ["A"], {("A", 2), (None, 1)}),
        ("SEQ(A, (SEQ(NOT N, B) OR C))", ["A"], {("B", 1), ("C", 0)}),
    ],
)
def test_ways(pattern: str, taken: list[str], expected: set[tuple[str | None, int]]) -> None:
    assert ways(pattern, *taken) == expected
