"""Rows of the picture of who shares what: groups and their order; merged templates."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from elsinore.plot.diagram import merged_diagram, numbers
from elsinore.plot.draw_sharing import Group, groups_of, row_order, units_of
from elsinore.sharing.explain import Cut, explain_cuts, explain_savings
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.sharable import sharable_sets
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind, count_trends, pattern_sets

RATES = Statistics.given(10, {"A": 10, "B": 2, "C": 4, "D": 1})


def drawn(patterns: list[list[str]]) -> tuple[tuple[Cut, ...], tuple[Group, ...]]:
    """The cuts and groups of queries q1, q2, ... under their optimal plan."""
    workload = bind({f"q{n}": count_trends(parts) for n, parts in enumerate(patterns, 1)})
    plan = find_plan(workload, RATES)
    cuts = explain_cuts(plan, workload)
    savings = explain_savings(plan, workload, RATES)
    sets = enumerate(sharable_sets(workload.queries).sets, 1)
    return cuts, groups_of(cuts, savings, [(f"s{n}", found, "shared") for n, found in sets])


def test_segments_and_kleene_types_are_groups() -> None:
    # (A, B, C) of q1 and q2 is shared, B+ of q2 and q3 is sharable.
    cuts, groups = drawn([["A", "B", "C"], ["A", "B", "C", "B+"], ["D", "B+"]])
    (segment, kleene) = groups
    assert (segment.text, segment.members, segment.kleene) == (
        "(A, B, C)", {"q1": (0, 3), "q2": (0, 3)}, None,
    )  # fmt: skip
    assert (kleene.name, kleene.text, kleene.members, kleene.kleene) == (
        "s1", "B+", {"q2": (3, 4), "q3": (1, 2)}, "shared",
    )  # fmt: skip
    texts = [
        [("".join(box.text for box in unit.boxes), unit.group) for unit in units_of(cut, groups)]
        for cut in cuts
    ]
    assert texts == [[("ABC", 0)], [("ABC", 0), ("B+", 1)], [("D", None), ("B+", 1)]]


def test_rows_that_share_stand_together() -> None:
    def group(*members: str, net: float) -> Group:
        return Group("p", "", dict.fromkeys(members, (0, 1)), net, kleene=None)

    groups = [group("b", "f", net=9), group("a", "d", net=1), group("d", "g", net=1)]
    order = ["abcdefg"[n] for n in row_order("abcdefg", groups)]
    # the largest saving first; d joins a and g; c and e share nothing
    assert order == ["b", "f", "a", "d", "g", "c", "e"]


@pytest.mark.slow
@settings(max_examples=60)
@given(pattern_sets)
def test_rows_hold_every_box_of_their_queries(patterns: list[list[str]]) -> None:
    cuts, groups = drawn(patterns)
    names = [cut.query for cut in cuts]
    assert sorted(row_order(names, groups)) == list(range(len(names)))
    for cut in cuts:
        assert tuple(box for unit in units_of(cut, groups) for box in unit.boxes) == cut.boxes


def test_conditions_are_told_with_those_who_have_them() -> None:
    rest = "B+ WHERE B.x {} NEXT(B).x AND B.k > {} WITHIN 10"
    texts = [rest.format("<", 1), rest.format("<", 1), rest.format(">", 2)]
    (found,) = sharable_sets(
        bind([f"RETURN COUNT(*) PATTERN {text}" for text in texts]).queries
    ).sets
    (circle,) = merged_diagram(found).circles
    assert circle.note.splitlines() == ["1-2: B.k > 1", "3: B.k > 2"]
    (loop,) = [arrow for arrow in merged_diagram(found).arrows if arrow.earlier is not None]
    assert sorted(loop.label) == ["1-2: B.x < NEXT(B).x", "3: B.x > NEXT(B).x"]


def test_numbers_of_queries() -> None:
    assert numbers([4, 0, 1, 2, 6], 9) == "1-3, 5, 7"
    assert numbers(range(9), 9) == "all"
    assert numbers([0], 1) == "1"
