"""Templates: GRETA Figures 3 and 5, floors, keys, and which patterns match a trend in two ways."""

from __future__ import annotations

import re
from itertools import combinations, product

import pytest

from elsinore.query.automaton import Places, Ways, automaton
from elsinore.query.bound import BoundQuery
from elsinore.query.satisfiable import can_meet, told_apart
from elsinore.reference.evaluate import reader
from elsinore.reference.event import Event
from elsinore.template.build import (
    BOTH,
    LEFT,
    RIGHT,
    WHOLE,
    build_conjoined,
    build_templates,
    carried_keys,
    template_parts,
)
from elsinore.template.describe import NOTES, describe_template, numbered_nots
from elsinore.template.subsets import is_ambiguous
from elsinore.template.support import greta_refusals
from elsinore.template.template import Floor, Pairs, Template
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema({name: {"x": "long"} for name in "ABCDEMN"} | {"K": {"k": "long"}})


def query_of(pattern: str, rest: str = "") -> BoundQuery:
    return bound_query(f"RETURN COUNT(*) PATTERN {pattern} {rest} WITHIN 5", SCHEMA)


def template_of(pattern: str, rest: str = "") -> Template:
    (template,) = build_templates(query_of(pattern, rest))
    return template


def ways(*each: set[int]) -> Ways:
    return frozenset(map(frozenset, each))


def pairs(template: Template) -> set[tuple[int, int]]:
    return {(t.earlier, t.later) for t in template.transitions}


def test_figure_3() -> None:
    """`(SEQ(A+, B))+`: predTypes(A) = {A, B}, predTypes(B) = {A}; A starts, B ends."""
    template = template_of("(SEQ(A+, B))+")
    assert (dict(template.starts), dict(template.ends)) == ({0: None}, {1: None})
    assert [[t.earlier for t in template.predecessors(state)] for state in (0, 1)] == [[0, 1], [0]]


def test_figure_5_inner_guards_come_first() -> None:
    """A and B, then E, then C and D; E guards C to D, SEQ(C, NOT E, D) guards A to B."""
    template = template_of("(SEQ(A+, NOT SEQ(C, NOT E, D), B))+")
    assert [state.guard for state in template.states] == [-1, -1, 0, 1, 1]
    assert pairs(template) == {(0, 0), (0, 1), (1, 0), (3, 4)}
    floors = {(t.earlier, t.later): f for t in template.transitions for f in t.floors()}
    assert floors == {(0, 1): Floor(ways({1})), (3, 4): Floor(ways({0}))}


def test_queries_of_one_shape_have_the_same_templates() -> None:
    where = "WHERE A.x < NEXT(A).x"
    first = query_of("SEQ(A+, NOT C, B)", where)
    same = query_of("SEQ(D z+, NOT A, E)", "WHERE z.x < NEXT(z).x AND E.x > 2")
    others = [
        query_of("SEQ(A+, NOT C, B)"),
        query_of("SEQ(A+, NOT C, B)", where.replace("<", ">")),
        query_of("SEQ(A+, NOT C, B)", f"{where} AND [x]"),
        query_of("SEQ(A+, NOT C, B)", f"{where} SEMANTICS contiguous"),
        query_of("SEQ(A+, NOT C, B+)", where),
    ]
    assert build_templates(first) is build_templates(same)
    found = [build_templates(query) for query in [first, *others]]
    assert all(one != other for one, other in combinations(found, 2))


def test_where_a_type_has_two_positions_local_predicates_matter() -> None:
    apart = query_of("SEQ(A a+, A b+)", "WHERE a.x < 1 AND b.x > 1")
    assert build_templates(apart) != build_templates(query_of("SEQ(A a+, A b+)"))


