"""Instants, intervals and hours."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.errors import ParameterError
from elsinore.timeline import (
    HOUR,
    MAX_INSTANT,
    MIN_INSTANT,
    Interval,
    format_instant,
    hours_of,
    parse_instant,
    require_whole_hours,
)


@given(st.integers(MIN_INSTANT, MAX_INSTANT))
def test_an_instant_survives_its_text(instant: int) -> None:
    assert parse_instant(format_instant(instant)) == instant


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00Z", 0),
        ("1970-01-01 01:00:00.000001+01:00", 1),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("1970-01-01T00:00:00.1234567Z", 123_456),
        ("1970-01-01T00:00-0130", HOUR + HOUR // 2),
    ],
)
def test_iso_forms(text: str, micros: int) -> None:
    assert parse_instant(text) == micros


@pytest.mark.parametrize("text", ["", "now", "2013-02-30", "2013-1-1", "1970-01-01T25:00Z",
    "2025-03-03T10:00:00+99:99", "2025-03-03T10:00+24:00", "2025-03-03T10:00-01:60",
])  # fmt: skip
def test_other_text_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_instant(text)


@given(st.integers(-1_000, 1_000), st.integers(1, 500), st.integers(1, 9), st.integers(1, 20))
def test_split_covers_the_interval_without_overlap(
    start: int, length: int, parts: int, grain: int
) -> None:
    pieces = Interval(start, start + length).split(parts, grain=grain)
    assert len(pieces) <= parts
    assert pieces[0].start == start
    assert pieces[-1].end == start + length
    assert all(left.end == right.start for left, right in pairwise(pieces))
    assert all((piece.start - start) % grain == 0 for piece in pieces)


def test_runs_begin_and_end_at_whole_hours() -> None:
    require_whole_hours(Interval(0, 2 * HOUR))
    with pytest.raises(ParameterError, match="whole hours"):
        require_whole_hours(Interval(1, HOUR))
    assert list(hours_of(Interval(0, 2 * HOUR))) == [0, HOUR]


def test_an_interval_has_a_length() -> None:
    with pytest.raises(ParameterError, match="empty or runs backwards"):
        Interval(3, 3)
