"""Queries that have what random ones seldom have: templates by greta, by pairs, by order, and wide,
and conditions on pairs by all ways.

What no query has: bars in NOT, a floor beside a program, comparisons that trees answer beside ways
out, closing transitions or the last event of a partition, and states of which one transition closes
and another one does not.
"""

from __future__ import annotations

import pytest

from elsinore.query.load_workload import read_workload
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from tests.draws import draws
from tests.property.compare import EveryWay, assert_answers
from tests.property.random_cases import SCHEMA, RandomCase
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.shape import Shape
from tests.property.random_cases.streams import draw_events
from tests.property.ways import alone

#: How many random streams of each query, one after the other.
STREAMS = draws(40, 400)

#: No N, or else no D, whatever else is there: two ways, each with a NOT of its own.
EITHER = "(SEQ(NOT N n, B b?) OR SEQ(NOT D d, C c?))"
OTHER = "(SEQ(NOT N m, A h?) OR SEQ(NOT D g, C j?))"

SHAPES = (
    # two ways past NOT: between events, at either end, within NOT, beside trees
    f"SEQ(A a, {EITHER}, A z)",
    f"SEQ({EITHER}, A z+)+ WHERE z.x <= NEXT(z).x",
    f"SEQ({EITHER}, A z+, (SEQ(B e?, NOT N m) OR SEQ(C f?, NOT D g))) WHERE z.x <= NEXT(z).x",
    f"SEQ({EITHER}, A e?, NOT A f, A g+, A h+)",
    f"SEQ(A a, NOT SEQ(C f, {EITHER}), A z)",
    f"SEQ(A a, NOT SEQ({EITHER}, B e, {OTHER}, C f), A z)",
    f"SEQ(A a, NOT SEQ({EITHER}, B e, {OTHER}, C f), A z) WHERE e.x < NEXT(f).x",
    f"SEQ(A a+, {EITHER}, A z+) WHERE a.x < NEXT(a).x",
    f"SEQ(A a+, {EITHER}, B z) WHERE a.x < NEXT(a).x",
    # several NOT at one place
    "SEQ(NOT (C c OR N n), B b?, NOT B e, B f+, B g+, NOT N m, B h*)",
    "SEQ(NOT (D d OR C c), A a+, A e?, NOT (B b OR D f), A g+, NOT (D h OR C j)) "
    "WHERE a.x <= NEXT(a).x",
    "SEQ(A a+, NOT N n, NOT SEQ(B b, D d), A e+) "
    "WHERE NEXT(e).time - a.time > 1 AND a.s > NEXT(a).s",
    "SEQ(A a+, NOT N n, NOT D d) WHERE a.x <= NEXT(a).x",
    "SEQ(A a+, NOT N n, NOT SEQ(B b, D d), B e) WHERE a.s > NEXT(a).s",
    "SEQ(A a+, NOT (N n OR N m), B b*, A e+) WHERE b.x <= NEXT(e).y",
    "SEQ(NOT N n, B b*, NOT N m, B e+, D d+, NOT SEQ(C c+, C f)) WHERE e.s <= NEXT(e).s",
    "SEQ(B b?, NOT N n+, B e+, NOT SEQ(C c+, D d)) WHERE b.x >= 0 AND e.x >= NEXT(e).x",
    "SEQ(NOT N n, A a+, A e+)+ WHERE a.x <= NEXT(a).x",
    # NOT within NOT
    "SEQ(A a+, B b, NOT SEQ(N n, NOT N m, D d)) WHERE a.x < NEXT(b).x AND n.x <= NEXT(d).x",
    "SEQ(NOT SEQ(C c, NOT N n, C e), B b+, A a) "
    "WHERE b.x < NEXT(a).y AND b.y >= NEXT(b).y AND NEXT(e).x - c.x = 1",
    "SEQ(NOT SEQ(NOT B b, N n), A a+, NOT SEQ(NOT N m, B e), B f, NOT SEQ(C c, NOT N h)) "
    "WHERE a.x <= NEXT(f).x AND a.x <= NEXT(a).x",
    "SEQ(NOT SEQ(B b, NOT D d, C c), B e, NOT B f) "
    "WHERE (b.x <= NEXT(c).x AND b.y < NEXT(c).y) OR b.x = 1",
    "SEQ(NOT B b, B e*, NOT SEQ(NOT N n, N m), A a, NOT B f, A g+) WHERE g.s < NEXT(g).s",
    "SEQ(B b+, NOT SEQ(NOT D d, NOT N n, C c, NOT D e, NOT N m, C f, NOT D g, NOT N h), A a) "
    "WHERE b.x < NEXT(b).x",
)
NEXT_MATCH = (
    f"SEQ(A a+, {EITHER}, A z+) WHERE a.x < NEXT(a).x",
    f"SEQ(A a+, {EITHER}, D z+)",
    "SEQ(NOT B b, A a, NOT N n, A e, A f?, NOT B g, B h?, NOT SEQ(D d+, D j))+",
    "SEQ(NOT (N n OR N m), C c+, NOT C d, C e) "
    "WHERE (c.x <= NEXT(e).x AND c.y < NEXT(e).y) OR c.x = 1",
    "SEQ(C c+, A a*, NOT SEQ(C d, NOT B b, C e), A f+) "
    "WHERE NOT (d.y + NEXT(e).y <= 1 AND d.x % NEXT(e).x = 0)",
    "SEQ(NOT N n, B b?, NOT N m, A a+, NOT SEQ(B e, NOT B f, N g), B h) "
    "WHERE e.x * NEXT(g).x > 1 OR e.x IS NULL",
    "SEQ(B b*, A a, B e+, A f*, NOT SEQ(N n, D d), A g)+ "
    "WHERE (e.x * NEXT(g).x > 1 OR e.x IS NULL) AND e.x <= NEXT(g).x",
    "SEQ(C c?, NOT SEQ(D d, NOT B b), C e?, NOT SEQ(N n, NOT B f), B g+) "
    "WHERE ((g.x <= NEXT(g).x AND g.y < NEXT(g).y) OR g.x = 1) AND NEXT(e).time - c.time <= 4",
    "SEQ(A a+, A e+, NOT SEQ(N n, NOT B b, D d), NOT SEQ(D f, NOT D g, C c), B h, A j+)+ "
    "WHERE NOT (e.y + NEXT(h).y <= 1 AND e.x % NEXT(h).x = 0) AND j.x != NEXT(j).y",
)
CONTIGUOUS = (
    f"SEQ(A a+, {EITHER}, A z+)",
    "SEQ(NOT SEQ(N n, C c), B b?, NOT (N m OR D d), A a?, NOT D e, A f+)",
    # keys of some parts, with NOT
    "SEQ(A a+, NOT SEQ(N n, N m), D d) WHERE [k]",
    "SEQ(A a+, NOT N n, C c) WHERE [a.k]",
    "SEQ(A a, NOT SEQ(B b, N n), D d) WHERE [k]",
    "SEQ(A a+, NOT SEQ(N n, D d), A z+) WHERE [a.k] AND [z.k] AND a.x > 1 AND z.x <= 1",
    "SEQ(D d?, A a+, NOT SEQ(NOT N n, B b), A z) WHERE [A.k] AND [g]",
)
QUERIES = (
    *(f"PATTERN {pattern} WITHIN 12" for pattern in SHAPES),
    *(f"PATTERN {pattern} WITHIN 12 SEMANTICS skip-till-next-match" for pattern in NEXT_MATCH),
    *(f"PATTERN {pattern} WITHIN 12 SEMANTICS contiguous" for pattern in CONTIGUOUS),
)


