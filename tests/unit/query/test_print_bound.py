"""Bound conditions as text: what is printed binds to the same condition."""

from __future__ import annotations

import pytest

from elsinore.query.bound import BoundQuery
from elsinore.query.print_query import print_bound
from tests.golden_cases import bound_query, stream_schema

ATTRIBUTES = {"v": "long", "x": "double", "s": "string", "b": "boolean", "at": "timestamp"}
SCHEMA = stream_schema({"A": ATTRIBUTES, "B": ATTRIBUTES}, "iso")


def query_of(where: str) -> BoundQuery:
    text = f"RETURN COUNT(*) PATTERN SEQ(A, B) WHERE {where} WITHIN 5 minutes"
    return bound_query(text, SCHEMA)


def printed(query: BoundQuery) -> list[str]:
    aliases = {position.index: position.alias for position in query.positions}
    conditions = [predicate.condition for predicate in query.local_predicates]
    conditions += [predicate.condition for predicate in query.edge_predicates]
    return [print_bound(condition, aliases) for condition in conditions]


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("A.v > -3", "A.v > -3"),
        ("A.v+1 <= next(B).v*2", "(A.v + 1) <= (NEXT(B).v * 2)"),
        ("A.v IN (1, 2, 3)", "A.v IN (1, 2, 3)"),
        ("A.v NOT IN (1, 2)", "NOT (A.v IN (1, 2))"),
        ("A.v = 1 OR A.x > 2", "(A.v = 1) OR (A.x > 2)"),
        ("A.v = 1 OR A.x > .5", "(A.v = 1) OR (A.x > 0.5)"),
        ("NEXT(B).v BETWEEN A.v AND 9", "NEXT(B).v BETWEEN A.v AND 9"),
        ("A.s IS NOT NULL", "A.s IS NOT NULL"),
        ("(A.v % 2) IS NULL", "(A.v % 2) IS NULL"),
        ("A.s = 'it''s'", "A.s = 'it''s'"),
        ("A.b", "A.b"),
        ("A.b = TRUE", "A.b = TRUE"),
        ("NOT A.b", "NOT A.b"),
        ("-A.v < 3", "-A.v < 3"),
        ("abs(A.v - 1) > coalesce(A.x, 0.5)", "abs(A.v - 1) > coalesce(A.x, 0.5)"),
        ("lower(A.s) LIKE 'b!%%' ESCAPE '!'", "lower(A.s) LIKE 'b!%%' ESCAPE '!'"),
        ("A.s NOT LIKE '%x'", "A.s NOT LIKE '%x'"),
        ("extract(hour FROM A.time) = 7", "extract(hour FROM A.time) = 7"),
        ("NEXT(B).time - A.time < 90 minutes", "(NEXT(B).time - A.time) < 90 minutes"),
        ("NEXT(B).at > A.at + 1 day", "NEXT(B).at > (A.at + 1 day)"),
        ("A.at < '2013-02-08T09:00Z'", "A.at < '2013-02-08T09:00:00.000000Z'"),
    ],
)
def test_a_condition_as_text(where: str, text: str) -> None:
    query = query_of(where)
    assert printed(query) == [text]
    again = query_of(text)
    assert again.local_predicates == query.local_predicates
    assert again.edge_predicates == query.edge_predicates
