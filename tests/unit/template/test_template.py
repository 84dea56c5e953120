"""Templates: GRETA Figures 3 and 5, floors, keys, and which patterns match a trend in two ways."""

from __future__ import annotations

import pytest

from elsinore.query.automaton import Ways, automaton
from elsinore.query.bound import BoundQuery
from elsinore.template.build import build_conjoined, build_templates
from elsinore.template.subsets import is_ambiguous
from elsinore.template.support import greta_refusals
from elsinore.template.template import Floor, Holds, Template
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
    floors = {(t.earlier, t.later): t.floor for t in template.transitions if t.floor}
    assert floors == {(0, 1): Floor(ways({1})), (3, 4): Floor(ways({0}))}


def test_leading_and_trailing_not_stand_at_start_and_end() -> None:
    template = template_of("SEQ(NOT N, A, NOT M)")
    assert (template.starts[0], template.ends[0]) == (Floor(ways({0})), Floor(ways({1})))


def test_not_around_an_option_is_passed_together_or_apart() -> None:
    template = template_of("SEQ(A, NOT N, B?, NOT M, C)")
    floors = {(t.earlier, t.later): t.floor for t in template.transitions}
    assert floors == {
        (0, 1): Floor(ways({0})),
        (1, 2): Floor(ways({1})),
        (0, 2): Floor(ways({0, 1})),
    }


def test_edge_predicates_stand_on_their_transition() -> None:
    template = template_of("SEQ(A+, B)", "WHERE A.x < NEXT(A).x")
    conditions = {(t.earlier, t.later): t.condition for t in template.transitions}
    assert isinstance(conditions[0, 0], Holds)
    assert conditions[0, 1] is None


def test_optional_keys_part_the_trends() -> None:
    """(A) carries no key, (A, K) carries k."""
    without, with_key = build_templates(query_of("SEQ(A, K?)", "GROUP-BY k"))
    assert (without.keys, len(without.states)) == (frozenset(), 1)
    assert (with_key.keys, pairs(with_key)) == (frozenset([0]), {(0, 1)})


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
        ("SEQ(A a?, A b?)", True),  # one event is either
    ],
)
def test_ambiguity(pattern: str, ambiguous: bool) -> None:
    query = query_of(pattern)
    found = automaton(query.pattern, lambda alias: query.by_alias[alias].index, lambda _: 0)
    assert is_ambiguous(found, query) is ambiguous


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            "COUNT(a) PATTERN SEQ(A a+, A b+)",
            "one event of a trend can stand for a or b, and COUNT(a) counts only a",
        ),
        (
            "COUNT(*) PATTERN SEQ(K a+, K b+) WHERE [a.k]",
            "one event of a trend can stand for a or b, and a key binds only some of them",
        ),
        (
            "COUNT(*) PATTERN SEQ(A, NOT SEQ(K x, B, K y), K z?) WHERE [k]",
            "k is a key of some events under a NOT, but of no trend",
        ),
    ],
)
def test_greta_refuses_with_the_reason(query: str, reason: str) -> None:
    assert greta_refusals(bound_query(f"RETURN {query} WITHIN 5", SCHEMA)) == (reason,)


@pytest.mark.parametrize(
    "pattern",
    ["SEQ(A, NOT B, C)", "A OR B", "SEQ(A*, B?)", "A AND B", "SEQ(A a+, A b+)", "SEQ(A, B+)"],
)
def test_greta_runs_every_operator(pattern: str) -> None:
    assert greta_refusals(query_of(pattern)) == ()


@pytest.mark.parametrize(
    ("pattern", "states"), [("SEQ(A a+, A b+)", 2), ("SEQ(A a+, A b+, A c+)", 3)]
)
def test_an_ambiguous_pattern_has_a_state_for_each_set_of_positions(
    pattern: str, states: int
) -> None:
    """After i events a trend of A+ A+ can be at a, or at a or b; and so on."""
    assert len(template_of(pattern).states) == states
