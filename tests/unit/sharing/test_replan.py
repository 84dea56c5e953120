"""When a stored plan still stands, and the reason that is given where it does not."""

from __future__ import annotations

import pytest

from elsinore.query.bound import Workload
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.plan import Finder
from elsinore.sharing.replan import ANY_CHANGE, BAND, Band, Replan, replan
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import Interval
from tests.unit.sharing.support import bind, count_trends

PARTS = {"q1": "ABC", "q2": "AB", "q3": "BC"}
RATES = {"A": 10, "B": 20, "C": 5}
BEFORE = Statistics.given(10, RATES, {("k",): 4})


def _workload(parts: dict[str, str]) -> Workload:
    return bind({name: count_trends(pattern) for name, pattern in parts.items()})


def _decide(
    parts: dict[str, str], statistics: Statistics, *, band: Band = ANY_CHANGE, known: bool = True
) -> Replan:
    stored = find_plan(_workload(PARTS), BEFORE, finder=Finder.GWMIN)
    found_from = BEFORE if known else None
    return replan(stored, found_from, _workload(parts), statistics, band=band)


def test_what_did_not_change_stands() -> None:
    assert _decide(PARTS, BEFORE) == Replan(False, "neither queries nor statistics changed")
    longer = Statistics.given(20, {n: 2 * r for n, r in RATES.items()}, {("k",): 4})
    assert _decide(PARTS, longer) == Replan(False, "no rate changed by more than a factor of 1")
    other = Statistics.given(10, RATES | {"D": 7}, {("k",): 4})  # no query has D
    assert _decide(PARTS, other) == Replan(False, "no rate changed by more than a factor of 1")


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (PARTS | {"q4": "CB"}, "queries changed: q4 is new"),
        ({"q1": "ABC", "q2": "AB"}, "queries changed: q3 is gone"),
        (PARTS | {"q2": "BA"}, "queries changed: q2 is another"),
        (
            {"q2": "BA", "q4": "AB", "q5": "AB"},
            "queries changed: q4 is new; q5 is new; q1 is gone; and 2 more",
        ),
    ],
)
def test_changed_queries_need_a_new_plan(parts: dict[str, str], reason: str) -> None:
    assert _decide(parts, BEFORE, band=Band(10, 0)) == Replan(True, reason)


def test_changed_rates_need_a_new_plan_beyond_the_band() -> None:
    moved = Statistics.given(10, {"A": 11, "B": 10, "C": 5}, {("k",): 4})
    worst_first = "statistics changed: B from 20 to 10 events; A from 10 to 11 events"
    assert _decide(PARTS, moved) == Replan(True, worst_first)
    only_b = Replan(True, "statistics changed: B from 20 to 10 events")
    assert _decide(PARTS, moved, band=Band(1.5, 0)) == only_b
    within = Replan(False, "no rate changed by more than a factor of 2")
    assert _decide(PARTS, moved, band=Band(2, 0)) == within
    assert _decide(PARTS, moved, band=Band(1.5, 15)) == Replan(
        False, "no rate changed by more than a factor of 1.5"
    )


def test_more_partitions_and_new_types_count_too() -> None:
    keys = Statistics.given(10, RATES, {("k",): 6})
    assert _decide(PARTS, keys).reason == "statistics changed: values of k from 4 to 6"
    none = Statistics.counted(Interval(0, 10), {"A": 10, "B": 20}, {("k",): 4})
    assert _decide(PARTS, none, band=Band(100, 0)) == Replan(
        True, "statistics changed: C from 5 to 0 events"
    )


@pytest.mark.parametrize(
    ("span", "values", "needed"), [(5, 2, False), (5, 6, True), (20, 9, False), (20, 3, True)]
)
def test_a_longer_span_has_more_values_of_a_key(span: int, values: int, needed: bool) -> None:
    rates = {name: rate * span / 10 for name, rate in RATES.items()}
    assert _decide(PARTS, Statistics.given(span, rates, {("k",): values})).needed is needed


@pytest.mark.parametrize(
    ("events", "needed"), [(20, False), (199, False), (200, False), (201, True)]
)
def test_the_band_of_an_hourly_run(events: int, needed: bool) -> None:
    """A rate may double or halve; fewer than a hundred events count as a hundred."""
    now = Statistics.given(10, RATES | {"B": events}, {("k",): 100})
    assert _decide(PARTS, now, band=BAND).needed is needed
    stored = find_plan(_workload(PARTS), now, finder=Finder.GWMIN)
    assert replan(stored, now, _workload(PARTS), BEFORE).needed is needed


def test_without_an_earlier_plan_or_its_statistics() -> None:
    assert replan(None, None, _workload(PARTS), BEFORE).needed
    lost = _decide(PARTS, Statistics.given(20, RATES), known=False)
    assert lost == Replan(True, "the statistics of the stored plan are not known")
