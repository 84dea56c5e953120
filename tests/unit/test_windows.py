"""Windows as arithmetic: which hold an instant, which end in an interval."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.errors import ParameterError
from elsinore.timeline import DAY, HOUR, MINUTE, Interval, hour_label, instant_of
from elsinore.windows import Span, Window, owning_hour, replay_ranges

plain = st.builds(
    lambda one, other, offset: Window(
        max(one, other), min(one, other), offset=offset % min(one, other)
    ),
    st.integers(1, 50),
    st.integers(1, 50),
    st.just(0) | st.integers(1, 49),
)
spans = st.builds(Span, st.integers(1, 60), st.booleans(), st.booleans())
windows = plain | st.builds(
    lambda period, span, offset: Window(period, period, span, offset % period),
    st.integers(1, 50),
    spans,
    st.just(0) | st.integers(1, 49),
)


@given(windows, st.integers(-200, 200))
def test_indices_are_the_windows_that_hold_the_instant(window: Window, instant: int) -> None:
    numbers = window.indices(instant)
    around = range(numbers.start - 3, numbers.stop + 3)
    assert [k for k in around if window.extent(k).contains(instant)] == list(numbers)


def test_windows_may_start_before_the_first_event() -> None:
    #  -6 . . -3 . . 0 . . 3 . . 6     the instant is 1; WITHIN 10 SLIDE 3
    #   [-----------------)            [-6, 4)
    #          [-----------------)     [-3, 7)
    #                 [----- ...       [0, 10)   but [-9, 1) ended just before
    assert [Window(10, 3).bounds(k).start for k in Window(10, 3).indices(1)] == [-6, -3, 0]


@given(windows, st.integers(-50, 50), st.integers(1, 60))
def test_every_window_ends_in_exactly_one_of_two_neighbouring_intervals(
    window: Window, start: int, length: int
) -> None:
    first = Interval(start, start + length)
    second = Interval(start + length, start + 2 * length)
    both = Interval(start, start + 2 * length)
    assert [*window.ending_in(first), *window.ending_in(second)] == [*window.ending_in(both)]
    for number in window.ending_in(first):
        assert first.start < window.extent(number).end <= first.end


@given(windows, st.integers(-50, 50), st.integers(1, 60))
def test_reach_holds_all_that_its_windows_hold(window: Window, start: int, length: int) -> None:
    interval = Interval(start, start + length)
    reach = window.reach(interval)
    for number in window.ending_in(interval):
        extent = window.extent(number)
        assert reach.start <= extent.start
        assert extent.end <= reach.end


def test_a_window_that_ends_on_the_hour_belongs_to_the_hour_before() -> None:
    (number,) = Window(HOUR, HOUR).ending_in(Interval(10 * HOUR, 11 * HOUR))
    assert Window(HOUR, HOUR).bounds(number) == Interval(10 * HOUR, 11 * HOUR)
    assert hour_label(11 * HOUR - 1) == "1970-01-01T10"


def test_panes_are_the_greatest_common_divisor() -> None:
    assert Window(10, 4).pane() == 2


@pytest.mark.parametrize(("within", "slide"), [(0, 1), (1, 0), (-1, 1)])
def test_lengths_are_positive(within: int, slide: int) -> None:
    with pytest.raises(ParameterError):
        Window(within, slide)


#: WITHIN and SLIDE of any two lengths, and events of two days, in minutes; negative times too.
lengths = st.tuples(st.integers(1, 3000), st.integers(1, 3000))
minutes = st.lists(st.integers(-1440, 1440), min_size=1, max_size=8)


def held(window: Window, times: list[int]) -> list[Interval]:
    """Every window that holds one of the times, by trying all near them."""
    first = (min(times) - window.within) // window.slide - 1
    last = max(times) // window.slide + 1
    every = map(window.bounds, range(first, last + 1))
    return [one for one in every if any(map(one.contains, times))]


def last_of_hours(times: list[int]) -> dict[int, int]:
    return {time // HOUR * HOUR: time for time in sorted(times)}


@given(st.lists(lengths, max_size=3), minutes, st.integers(0, 72), st.integers(1, 6))
def test_replayed_ranges_cover_the_windows_of_all_events_and_little_else(
    queries: list[tuple[int, int]], at: list[int], gap: int, most: int
) -> None:
    windows = [Window(within * MINUTE, slide * MINUTE) for within, slide in queries]
    times = [minute * MINUTE for minute in at]
    ranges = replay_ranges(windows, last_of_hours(times), gap=gap * HOUR, most=most)
    own = {time // HOUR * HOUR for time in times}
    needed = own | {owning_hour(b.end) for window in windows for b in held(window, times)}
    assert all(any(part.contains(hour) for part in ranges) for hour in needed)
    assert {part.start for part in ranges} <= own
    assert {part.end - HOUR for part in ranges} <= needed
    assert all(later.start - part.end > gap * HOUR for part, later in pairwise(ranges))
    assert len(ranges) <= most
    assert replay_ranges(windows, {}, gap=0, most=most) == ()


@given(minutes)
def test_the_longest_gaps_part_ranges_if_there_are_too_many(at: list[int]) -> None:
    hours = sorted({minute * HOUR for minute in at})
    ranges = replay_ranges([], dict.fromkeys(hours, min(hours)), gap=0, most=2)
    gaps = [later - hour for hour, later in pairwise(hours) if later - hour > HOUR]
    assert len(ranges) == min(len(gaps) + 1, 2)
    if gaps:
        assert ranges[1].start - ranges[0].end == max(gaps) - HOUR


@given(lengths, minutes, st.sets(st.integers(-24, 80)))
def test_open_ends_are_those_of_windows_in_hours_that_are_not_closed(
    query: tuple[int, int], at: list[int], closed: set[int]
) -> None:
    window, time = Window(query[0] * MINUTE, query[1] * MINUTE), at[0] * MINUTE
    until, labels = (time // HOUR + 1) * HOUR, {hour * HOUR for hour in closed}
    ends = [one.end for one in held(window, [time]) if one.end > until]
    wanted = [end for end in ends if owning_hour(end) not in labels]
    expected = (min(wanted), max(wanted)) if wanted else None
    assert window.open_ends(time, until, labels) == expected


@pytest.mark.parametrize(
    ("within", "slide"), [(60, 60), (90, 1), (360, 360), (1440, 60), (1440, 1440)]
)
def test_the_ranges_are_those_of_the_windows_that_run_answers(within: int, slide: int) -> None:
    schema = "stream: s\ntime: {field: at, unit: us}\ntypes: {A: }\n"
    text = "QUERY q RETURN COUNT(*) PATTERN A a+ WITHIN {} minutes SLIDE {} minutes;"
    times = [14_000 * DAY + minute * MINUTE for minute in (0, 7, 59, 130, 2000)]
    window = Window(within * MINUTE, slide * MINUTE)
    work = elsinore.workload(text.format(within, slide), schema=read_schema(schema))
    rows = work.run(pd.DataFrame({"at": times}))["q"].to_pylist()
    ends = {instant_of(row["window_end"]) for row in rows}
    assert ends == {one.end for one in held(window, times)}
    ranges = replay_ranges([window], last_of_hours(times), gap=0, most=10)
    hours = {owning_hour(end) for end in ends} | {time // HOUR * HOUR for time in times}
    assert all(any(part.contains(hour) for part in ranges) for hour in hours)
    assert {part.end - HOUR for part in ranges} <= hours
