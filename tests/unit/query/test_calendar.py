"""Windows and periods of a calendar: their syntax, their zones, and what is refused."""

from __future__ import annotations

import pytest

from elsinore import zones
from elsinore.calendar_clock import CalendarClock, Part
from elsinore.catalog.load_schema import read_schema
from elsinore.errors import QueryError, SchemaError
from elsinore.query.bound import BoundQuery
from elsinore.query.load_workload import read_workload
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_query
from elsinore.timeline import DAY, HOUR, MINUTE, parse_instant
from elsinore.windows import Span, Window
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({"A": {"v": "long"}, "B": {}}, "us")
TICKS = stream_schema({"A": {"v": "long"}, "B": {}})
NEW_YORK = "America/New_York"


def bound(clauses: str, before: str = "", returned: str = "COUNT(*)") -> BoundQuery:
    """Return a query with some clauses, after other statements."""
    text = f"{before} QUERY q RETURN {returned} PATTERN SEQ(A, B) {clauses};"
    [query] = read_workload(text, SCHEMA).queries
    return query


def said(clauses: str, before: str = "") -> list[str]:
    """Return the messages and fixes of a query."""
    with pytest.raises(QueryError) as raised:
        bound(clauses, before)
    return [f"{one.message} | {one.hint}" for one in raised.value.diagnostics]


def starts(window: Window, first: str, number: int) -> list[str]:
    """Return when some windows start, from the one that contains a time on."""
    begin = window.number_at(parse_instant(first))
    return [str(window.bounds(n)).partition(",")[0][1:17] for n in range(begin, begin + number)]


@pytest.mark.parametrize(
    ("clauses", "first", "expected"),
    [
        ("WITHIN 1 week", "2024-01-03", ["2024-01-01T00:00", "2024-01-08T00:00"]),
        ("WITHIN 7 days", "2024-01-03", ["2023-12-28T00:00", "2024-01-04T00:00"]),
        ("WITHIN 2 weeks", "1970-01-01", ["1969-12-29T00:00", "1970-01-12T00:00"]),
        ("WITHIN 2 weeks SLIDE 1 day", "1970-01-01T05:00", ["1970-01-01T00:00"]),
        ("WITHIN 1 month", "2024-02-29", ["2024-02-01T00:00", "2024-03-01T00:00"]),
        ("WITHIN 5 months", "1970-07-01", ["1970-06-01T00:00", "1970-11-01T00:00"]),
        ("WITHIN 1 quarter", "2024-06-30", ["2024-04-01T00:00", "2024-07-01T00:00"]),
        ("WITHIN 1 year SLIDE 1 quarter", "2024-06-30", ["2024-04-01T00:00", "2024-07-01T00:00"]),
        ("WITHIN 1 year OFFSET 1 quarter", "2024-03-31", ["2023-04-01T00:00", "2024-04-01T00:00"]),
        ("WITHIN 1 month OFFSET 36 hours", "2024-03-02", ["2024-02-02T12:00", "2024-03-02T12:00"]),
        ("WITHIN 1 week OFFSET 1 day", "2024-01-01", ["2023-12-26T00:00", "2024-01-02T00:00"]),
        ("WITHIN 1 day IN 'america/new_york'", "2024-03-09T06:00",
         ["2024-03-09T05:00", "2024-03-10T05:00", "2024-03-11T04:00"]),
        ("WITHIN 3 days SLIDE 1 day IN 'Asia/Kathmandu'", "1970-01-01", ["1969-12-31T18:30"]),
        ("WITHIN 1 week IN 'Europe/Berlin' OFFSET 6 hours", "2024-03-26",
         ["2024-03-25T05:00", "2024-04-01T04:00"]),
        ("SPAN 1 hour PER 1 year IN 'Europe/Berlin'", "1970-06-01",
         ["1969-12-31T23:00", "1970-12-31T23:00"]),
    ],
)  # fmt: skip
def test_windows_begin(clauses: str, first: str, expected: list[str]) -> None:
    query = bound(clauses)
    assert starts(query.window, first, len(expected)) == expected
    [again] = parse_workload(print_query(query.source))
    assert again == query.source


def test_days_and_weeks_in_utc_have_a_fixed_length() -> None:
    assert bound("WITHIN 1 day IN 'Etc/UTC'").window == Window(DAY, DAY)
    assert bound("WITHIN 1 week").window == Window(7 * DAY, 7 * DAY, offset=4 * DAY)
    span = "SPAN 1 hour PER 1 week OFFSET 3 days BY FIRST"
    assert bound(span).window == Window(7 * DAY, 7 * DAY, Span(HOUR, by_first=True), 0)