def test_both_sides_of_and_are_the_trends_that_both_match() -> None:
    """SEQ(A, B?) and A+ have (A) alone in common, SEQ(A, B) and C+ nothing."""
    (both,) = build_conjoined(query_of("SEQ(A x, B?) AND A y+")).both
    assert [sorted(both.states[n].positions) for n in both.ends] == [[0, 2]]
    assert build_conjoined(query_of("SEQ(A, B) AND C+")).both == ()


@pytest.mark.parametrize(
    ("pattern", "ambiguous"),
    [
        ("A a+", False),
        ("SEQ(A a, B, A b)", False),
        ("SEQ(A a+, B, A b+)", False),
        ("SEQ(A a+, A b)", False),  # the last event is b's
        ("SEQ(A a, A b+)", False),
        ("SEQ(A a+, A b+)", True),  # three events part after the first or the second
        ("SEQ(A a, A b)+", False),
        ("SEQ(A a+, B)+", False),
        ("(SEQ(A a+, B b+))+", False),
        ("SEQ((SEQ(A a, B b))+, (SEQ(A c, B d))+)", True),
        ("SEQ(A a, B b, (SEQ(A c, B d))+)", False),
        ("A a OR A b", True),
        ("A{2,5}", False),
        ("(SEQ(A, B)){2,}", False),
        ("SEQ(A a{2}, A b)", False),
        ("SEQ(A a{1,2}, A b)", False),
        ("SEQ(A a{2}, A b{1,2})", False),  # the first two are a's
        ("SEQ(A a{1,2}, A b{1,2})", True),
        ("SEQ(A a?, A b?)", True),  # one event is either
    ],
)
def test_ambiguity(pattern: str, ambiguous: bool) -> None:
    query = query_of(pattern)
    places = Places(query.position_of)
    found = automaton(query.pattern, places, lambda _: 0)
    assert is_ambiguous(Pairs(query, found, query.semantics, places.positions)) is ambiguous


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("COUNT(*) PATTERN SEQ(K a+, K b+) WHERE [a.k]",
         "one event of a trend can match a or b, but a key applies only to some of them"),
        ("COUNT(*) PATTERN SEQ(A, NOT SEQ(K x, B, K y), K z?) WHERE [k]",
         "k is a key of some events under a NOT, but not of a trend"),
    ],
)  # fmt: skip
def test_greta_refuses_with_the_reason(query: str, reason: str) -> None:
    assert greta_refusals(bound_query(f"RETURN {query} WITHIN 5", SCHEMA)) == (reason,)


@pytest.mark.parametrize(
    ("pattern", "states"), [("SEQ(A a+, A b+)", 2), ("SEQ(A a+, A b+, A c+)", 3)]
)
def test_an_ambiguous_pattern_has_a_state_for_each_set_of_positions(
    pattern: str, states: int
) -> None:
    """After i events a trend of A+ A+ can be at a, or at a or b; and so on."""
    assert len(template_of(pattern).states) == states


# ---- templates in words, as `elsinore check` prints them
WORDY = stream_schema(
    {name: {"v": "long"} for name in "ABCDEMN"} | {"K": {"k": "long"}, "Departure": {}}
)


def lines_of(query: str) -> list[str]:
    bound = bound_query(f"RETURN COUNT(*) PATTERN {query}", WORDY)
    (template,) = build_templates(bound)
    return describe_template(bound, template)


