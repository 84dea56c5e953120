"""Scalar functions by their definition, of Python's values; None is NULL.

`regexp_like` is RE2 here, too, because Python's regular expressions are of another dialect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from elsinore.results.row import nearest_double
from elsinore.timeline import DAY, EPOCH, HOUR, MAX_INSTANT, MIN_INSTANT, MINUTE, SECOND
from elsinore.zones import Zone, zone_of

#: 400 years, after which the days of the calendar repeat.
_CYCLE = 146_097 * DAY
_MICROSECOND = timedelta(microseconds=1)
#: Longer strings are NULL.
_LONGEST = 1_000_000


def function_value(name: str, values: Sequence[Any]) -> Any:
    """Return the value of a function that is NULL if one of its operands is.

    >>> function_value("round", [2.675, 2]), function_value("substr", ["abc", 0, 2])
    (2.68, 'a')
    """
    if any(value is None for value in values):
        return None
    return _FUNCTIONS[name](*values)


def concat(values: Sequence[str | None]) -> str | None:
    """Return joined strings; NULL is skipped."""
    text = "".join(value for value in values if value is not None)
    return None if len(text) > _LONGEST else text


def regexp_like(text: str | None, pattern: str) -> bool | None:
    """Return whether a part of a string matches."""
    return None if text is None else _matches(text, pattern)


@lru_cache(maxsize=10_000)
def _matches(text: str, pattern: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    return bool(pc.match_substring_regex(pa.array([text]), pattern)[0].as_py())


# ---- numbers


def _rounded(value: int | float, decimals: int = 0) -> int | float | None:
    if isinstance(value, float) and not math.isfinite(value):
        return value
    if decimals > 400:  # more decimals than any double has
        return value
    if isinstance(value, int):
        return _rounded_integer(value, -decimals)
    if decimals < -400:
        return 0.0
    with localcontext() as context:
        context.prec = 2_000
        nearest = Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    found = float(nearest) + 0.0
    return None if math.isinf(found) else found


def _rounded_integer(value: int, zeros: int) -> int:
    """Return an integer rounded to a multiple of `10**zeros`, halves away from zero."""
    if zeros <= 0:
        return value
    if zeros > abs(value).bit_length():  # the unit is more than twice the value
        return 0
    whole, rest = divmod(abs(value), 10**zeros)
    whole += rest * 2 >= 10**zeros
    return whole * 10**zeros * (1 if value > 0 else -1)


def _sign(value: int | float) -> int | float:
    if value != value:
        return value
    kind = type(value)
    return kind(1) if value > 0 else kind(-1) if value < 0 else kind(0)


def _floor(value: int | float) -> int | float:
    if isinstance(value, float):
        return float(math.floor(value)) if math.isfinite(value) else value
    return value


def _ceil(value: int | float) -> int | float:
    return 0 - _floor(-value)


def _double(function: Callable[..., float], *values: int | float) -> float | None:
    """Return a function of doubles; None if it does not exist or is too large."""
    try:
        found = function(*map(nearest_double, values))
    except (ValueError, OverflowError):
        return None
    finite = [isinstance(value, int) or math.isfinite(value) for value in values]
    too_large = math.isinf(found) and all(finite)
    return None if too_large else found + 0.0


def _root(value: int | float) -> float | None:
    if value < 0:
        return None
    if isinstance(value, float):
        return math.sqrt(value) + 0.0
    # 64 more bits than a double has, and a last one for what is left
    scaled = value << 256
    root = math.isqrt(scaled)
    exact = Fraction(2 * root + (root * root != scaled), 2 << 128)
    found = nearest_double(exact)
    return None if math.isinf(found) else found


def _logarithm(function: Callable[[int | float], float], value: int | float) -> float | None:
    return None if value <= 0 else function(value)


# ---- strings


def _substr(text: str, start: int, length: int | None = None) -> str | None:
    if length is not None and length < 0:
        return None
    end = math.inf if length is None else start + length
    return "".join(sign for place, sign in enumerate(text, 1) if start <= place < end)


def _trim(text: str) -> str:
    while text[:1] == " ":
        text = text[1:]
    while text[-1:] == " ":
        text = text[:-1]
    return text


def _replace(text: str, old: str, new: str) -> str | None:
    found = new.join(text.split(old)) if old else text
    return None if len(found) > _LONGEST else found


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil": _ceil,
    "exp": lambda value: _double(math.exp, value),
    "floor": _floor,
    "length": len,
    "ln": lambda value: _logarithm(math.log, value),
    "log10": lambda value: _logarithm(math.log10, value),
    "power": lambda base, exponent: _double(math.pow, base, exponent),
    "replace": _replace,
    "round": _rounded,
    "sign": _sign,
    "sqrt": _root,
    "starts_with": lambda text, start: text[: len(start)] == start,
    "substr": _substr,
    "trim": _trim,
}


# ---- timestamps


def extract(part: str, instant: int | None, zone: str | None) -> int | None:
    """Return a part of a timestamp on a local clock, which has the years 1 to 9999 of UTC."""
    if instant is None or (zone is not None and not MIN_INSTANT <= instant <= MAX_INSTANT):
        return None
    local = instant + (zone_of(zone).offset(instant) if zone is not None else 0)
    moment, cycles = _moment(local)
    week = moment.isocalendar()
    return {
        "second": moment.second,
        "minute": moment.minute,
        "hour": moment.hour,
        "day": moment.day,
        "dow": moment.isoweekday() % 7,
        "weekday": moment.isoweekday(),
        "week": week.week,
        "isoyear": week.year + 400 * cycles,
        "month": moment.month,
        "quarter": (moment.month + 2) // 3,
        "year": moment.year + 400 * cycles,
    }[part]


def _moment(local: int) -> tuple[datetime, int]:
    """Return a local time as a date of the years 1600 to 2400, and the cycles of 400 years."""
    first = -370 * 365 * DAY
    cycles = (local - first) // _CYCLE
    return EPOCH + (local - cycles * _CYCLE) * _MICROSECOND, cycles


def date_trunc(unit: str, instant: int | None, zone: str | None) -> int | None:
    """Return the timestamp at which the local unit began; None outside of the years 1 to 9999."""
    if instant is None or not MIN_INSTANT <= instant <= MAX_INSTANT:
        return None
    began = _start(unit, instant) if zone is None else _began(unit, instant, zone_of(zone))
    return began if MIN_INSTANT <= began <= MAX_INSTANT else None


def _start(unit: str, local: int) -> int:
    """Return the start of the unit that contains a local time, as local time."""
    moment, cycles = _moment(local)
    if unit in ("second", "minute", "hour"):
        return local - local % {"second": SECOND, "minute": MINUTE, "hour": HOUR}[unit]
    day = moment.date()
    match unit:
        case "week":
            day -= timedelta(days=day.weekday())
        case "month":
            day = day.replace(day=1)
        case "quarter":
            day = date(day.year, day.month - (day.month - 1) % 3, 1)
        case "year":
            day = date(day.year, 1, 1)
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return (midnight - EPOCH) // _MICROSECOND + cycles * _CYCLE


def _began(unit: str, instant: int, zone: Zone) -> int:
    """Return the timestamp at which a unit began: go back from one clock change to the next."""
    if unit in ("second", "minute", "hour"):
        offset = zone.offset(instant)
        start = _start(unit, instant + offset) - offset
        return start if zone.offset(start) == offset else zone.change(start, instant)
    local = _start(unit, instant + zone.offset(instant))
    # From a time before the unit, the first second at which the clock shows its start or more.
    earliest = local - DAY
    shown = [earliest + step * HOUR for step in range(49)]
    after = next(each for each in shown if each + zone.offset(each) >= local)
    before = after - HOUR
    while after - before > 1:
        middle = (before + after) // 2
        if middle + zone.offset(middle) >= local:
            after = middle
        else:
            before = middle
    return after
