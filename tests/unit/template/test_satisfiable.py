"""Which conditions no event meets together: by hand, and "never" against sampled events."""

from __future__ import annotations

from itertools import product

import pytest

from elsinore.query.bound import BoundQuery
from elsinore.reference.evaluate import holds
from elsinore.reference.event import Event
from elsinore.template.subsets import can_meet, told_apart
from elsinore.template.support import greta_refusals
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema({"A": {"v": "long", "w": "double", "s": "string", "f": "boolean"}})
INSTANTS = stream_schema({"A": {"t": "timestamp"}}, "us")

APART = (
    "x.v > 0 AND y.v <= 0",
    "x.v > 1 AND y.v < 2",
    "x.v BETWEEN 1 AND 3 AND y.v BETWEEN 4 AND 5",
    "x.v > 2.5 AND y.v <= 2",
    "2 <= x.v AND 2 > y.v",
    "x.w > 0 AND y.w <= 0",
    "x.w = 1 AND y.w != 1",
    "x.s IN ('a', 'b') AND y.s NOT IN ('b', 'a')",
    "x.s < 'b' AND y.s >= 'b'",
    "x.s LIKE 'a%' AND y.s NOT LIKE 'a%'",
    "x.f = TRUE AND y.f = FALSE",
    "x.f = TRUE AND NOT (y.f = TRUE)",
    "x.v IS NULL AND y.v > 1",
    "x.v IS NULL AND y.v IS NOT NULL",
    "x.v % 2 = 0 AND y.v % 2 = 1",
    "x.v > x.w AND y.w >= y.v",
    "(x.v > 1 OR x.w > 1) AND NOT (y.v > 1 OR y.w > 1)",
    "(x.v = 1 OR x.v = 2) AND (y.v = 3 OR y.s = 'a') AND y.s = 'b'",
    "x.v = 1 AND x.v = 2 AND y.v = 3",
    "x.time % 2 = 0 AND y.time % 2 = 1",
)
TOGETHER = (
    "x.v > 0",
    "x.v > 0 AND y.v <= 1",
    "x.v > 1 AND y.v < 3",
    "x.v > 2.5 AND y.v <= 3",
    "x.w > 1 AND y.w < 2",
    "x.s != 'a' AND y.s != 'b'",
    "x.v > 0 AND y.w <= 0",
    "x.v IS NULL AND y.w > 1",
    "x.s LIKE 'a%' AND y.s NOT LIKE 'b%'",
    "(x.v > 1 OR x.w > 1) AND NOT (y.v > 1 AND y.w > 1)",
    # a long meets a double as a double: 2^53 + 1 is both
    "x.v >= 9007199254740993 AND y.v <= 9007199254740992.0",
    "x.w >= 9007199254740993 AND y.w <= 9007199254740992",
)


def query(where: str) -> BoundQuery:
    text = f"RETURN COUNT(*), COUNT(x) PATTERN SEQ(A x+, A y+) WHERE {where} WITHIN 10"
    return bound_query(text, SCHEMA)


@pytest.mark.parametrize("where", APART)
def test_apart(where: str) -> None:
    assert told_apart(query(where)) == {(0, 1), (1, 0)}
    assert greta_refusals(query(where)) == ()


@pytest.mark.parametrize("where", TOGETHER)
def test_not_apart(where: str) -> None:
    assert told_apart(query(where)) == frozenset()
    (reason,) = greta_refusals(query(where))
    assert reason == "one event of a trend can stand for x or y, and COUNT(x) counts only x"


def test_instants_are_whole_microseconds() -> None:
    text = """RETURN COUNT(x) PATTERN SEQ(A x+, A y+)
        WHERE x.t > '1970-01-01T00:00:00.000005Z' AND y.t < '1970-01-01T00:00:00.000006Z'
        WITHIN 10"""
    assert greta_refusals(bound_query(text, INSTANTS)) == ()


def test_what_some_event_meets_is_never_ruled_out() -> None:
    """Every pair of all these conditions, on every combination of these values."""
    values = {
        "v": (None, -1, 0, 1, 2, 3, 4, 2**53, 2**53 + 1),
        "w": (None, float("nan"), -1.0, 0.0, 1.0, 1.5, 2.0**53),
        "s": (None, "", "a", "ab", "b"),
        "f": (None, True, False),
    }
    events = [
        Event(number, "A", number % 4, dict(zip(values, row, strict=True)))
        for number, row in enumerate(product(*values.values()))
    ]
    bound = [query(where) for where in (*APART, *TOGETHER)]
    conditions = [p.condition for each in bound for p in each.local_predicates]
    met = [frozenset(e.index for e in events if holds(c, e)) for c in conditions]
    ruled_out = 0
    for (one, first), (two, second) in product(zip(conditions, met, strict=True), repeat=2):
        if not can_meet((one, two)):
            ruled_out += 1
            assert not first & second, (one, two)
    assert ruled_out > 100


def test_many_values_and_many_conditions_cost_little() -> None:
    """Beyond what is told apart nothing is ruled out, and nothing takes long."""
    numbers = ", ".join(map(str, range(2_000)))
    assert told_apart(query(f"x.v IN ({numbers}) AND y.v NOT IN ({numbers})")) == frozenset()
    choices = " AND ".join(f"({n}.v = {k} OR {n}.w = {k})" for n in "xy" for k in range(300))
    assert told_apart(query(choices)) == frozenset()
    aliases = [f"A a{n}" for n in range(200)]
    where = " AND ".join(f"a{n}.v = {n}" for n in range(200))
    text = f"RETURN COUNT(*) PATTERN SEQ({', '.join(aliases)}) WHERE {where} WITHIN 10"
    assert told_apart(bound_query(text, SCHEMA)) == frozenset()