#: Each query with the lines that are said of its template.
IN_WORDS = """\
A+ WITHIN 5
    A  starts or ends a trend; comes after A
A WITHIN 5
    A  is a trend of one event
SEQ(Departure D, A a) WITHIN 5
    Departure D  starts a trend
    A a          ends a trend; comes after D
(SEQ(A+, NOT SEQ(C, NOT E, D), B))+ WITHIN 5
    A  starts a trend; comes after A or B
    B  ends a trend; comes after A if no match of NOT 1 is in between
    NOT 1: SEQ(C, NOT E, D)
      C  starts a match
      D  ends a match; comes after C if no match of NOT 2 is in between
    NOT 2, inside NOT 1: E
      E  is a match of one event
SEQ(NOT N, A+, NOT M) WITHIN 5
    A  starts a trend if no match of NOT 1 is before it; ends a trend if no match of NOT 2 is \
after it; comes after A
    NOT 1: N
      N  is a match of one event
    NOT 2: M
      M  is a match of one event
SEQ(A, NOT N, B?, NOT M, C) WITHIN 5
    A  starts a trend
    B  comes after A if no match of NOT 1 is in between
    C  ends a trend; comes after A if no match of NOT 1 or NOT 2 is in between; comes after B if \
no match of NOT 2 is in between
    NOT 1: N
      N  is a match of one event
    NOT 2: M
      M  is a match of one event
(SEQ(NOT N, A x) OR A y) WITHIN 5
    A y    starts a trend if a match of NOT 1 is before it; ends a trend
    A x|y  starts a trend if no match of NOT 1 is before it; ends a trend
    NOT 1: N
      N  is a match of one event
SEQ(A x+, A y+) WHERE x.v < NEXT(x).v WITHIN 5
    A x    starts a trend
    A y    ends a trend; comes after x or x|y if not (x.v < NEXT(x).v); comes after y
    A x|y  ends a trend; comes after x or x|y if x.v < NEXT(x).v
SEQ(A, B) WITHIN 5 SEMANTICS skip-till-next-match
    A  starts a trend
    B  ends a trend; comes after A if nothing in between could extend it
A+ WHERE A.v < NEXT(A).v WITHIN 5 SEMANTICS skip-till-next-match
    A  starts or ends a trend; comes after A if A.v < NEXT(A).v and nothing in between could \
extend it
SEQ(A, NOT N, B) WITHIN 5 SEMANTICS contiguous
    A  starts a trend
    B  ends a trend; comes after A if no match of NOT 1 is in between, and no other event of the \
partition is in between
    NOT 1: N
      N  is a match of one event
"""


@pytest.mark.parametrize("told", re.split(r"\n(?=\S)", IN_WORDS.rstrip()))
def test_a_template_in_words(told: str) -> None:
    query, *lines = told.replace("\n    ", "\n").splitlines()
    assert lines_of(query) == lines


def test_states_that_differ_in_local_conditions_say_so() -> None:
    lines = lines_of("SEQ(A x+, A y+) WHERE x.v > 1 AND y.v > 2 WITHIN 5")
    assert lines[-1] == NOTES
    titles = [line.split("  ")[0] for line in lines[:-1]]
    assert {"A x [misses y]", "A x [meets y]", "A y [misses x]", "A x|y"} <= set(titles)
    assert len(set(titles)) == len(titles)


def test_states_told_apart_by_the_keys_carried_so_far_are_numbered() -> None:
    """After (K, A) the trend carries k, after (A) it does not: B may follow either."""
    bound = bound_query("RETURN COUNT(*) PATTERN SEQ(K?, A+, K z?) GROUP-BY k WITHIN 5", WORDY)
    (with_key,) = (t for t in build_templates(bound) if t.keys)
    titles = [line.split("  ")[0] for line in describe_template(bound, with_key)]
    assert [title for title in titles if title.startswith("A")] == ["A (1)", "A (2)"]


def test_nots_are_numbered_in_the_order_of_the_text() -> None:
    query = "SEQ(NOT SEQ(C, NOT (D OR E), C c2), A, NOT N) AND SEQ(NOT M, B)"
    bound = bound_query(f"RETURN COUNT(*) PATTERN {query} WITHIN 5", WORDY)
    found = numbered_nots(bound)
    names = [(f"NOT {n.number}", n.inside, [bound.positions[p].alias for p in sorted(n.positions)])
             for n in found]  # fmt: skip
    assert names == [
        ("NOT 1", None, ["C", "c2"]),
        ("NOT 2", 1, ["D", "E"]),
        ("NOT 3", None, ["N"]),
        ("NOT 4", None, ["M"]),
    ]


