"""Explain why a string is not an ISO 8601 timestamp, and which spelling to use instead."""

from __future__ import annotations

import re
from calendar import monthrange

#: Spellings that are accepted, for messages.
EXAMPLE = "2024-01-01T10:00:00Z"
EXAMPLE_OFFSET = "2024-01-01T10:00:00+01:00"

_WRITE = f"write {EXAMPLE}"
_OFFSET = f"write the offset in digits, as in {EXAMPLE_OFFSET}"
_MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DAY = r"\d{4}-?\d\d-?\d\d"
_CLOCK = rf"{_DAY}[Tt ]\d\d(:?\d\d){{0,2}}([.,]\d+)?"

#: Patterns of rejected strings, in the order in which they are tried, each with its problem.
_REFUSALS = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII | re.DOTALL), reason)
    for pattern, reason in (
        (r"", f"the string is empty; {_WRITE}"),
        (r".*[\u2010-\u2015\u2212\ufe63\uff0d].*",
         f"it has a typographic minus or dash; use the ASCII hyphen-minus: {_OFFSET}"),
        (r".*[^\x00-\x7f].*", f"it has a character that is not ASCII; {_WRITE}"),
        (r"\d{4}-?W\d\d.*", f"it is a week date; {_WRITE}"),
        (r"\d{4}-?\d{3}(T.*)?", f"it is an ordinal date (day of the year); {_WRITE}"),
        (r".*\[.*", f"it has a zone name in brackets; leave that out, and {_OFFSET}"),
        (r"\d{1,2}/[a-z]{3}/\d{4}.*", f"it is a date of web server logs; {_WRITE}"),
        (r"\d+/\d+/\d+.*", f"its date has slashes; {_WRITE}"),
        (rf"([a-z]{{3,9}},? +)?\d{{1,2}} +({_MONTHS}).*", f"it is an RFC 2822 date; {_WRITE}"),
        (rf".*\b({_MONTHS})[a-z]*\b.*", f"its month is a name; {_WRITE}"),
        (r"\d{1,2}[.-]\d{1,2}[.-]\d{4}.*|\d{4}\.\d+\.\d+.*",
         f"its date is not year-month-day; {_WRITE}"),
        (r"[+-]\d+-\d+-\d+.*|\d{5,}-\d\d-\d\d.*",
         f"its year does not have four digits (0001 to 9999); {_WRITE}"),
        (r"\d{1,2}:\d\d.*", f"it has no date; {_WRITE}"),
        (r"\d{14}([.,]\d+)?(z|[+-].*)?",
         "a T is missing between date and time; write 20240101T100000Z"),
        (r"\d{4}-\d\d?", f"it has no day; {_WRITE}"),
        (rf"\d{{4}}-(\d|\d-\d\d?|\d\d-\d)(\D.*)?|{_DAY}[t ](\d|\d:.*|\d\d:\d(\D.*)?)",
         f"month, day, hour and minute have two digits; {_WRITE}"),
        (r".*\d *[ap]\.?m\.?\b.*", f"it has AM or PM; hours go from 00 to 23: {_WRITE}"),
        (rf"{_DAY}[t ]\d\d(:?\d\d)?[.,]\d.*", f"only seconds have a fraction; {_WRITE}"),
        (rf"{_CLOCK} *[+-]\d\d:?\d\d(:?\d\d)? +[a-z].*",
         f"a zone name follows the offset; leave the name out: {EXAMPLE_OFFSET}"),
        (rf"{_CLOCK} *(utc|gmt)[+-].*",
         f"UTC or GMT precedes the offset; leave it out: {EXAMPLE_OFFSET}"),
        (rf"{_CLOCK} *[a-z_/]+([+-].*)?", f"its zone is a name; {_OFFSET}"),
        (rf"{_CLOCK}[.,](z|[+-].*)?", f"no digit follows its decimal point; {_WRITE}"),
        (rf"{_CLOCK} *[+-]\d(:?\d\d)?|{_CLOCK} *[+-]\d\d:\d",
         f"its offset does not have two digits; {_OFFSET}"),
        (r".*", f"{_WRITE}, with a date, a time and an offset"),
    )
)  # fmt: skip


def spelling_problem(text: str) -> str:
    """Return the problem with the spelling of a timestamp, and what to write.

    >>> spelling_problem("2024-W01-1")
    'it is a week date; write 2024-01-01T10:00:00Z'
    """
    return next(reason for pattern, reason in _REFUSALS if pattern.fullmatch(text[:100]))


def range_problem(
    year: str, month: str, day: str, hour: str | None, minute: str | None, second: str | None
) -> str:
    """Return which part of a well-spelled timestamp is too large or too small.

    >>> range_problem("2024", "02", "30", None, None, None)
    'February 2024 has 29 days; write 2024-01-01T10:00:00Z'
    """
    if year == "0000":
        return f"years go from 0001 to 9999; {_WRITE}"
    if not 1 <= int(month) <= 12:
        return f"months go from 01 to 12; {_WRITE}"
    days = monthrange(int(year), int(month))[1]
    if not 1 <= int(day) <= days:
        return f"{_MONTH_NAMES[int(month) - 1]} {year} has {days} days; {_WRITE}"
    if int(hour or 0) > 23:
        return f"hours go from 00 to 23, and 24:00:00 is the midnight after a day; {_WRITE}"
    if int(minute or 0) > 59:
        return f"minutes go from 00 to 59; {_WRITE}"
    return f"seconds go from 00 to 59 (no leap seconds), not {second}; write 2016-12-31T23:59:59Z"
