"""Windows as arithmetic: which hold an instant, which end in an interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.errors import ParameterError
from elsinore.timeline import HOUR, Interval, hour_label
from elsinore.windows import Window

windows = st.builds(
    lambda within, slide: Window(max(within, slide), min(within, slide)),
    st.integers(1, 50),
    st.integers(1, 50),
)


@given(windows, st.integers(-200, 200))
def test_indices_are_the_windows_that_hold_the_instant(window: Window, instant: int) -> None:
    numbers = window.indices(instant)
    around = range(numbers.start - 3, numbers.stop + 3)
    assert [k for k in around if window.bounds(k).contains(instant)] == list(numbers)


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
        assert first.start < window.bounds(number).end <= first.end


@given(windows, st.integers(-50, 50), st.integers(1, 60))
def test_reach_holds_all_that_its_windows_hold(window: Window, start: int, length: int) -> None:
    interval = Interval(start, start + length)
    reach = window.reach(interval)
    for number in window.ending_in(interval):
        bounds = window.bounds(number)
        assert reach.start <= bounds.start
        assert bounds.end <= reach.end


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
