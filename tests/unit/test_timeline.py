"""Instants, intervals and hours."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
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
    parse_border,
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
        ("1970-01-01T02:00:00+02", 0),
        ("1970-01-01 00:00:00 UTC", 0),
        ("1970-01-01 00:00:00 +0000 UTC", 0),
        ("1970-01-01 00:00:00 gmt", 0),
        ("19700101T010000Z", HOUR),
        ("19700101T0100+01", 0),
        ("19700101", 0),
        ("1970-01-01t01:00:00z", HOUR),
        ("1970-01-01T01Z", HOUR),
        ("1969-12-31T24:00:00Z", 0),
        ("1969-12-31T24:00", 0),
        ("1970-01-01T00:00:00,5", 500_000),
        ("1970-01-01T18:00:00+18:00", 0),
        ("1970-01-01T01:00:30+01:00:30", 0),
        (" 1970-01-01T00:00:00.1234567890123Z\n", 123_456),
        ("0001-01-01", MIN_INSTANT),
        ("9999-12-31T23:59:59.9999999Z", MAX_INSTANT),
    ],
)
def test_iso_forms(text: str, micros: int) -> None:
    assert parse_instant(text) == micros


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2024-W01-1", "week date"), ("2024W011", "week date"), ("2024-001", "ordinal date"),
        ("2024001", "ordinal date"), ("2024/01/02 10:00:00", "slashes"),
        ("01/02/2024 10:00", "slashes"), ("Mon, 01 Jan 2024 10:00:00 GMT", "RFC 2822"),
        ("1 Jan 2024", "RFC 2822"), ("01/Jan/2024:10:00:00 +0000", "web server logs"),
        ("2024-01-01T10:00:00[Europe/Berlin]", "zone name in brackets"),
        ("2024-01-01T10:00:00+01:00[Europe/Berlin]", "zone name in brackets"),
        ("2024-01-01 10:00:00 CET", "zone is a name"), ("2024-01-01T10:00:60Z", "seconds go"),
        ("2024-01-01T10:00:00+18:01", "-18:00 to [+]18:00"),
        ("2024-01-01T10:00:00-19", "-18:00 to [+]18:00"),
        ("2024-01-01T10:00:00+01:60", "minutes 00 to 59|minutes of an offset"),
        ("2024-01-01T10:00:00\u221201:00", "typographic minus"),
        ("2024-01-01T10:00:00\u201301:00", "typographic minus"),
        ("2024-01-01 10:00:00 +0100 UTC", "offset is not UTC"),
        ("2024-01-01 10:00:00 +0100 CET", "zone name follows the offset"),
        ("2024-01-01T10:00:00 UTC+1", "precedes the offset"),
        ("2024-01-01T24:00:01Z", "hours go from 00 to 23"), ("2024-02-30", "has 29 days"),
        ("2024-02-00", "has 29 days"), ("2024-13-01", "months go from"),
        ("2024-01-01T10:60Z", "minutes go from"), ("0000-01-01", "years go from 0001"),
        ("12024-01-01", "four digits"), ("2024-1-1 9:05:03", "two digits"),
        ("20240101100000", "T is missing"), ("10:00:00", "no date"), ("2024-01", "no day"),
        ("2024-01-01 10:00 PM", "AM or PM"), ("01.02.2024", "not year-month-day"),
        ("2024-01-01T10:00:00.Z", "no digit follows"), ("2024-01-01T10:00.5Z", "only seconds"),
        ("\uff12\uff10\uff12\uff14-01-01", "not ASCII"), ("", "empty"),
    ],
)  # fmt: skip
def test_refusals_name_the_problem_and_give_an_example(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as refused:
        parse_instant(text)
    example = re.search(
        r"\d{4}-?\d\d-?\d\dT\d\d:?\d\d:?\d\d(Z|\+01:00)",
        str(refused.value).partition(" timestamp: ")[2],
    )
    assert problem == "offset is not UTC" or (example and parse_instant(example[0]))


@pytest.mark.parametrize("text", ["0001-01-01T00:00+01:00", "9999-12-31T24:00:00Z"])
def test_times_beyond_the_years_that_can_be_written_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not in the years 1 to 9999"):
        parse_instant(text)


@given(st.integers(-(2**60), 2**60))
def test_a_border_survives_its_text(border: int) -> None:
    assert parse_border(format_instant(border)) == border
    if not MIN_INSTANT <= border <= MAX_INSTANT:
        expected = str(np.datetime64(border, "us"))
        assert format_instant(border).lstrip("+").rstrip("Z") == expected


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
    with pytest.raises(ParameterError, match="empty or ends before it starts"):
        Interval(3, 3)
