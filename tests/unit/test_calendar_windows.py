"""Windows of a calendar against their definition, near changes of the clock."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from elsinore.executors.linear.cached_panes import cache_refusals
from elsinore.query.bound import BoundQuery
from elsinore.reference.calendar_windows import Windows, windows_of
from elsinore.timeline import DAY, HOUR, MINUTE, Interval, parse_instant
from elsinore.windows import Window, owning_hour
from tests.golden_cases import bound_query, stream_schema
from tests.property.random_cases.calendars import CHANGES

SCHEMA = stream_schema({"A": {}, "B": {}}, "us")

clauses = st.sampled_from([
    "WITHIN 1 day", "WITHIN 2 days", "WITHIN 3 days SLIDE 1 day", "WITHIN 5 days SLIDE 2 days",
    "WITHIN 1 week", "WITHIN 2 weeks SLIDE 1 week", "WITHIN 1 week SLIDE 2 days", "WITHIN 1 month",
    "WITHIN 3 months SLIDE 2 months", "WITHIN 1 quarter", "WITHIN 1 year SLIDE 1 quarter",
    "SPAN 5 hours PER 1 day", "SPAN 3 days PER 1 week", "SPAN 5 hours PER 1 month",
])  # fmt: skip
offsets = st.sampled_from(["", "", " OFFSET 6 hours", " OFFSET 90 minutes", " OFFSET 23 hours"])
#: A query, its window, the same by definition, and a time near a change of the clock.
Drawn = tuple[BoundQuery, Window, Windows, int]


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    zone = draw(st.sampled_from([*CHANGES]))
    change = parse_instant(draw(st.sampled_from(CHANGES[zone])))
    clause = draw(clauses)
    by = draw(st.sampled_from(["", " BY FIRST"])) if clause.startswith("SPAN") else ""
    text = f"{clause} IN '{zone}'{draw(offsets)}{by}"
    query = bound_query(f"RETURN COUNT(*) PATTERN SEQ(A, B) {text}", SCHEMA)
    near = st.sampled_from([-1, 0, 1]) | st.integers(-4 * DAY, 4 * DAY).map(_to_minutes)
    return query, query.window, windows_of(query), change + draw(near)


def _to_minutes(time: int) -> int:
    return time // (15 * MINUTE) * 15 * MINUTE


@given(drawn())
def test_windows_begin_and_end_by_definition(case: Drawn) -> None:
    _, window, its, time = case
    number = window.number_at(time)
    for n in range(number - 3, number + 4):
        assert window.exists(n) == its.exists(n)
        if window.start(n) < window.end(n):
            assert (window.bounds(n), window.extent(n)) == (its.bounds(n), its.extent(n))
            assert window.end(n) - window.start(n) <= window.longest
            hours = (window.extent(n).end - 1) // HOUR - window.extent(n).start // HOUR
            assert hours <= window.hours_back
    numbers = np.arange(number - 3, number + 4)
    assert window.starts(numbers).tolist() == [window.start(n) for n in numbers.tolist()]
    assert window.ends(numbers).tolist() == [window.end(n) for n in numbers.tolist()]
    assert window.start(number) <= time < window.start(number + 1)


def _held(window: Window, time: int) -> list[int]:
    """Return the windows whose rows may depend on a time, by trying all near it."""
    number = window.number_at(time)
    near = [n for n in range(number - 12, number + 12) if window.start(n) < window.end(n)]
    return [n for n in near if window.extent(n).contains(time)]


@given(drawn())
def test_indices_are_the_windows_that_hold_a_time(case: Drawn) -> None:
    _, window, its, time = case
    held = _held(window, time)
    for numbers in (window.indices(time), its.indices(time)):
        assert [n for n in numbers if window.start(n) < window.end(n)] == held
    assert window.numbers_at(np.array([time])).tolist() == [window.number_at(time)]


@given(drawn(), st.integers(1, 80), st.integers(1, 80))
def test_each_window_ends_in_one_of_two_intervals(case: Drawn, first: int, second: int) -> None:
    _, window, _, time = case
    start = time // HOUR * HOUR
    middle, end = start + first * HOUR, start + (first + second) * HOUR
    parts = Interval(start, middle), Interval(middle, end)
    both = window.ending_in(Interval(start, end))
    assert [n for part in parts for n in window.ending_in(part)] == list(both)
    for part in parts:
        reach = window.reach(part)
        for n in window.ending_in(part):
            assert part.start < window.completed(n) <= part.end
            assert reach.start <= window.start(n) - window.back


@given(drawn(), st.sets(st.integers(-24, 80)))
def test_open_ends_are_those_of_windows_that_are_not_computed(
    case: Drawn, closed: set[int]
) -> None:
    _, window, _, time = case
    until = (time // HOUR + 1) * HOUR
    labels = {until + hour * HOUR for hour in closed}
    ends = [window.completed(n) for n in _held(window, time)]
    wanted = [end for end in ends if end > until and owning_hour(end) not in labels]
    assert window.open_ends(time, until, labels) == ((min(wanted), max(wanted)) if wanted else None)


@given(drawn(), st.lists(st.integers(-40, 40), min_size=2, max_size=30), st.booleans())
def test_positions_keep_order_windows_and_lengths(
    case: Drawn, hours: list[int], ordered: bool
) -> None:
    _, window, _, time = case
    times = np.array([time + hour * HOUR for hour in (sorted(hours) if ordered else hours)])
    positions = window.positions(times)
    order = np.argsort(times, kind="stable")
    assert (np.sign(np.diff(positions[order])) == np.sign(np.diff(times[order]))).all()
    if window.span is None:
        assert (positions // window.slide == window.numbers_at(times)).all()
        numbers = window.numbers_at(times)
        if window.keeps_lengths:
            own = numbers == numbers[0]
            assert (positions[own] - positions[0] == times[own] - times[0]).all()
    else:
        assert (np.diff(positions) == np.diff(times)).all()


def test_panes_of_a_calendar_are_not_cached() -> None:
    for clause in ("WITHIN 1 week", "WITHIN 1 month", "WITHIN 1 day IN 'Europe/Berlin'"):
        [reason] = cache_refusals(bound_query(f"RETURN COUNT(*) PATTERN A+ {clause}", SCHEMA))
        assert (
            reason == "windows with OFFSET, windows of a calendar, and sessions are computed whole"
        )
    assert not cache_refusals(bound_query("RETURN COUNT(*) PATTERN A+ WITHIN 1 day", SCHEMA))


def test_times_that_are_far_apart() -> None:
    query = bound_query("RETURN COUNT(*) PATTERN A WITHIN 1 day IN 'Asia/Tokyo'", SCHEMA)
    times = np.array([parse_instant(f"{year:04}-06-01") for year in (2, 1900, 2024, 9998)])
    positions = query.window.positions(times)
    assert (np.diff(positions) > 0).all()
    assert query.window.numbers_at(times).tolist() == (positions // query.window.slide).tolist()
    its = windows_of(query)
    for time in times.tolist():
        assert query.window.indices(time) == its.indices(time)
        number = query.window.number_at(time)
        assert query.window.bounds(number) == its.bounds(number)
