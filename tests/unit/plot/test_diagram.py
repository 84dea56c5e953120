"""What is drawn of a query."""

from __future__ import annotations

from elsinore.plot.diagram import Arrow, Circle, Line, Sheet, sheet_of
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema({name: {"v": "long"} for name in "ABCDEN"} | {"K": {"k": "long"}})


def sheet(query: str, returned: str = "COUNT(*)") -> Sheet:
    return sheet_of(bound_query(f"RETURN {returned} PATTERN {query}", SCHEMA))


def test_a_not_is_an_automaton_of_its_own_and_a_cross_on_the_arrow() -> None:
    trends, negative = sheet("SEQ(A a, NOT SEQ(C, D), B) WITHIN 5").diagrams
    assert trends.circles == (Circle("a", "A", False), Circle("B", "", True))
    assert trends.arrows == (
        Arrow(None, 0, ()),
        Arrow(0, 1, (Line("NOT 1", crossed=True),)),
    )
    assert (negative.caption, negative.negative) == ("NOT 1: SEQ(C, D)", True)
    assert [circle.name for circle in negative.circles] == ["C", "D"]


def test_leading_and_trailing_not_stand_on_arrows_from_and_to_nowhere() -> None:
    trends = sheet("SEQ(NOT N, A, NOT E) WITHIN 5").diagrams[0]
    assert trends.arrows == (
        Arrow(None, 0, (Line("NOT 1", crossed=True),)),
        Arrow(0, None, (Line("NOT 2", crossed=True),)),
    )


def test_edge_predicates_stand_on_their_arrow_wrapped() -> None:
    where = "WHERE A.v + 1000000 < NEXT(A).v - A.v % 7 AND A.v < NEXT(A).v"
    (trends,) = sheet(f"A+ {where} WITHIN 5").diagrams
    (loop,) = (arrow for arrow in trends.arrows if arrow.earlier is not None)
    assert [line.text for line in loop.label] == [
        "(A.v + 1000000) < (NEXT(A).v -",
        "   (A.v % 7))",
        "A.v < NEXT(A).v",
    ]


def test_semantics_stand_in_words_and_not_on_every_arrow() -> None:
    found = sheet("SEQ(A, B) WITHIN 5 SEMANTICS contiguous")
    assert found.lines == ("SEQ(A, B)", "SEMANTICS contiguous")
    assert [arrow.label for arrow in found.diagrams[0].arrows] == [(), ()]


def test_each_set_of_keys_is_drawn() -> None:
    captions = [d.caption for d in sheet("SEQ(A, K?) GROUP-BY k WITHIN 5").diagrams]
    assert captions == ["trends that carry no key", "trends that carry k"]


def test_both_sides_of_and_are_drawn() -> None:
    captions = [d.caption for d in sheet("A x+ AND SEQ(A y, B?) WITHIN 5").diagrams]
    assert captions == ["left side of AND", "right side of AND", "both sides of AND at once"]


def test_a_query_without_a_template_says_why() -> None:
    found = sheet("SEQ(A x+, A y+) WITHIN 5", "COUNT(x)")
    assert found.diagrams == ()
    text = " ".join(found.lines)
    assert "no template: one event of a trend can stand for x or y" in text
