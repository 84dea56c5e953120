"""Figures as people read them in the cells of a report."""

from __future__ import annotations

from datetime import datetime, timedelta

from elsinore.query.print_query import print_length
from elsinore.timeline import Interval, hour_label

_FULL_DIGITS = 15


def shorten_count(digits: str | None) -> str:
    """A count that fits a cell: in full up to 15 digits, else its leading digits and its length.

    >>> shorten_count("1234567"), shorten_count("1" + "0" * 20)
    ('1,234,567', '1.00e20 (21 digits)')
    """
    if digits is None:
        return "–"
    if len(digits) <= _FULL_DIGITS:
        return f"{int(digits):,}"
    return f"{digits[0]}.{digits[1:3]}e{len(digits) - 1} ({len(digits)} digits)"


def show_instant(moment: datetime | None) -> str:
    """An instant to the second, or a dash."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment else "–"


def show_interval(interval: Interval) -> str:
    """Whole hours, UTC."""
    start, end = (hour_label(border).replace("T", " ") for border in (interval.start, interval.end))
    return f"{start}:00 to {end}:00 UTC"


def show_number(value: float | None) -> str:
    """A figure in a cell: whole numbers whole, others with as many places as matter."""
    if value is None:
        return "–"
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 0.01 else f"{value:.2g}"


def show_percent(part: float, whole: float) -> str:
    """A share with one decimal, or a dash where there is no whole.

    >>> show_percent(1, 8), show_percent(999, 1000), show_percent(99_999, 100_000)
    ('12.5%', '99.9%', '>99.9%')
    """
    if not whole:
        return "–"
    # Nearly all is not all.
    nearly = part < whole and part / whole >= 0.9995
    return ">99.9%" if nearly else f"{part / whole:.1%}"


def show_duration(length: timedelta | None) -> str:
    """A length of time in its largest unit.

    >>> show_duration(timedelta(minutes=90)), show_duration(timedelta(days=3))
    ('1.5 hours', '3 days')
    """
    if length is None:
        return "–"
    seconds = length.total_seconds()
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} seconds"


def first_words(labels: tuple[str, ...], most: int = 6) -> str:
    """A few of some names, and how many more there are.

    >>> first_words(("a", "b", "c"), 2)
    'a, b and 1 more'
    """
    rest = len(labels) - most
    return ", ".join(labels[:most]) + (f" and {rest} more" if rest > 0 else "")


def run_hours(key: str) -> str:
    """The hours of a run, the day once where it is one.

    >>> run_hours("2013-02-08T05_2013-02-08T06"), run_hours("2013-02-08T05_2013-02-09T00")
    ('2013-02-08 05h to 06h', '2013-02-08 05h to 2013-02-09 00h')
    """
    first, last = (f"{label.replace('T', ' ')}h" for label in key.split("_"))
    return f"{first} to {last.removeprefix(first[:11])}"


#: For templates, by the names they use.
FILTERS = {
    "instant": show_instant,
    "number": show_number,
    "count": shorten_count,
    "percent": show_percent,
    "interval": show_interval,
    "length_text": print_length,
    "duration": show_duration,
    "names": first_words,
    "hours": run_hours,
}
