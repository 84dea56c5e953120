"""Which hours a run works on, and how they are cut."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta, timezone

import pytest

from elsinore.errors import ParameterError
from elsinore.orchestration.run_params import day_interval, run_interval, slices
from elsinore.timeline import Interval

SEVEN = datetime(2013, 2, 8, 7, tzinfo=UTC)
EIGHT = datetime(2013, 2, 8, 8, tzinfo=UTC)


def test_without_parameters_it_is_the_data_interval() -> None:
    assert run_interval(None, None, data_start=SEVEN, data_end=EIGHT) == Interval.parse(
        "2013-02-08T07:00", "2013-02-08T08:00"
    )


def test_the_data_interval_counts_in_utc() -> None:
    there = SEVEN.astimezone(timezone(timedelta(hours=-5)))
    assert run_interval(None, None, data_start=there, data_end=EIGHT) == run_interval(
        None, None, data_start=SEVEN, data_end=EIGHT
    )


def test_parameters_come_before_the_data_interval() -> None:
    found = run_interval("2013-01-01", "2013-01-03", data_start=SEVEN, data_end=EIGHT)
    assert found == Interval.parse("2013-01-01", "2013-01-03")


@pytest.mark.parametrize(
    ("start", "end", "data_start", "data_end"),
    [
        pytest.param("2013-01-01", None, SEVEN, EIGHT, id="start alone"),
        pytest.param(None, "2013-01-01", SEVEN, EIGHT, id="end alone"),
        pytest.param("2013-01-02", "2013-01-01", SEVEN, EIGHT, id="backwards"),
        pytest.param("2013-01-01", "2013-01-01", SEVEN, EIGHT, id="empty"),
        pytest.param("2013-01-01T00:30", "2013-01-01T02:00", SEVEN, EIGHT, id="half an hour"),
        pytest.param("x; drop", "2013-01-01", SEVEN, EIGHT, id="no instant"),
        pytest.param(None, None, SEVEN, SEVEN, id="interval of no width"),
        pytest.param(None, None, None, None, id="no interval"),
    ],
)
def test_refused(
    start: str | None, end: str | None, data_start: datetime | None, data_end: datetime | None
) -> None:
    with pytest.raises(ParameterError):
        run_interval(start, end, data_start=data_start, data_end=data_end)


@pytest.mark.parametrize(("hours", "parts"), [(1, 3), (2, 3), (3, 3), (48, 3), (49, 5), (7, 1)])
def test_slices_are_whole_hours_that_cover_the_run(hours: int, parts: int) -> None:
    whole = Interval(0, hours * 3_600_000_000)
    cut = [Interval.parse(part["start"], part["end"]) for part in slices([whole], parts)]
    assert len(cut) <= min(hours, parts)
    assert cut[0].start == whole.start
    assert cut[-1].end == whole.end
    assert all(one.end == following.start for one, following in itertools.pairwise(cut))
    assert all(part.length % 3_600_000_000 == 0 for part in cut)


def test_a_day_has_24_hours() -> None:
    assert day_interval("2013-03-10") == Interval.parse("2013-03-10T00:00", "2013-03-11T00:00")


@pytest.mark.parametrize("text", ["", "2013-02-30", "2013-2-8", "2013-02-08T00:00", "{{ ds }}"])
def test_what_is_no_day_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        day_interval(text)