def test_each_side_of_and_speaks_of_its_own_nots() -> None:
    bound = bound_query("RETURN COUNT(*) PATTERN SEQ(A, NOT N) AND SEQ(NOT M, B) WITHIN 5", WORDY)
    sides = {side: describe_template(bound, template) for side, template in template_parts(bound)}
    assert sides[LEFT][1:] == ["NOT 1: N", "  N  is a match of one event"]
    assert sides[RIGHT][1:] == ["NOT 2: M", "  M  is a match of one event"]
    assert BOTH not in sides


def test_a_query_has_a_template_for_each_set_of_keys() -> None:
    bound = bound_query("RETURN COUNT(*) PATTERN SEQ(A, K?) GROUP-BY k WITHIN 5", WORDY)
    parts = template_parts(bound)
    assert [(side, carried_keys(bound, t)) for side, t in parts] == [(WHOLE, []), (WHOLE, ["k"])]


# ---- which conditions no event meets together: by hand, and "never" against sampled events
VALUES = stream_schema({"A": {"v": "long", "w": "double", "s": "string", "f": "boolean"}})
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


def query_where(where: str) -> BoundQuery:
    text = f"RETURN COUNT(*), COUNT(x) PATTERN SEQ(A x+, A y+) WHERE {where} WITHIN 10"
    return bound_query(text, VALUES)


@pytest.mark.parametrize("where", APART)
def test_apart(where: str) -> None:
    assert told_apart(query_where(where)) == {(0, 1), (1, 0)}
    assert greta_refusals(query_where(where)) == ()


@pytest.mark.parametrize("where", TOGETHER)
def test_not_apart(where: str) -> None:
    assert told_apart(query_where(where)) == frozenset()
    (reason,) = greta_refusals(query_where(where))
    assert reason == "one event of a trend can match x or y, but COUNT(x) counts only x"


def test_null_and_an_order_of_texts_together() -> None:
    where = "x.s IS NOT NULL AND y.s >= 'p' AND y.s IS NULL"
    text = f"RETURN COUNT(*) PATTERN SEQ(A x, A y) WHERE {where} WITHIN 10"
    assert told_apart(bound_query(text, VALUES)) == {(0, 1), (1, 0)}


def test_instants_are_whole_microseconds() -> None:
    text = """RETURN COUNT(x) PATTERN SEQ(A x+, A y+)
        WHERE x.t > '1970-01-01T00:00:00.000005Z' AND y.t < '1970-01-01T00:00:00.000006Z'
        WITHIN 10"""
    assert greta_refusals(bound_query(text, INSTANTS)) == ()


@pytest.mark.slow
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
    bound = [query_where(where) for where in (*APART, *TOGETHER)]
    conditions = [p.condition for each in bound for p in each.local_predicates]
    met = [frozenset(e.index for e in events if reader(c)(e, None) is True) for c in conditions]
    ruled_out = 0
    for (one, first), (two, second) in product(zip(conditions, met, strict=True), repeat=2):
        if not can_meet((one, two)):
            ruled_out += 1
            assert not first & second, (one, two)
    assert ruled_out > 100


@pytest.mark.slow
def test_many_values_and_many_conditions_cost_little() -> None:
    """Beyond what is told apart nothing is ruled out, and nothing takes long."""
    numbers = ", ".join(map(str, range(2_000)))
    assert told_apart(query_where(f"x.v IN ({numbers}) AND y.v NOT IN ({numbers})")) == frozenset()
    choices = " AND ".join(f"({n}.v = {k} OR {n}.w = {k})" for n in "xy" for k in range(300))
    assert told_apart(query_where(choices)) == frozenset()
    aliases = [f"A a{n}" for n in range(200)]
    where = " AND ".join(f"a{n}.v = {n}" for n in range(200))
    text = f"RETURN COUNT(*) PATTERN SEQ({', '.join(aliases)}) WHERE {where} WITHIN 10"
    assert told_apart(bound_query(text, VALUES)) == frozenset()
