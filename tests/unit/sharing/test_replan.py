"""When a stored plan still stands, and the reason that is given where it does not."""

from __future__ import annotations

import pytest

from elsinore.choices import Optimizer
from elsinore.query.bound import Workload
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.replan import ANY_CHANGE, BAND, Band, Replan, replan
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import Interval
from tests.unit.sharing.support import bind, count_trends

PARTS = {"q1": "ABC", "q2": "AB", "q3": "BC"}
RATES = {"A": 10, "B": 20, "C": 5}
BEFORE = Statistics.given(10, RATES, {("k",): 4})


def _given(per: int, **rates: int) -> Statistics:
    return Statistics.given(per, RATES | rates, {("k",): 4})


MOVED = _given(10, A=11, B=10)


def _workload(parts: dict[str, str]) -> Workload:
    return bind({name: count_trends(pattern) for name, pattern in parts.items()})


def _decide(
    parts: dict[str, str], statistics: Statistics, *, band: Band = ANY_CHANGE, known: bool = True
) -> Replan:
    stored = find_plan(_workload(PARTS), BEFORE, optimizer=Optimizer.GWMIN)
    found_from = BEFORE if known else None
    return replan(stored, found_from, _workload(parts), statistics, band=band)


ONE = "no rate changed by more than a factor of "


@pytest.mark.parametrize(
    ("statistics", "band", "needed", "reason"),
    [
        (BEFORE, ANY_CHANGE, False, "neither queries nor statistics changed"),
        (_given(20, A=20, B=40, C=10), ANY_CHANGE, False, f"{ONE}1"),
        (_given(10, D=7), ANY_CHANGE, False, f"{ONE}1"),  # no query has D
        (MOVED, ANY_CHANGE, True,
         "statistics changed: B from 20 to 10 events; A from 10 to 11 events"),  # the worst first
        (MOVED, Band(1.5, 0), True, "statistics changed: B from 20 to 10 events"),
        (MOVED, Band(2, 0), False, f"{ONE}2"),
        (MOVED, Band(1.5, 15), False, f"{ONE}1.5"),
        (Statistics.given(10, RATES, {("k",): 6}), ANY_CHANGE, True,
         "statistics changed: values of k from 4 to 6"),
        (Statistics.counted(Interval(0, 10), {"A": 10, "B": 20}, {("k",): 4}), Band(100, 0), True,
         "statistics changed: C from 5 to 0 events"),
    ],
)  # fmt: skip
def test_changed_rates_need_a_new_plan_beyond_the_band(
    statistics: Statistics, band: Band, needed: bool, reason: str
) -> None:
    assert _decide(PARTS, statistics, band=band) == Replan(needed, reason)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (PARTS | {"q4": "CB"}, "queries changed: q4 is new"),
        ({"q1": "ABC", "q2": "AB"}, "queries changed: q3 was removed"),
        (PARTS | {"q2": "BA"}, "queries changed: q2 was changed"),
        (
            {"q2": "BA", "q4": "AB", "q5": "AB"},
            "queries changed: q4 is new; q5 is new; q1 was removed; and 2 more",
        ),
    ],
)
def test_changed_queries_need_a_new_plan(parts: dict[str, str], reason: str) -> None:
    assert _decide(parts, BEFORE, band=Band(10, 0)) == Replan(True, reason)


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
    stored = find_plan(_workload(PARTS), now, optimizer=Optimizer.GWMIN)
    assert replan(stored, now, _workload(PARTS), BEFORE).needed is needed


def test_without_an_earlier_plan_or_its_statistics() -> None:
    assert replan(None, None, _workload(PARTS), BEFORE).needed
    lost = _decide(PARTS, Statistics.given(20, RATES), known=False)
    assert lost == Replan(True, "the statistics of the stored plan are unknown")
