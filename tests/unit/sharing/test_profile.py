"""The profile of a stream: as a value, and measured from events at hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import PlanError
from elsinore.events import EventTable
from elsinore.executors.profile import SAMPLE, measure
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.sharing.profile import Spread, StreamProfile
from elsinore.timeline import Interval, parse_instant
from tests import profile_case as case
from tests.unit.sharing.support import bind, stream

_FLIGHTS = load_schema(Path(__file__).parents[3] / "schemas/events/flights.yaml")


def flights() -> tuple[Workload, EventTable]:
    events = [
        (
            kind,
            parse_instant(f"2013-01-01T{hour:02}:{minute:02}Z"),
            {"carrier": carrier, "tailnum": aircraft, **case.delays(kind, delay)},
        )
        for hour, minute, kind, carrier, aircraft, delay in case.FLIGHTS
    ]
    weather = ("Weather", case.RUN.start, {"origin": "JFK", "precip": 0.0, "visib": 10.0})
    workload = read_workload(case.QUERIES, _FLIGHTS, "test")
    return workload, EventTable.of(_FLIGHTS, [*events, weather])


def test_every_figure_is_the_one_worked_out_by_hand() -> None:
    workload, events = flights()
    assert measure(events, workload, case.OBSERVED) == case.expected(workload)


def test_shares_and_means() -> None:
    workload, _ = flights()
    profile = case.expected(workload)
    assert profile.local[0].share == 8 / 9
    assert profile.partitions[1].largest_share == 6 / 12
    assert profile.bursts[1].lengths.mean == 8 / 6


def test_without_events_all_panes_are_empty() -> None:
    workload, events = flights()
    found = measure(events, workload, Interval(0, 1))
    assert found.rates[0].events == case.spread(1, 0, 0, 0, 0)
    assert (found.bursts, found.partitions) == ((), ())
    assert (found.local[0].share, found.edges[0].share, found.edges[0].pairs) == (None, None, 0)


def test_json_reads_back_and_damage_is_noticed() -> None:
    workload, _ = flights()
    profile = case.expected(workload)
    text = profile.to_json()
    assert StreamProfile.from_json(text) == profile
    document = json.loads(text)
    document["pane"] += 1
    with pytest.raises(PlanError, match="fingerprint"):
        StreamProfile.from_json(json.dumps(document))
    newer = json.dumps(document | {"version": 2})
    for other, problem in ((newer, "has version 2"), ("[]", "is not"), ("{", "is not")):
        with pytest.raises(PlanError, match=f"the stream profile {problem}"):
            StreamProfile.from_json(other)


@given(st.lists(st.integers(0, 9), min_size=1))
def test_a_spread_is_that_of_the_numbers(numbers: list[int]) -> None:
    found = Spread.of([number for number in numbers if number], numbers.count(0))
    assert (found.number, found.total) == (len(numbers), sum(numbers))
    assert (found.least, found.most) == (min(numbers), max(numbers))
    assert found.median == np.median(numbers)


def _growing(count: int) -> tuple[Workload, list[tuple[str, int, dict[str, int]]]]:
    """A's at times 0, 1, ... with values that have nothing to do with them."""
    workload = bind(["RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 100000"], types="AB")
    values = np.random.default_rng(5).integers(0, 10, count).tolist()
    return workload, [("A", time, {"x": value}) for time, value in enumerate(values)]


def test_of_many_pairs_a_sample_is_looked_at() -> None:
    count = 2_000
    workload, events = _growing(count)
    values = np.array([attributes["x"] for _, _, attributes in events])
    found = measure(EventTable.of(stream("AB"), events), workload, Interval(0, count)).edges[0]
    assert found.pairs == count * (count - 1) // 2
    assert found.pairs > SAMPLE == found.sampled
    passing = sum(int((values[i + 1 :] > values[i]).sum()) for i in range(count))
    assert found.share == pytest.approx(passing / found.pairs, abs=0.02)


def test_the_order_of_events_does_not_matter() -> None:
    workload, events = _growing(2_000)
    forth, back = (
        measure(EventTable.of(stream("AB"), order), workload, Interval(0, len(events)))
        for order in (events, events[::-1])
    )
    assert forth == back
