"""Quantifiers and ANY: normal form, printing, and what a pattern is bound to."""

from __future__ import annotations

import pytest

from elsinore.query.automaton import neighbours
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_pattern
from elsinore.query.resolve import normal_form
from elsinore.query.syntax import Pattern, Semantics, single_types
from elsinore.template.build import MOST_PLACES, build_templates
from elsinore.template.support import greta_refusals
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema(
    {
        "A": {"v": "long", "k": "string"},
        "B": {"v": "long", "k": "string"},
        "C": {"v": "long"},
        "N": {},
    }
)


def pattern_of(text: str) -> Pattern:
    [query] = parse_workload(f"QUERY q RETURN COUNT(*) PATTERN {text} WITHIN 5;")
    return query.pattern


@pytest.mark.parametrize(
    ("pattern", "folded"),
    [
        ("A{1}", "A{1}"),
        ("A{1,}", "A+"),
        ("A{0,}", "A*"),
        ("A{,1}", "A?"),
        ("A{2,2}", "A{2}"),
        ("(A{2}){3}", "A{6}"),
        ("(A{1,2}){1,2}", "A{1,4}"),
        ("(A{2,3}){4}", "A{8,12}"),
        ("(A{2,3}){1,2}", "A{2,6}"),
        ("(A{2}){1,2}", "A{2}{1,2}"),
        ("(A{3,4}){1,2}", "A{3,4}{1,2}"),
        ("(A{3,4}){2,}", "A{6,}"),
        ("A{2,}+", "A{2,}"),
        ("A+{3}", "A{3,}"),
        ("A?{3}", "A{0,3}"),
        ("A{2}?", "A{2}?"),
        ("A{1,3}?", "A{0,3}"),
        ("(SEQ(A, B){2}){3}", "SEQ(A, B){6}"),
        ("SEQ(A, SEQ(B, C){1})", "SEQ(A, SEQ(B, C){1})"),
    ],
)
def test_nested_quantifiers_are_folded_if_the_lengths_have_no_gaps(
    pattern: str, folded: str
) -> None:
    assert print_pattern(normal_form(pattern_of(pattern))) == folded


@pytest.mark.parametrize(
    ("pattern", "folded"),
    [("(A{2}){3}", "A{6}"), ("(A{1,2}){2}", "A{1,2}{2}"), ("(A+)?", "A*"), ("A?{3}", "A?{3}")],
)
def test_next_match_distinguishes_groups_of_copies(pattern: str, folded: str) -> None:
    assert print_pattern(normal_form(pattern_of(pattern), Semantics.NEXT)) == folded


@pytest.mark.parametrize(
    "pattern",
    [
        "A{2}", "A x{2,}", "SEQ(A, B){2,3}", "A{0,4}", "SEQ(A, NOT N{2}, B)", "(A OR B){2}?",
        "ANY(A, B)", "ANY(A, B) x{2}", "SEQ(NOT ANY, A)", "ANY x+ OR ANY(A, B) y",
    ],
)  # fmt: skip
def test_a_printed_pattern_parses_to_the_same_tree(pattern: str) -> None:
    assert print_pattern(pattern_of(pattern)) == pattern
    assert pattern_of(print_pattern(pattern_of(pattern))) == pattern_of(pattern)


@pytest.mark.parametrize(
    ("pattern", "pairs"),
    [
        ("A{1}", ""),
        ("A{2}", "AA"),
        ("A{1000000}", "AA"),
        ("SEQ(A, B){1,2}", "AB BA"),
        ("SEQ(A?, B){2}", "AB BA BB"),
        ("SEQ(A, B{,3}, C)", "AB AC BB BC"),
        ("SEQ(A, NOT N{2}, B)", "AB NN"),
    ],
)
def test_neighbors_of_copies(pattern: str, pairs: str) -> None:
    found = neighbours(pattern_of(pattern))
    assert sorted("".join(pair) for pair in found) == pairs.split()