#: What can be asked of a pair, beside what random queries and workloads ask often.
CONDITIONS = (
    "(B.x + NEXT(B).x) IS NULL OR B.y != NEXT(B).y",
    "B.y = NEXT(B).y OR B.x - NEXT(B).x = B.x",
    "-(B.y * NEXT(B).y) < abs(B.y - NEXT(B).y)",
    "-(B.x - NEXT(B).x) < 2 AND abs(B.x + NEXT(B).x) > 0",
    "B.y / NEXT(B).y > 0.5 OR B.y % NEXT(B).x >= 0.5",
    "least(B.y, NEXT(B).y) < greatest(B.y, NEXT(B).x)",
    "greatest(B.y, NEXT(B).y) + B.x >= NEXT(B).x - least(B.x, NEXT(B).y)",
    "coalesce(B.y + NEXT(B).y, B.y, NEXT(B).y) <= coalesce(B.x * NEXT(B).x, NEXT(B).x)",
    "extract(hour FROM greatest(B.t, NEXT(B).t)) + extract(weekday FROM least(B.t, NEXT(B).t)) = 4",
)


@pytest.mark.slow
@pytest.mark.parametrize("text", QUERIES)
def test_greta_equals_twostep(text: str) -> None:
    case, expected = _drawn(text)
    found = (way for way in alone(case.workload.queries) if way.plan.queries)
    assert_answers(case, found, {"q": expected})


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_way_equals_twostep(condition: str) -> None:
    ran = EveryWay()
    assert not ran(*_drawn(f"PATTERN B+ WHERE {condition} WITHIN 12"))
    assert ran.ran.keys() >= {"greta", "hamlet, side by side"}


def _drawn(text: str) -> tuple[RandomCase, list[ResultRow]]:
    """A query over many random streams, and what the reference says of it."""
    workload = read_workload(f"QUERY q RETURN COUNT(*) {text};", SCHEMA)
    shape = Shape(workload.queries[0].source.pattern)
    kind = next((leaf.type for leaf in shape.positive if leaf.type in shape.types_once()), None)
    if kind:
        returned = f"COUNT(*), COUNT({kind}), SUM({kind}.x), MIN({kind}.x)"
        workload = read_workload(f"QUERY q RETURN {returned} {text};", SCHEMA)
    rows = [
        (kind, time + 10_000 * number, values)
        for number in range(STREAMS)
        for kind, time, values in draw_events(Dice(f"{text} {number}"), shape, 12)
    ]
    case = RandomCase(text, workload, tuple(rows))
    expected = two_step(case.query, case.events, budget=10**7)
    assert len(expected) > STREAMS // 5
    return case, expected


def test_the_last_partition_can_be_empty() -> None:
    """The event with the last values of the keys cannot be at the position with its x."""
    query = (
        "QUERY q RETURN STEPS PATTERN SEQ(ANY(A, N, C) a{3,}+) WHERE [x] AND [k, g] "
        "GROUP-BY coalesce(a.x, 1) AS e WITHIN 5;"
    )
    rows = (
        ("A", -6, {"k": 1, "g": "p", "x": 1}), ("N", -6, {"k": 1}), ("N", -6, {"k": 1, "x": -1}),
        ("N", -5, {"k": 1, "x": 2}), ("C", -1, {"g": "p", "x": 1}),
    )  # fmt: skip
    case = RandomCase("x", read_workload(query, SCHEMA), rows)
    assert not EveryWay()(case, two_step(case.query, case.events))
