"""Days and months of zones, compared with a search over the local clock, minute by minute."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from elsinore.calendar_clock import CalendarClock, Part
from elsinore.timeline import DAY, HOUR, MINUTE, instant_of

#: A time near a change of the clock, by zone; Apia skipped 30 December 2011.
CHANGES = [
    ("America/New_York", "2024-03-10"), ("America/New_York", "2024-11-03"),
    ("Europe/Berlin", "2024-03-31"), ("Europe/Berlin", "2024-10-27"),
    ("Australia/Lord_Howe", "2024-04-07"), ("Australia/Lord_Howe", "2024-10-06"),
    ("Pacific/Apia", "2011-12-30"), ("America/Sao_Paulo", "2018-11-04"),
    ("America/Havana", "2024-11-03"),
]  # fmt: skip
OFFSETS = [0, 30 * MINUTE, HOUR, 2 * HOUR, 2 * HOUR + 15 * MINUTE, 23 * HOUR + 30 * MINUTE]


def first_shown(zone: ZoneInfo, local: datetime) -> int:
    """The first minute at which the local clock shows a time, or a later one."""
    moment = local.replace(tzinfo=UTC) - timedelta(hours=27)
    while moment.astimezone(zone).replace(tzinfo=None) < local:
        moment += timedelta(minutes=1)
    return instant_of(moment)


def number_of(day: str) -> int:
    """The days since 1970 of a date."""
    return date.fromisoformat(day).toordinal() - date(1970, 1, 1).toordinal()


@pytest.mark.parametrize(("zone", "day"), CHANGES)
@pytest.mark.parametrize("offset", OFFSETS)
def test_days_begin_when_the_clock_first_shows_it(zone: str, day: str, offset: int) -> None:
    clock, change = CalendarClock(zone, Part.DAY, offset=offset), datetime.fromisoformat(day)
    for days in range(-2, 3):
        local = change + timedelta(days=days, microseconds=offset)
        number = number_of(day) + days
        assert clock.start(number) == first_shown(ZoneInfo(zone), local)


@pytest.mark.parametrize(("zone", "day"), CHANGES)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize(("part", "count"), [(Part.DAY, 1), (Part.DAY, 7), (Part.MONTH, 2)])
def test_positions_keep_the_order_and_the_borders(
    zone: str, day: str, offset: int, part: Part, count: int
) -> None:
    clock = CalendarClock(zone, part, -3, offset, count)
    change = instant_of(datetime.fromisoformat(day).replace(tzinfo=UTC))
    times = change + np.arange(-40 * DAY, 40 * DAY, 7 * MINUTE + 1)
    positions = clock.positions(times)
    assert (np.diff(positions) > 0).all()
    numbers = positions // clock.length
    for number in np.unique(numbers).tolist():
        inside = times[numbers == number]
        assert clock.start(number) <= inside.min()
        assert inside.max() < clock.start(number + 1)
    assert [clock.position(time) for time in times[::997].tolist()] == positions[::997].tolist()


def test_lengths_of_days() -> None:
    clock = CalendarClock("America/New_York", Part.DAY)
    day = number_of("2024-03-10")
    assert [(clock.start(n + 1) - clock.start(n)) // HOUR for n in (day - 1, day)] == [24, 23]
    apia = CalendarClock("Pacific/Apia", Part.DAY)
    skipped = number_of("2011-12-30")
    assert apia.start(skipped) == apia.start(skipped + 1)


def test_times_of_all_years() -> None:
    times = np.array([instant_of(datetime(year, 6, 1, 4, tzinfo=UTC)) for year in (2, 1900, 9998)])
    for part in Part:
        clock = CalendarClock("America/New_York", part)
        positions = clock.positions(times)
        assert (np.diff(positions) > 0).all()
        assert positions.tolist() == [clock.position(time) for time in times.tolist()]