@pytest.mark.parametrize(
    ("pattern", "types"),
    [
        ("A{2}", ""), ("A{1,3}", "A"), ("SEQ(A, B{,2})", "A"), ("SEQ(A?, B?){3}", "A B"),
        ("ANY(A, B)", "A B"), ("SEQ(A, NOT N)", "A"), ("SEQ(A, B)", ""), ("(A OR B{2})+", "A"),
    ],
)  # fmt: skip
def test_types_of_which_one_event_is_a_match(pattern: str, types: str) -> None:
    assert sorted(single_types(pattern_of(pattern))) == types.split()


def test_each_copy_has_a_state() -> None:
    [template] = build_templates(bound_query("RETURN COUNT(*) PATTERN A{2,4} WITHIN 5", SCHEMA))
    assert len(template.states) == 4
    assert set(template.starts) == {0}
    assert set(template.ends) == {1, 2, 3}
    assert {(t.earlier, t.later) for t in template.transitions} == {(0, 1), (1, 2), (2, 3)}


def test_the_last_copy_of_an_open_quantifier_is_a_loop() -> None:
    [template] = build_templates(bound_query("RETURN COUNT(*) PATTERN A{3,} WITHIN 5", SCHEMA))
    assert template.loops == (2,)
    assert set(template.ends) == {2}


@pytest.mark.parametrize(
    "pattern", ["A{1001}", "SEQ(A{600}, B{401})", "(SEQ(A, B{2}, C)){251}", "SEQ(A, NOT N{1000})"]
)
def test_too_many_copies_are_refused_by_name(pattern: str) -> None:
    query = bound_query(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 5", SCHEMA)
    assert greta_refusals(query) == (
        f"its quantifiers have more than {MOST_PLACES:,} copies of its events",
    )


def test_the_most_copies_are_accepted() -> None:
    query = bound_query(f"RETURN COUNT(*) PATTERN A{{{MOST_PLACES}}} WITHIN 5", SCHEMA)
    assert greta_refusals(query) == ()


def test_any_is_bound_to_its_types() -> None:
    query = bound_query(
        "RETURN COUNT(x), SUM(x.v) PATTERN SEQ(ANY(A, C) x, B) WHERE x.v > 1 AND x.v < NEXT(B).v "
        "AND [k] WITHIN 5",
        SCHEMA,
    )
    assert [(p.alias, p.type, p.choice) for p in query.positions] == [
        ("x", "A", True), ("x", "C", True), ("B", "B", False),
    ]  # fmt: skip
    assert [p.position for p in query.local_predicates] == [0, 1]
    assert [(e.earlier, e.later) for e in query.edge_predicates] == [(0, 2), (1, 2)]
    assert [sorted(key.positions) for key in query.keys] == [[0, 2]]
    assert [sorted(item.positions) for item in query.aggregates] == [[0, 1], [0, 1]]


def test_any_type_is_each_type_of_the_stream() -> None:
    query = bound_query("RETURN COUNT(*) PATTERN any x+ WITHIN 5", SCHEMA)
    assert print_pattern(query.pattern) == "ANY(A, B, C, N) x+"
    other = stream_schema({"A": {"v": "long", "k": "string"}})
    same = bound_query("RETURN COUNT(*) PATTERN any x+ WITHIN 5", other)
    assert query.fingerprint != same.fingerprint


def test_a_type_called_any_is_this_type() -> None:
    schema = stream_schema({"ANY": {}, "A": {}})
    query = bound_query("RETURN COUNT(ANY) PATTERN ANY+ WITHIN 5", schema)
    assert [(p.type, p.choice) for p in query.positions] == [("ANY", False)]
    choice = bound_query("RETURN COUNT(x) PATTERN ANY(A, ANY) x WITHIN 5", schema)
    assert [(p.type, p.choice) for p in choice.positions] == [("A", True), ("ANY", True)]


def test_several_unnamed_any_are_numbered() -> None:
    query = bound_query("RETURN COUNT(*) PATTERN SEQ(NOT ANY, A, NOT ANY, B) WITHIN 5", SCHEMA)
    aliases = list(dict.fromkeys(position.alias for position in query.positions))
    assert aliases == ["ANY 1", "A", "ANY 2", "B"]
