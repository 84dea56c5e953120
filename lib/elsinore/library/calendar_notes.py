"""Notes of `elsinore check` about windows that begin with days, weeks or months."""

from __future__ import annotations

from elsinore.calendar_clock import CalendarClock, Part
from elsinore.query.bind_calendar import unit_of
from elsinore.query.bound import BoundQuery
from elsinore.query.print_query import count_of, print_duration, print_length, print_windows
from elsinore.timeline import DAY, format_instant
from elsinore.windows import Window

_WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
#: The weekday of 1 January 1970.
_THURSDAY = 3
WEEK = len(_WEEKDAYS) * DAY


def calendar_note(query: BoundQuery, clock: CalendarClock) -> str:
    """Return where windows of a clock start."""
    source, window = query.source, query.window
    step = source.span.period if source.span else source.slide or source.within
    assert step is not None
    first = format_instant(clock.shown(0))[:19].removesuffix("T00:00:00")
    every = print_duration(step).removeprefix("1 ")
    note = f"slots of the clock of {clock.zone}: one starts every {every} from {first} on"
    if clock.part is Part.DAY and _slide_of(window) % WEEK == 0:
        return f"{note}, on {weekday(query, clock.shown(0))}"
    return note


def weekday(query: BoundQuery, first: int) -> str:
    """Return the day on which windows of whole weeks start, and how they start on Mondays.

    Args:
        query: the query.
        first: the start of a window on the local clock, in microseconds.
    """
    source, day = query.source, _WEEKDAYS[(first // DAY + _THURSDAY) % len(_WEEKDAYS)]
    step = source.span.period if source.span else source.slide or source.within
    if day == _WEEKDAYS[0] or source.offset is not None or unit_of(step) == "week":
        return day
    clause = "PER" if source.span else "SLIDE" if source.slide else "WITHIN"
    weeks = count_of(_slide_of(query.window) // WEEK, "week")
    return f"{day} ({clause} {weeks}: on {_WEEKDAYS[0]})"


def _slide_of(window: Window) -> int:
    """Return SLIDE in microseconds, if all days had 24 hours."""
    clock = window.clock
    return window.slide if clock is None else window.slide // clock.length * clock.count * DAY


def longest_whole(window: Window, *, calendar: bool) -> str:
    """Return how long matches can be of which some window has each."""
    clock, more = window.clock, window.within - window.slide
    if clock is None:
        return print_length(more, calendar=calendar)
    return count_of(more // clock.length * clock.count, clock.part)


def whole_periods(query: BoundQuery) -> str:
    """Return how a query with windows of a calendar could count matches across their borders."""
    [windows] = print_windows(query.source)
    length = print_length(query.window.longest // DAY * DAY)
    per = windows.removeprefix("WITHIN ")
    return f"SPAN {length} PER {per} would count all matches of up to {length}, each once"
