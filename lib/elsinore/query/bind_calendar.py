"""Bind windows and periods of a calendar: of days of a zone, weeks, months, quarters or years."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import NamedTuple

from elsinore.calendar_clock import CalendarClock, Part, least_days
from elsinore.query import syntax
from elsinore.query.print_query import count_of
from elsinore.query.resolve import Scope
from elsinore.query.window_lengths import bind_ticks
from elsinore.timeline import DAY
from elsinore.windows import LONGEST_CALENDAR, MOST_OVERLAPPING, Span, Window
from elsinore.zones import zone_named, zone_of

#: Units of a calendar, as numbers of days or months.
UNITS = {
    "day": (Part.DAY, 1),
    "week": (Part.DAY, 7),
    "month": (Part.MONTH, 1),
    "quarter": (Part.MONTH, 3),
    "year": (Part.MONTH, 12),
}
#: The unit without which windows of days are as long as their hours: not in UTC.
_DAY = "day"
#: Weeks begin on Monday, 29 December 1969.
_MONDAY = -3
#: Examples of lengths of the same kind.
_ALIKE = {Part.DAY: "days or weeks", Part.MONTH: "months, quarters or years"}
_MOST = {Part.DAY: LONGEST_CALENDAR // DAY, Part.MONTH: 12_000}


def unit_of(duration: syntax.Duration | syntax.Parameter | None) -> str | None:
    """Return the unit of a length if it is one of a calendar."""
    if not isinstance(duration, syntax.Duration) or duration.unit is None:
        return None
    unit = duration.unit.removesuffix("s")
    return unit if unit in UNITS else None


def is_of_calendar(query: syntax.Query) -> bool:
    """Return whether a query has windows or periods of a calendar, with its zone if it has one."""
    step = query.span.period if query.span else query.within
    units = {unit_of(step), unit_of(query.slide)}
    return query.zone is not None or not units <= {None, _DAY}


def in_its_zone(query: syntax.Query, default: str | None) -> syntax.Query:
    """Return a query with its zone, or the default zone for windows or periods of a calendar.

    The name has its own spelling, if there is such a zone.
    """
    if query.zone is not None:
        return replace(query, zone=replace(query.zone, name=_spelled(query.zone.name)))
    step = query.span.period if query.span else query.within
    if default is None or step is None or unit_of(step) is None:
        return query
    return replace(query, zone=syntax.Zone(default, step.at))


def _spelled(zone: str) -> str:
    return zone_named(zone)[0] or zone


class _Length(NamedTuple):
    """A number of days or months."""

    part: Part
    number: int
    unit: str

    def __str__(self) -> str:
        return count_of(self.number // UNITS[self.unit][1], self.unit)


def bind_calendar(scope: Scope, query: syntax.Query, span: Span | None = None) -> Window:
    """Return the windows, or the periods of a span, of a query of a calendar.

    Raises:
        BindFault: a clause is invalid; noted in the scope.
    """
    zone = "UTC" if query.zone is None else _zone(scope, query.zone)
    if query.span is not None:
        clause, written = "PER", query.span.period
    else:
        clause, written = "WITHIN", query.within
    assert written is not None
    within = _length(scope, clause, written)
    slide = within
    if query.slide is not None:
        slide = _length(scope, "SLIDE", query.slide, within)
        _check_slide(scope, query, within, slide)
    count = gcd(within.number, slide.number)
    first, offset = _offset(scope, query, slide, clause if query.slide is None else "SLIDE")
    if slide.unit == "week":
        first += _MONDAY
    if within.part is Part.DAY and _is_utc(zone):  # all days are equally long
        length, step = within.number * DAY, slide.number * DAY
        return Window(length, step, span, (first * DAY + offset) % step)
    clock = CalendarClock(zone, within.part, first, offset, count)
    length, step = (n // count * clock.length for n in (within.number, slide.number))
    return Window(length, step, span, clock=clock)


def _zone(scope: Scope, zone: syntax.Zone) -> str:
    name, hint = zone_named(zone.name)
    if name is None:
        scope.refuse(f"no time zone {zone.name[:40]}", zone.at, hint)
    return name


def _is_utc(zone: str) -> bool:
    found = zone_of(zone)
    return found.spread == 0 and found.offset(0) == 0


def _length(
    scope: Scope,
    clause: str,
    written: syntax.Duration | syntax.Parameter,
    within: _Length | None = None,
) -> _Length:
    """Return a length; SLIDE must be of the kind of `within`."""
    if isinstance(written, syntax.Parameter) or not scope.schema.time_unit.is_calendar:
        bind_ticks(scope, clause, written)  # which is refused
    assert isinstance(written, syntax.Duration)
    unit = unit_of(written)
    if unit is None:
        if within is not None:
            hint = f"write {clause} {count_of(1, within.unit)} or another number of "
            hint += _ALIKE[within.part]
            scope.refuse(f"{clause} is not in {_ALIKE[within.part]}, as WITHIN", written.at, hint)
        bind_ticks(scope, clause, written)  # a unit that does not exist
        message = "IN goes with days, weeks, months, quarters and years"
        scope.refuse(message, written.at, f"remove IN, or write {clause} 1 day")
    part, units = UNITS[unit]
    if within is not None and part is not within.part:
        hint = f"write {clause} {count_of(1, within.unit)}"
        scope.refuse(f"{clause} is not in {_ALIKE[within.part]}, as WITHIN", written.at, hint)
    number = int(written.amount)
    if number != written.amount or number < 1:
        message = f"{clause} must be a whole number of {unit}s, 1 or more"
        scope.refuse(message, written.at, f"as in {clause} 1 {unit}")
    if number * units > _MOST[part]:
        most = _MOST[part] // units
        scope.refuse(f"{clause} is too long", written.at, f"write at most {most} {unit}s")
    return _Length(part, number * units, unit)


def _check_slide(scope: Scope, query: syntax.Query, within: _Length, slide: _Length) -> None:
    assert query.slide is not None
    if slide.number > within.number:
        message = "SLIDE is longer than WITHIN: events in the gaps are lost"
        scope.refuse(message, query.slide.at, "write the length of WITHIN or less")
    overlapping = -(-within.number // slide.number)
    if overlapping > MOST_OVERLAPPING:
        message = (
            f"query {query.name} has {overlapping:,} windows for each event (WITHIN divided by "
            f"SLIDE), at most {MOST_OVERLAPPING:,} are supported"
        )
        least = -(-within.number // MOST_OVERLAPPING)
        hint = f"write SLIDE {count_of(least, slide.part)} or longer"
        scope.refuse(message, query.slide.at, hint)


def _offset(scope: Scope, query: syntax.Query, slide: _Length, clause: str) -> tuple[int, int]:
    """Return the OFFSET of a query as a number of days or months, and microseconds."""
    written = query.offset
    if written is None:
        return 0, 0
    unit = unit_of(written)
    if unit is None or unit == _DAY:
        offset = bind_ticks(scope, "OFFSET", written, least=0)
        least = slide.number if slide.part is Part.DAY else least_days(slide.number)
        if offset >= least * DAY:
            hint = f"write less than {count_of(least, _DAY)}"
            scope.refuse(f"OFFSET is not less than {clause}", written.at, hint)
        return 0, offset
    assert isinstance(written, syntax.Duration)
    part, units = UNITS[unit]
    if part is not slide.part:
        scope.refuse(f"OFFSET has {unit}s, but {clause} has {_ALIKE[slide.part]}", written.at,
                     f"write OFFSET in {_ALIKE[slide.part]}, or in hours")  # fmt: skip
    number = int(written.amount)
    if number != written.amount or number < 0:
        message = f"OFFSET must be a whole number of {unit}s, 0 or more"
        scope.refuse(message, written.at, f"as in OFFSET 1 {unit}")
    if number * units >= slide.number:
        scope.refuse(f"OFFSET is not less than {clause}", written.at, f"write less than {slide}")
    return number * units, 0
