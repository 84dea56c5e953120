"""Rows of the picture of who shares what: groups, their order, and their columns."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings

from elsinore.lowering.sharable import sharable_sets
from elsinore.plot.diagram import merged_diagram, numbers
from elsinore.plot.sharing_rows import (
    GAP,
    Group,
    Unit,
    columns_of,
    groups_of,
    row_order,
    unit_width,
    units_of,
)
from elsinore.sharing.explain_cuts import Cut, explain_cuts
from elsinore.sharing.explain_savings import explain_savings
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind, count_trends, pattern_sets

RATES = Statistics.given(10, {"A": 10, "B": 2, "C": 4, "D": 1})


def drawn(patterns: list[list[str]]) -> tuple[tuple[Cut, ...], tuple[Group, ...]]:
    """The cuts and groups of queries q1, q2, ... under their optimal plan."""
    workload = bind({f"q{n}": count_trends(parts) for n, parts in enumerate(patterns, 1)})
    plan = find_plan(workload, RATES)
    cuts = explain_cuts(plan, workload)
    savings = explain_savings(plan, workload, RATES)
    return cuts, groups_of(cuts, savings, sharable_sets(workload.queries))


def test_segments_and_kleene_types_are_groups() -> None:
    # (A, B, C) of q1 and q2 is shared, B+ of q2 and q3 is sharable.
    cuts, groups = drawn([["A", "B", "C"], ["A", "B", "C", "B+"], ["D", "B+"]])
    (segment, kleene) = groups
    assert (segment.text, segment.members, segment.kleene) == (
        "(A, B, C)", {"q1": (0, 3), "q2": (0, 3)}, False,
    )  # fmt: skip
    assert (kleene.name, kleene.text, kleene.members, kleene.kleene) == (
        "s1", "B+", {"q2": (3, 4), "q3": (1, 2)}, True,
    )  # fmt: skip
    texts = [
        [("".join(box.text for box in unit.boxes), unit.group) for unit in units_of(cut, groups)]
        for cut in cuts
    ]
    assert texts == [[("ABC", 0)], [("ABC", 0), ("B+", 1)], [("D", None), ("B+", 1)]]


def test_rows_that_share_stand_together() -> None:
    def group(*members: str, net: float) -> Group:
        return Group("p", "", dict.fromkeys(members, (0, 1)), net, kleene=False)

    groups = [group("a", "d", net=1), group("b", "f", net=9), group("d", "g", net=1)]
    order = ["abcdefg"[n] for n in row_order("abcdefg", groups)]
    # the largest saving first; d joins a and g; c and e share nothing
    assert order == ["b", "f", "a", "d", "g", "c", "e"]


def test_what_is_shared_stands_in_one_column() -> None:
    (box,) = drawn([["A"]])[0][0].boxes
    private, shared = Unit((box,), None), Unit((box,), 0)
    group = Group("p1", "", {"x": (0, 1), "y": (2, 3), "z": (1, 2)}, 1.0, kleene=False)
    rows = [(shared, private), (private, private, shared), (private, shared)]
    places, aligned = columns_of(rows, [group])
    assert aligned == {0}
    column = places[0][0]
    assert places[1][2] == places[2][1] == column
    # what is private stands right before it
    step = unit_width(private) + GAP
    assert places[1][:2] == [column - 2 * step, column - step]
    assert places[2][0] == column - step


def test_contradicting_orders_are_not_aligned() -> None:
    (box,) = drawn([["A"]])[0][0].boxes
    groups = [Group(n, "", {"x": (0, 1), "y": (0, 1)}, 1.0, kleene=False) for n in ("p1", "p2")]
    rows = [(Unit((box,), 0), Unit((box,), 1)), (Unit((box,), 1), Unit((box,), 0))]
    places, aligned = columns_of(rows, groups)
    assert aligned == {0}  # p1 then p2, and p2 then p1: one of them stands in one column
    assert places[0][0] == places[1][1]


@settings(max_examples=60)
@given(pattern_sets)
def test_units_never_overlap(patterns: list[list[str]]) -> None:
    cuts, groups = drawn(patterns)
    names = [cut.query for cut in cuts]
    assert sorted(row_order(names, groups)) == list(range(len(names)))
    rows = [units_of(cut, groups) for cut in cuts]
    places, aligned = columns_of(rows, groups)
    for cut, row, at in zip(cuts, rows, places, strict=True):
        assert tuple(box for unit in row for box in unit.boxes) == cut.boxes
        assert at[0] >= -1e-9
        for (unit, left), (_, right) in pairwise(zip(row, at, strict=True)):
            assert left + unit_width(unit) + GAP <= right + 1e-9
    for group in aligned:
        columns = {
            round(left, 6)
            for row, at in zip(rows, places, strict=True)
            for unit, left in zip(row, at, strict=True)
            if unit.group == group
        }
        assert len(columns) == 1


def test_the_merged_template_of_figure_3() -> None:
    # Hamlet Figure 3 (b): SEQ(A, B+) and SEQ(C, B+).
    workload = bind([count_trends(["A", "B+"]), count_trends(["C", "B+"])])
    (found,) = sharable_sets(workload.queries).sets
    diagram = merged_diagram(found)
    names = [circle.name for circle in diagram.circles]
    assert sorted(names) == ["A", "B", "C"]
    assert [circle.name for circle in diagram.circles if circle.double] == ["B"]
    arrows = {
        (
            None if arrow.earlier is None else names[arrow.earlier],
            None if arrow.later is None else names[arrow.later],
            "".join(line.text for line in arrow.label),
        )
        for arrow in diagram.arrows
    }
    assert arrows == {
        (None, "A", "1"), (None, "C", "2"), ("A", "B", "1"), ("C", "B", "2"), ("B", "B", "all"),
    }  # fmt: skip


def test_conditions_are_told_with_those_who_have_them() -> None:
    rest = "B+ WHERE B.x {} NEXT(B).x AND B.k > {} WITHIN 10"
    texts = [rest.format("<", 1), rest.format("<", 1), rest.format(">", 2)]
    (found,) = sharable_sets(
        bind([f"RETURN COUNT(*) PATTERN {text}" for text in texts]).queries
    ).sets
    (circle,) = merged_diagram(found).circles
    assert circle.note.splitlines() == ["1-2: B.k > 1", "3: B.k > 2"]
    (loop,) = [arrow for arrow in merged_diagram(found).arrows if arrow.earlier is not None]
    assert sorted(line.text for line in loop.label) == [
        "1-2: B.x < NEXT(B).x",
        "3: B.x > NEXT(B).x",
    ]


def test_numbers_of_queries() -> None:
    assert numbers([4, 0, 1, 2, 6], 9) == "1-3, 5, 7"
    assert numbers(range(9), 9) == "all"
    assert numbers([0], 1) == "1"