def test_the_longest_window_decides_how_far_back_a_run_reads() -> None:
    window = bound("WITHIN 1 day IN 'America/New_York'").window
    assert (window.longest, window.length, window.hours_back) == (25 * HOUR, 25 * HOUR, 25)
    assert bound("WITHIN 1 quarter").window.longest == 92 * DAY
    assert bound("WITHIN 12 months").window.longest == 366 * DAY
    window = bound("SPAN 1 hour PER 1 month IN 'Europe/Berlin' BY FIRST").window
    assert window.length == 31 * DAY + 2 * HOUR + zones.zone_of("Europe/Berlin").spread


def test_a_skipped_day_is_an_empty_window() -> None:
    window = bound("WITHIN 1 day IN 'Pacific/Apia'").window
    number = window.number_at(parse_instant("2011-12-30T09:59")) + 1
    assert window.start(number) == window.end(number)
    assert [window.exists(n) for n in (number - 1, number, number + 1)] == [True, False, True]


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("WITHIN 24 hours IN 'Europe/Berlin'", "IN goes with days, weeks, months, quarters and "
         "years | remove IN, or write WITHIN 1 day"),
        ("WITHIN 1 day IN 'New York'", "no time zone New York | did you mean America/New_York?"),
        ("WITHIN 1 day IN 'Europe/Berlim'", "no time zone Europe/Berlim | did you mean "
         "Europe/Berlin?"),
        ("WITHIN 1 day IN Europe", "found 'Europe' | write the name of a zone in quotes, as in IN "
         "'Europe/Berlin'"),
        ("WITHIN 1 week IN 'UTC' SLIDE 1 day", "found 'SLIDE' | write IN after SLIDE, as in SLIDE "
         "1 day IN 'Europe/Berlin'"),
        ("WITHIN 1 week SLIDE 1 hour", "SLIDE is not in days or weeks, as WITHIN | write SLIDE 1 "
         "week or another number of days or weeks"),
        ("WITHIN 1 month SLIDE 1 week", "SLIDE is not in months, quarters or years, as WITHIN | "
         "write SLIDE 1 month"),
        ("WITHIN 1 week SLIDE 8 days", "SLIDE is longer than WITHIN: events in the gaps are lost | "
         "write the length of WITHIN or less"),
        ("WITHIN 1.5 months", "WITHIN must be a whole number of months, 1 or more | as in WITHIN 1 "
         "month"),
        ("SPAN 1 hour PER 0 weeks", "PER must be a whole number of weeks, 1 or more | as in PER 1 "
         "week"),
        ("WITHIN 1001 years", "WITHIN is too long | write at most 1000 years"),
        ("WITHIN 10001 days SLIDE 1 day IN 'Asia/Tokyo'", "query q has 10,001 windows for each "
         "event (WITHIN divided by SLIDE), at most 10,000 are supported | write SLIDE 2 days or "
         "longer"),
        ("WITHIN 1 month OFFSET 28 days", "OFFSET is not less than WITHIN | write less than 28 "
         "days"),
        ("WITHIN 1 year OFFSET 4 quarters", "OFFSET is not less than WITHIN | write less than 1 "
         "year"),
        ("WITHIN 2 weeks SLIDE 1 week OFFSET 7 days", "OFFSET is not less than SLIDE | write less "
         "than 7 days"),
        ("WITHIN 1 week OFFSET 1 month", "OFFSET has months, but WITHIN has days or weeks | write "
         "OFFSET in days or weeks, or in hours"),
        ("WITHIN 1 month OFFSET 1 week", "OFFSET has weeks, but WITHIN has months, quarters or "
         "years | write OFFSET in months, quarters or years, or in hours"),
        ("SPAN 1 month PER 1 year", "month is not a unit of time | did you mean 30 days?"),
        ("WITHIN 1 fortnight", "fortnight is not a unit of time | use one of microsecond, "
         "millisecond, second, minute, hour, day, week, month, quarter, year"),
    ],
)  # fmt: skip
def test_errors_name_the_fix(clauses: str, expected: str) -> None:
    assert said(clauses) == [expected]


def test_integer_times_have_no_calendar() -> None:
    for clauses in ("WITHIN 1 week", "WITHIN 5 IN 'UTC'", "SPAN 5 PER 1 month"):
        with pytest.raises(QueryError, match=r"has no unit|IN goes with"):
            read_workload(f"QUERY q RETURN COUNT(*) PATTERN A {clauses};", TICKS)


# ---- the default zone

SET = f"SET ZONE '{NEW_YORK}';"


