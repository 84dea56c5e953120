"""Statistics: rates over any span, the fingerprint, the JSON form, and the rates file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.errors import ParameterError, PlanError
from elsinore.sharing.statistics import Statistics, load_rates
from elsinore.timeline import HOUR, MINUTE, Interval, TimeUnit
from tests.unit.sharing.support import stream

names = st.text("ABCxyz", min_size=1, max_size=3)
counts = st.dictionaries(names, st.integers(0, 10**9), max_size=4)
partition_counts = st.dictionaries(
    st.sets(names, min_size=1, max_size=2).map(lambda keys: tuple(sorted(keys))),
    st.integers(1, 10**6),
    max_size=3,
)


def test_a_rate_is_events_per_span_scaled_to_a_window() -> None:
    statistics = Statistics.counted(Interval(100, 400), {"A": 60})
    assert statistics.rate("A", 10) == 2.0
    assert statistics.rate("A", 300) == 60.0


def test_types_without_a_rate() -> None:
    assert Statistics.counted(Interval(0, 10), {"A": 1}).rate("B", 5) == 0.0
    with pytest.raises(ParameterError, match="the rate of B"):
        Statistics.given(10, {"A": 1}).rate("B", 5)


def test_partitions_that_were_not_counted_are_one() -> None:
    statistics = Statistics.given(10, {}, {("m", "k"): 12})
    assert statistics.partition_count(["k", "m"]) == 12
    assert statistics.partition_count(["k"]) == 1


@pytest.mark.parametrize(
    ("per", "events", "partitions"),
    [
        (0, {}, {}),
        (10, {"A": -1.0}, {}),
        (10, {"A": float("nan")}, {}),
        (10, {"A": float("inf")}, {}),
        (10, {}, {("k",): 0}),
        (10, {}, {(): 3}),
    ],
)
def test_senseless_rates_are_refused(
    per: int, events: dict[str, float], partitions: dict[tuple[str, ...], int]
) -> None:
    with pytest.raises(ValueError, match="1 validation error"):
        Statistics.given(per, events, partitions)


@given(counts, partition_counts, st.one_of(st.none(), st.integers(1, 10**15)))
def test_json_round_trip(
    events: dict[str, int], partitions: dict[tuple[str, ...], int], length: int | None
) -> None:
    statistics = (
        Statistics.given(7, events, partitions)
        if length is None
        else Statistics.counted(Interval(-3, length - 3), events, partitions)
    )
    again = Statistics.from_json(statistics.to_json())
    assert again == statistics
    assert again.fingerprint == statistics.fingerprint


def test_the_fingerprint_knows_every_part_and_no_order() -> None:
    parts = [
        Statistics.given(10, {"A": 1, "B": 2}),
        Statistics.given(11, {"A": 1, "B": 2}),
        Statistics.given(10, {"A": 2, "B": 2}),
        Statistics.given(10, {"A": 1, "B": 2}, {("k",): 3}),
        Statistics.counted(Interval(0, 10), {"A": 1, "B": 2}),
        Statistics.counted(Interval(5, 15), {"A": 1, "B": 2}),
    ]
    assert len({statistics.fingerprint for statistics in parts}) == len(parts)
    assert Statistics.given(10, {"B": 2.0, "A": 1.0}).fingerprint == parts[0].fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"fingerprint": "0" * 64},
        {"per": "10"},
        {"per": 0},
        {"per": 11},  # the observed interval is 10 long
        {"events": {"A": "many"}},
        {"events": {"A": -1}},
        {"observed": [10, 0]},
        {"more": 1},
    ],
)
def test_other_json_is_refused(change: dict[str, object]) -> None:
    document = json.loads(Statistics.counted(Interval(0, 10), {"A": 1}).to_json())
    del document["fingerprint"]  # as earlier builds wrote it
    Statistics.from_json(json.dumps(document))
    with pytest.raises(PlanError):
        Statistics.from_json(json.dumps(document | change))


@pytest.mark.parametrize(
    ("unit", "per", "ticks"),
    [
        (TimeUnit.ISO, "minute", MINUTE),
        (TimeUnit.MILLISECONDS, "hours", HOUR),
        (TimeUnit.SECONDS, "60", MINUTE),
        (TimeUnit.INTEGER, "60", 60),
    ],
)
def test_a_rates_file(tmp_path: Path, unit: TimeUnit, per: str, ticks: int) -> None:
    path = tmp_path / "rates.yaml"
    path.write_text(
        f"per: {per}\nrates: {{A: 35.5, B: 2}}\npartitions:\n  - {{keys: [m, k], count: 4}}\n"
    )
    expected = Statistics.given(ticks, {"A": 35.5, "B": 2.0}, {("k", "m"): 4})
    assert load_rates(path, stream("AB", unit)) == expected


@pytest.mark.parametrize(
    ("unit", "text", "message"),
    [
        (TimeUnit.ISO, "per: fortnight\nrates: {}", "fortnight is not a unit"),
        (TimeUnit.ISO, "per: 60\nrates: {}", "needs a unit"),
        (TimeUnit.INTEGER, "per: minute\nrates: {}", "as in per: 10"),
        (TimeUnit.INTEGER, "per: 0\nrates: {}", "positive"),
        (TimeUnit.ISO, "per: minute\nrates: {Z: 1}", "has no event type Z"),
        (TimeUnit.ISO, "per: minute\nrates: {A: -1}", r"rates\.A: -1.* at least 0"),
        (TimeUnit.ISO, "per: minute\nrates: {A: .nan}", r"rates\.A: nan is not a number"),
        (TimeUnit.ISO, "per: minute\nrates: {A: often}", r"rates\.A"),
        (TimeUnit.ISO, "rates: {A: 1}", "per"),
        (TimeUnit.ISO, "per: minute\nrates: {A: 1}\nmore: 2", "more"),
        (
            TimeUnit.ISO,
            "per: minute\nrates: {A: 1}\npartitions: [{keys: [wing], count: 2}]",
            "has no attribute wing",
        ),
        (TimeUnit.ISO, "per: minute\nper: hour\nrates: {}", "occurs twice"),
        (TimeUnit.ISO, "- 1", "rates.yaml"),
    ],
)
def test_a_faulty_rates_file_is_refused(
    tmp_path: Path, unit: TimeUnit, text: str, message: str
) -> None:
    path = tmp_path / "rates.yaml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=message) as caught:
        load_rates(path, stream("AB", unit))
    assert all(fault.location is not None for fault in caught.value.diagnostics)
    with pytest.raises(ParameterError, match=r"absent\.yaml"):
        load_rates(tmp_path / "absent.yaml", stream("AB"))
