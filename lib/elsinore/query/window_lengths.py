"""Bind the lengths of windows, spans, periods and offsets."""

from __future__ import annotations

from elsinore.query import syntax
from elsinore.query.bind_expression import unit_length
from elsinore.query.operand_types import whole_ticks
from elsinore.query.resolve import Scope
from elsinore.timeline import CALENDAR_UNITS, DAY, NUMBER_LENGTHS, TimeUnit
from elsinore.windows import LONGEST, LONGEST_CALENDAR


def bind_ticks(
    scope: Scope, clause: str, duration: syntax.Duration | syntax.Parameter, *, least: int = 1
) -> int:
    """Return a length in microseconds (or ticks).

    Raises:
        BindFault: the length is invalid; noted in the scope.
    """
    if isinstance(duration, syntax.Parameter):
        hint = f"declare it, as in PARAM {duration.name} duration DEFAULT 1 hour;"
        scope.refuse(f"no parameter {duration.name}", duration.at, hint)
    unit = scope.schema.time_unit
    if duration.unit is None:
        if unit not in NUMBER_LENGTHS:
            scope.refuse(f"{clause} needs a unit", duration.at, "as in 10 minutes")
        length = NUMBER_LENGTHS[unit]
    elif unit is TimeUnit.INTEGER:
        scope.refuse("this stream's time has no unit", duration.at, "write a number without a unit")
    else:
        further = CALENDAR_UNITS if clause in ("WITHIN", "SLIDE", "PER") else ()
        length = unit_length(scope, duration.unit, duration.at, further)
    ticks = whole_ticks(duration.amount, length)
    if ticks is None or ticks < least:
        hint = f"as in {clause} 10 minutes" if unit.is_calendar else f"as in {clause} 10"
        sign = "positive" if least else "at least 0"
        scope.refuse(f"{clause} must be {sign}, in whole microseconds", duration.at, hint)
    longest = LONGEST_CALENDAR if unit.is_calendar else LONGEST
    if ticks > longest:
        most = f"{longest // DAY} days" if unit.is_calendar else f"{longest}"
        scope.refuse(f"{clause} is too long", duration.at, f"write at most {most}")
    return ticks