def test_a_default_zone_applies_to_days_and_longer_units() -> None:
    assert bound("WITHIN 1 day", SET).window == bound(f"WITHIN 1 day IN '{NEW_YORK}'").window
    assert bound("SPAN 1 hour PER 2 weeks", SET).window.clock == CalendarClock(
        NEW_YORK, Part.DAY, -3, 0, 14
    )
    assert bound("WITHIN 1 week IN 'UTC'", SET).window.clock is None
    assert bound("WITHIN 24 hours", SET).window == Window(24 * HOUR, 24 * HOUR)
    assert said("WITHIN 1 day SLIDE 1 hour", SET) == [
        "SLIDE is not in days or weeks, as WITHIN | write SLIDE 1 day or another number of days or "
        "weeks"
    ]


def test_a_default_zone_applies_to_functions() -> None:
    returned = "MAX(extract(hour FROM A.time)), MIN(date_trunc('day', A.time)) AS first"
    written = (
        f"MAX(extract(hour FROM A.time AT TIME ZONE '{NEW_YORK}')), "
        f"MIN(date_trunc('day', A.time AT TIME ZONE '{NEW_YORK}')) AS first"
    )
    by_default, explicit = (
        bound("WITHIN 24 hours", before, items)
        for before, items in ((SET, returned), ("", written))
    )
    read = [[each.attribute for each in query.aggregates] for query in (by_default, explicit)]
    assert read[0] == read[1]
    assert by_default.value_names[0] == "MAX(extract(hour FROM A.time))"


def test_a_zone_and_its_version_are_parts_of_the_fingerprint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def prints() -> list[str]:
        hour = "MAX(extract(hour FROM A.time))"
        given = [
            ("WITHIN 1 day", "", "COUNT(*)"), ("WITHIN 1 day", SET, "COUNT(*)"),
            ("WITHIN 1 hour", SET, hour), ("WITHIN 1 hour", "", hour),
            ("WITHIN 1 hour", "SET ZONE 'Asia/Tokyo';", hour), ("WITHIN 1 month", "", "COUNT(*)"),
        ]  # fmt: skip
        return [bound(*each).fingerprint for each in given]

    before = prints()
    assert len({*before}) == len(before)
    explicit = bound(f"WITHIN 1 day IN '{NEW_YORK}'").fingerprint
    assert before[1] == explicit
    assert bound("WITHIN 1 hour", SET).fingerprint == bound("WITHIN 1 hour").fingerprint
    monkeypatch.setattr(zones, "version", lambda: "3000a")
    changed = [one != other for one, other in zip(before, prints(), strict=True)]
    assert changed == [False, True, True, False, True, False]


def test_the_zone_of_a_workload_replaces_that_of_the_schema() -> None:
    text = "stream: s\ntime: {field: t, unit: iso}\ncalendar: {zone: asia/tokyo}\ntypes: {A: {}}"
    schema, query = read_schema(text), "QUERY q RETURN COUNT(*) PATTERN A WITHIN 1 day;"
    for before, zone in (("", "Asia/Tokyo"), (SET, NEW_YORK)):
        [found] = read_workload(before + query, schema).queries
        assert found.window.clock == CalendarClock(zone, Part.DAY)
    with pytest.raises(SchemaError, match="no time zone Tokio"):
        read_schema(text.replace("asia/tokyo", "Tokio"))
    with pytest.raises(SchemaError, match="calendar needs a calendar time"):
        read_schema(text.replace("unit: iso", "unit: integer"))


def test_a_default_zone_is_set_once() -> None:
    assert said("WITHIN 1 day", SET + SET) == ["a second SET ZONE | remove one of them"]
    assert said("WITHIN 1 hour", "SET ZONE 'Nowhere/Land';")[0].startswith("no time zone Nowhere")
    assert said("WITHIN 1 hour", "SET ZONE Europe;") == [
        "found 'Europe' | write the name of a zone in quotes"
    ]


def test_a_parameter_can_be_a_number_of_months() -> None:
    query = bound("WITHIN $w", "PARAM w duration DEFAULT 3 months;")
    assert query.window.longest == 92 * DAY


def test_new_words_are_names() -> None:
    words = ["SET", "ZONE", "week", "month", "quarter", "year", "calendar"]
    schema = stream_schema({word: {"zone": "long", "set": "long"} for word in words}, "us")
    for word in words:
        text = (
            f"QUERY set RETURN COUNT({word}) AS zone, SUM(week2.set) AS month "
            f"PATTERN SEQ({word}, {words[0 if word != 'SET' else 1]} week2+) "
            "WHERE week2.zone > 3 AND NEXT(week2).set - 1 > week2.set AND [week2.zone] "
            "GROUP-BY week2.zone AS year HAVING month > 5 "
            "SPAN 5 minutes PER 1 week IN 'UTC' BY FIRST;"
        )
        [query] = read_workload(text, schema).queries
        assert query.value_names == ("zone", "month")
        assert query.window.span == Span(5 * MINUTE, by_first=True)
