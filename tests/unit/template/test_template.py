"""Templates: GRETA Figure 3, and which patterns match one trend in two ways."""

from __future__ import annotations

import pytest

from elsinore.template.ambiguity import is_ambiguous
from elsinore.template.support import greta_refusals
from elsinore.template.template import build_template, describe_template
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema({name: {"x": "long"} for name in "ABC"})


def template_of(pattern: str, where: str = ""):  # type: ignore[no-untyped-def]
    return build_template(
        bound_query(f"RETURN COUNT(*) PATTERN {pattern} {where} WITHIN 5", SCHEMA)
    )


def test_figure_3() -> None:
    """`(SEQ(A+, B))+`: predTypes(A) = {A, B}, predTypes(B) = {A}; A starts, B ends."""
    assert describe_template(template_of("(SEQ(A+, B))+")) == ["A [START] <- A, B", "B [END] <- A"]


def test_edge_predicates_stand_on_their_transition() -> None:
    template = template_of("SEQ(A+, B)", "WHERE A.x < NEXT(A).x")
    assert [len(t.predicates) for t in template.transitions] == [1, 0]
    assert describe_template(template)[0] == "A [START] <- A (edge predicate)"


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
    ],
)
def test_ambiguity(pattern: str, ambiguous: bool) -> None:
    assert is_ambiguous(template_of(pattern)) is ambiguous


@pytest.mark.parametrize(
    ("query", "reasons"),
    [
        ("PATTERN SEQ(A, NOT B, C) WITHIN 5", ("it has no NOT in patterns",)),
        ("PATTERN A OR B WITHIN 5", ("it has no OR in patterns",)),
        ("PATTERN SEQ(A*, B?) WITHIN 5", ("it has no * in patterns", "it has no ? in patterns")),
        ("PATTERN A AND B WITHIN 5", ("it has no AND in patterns",)),
        ("PATTERN A+ WITHIN 5 SEMANTICS contiguous", ("it has no contiguous semantics",)),
        (
            "PATTERN SEQ(A a+, A b+) WITHIN 5",
            ("the pattern can match one trend in two ways",),
        ),
        ("PATTERN SEQ(A, B+) WITHIN 5", ()),
    ],
)
def test_greta_refuses_by_name(query: str, reasons: tuple[str, ...]) -> None:
    assert greta_refusals(bound_query(f"RETURN COUNT(*) {query}", SCHEMA)) == reasons
