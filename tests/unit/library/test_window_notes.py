"""Where the windows of a query start, as `elsinore check` shows it."""

from __future__ import annotations

import pytest

import elsinore

_CALENDAR = "stream: s\ntime: {field: ts, unit: us}\ntypes: {A: {}}"
_TICKS = "stream: s\ntime: {field: ts, unit: integer}\ntypes: {A: {}}"


@pytest.mark.parametrize(
    ("clauses", "note"),
    [
        ("WITHIN 7 days", "7 days from 1970-01-01 on, on Thursdays (WITHIN 1 week: on Mondays)"),
        ("WITHIN 14 days OFFSET 10 days", "14 days from 1970-01-11 on, on Sundays"),
        ("WITHIN 7 days OFFSET 4 days", "7 days from 1970-01-05 on, on Mondays"),
        ("WITHIN 7 days SLIDE 1 day OFFSET 6 hours", "day from 1970-01-01T06:00:00 on"),
        ("SPAN 1 hour PER 7 days OFFSET 102 hours", "7 days from 1970-01-05T06:00:00 on, on "
         "Mondays"),
    ],
)  # fmt: skip
def test_windows_of_a_clock(clauses: str, note: str) -> None:
    workload = elsinore.workload(f"QUERY q RETURN COUNT(*) PATTERN A {clauses};", schema=_CALENDAR)
    [described] = workload.check().to_list()
    assert described["window_notes"][0] == f"slots of the UTC clock: one starts every {note}"


def test_an_offset_is_described() -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN A WITHIN 10 SLIDE 5 OFFSET 2;"
    [described] = elsinore.workload(text, schema=_TICKS).check().to_list()
    assert described["window_notes"][0] == "windows start at the multiples of 5, plus 2"
    assert (described["offset"], described["within"], described["slide"]) == (2, 10, 5)
    assert described["window"].endswith("offset 2")
