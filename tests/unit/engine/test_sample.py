"""A sample of events: whole partitions, few events, the same each time."""

from __future__ import annotations

import pytest

from elsinore.engine.plan import sample_profiles
from elsinore.events import EventTable
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from tests.property.random_cases import SCHEMA
from tests.property.random_cases.streams import Event


def _workload(where: str) -> Workload:
    texts = (
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ({kind}, B+) {where} WITHIN 1000000;"
        for n, kind in enumerate("AN")
    )
    return bind_workload(parse_workload("".join(texts)), SCHEMA)


def _stream(partitions: int, bursts: int, length: int) -> EventTable:
    """In each partition bursts of B, each after an A; the events of all partitions take turns."""
    kinds = ("A" + "B" * length) * bursts
    rows: list[Event] = [
        (kind, turn * partitions + k, {"k": k, "x": turn % 2})
        for turn, kind in enumerate(kinds)
        for k in range(partitions)
    ]
    return EventTable.of(SCHEMA, rows)


def test_bursts_of_partitions_stay_whole() -> None:
    events = _stream(partitions=100, bursts=20, length=9)
    (profile,) = sample_profiles(_workload("WHERE [k]"), events)
    lengths = {found.event_type: found.lengths for found in profile.bursts}
    assert lengths["B"].most == 9
    # A stretch of all partitions would hold ten events of each; here at most two bursts are cut.
    assert lengths["B"].mean > 8
    assert lengths["A"].mean == 1


def test_few_events_are_looked_at() -> None:
    events = _stream(partitions=1, bursts=2_000, length=9)
    for sample, most in ((4_096, 1_000), (300, 300)):  # a share of 20,000 events, or the sample
        (profile,) = sample_profiles(_workload("WHERE B.x = 1"), events, sample=sample)
        (local,) = profile.local
        assert 0 < local.events <= most
        assert local.share == pytest.approx(0.5, abs=0.1)


def test_the_same_events_give_the_same_sample_profiles() -> None:
    events = _stream(partitions=30, bursts=10, length=4)
    first, second = (sample_profiles(_workload("WHERE [k]"), events) for _ in "12")
    assert first == second != ()


def test_where_there_is_nothing_to_see() -> None:
    few = _stream(partitions=1, bursts=1, length=3)
    assert sample_profiles(_workload(""), few) == ()
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10;"
    fixed = bind_workload(parse_workload(text), SCHEMA)
    assert sample_profiles(fixed, _stream(partitions=1, bursts=100, length=9)) == ()
