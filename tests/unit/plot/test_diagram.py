"""What is drawn of a query."""

from __future__ import annotations

from itertools import combinations

import pytest

from elsinore.plot.diagram import (
    RADIUS,
    Circle,
    Diagram,
    Drawing,
    Sheet,
    capsule_width,
    drawing_of,
    label_width,
    sheet_of,
)
from elsinore.plot.ink import LABEL, NOTE, block_height, block_width
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema({name: {"v": "long"} for name in "ABCDEN"} | {"K": {"k": "long"}})


def sheet(query: str, returned: str = "COUNT(*)") -> Sheet:
    return sheet_of(bound_query(f"RETURN {returned} PATTERN {query}", SCHEMA))


def drawn(diagram: Diagram) -> list[tuple[int | None, int | None, str]]:
    """Its arrows with the lines of their labels; what must not be matched is crossed."""
    return [(a.earlier, a.later, " | ".join(a.label)) for a in diagram.arrows]


@pytest.mark.parametrize(
    ("query", "arrows"),
    [
        # A NOT is a cross on the arrow; a leading and a trailing one on those from and to nowhere.
        ("SEQ(A a, NOT SEQ(C, D), B)", [(None, 0, ""), (0, 1, "⨂ NOT 1")]),
        ("SEQ(NOT N, A, NOT E)", [(None, 0, "⨂ NOT 1"), (0, None, "⨂ NOT 2")]),
        # Edge predicates are wrapped.
        ("A+ WHERE A.v + 1000000 < NEXT(A).v - A.v % 7 AND A.v < NEXT(A).v",
         [(None, 0, ""),
          (0, 0, "(A.v + 1000000) < (NEXT(A).v - |    (A.v % 7)) | A.v < NEXT(A).v")]),
    ],
)  # fmt: skip
def test_arrows(query: str, arrows: list[tuple[int | None, int | None, str]]) -> None:
    assert drawn(sheet(f"{query} WITHIN 5").diagrams[0]) == arrows


def test_a_not_is_an_automaton_of_its_own_and_end_states_are_double() -> None:
    trends, negative = sheet("SEQ(A a, NOT SEQ(C, D), B) WITHIN 5").diagrams
    assert trends.circles == (Circle("a", "A", False), Circle("B", "", True))
    assert (negative.caption, negative.negative) == ("NOT 1: SEQ(C, D)", True)
    assert [circle.name for circle in negative.circles] == ["C", "D"]


def test_words_beside_the_drawing() -> None:
    found = sheet("SEQ(A, B) WITHIN 5 SEMANTICS contiguous")
    assert found.lines == ("SEQ(A, B)", "SEMANTICS contiguous")
    assert [arrow.label for arrow in found.diagrams[0].arrows] == [(), ()]
    captions = [d.caption for d in sheet("SEQ(A, K?) GROUP-BY k WITHIN 5").diagrams]
    assert captions == ["trends with no key", "trends with k"]
    without = sheet("SEQ(A x+, A y+) WITHIN 5", "COUNT(x)")
    assert without.diagrams == ()
    reason = "no template: one event of a trend can match x or y"
    assert reason in " ".join(without.lines)


# ---- nothing that is drawn lies upon anything else
MANY = stream_schema(
    {name: {"v": "long"} for name in "ABCDEFGHIJMN"} | {"Cancellation": {"v": "long", "k": "long"}}
)
QUERIES = [
    "SEQ(A, B, C, D, E, F, G, H, I, J) WHERE A.v < NEXT(B).v AND C.v < NEXT(D).v",
    "(SEQ(A+, (SEQ(B+, C+))+, D+))+ WHERE B.v < NEXT(B).v AND B.v < NEXT(C).v",
    "(SEQ(A+, NOT SEQ(C, NOT E, D), B))+",
    "SEQ(A, (SEQ(B, C) OR D+ OR SEQ(E, F, G)), H)",
    "SEQ(NOT N, A, NOT N n2, B?, NOT M, C, NOT M m2)",
    "SEQ(A?, B?, C?, D?, E?)",
    "SEQ(A x+, A y+) WHERE x.v > 1 AND y.v > 2 AND x.v < NEXT(x).v",
    "SEQ(A a1+, B b1?) AND SEQ(A a2?, B b2)",
    "SEQ(A, Cancellation C1+, Cancellation C2*) WHERE C1.v % 7 + 3 < NEXT(C1).v AND [A.v] "
    "GROUP-BY k",
]

#: Left, top, right, bottom.
Rectangle = tuple[float, float, float, float]


def drawings(query: str) -> list[Drawing]:
    text = f"RETURN COUNT(*) PATTERN {query} WITHIN 5"
    sheet = sheet_of(bound_query(text, MANY))
    assert sheet.diagrams
    return [drawing_of(diagram) for diagram in sheet.diagrams]


def circles(drawing: Drawing) -> list[Rectangle]:
    found = []
    for circle, (x, y) in zip(drawing.diagram.circles, drawing.points, strict=True):
        half, notes = capsule_width(circle) / 2, circle.note.splitlines()
        found.append((x - half, y - RADIUS, x + half, y + RADIUS))
        if notes:
            wide = block_width(notes, NOTE) / 2
            below = y + RADIUS + 5 + block_height(len(notes), NOTE)
            found.append((x - wide, y + RADIUS + 5, x + wide, below))
    return found


def labels(drawing: Drawing) -> list[Rectangle]:
    return [
        (x - width / 2, y - block_height(len(arrow.label), LABEL), x + width / 2, y)
        for arrow, (x, y) in zip(drawing.diagram.arrows, drawing.labels, strict=True)
        if (width := label_width(arrow.label))
    ]


def apart(one: Rectangle, other: Rectangle) -> bool:
    return (
        one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    )  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_circles_and_labels_lie_apart_and_on_the_sheet(query: str) -> None:
    for drawing in drawings(query):
        boxes = [*circles(drawing), *labels(drawing)]
        for one, other in combinations(boxes, 2):
            assert apart(one, other)
        assert min(min(box[:2]) for box in boxes) >= 0
        assert max(box[2] for box in boxes) <= drawing.width
        assert max(box[3] for box in boxes) <= drawing.height
