"""What this engine shares by measured costs."""

from __future__ import annotations

import pytest

from elsinore.events import EventTable
from elsinore.executors.plan import choose_segments as choosing
from elsinore.executors.plan.choose_segments import (
    SegmentCosts,
    choose_segments,
    planes_for,
    predict,
)
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.query.segments import Segment
from elsinore.sharing.observe import observe
from elsinore.sharing.statistics import Statistics
from tests.golden_cases import stream_schema

LETTERS = stream_schema({letter: {"k": "long"} for letter in "ABCDEF"})


@pytest.fixture(autouse=True)
def _costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One ns an operation, 0.01 a lane, nothing for a skipped one."""
    _set_lane(monkeypatch, 0.01)


def _set_lane(monkeypatch: pytest.MonkeyPatch, lane: float) -> None:
    costs = SegmentCosts(operation=1.0, lane=lane, skipped=0.0)
    monkeypatch.setattr(choosing, "MEASURED", costs)


def _workload(*patterns: str, window: str = "WITHIN 100") -> Workload:
    texts = [
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ({', '.join(pattern)}) {window};"
        for n, pattern in enumerate(patterns)
    ]
    return read_workload("\n".join(texts), LETTERS)


def _rates(**events: float) -> Statistics:
    return Statistics.given(1, dict.fromkeys("ABCDEF", 10.0) | events)


def test_a_common_head_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """ABC is 3 operations of 10 events each, D and E one each: 50 against 80, lanes apart."""
    workload = _workload("ABCD", "ABCE")
    (places,) = choose_segments(workload, _rates())
    assert places == [Segment(name, 0, ("A", "B", "C")) for name in ("q0", "q1")]
    _set_lane(monkeypatch, 0.0)
    assert predict(workload, [places], _rates()) == pytest.approx(50.0)
    assert predict(workload, [], _rates()) == pytest.approx(80.0)


def test_a_common_middle_shares_operations_but_no_lanes() -> None:
    """CD after A and after B: the two operations of CD once, its 2 lanes (2 queries) remain."""
    workload = _workload("ACD", "BCD")
    shared = [[Segment(name, 1, ("C", "D")) for name in ("q0", "q1")]]
    alone, together = (predict(workload, plan, _rates()) for plan in ([], shared))
    assert alone - together == pytest.approx(20.0)


def test_a_segment_behind_a_prefix_that_hardly_ever_matches_does_not_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By itself a query skips CD until an A has come; in the shared row it adds its lanes."""
    workload = _workload("ACD", "BCD", window="WITHIN 100 SLIDE 1")
    shared = [[Segment(name, 1, ("C", "D")) for name in ("q0", "q1")]]
    rare = _rates(A=1e-6)
    _set_lane(monkeypatch, 0.1)
    assert predict(workload, shared, rare) > predict(workload, [], rare)
    assert choose_segments(workload, rare, shared) == []
    assert choose_segments(workload, rare) == []


def test_the_choice_is_never_worse_than_a_plan_that_is_given() -> None:
    workload = _workload("ABCDE", "ABCDF", "FABCD", "EABCD", "CDABE")
    given = [[Segment("q0", 0, ("A", "B")), Segment("q1", 0, ("A", "B"))]]
    for plan in (given, None):
        chosen = choose_segments(workload, _rates(), plan)
        best = predict(workload, chosen, _rates())
        assert best <= predict(workload, given, _rates())
        assert best < predict(workload, [], _rates())


@pytest.mark.parametrize(("bits", "planes"), [(0, 1), (60, 1), (61, 2), (88, 2), (89, 3)])
def test_planes_after_the_first_hold_28_bits_each(bits: float, planes: int) -> None:
    assert planes_for(bits) == planes


def test_statistics_of_events_at_hand() -> None:
    workload = _workload("AB", "AB", window="WHERE [k] WITHIN 9")
    events = EventTable.of(
        LETTERS, [("A", 3, {"k": 1}), ("A", 4, {"k": 2}), ("B", 12, {"k": None}), ("C", 12, {})]
    )
    found = observe(workload, events)
    assert dict(found.events) == {"A": 2.0, "B": 1.0}
    assert (found.per, found.partition_count(["k"])) == (10, 2)
