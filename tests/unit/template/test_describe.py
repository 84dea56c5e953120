"""Templates in words, as `elsinore check` prints them."""

from __future__ import annotations

import pytest

from elsinore.template.build import (
    BOTH,
    LEFT,
    RIGHT,
    WHOLE,
    build_templates,
    carried_keys,
    template_parts,
)
from elsinore.template.describe import NOTES, describe_template, numbered_nots
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema(
    {name: {"v": "long"} for name in "ABCDEMN"} | {"K": {"k": "long"}, "Departure": {}}
)


def lines_of(query: str) -> list[str]:
    bound = bound_query(f"RETURN COUNT(*) PATTERN {query}", SCHEMA)
    (template,) = build_templates(bound)
    return describe_template(bound, template)


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("A+ WITHIN 5", ["A  starts or ends a trend; comes after A"]),
        ("A WITHIN 5", ["A  is a trend by itself"]),
        (
            "SEQ(Departure D, A a) WITHIN 5",
            ["Departure D  starts a trend", "A a          ends a trend; comes after D"],
        ),
        (
            "(SEQ(A+, NOT SEQ(C, NOT E, D), B))+ WITHIN 5",
            [
                "A  starts a trend; comes after A or B",
                "B  ends a trend; comes after A if no match of NOT 1 lies in between",
                "NOT 1: SEQ(C, NOT E, D)",
                "  C  starts a match",
                "  D  ends a match; comes after C if no match of NOT 2 lies in between",
                "NOT 2, inside NOT 1: E",
                "  E  is a match by itself",
            ],
        ),
        (
            "SEQ(NOT N, A+, NOT M) WITHIN 5",
            [
                "A  starts a trend if no match of NOT 1 lies before it; "
                "ends a trend if no match of NOT 2 lies after it; comes after A",
                "NOT 1: N",
                "  N  is a match by itself",
                "NOT 2: M",
                "  M  is a match by itself",
            ],
        ),
        (
            "SEQ(A, NOT N, B?, NOT M, C) WITHIN 5",
            [
                "A  starts a trend",
                "B  comes after A if no match of NOT 1 lies in between",
                "C  ends a trend; comes after A if no match of NOT 1 or NOT 2 lies in between; "
                "comes after B if no match of NOT 2 lies in between",
                "NOT 1: N",
                "  N  is a match by itself",
                "NOT 2: M",
                "  M  is a match by itself",
            ],
        ),
        (
            "(SEQ(NOT N, A x) OR A y) WITHIN 5",
            [
                "A y    starts a trend if a match of NOT 1 lies before it; ends a trend",
                "A x|y  starts a trend if no match of NOT 1 lies before it; ends a trend",
                "NOT 1: N",
                "  N  is a match by itself",
            ],
        ),
        (
            "SEQ(A x+, A y+) WHERE x.v < NEXT(x).v WITHIN 5",
            [
                "A x    starts a trend",
                "A y    ends a trend; comes after x or x|y if not (x.v < NEXT(x).v); comes after y",
                "A x|y  ends a trend; comes after x or x|y if x.v < NEXT(x).v",
            ],
        ),
        (
            "SEQ(A, B) WITHIN 5 SEMANTICS skip-till-next-match",
            [
                "A  starts a trend",
                "B  ends a trend; comes after A if nothing in between could extend it",
            ],
        ),
        (
            "A+ WHERE A.v < NEXT(A).v WITHIN 5 SEMANTICS skip-till-next-match",
            [
                "A  starts or ends a trend; comes after A if A.v < NEXT(A).v and nothing in "
                "between could extend it",
            ],
        ),
        (
            "SEQ(A, NOT N, B) WITHIN 5 SEMANTICS contiguous",
            [
                "A  starts a trend",
                "B  ends a trend; comes after A if no match of NOT 1 lies in between, and no "
                "other event of the partition lies in between",
                "NOT 1: N",
                "  N  is a match by itself",
            ],
        ),
    ],
)
def test_a_template_in_words(query: str, lines: list[str]) -> None:
    assert lines_of(query) == lines


def test_states_that_differ_in_local_conditions_say_so() -> None:
    lines = lines_of("SEQ(A x+, A y+) WHERE x.v > 1 AND y.v > 2 WITHIN 5")
    assert lines[-1] == NOTES
    titles = [line.split("  ")[0] for line in lines[:-1]]
    assert {"A x [misses y]", "A x [meets y]", "A y [misses x]", "A x|y"} <= set(titles)
    assert len(set(titles)) == len(titles)


def test_states_told_apart_by_the_keys_carried_so_far_are_numbered() -> None:
    """After (K, A) the trend carries k, after (A) it does not: B may follow either."""
    bound = bound_query("RETURN COUNT(*) PATTERN SEQ(K?, A+, K z?) GROUP-BY k WITHIN 5", SCHEMA)
    (with_key,) = (t for t in build_templates(bound) if t.keys)
    titles = [line.split("  ")[0] for line in describe_template(bound, with_key)]
    assert [title for title in titles if title.startswith("A")] == ["A (1)", "A (2)"]


def test_nots_are_numbered_in_the_order_of_the_text() -> None:
    query = "SEQ(NOT SEQ(C, NOT (D OR E), C c2), A, NOT N) AND SEQ(NOT M, B)"
    bound = bound_query(f"RETURN COUNT(*) PATTERN {query} WITHIN 5", SCHEMA)
    found = numbered_nots(bound)
    names = [(n.name, n.inside, [bound.positions[p].alias for p in sorted(n.positions)])
             for n in found]  # fmt: skip
    assert names == [
        ("NOT 1", None, ["C", "c2"]),
        ("NOT 2", 1, ["D", "E"]),
        ("NOT 3", None, ["N"]),
        ("NOT 4", None, ["M"]),
    ]


def test_each_side_of_and_speaks_of_its_own_nots() -> None:
    bound = bound_query("RETURN COUNT(*) PATTERN SEQ(A, NOT N) AND SEQ(NOT M, B) WITHIN 5", SCHEMA)
    sides = {side: describe_template(bound, template) for side, template in template_parts(bound)}
    assert sides[LEFT][1:] == ["NOT 1: N", "  N  is a match by itself"]
    assert sides[RIGHT][1:] == ["NOT 2: M", "  M  is a match by itself"]
    assert BOTH not in sides


def test_a_query_has_a_template_for_each_set_of_keys() -> None:
    bound = bound_query("RETURN COUNT(*) PATTERN SEQ(A, K?) GROUP-BY k WITHIN 5", SCHEMA)
    parts = template_parts(bound)
    assert [(side, carried_keys(bound, t)) for side, t in parts] == [(WHOLE, []), (WHOLE, ["k"])]
