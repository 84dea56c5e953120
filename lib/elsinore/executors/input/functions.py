"""Scalar functions: of single values, and of columns.

A function of a column is computed once per distinct value, unless NumPy or Arrow compute it exactly
as the definition says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.executors.input.columns import Column, in_one_dictionary, recoded
from elsinore.executors.input.numbering import numbered
from elsinore.query.expressions import EXTRACT_PARTS, Applied, BoundExpression, Constant
from elsinore.results.row import nearest_double
from elsinore.timeline import DAY, HOUR, MAX_INSTANT, MIN_INSTANT, MINUTE, SECOND
from elsinore.zones import FIXED, Zone, civil_of, days_of, unit_start, zone_of

#: Characters of the longest string that a function returns; a longer one is NULL.
MAX_RESULT = 1_000_000

_DOUBLE, _STRING = AttributeType.DOUBLE, AttributeType.STRING
_INT64 = range(-(2**63), 2**63)
#: Digits of all doubles: 309 before the point, and 400 after it are as good as all.
_PRECISE = Context(prec=800)
_MOST_DECIMALS = 400


# ---- functions of single values, none of them NULL


def rounded(value: int | float, decimals: int = 0) -> int | float | None:
    """Round half away from zero, a double by its shortest decimal form.

    >>> rounded(2.675, 2), rounded(-1250, -2), rounded(0.5)
    (2.68, -1300, 1.0)
    """
    if isinstance(value, int):
        if decimals >= 0:
            return value
        if -decimals > value.bit_length():  # at least as many as it has digits
            return 0
        unit = 10**-decimals
        nearest = (2 * abs(value) + unit) // (2 * unit) * unit
        return nearest if value > 0 else -nearest
    if not math.isfinite(value) or decimals > _MOST_DECIMALS:
        return value
    if decimals < -_MOST_DECIMALS:
        return 0.0
    place = Decimal(1).scaleb(-decimals)
    nearest = float(Decimal(repr(value)).quantize(place, ROUND_HALF_UP, _PRECISE)) + 0.0
    return None if math.isinf(nearest) else nearest


def _whole(of_double: Callable[[float], int]) -> Callable[[Any], Any]:
    def function(value: int | float) -> int | float:
        if isinstance(value, int) or not math.isfinite(value):
            return value
        return float(of_double(value))

    return function


def _sign(value: int | float) -> int | float:
    if value != value:
        return value
    sign = (value > 0) - (value < 0)
    return sign if isinstance(value, int) else float(sign)


def _of_doubles(function: Callable[..., float]) -> Callable[..., float | None]:
    """Return a function of doubles; a result that does not exist or is too large is None."""

    def computed(*values: int | float) -> float | None:
        doubles = [nearest_double(value) for value in values]
        try:
            result = function(*doubles) + 0.0
        except (ValueError, OverflowError):
            return None
        # An integer may be beyond all doubles.
        finite = all(isinstance(value, int) or math.isfinite(value) for value in values)
        return None if finite and math.isinf(result) else result

    return computed


def _logarithm(function: Callable[[int | float], float]) -> Callable[[Any], float | None]:
    """Return a logarithm, which integers beyond all doubles have, too."""

    def computed(value: int | float) -> float | None:
        return function(value) if not value <= 0 else None

    return computed


def _root(value: int | float) -> float | None:
    """Return the square root; integers beyond all doubles have one, too."""
    if value < 0:
        return None
    if isinstance(value, int) and value >= 2**1000:
        root = math.isqrt(value)
        # A last bit for what is left makes the rounding right.
        result = nearest_double(2 * root + (root * root != value)) / 2
        return None if math.isinf(result) else result
    return math.sqrt(value) + 0.0


def _part(text: str, start: int, length: int | None = None) -> str | None:
    """Return a part of a string, as SQL counts: position 1 is the first character."""
    if length is not None and length < 0:
        return None
    end = len(text) if length is None else start - 1 + length
    return text[max(start - 1, 0) : max(end, 0)]


def _replaced(text: str, old: str, new: str) -> str | None:
    if not old:
        return text
    if len(text) + text.count(old) * (len(new) - len(old)) > MAX_RESULT:
        return None
    return text.replace(old, new)


def joined(*texts: str | None) -> str | None:
    """Return `concat` of strings, of which None is skipped."""
    result = "".join(text for text in texts if text is not None)
    return result if len(result) <= MAX_RESULT else None


#: Functions of one or more values by name; None is NULL.
SCALARS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": _whole(math.ceil),
    "exp": _of_doubles(math.exp),
    "floor": _whole(math.floor),
    "length": len,
    "ln": _logarithm(math.log),
    "log10": _logarithm(math.log10),
    "lower": str.lower,
    "power": _of_doubles(math.pow),
    "replace": _replaced,
    "round": rounded,
    "sign": _sign,
    "sqrt": _root,
    "starts_with": str.startswith,
    "substr": _part,
    "trim": lambda text: text.strip(" "),
    "upper": str.upper,
}


def function_of(expression: Applied) -> Callable[..., Any]:
    """Return a function of single values, which are not None unless it is `concat`."""
    match expression:
        case Applied("concat"):
            return joined
        case Applied("date_trunc", (_, _, *zone)):
            name = zone_name(zone)
            return lambda unit, instant, *_: truncated(unit, int(instant), name)
        case Applied(part, (_, *zone)) if part in EXTRACT_PARTS:
            name = zone_name(zone)
            return lambda instant, *_: part_at(part, int(instant), name)
    return SCALARS[expression.name]


def zone_name(operands: Sequence[BoundExpression]) -> str | None:
    """Return the name of the zone after the operand of a function; None for UTC."""
    for operand in operands:
        assert isinstance(operand, Constant)
        return str(operand.value)
    return None


# ---- functions of columns


def call(name: str, operands: Sequence[Column], kind: AttributeType) -> Column:
    """Return the values of a function for all rows of its operands.

    Args:
        name: the function's name.
        operands: at least one column; all have the same length.
        kind: the type of the result.
    """
    first = operands[0]
    match name:
        case "coalesce" | "greatest" | "least":
            return _chosen(name, alike(operands, kind))
        case "concat":
            return _concatenated(operands)
        case "lower":
            return _recased(first, pc.ascii_lower, str.lower)
        case "upper":
            return _recased(first, pc.ascii_upper, str.upper)
        case "floor" | "ceil" if kind is not _DOUBLE:
            return first
        case "sign" if kind is not _DOUBLE:
            return Column(np.sign(first.values), first.known)
        case "abs" if kind is not _DOUBLE:
            fits = first.values != _INT64[0]
            return Column(np.abs(np.where(fits, first.values, 0)), first.known & fits)
        case "floor" | "ceil" | "sign" | "sqrt" | "abs":
            return _by_numpy(name, first)
        case "round" if len(operands) == 1 and kind is _DOUBLE:
            return _rounded_column(first)
    return mapped(SCALARS[name], operands, kind)


def _by_numpy(name: str, column: Column) -> Column:
    values, known = column.values.astype(np.float64), column.known
    if name == "sqrt":
        known = known & ~(values < 0)
        values = np.where(known, values, 0.0)
    functions = {
        "floor": np.floor,
        "ceil": np.ceil,
        "sign": np.sign,
        "sqrt": np.sqrt,
        "abs": np.abs,
    }
    return Column(functions[name](values) + 0.0, known)


def _rounded_column(column: Column) -> Column:
    """Return doubles rounded to integers; those close to a half by their decimal form."""
    size = np.abs(column.values)
    with np.errstate(invalid="ignore"):
        whole = np.floor(size + 0.5)
        near = np.abs(size - np.floor(size) - 0.5) < 2.0**-10
        plain = (size < 2.0**40) & ~near
    values = np.where(plain, np.copysign(whole, column.values) + 0.0, column.values)
    odd = np.flatnonzero(~plain & column.known)
    values[odd] = [rounded(value) for value in column.values[odd].tolist()]
    return Column(values, column.known)


def mapped(function: Callable[..., Any], operands: Sequence[Column], kind: AttributeType) -> Column:
    """Return a function of columns, computed once per distinct combination of values.

    It is NULL if an operand is NULL.
    """
    known = np.logical_and.reduce([column.known for column in operands])
    rows = np.flatnonzero(known)
    codes, distinct = zip(*(_distinct(column.take(rows)) for column in operands), strict=True)
    numbers, places = numbered(codes, rows.size)
    values = [
        [of[code] for code in column[places].tolist()]
        for column, of in zip(codes, distinct, strict=True)
    ]
    found = [function(*each) for each in zip(*values, strict=True)]
    return _scattered(found, numbers, rows, known, kind)


def _scattered(
    found: list[Any], numbers: np.ndarray, rows: np.ndarray, known: np.ndarray, kind: AttributeType
) -> Column:
    """Return a column whose value at `rows[i]` is `found[numbers[i]]`; None is NULL."""
    if kind in (AttributeType.LONG, AttributeType.TIMESTAMP):
        found = [value if value is None or value in _INT64 else None for value in found]
    there = np.array([value is not None for value in found], np.bool_)
    sure = known.copy()
    sure[rows] = there[numbers]
    if kind is _STRING:
        codes = np.zeros(known.size, np.int64)
        codes[rows] = numbers
        return recoded(codes, sure, pa.array([text or "" for text in found], pa.string()))
    dtype = {_DOUBLE: np.float64, AttributeType.BOOLEAN: np.bool_}.get(kind, np.int64)
    values: np.ndarray = np.zeros(known.size, dtype)
    values[rows] = np.array([value or 0 for value in found], dtype)[numbers]
    return Column(values, sure)


def _distinct(column: Column) -> tuple[np.ndarray, list[Any]]:
    """Return codes of the values of a column, and the value of each code."""
    values, codes = np.unique(column.values, return_inverse=True)
    if column.dictionary is not None:
        return codes, column.dictionary.take(pa.array(values)).to_pylist()
    return codes, values.tolist()


def alike(operands: Sequence[Column], kind: AttributeType) -> list[Column]:
    """Return columns with comparable values: doubles, or codes of a common dictionary."""
    match kind:
        case AttributeType.STRING:
            return in_one_dictionary(operands)
        case AttributeType.DOUBLE:
            return [Column(column.values.astype(np.float64), column.known) for column in operands]
    return list(operands)


def _chosen(name: str, operands: Sequence[Column]) -> Column:
    """Return LEAST, GREATEST or COALESCE: each operand replaces worse values of those before it."""
    best, *others = operands
    values, known = best.values, best.known
    for other in others:
        better = other.known & (~known | _beats(name, other.values, values))
        values = np.where(better, other.values, values)
        known = known | other.known
    return Column(values, known, best.dictionary)


def _beats(name: str, new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Return bool[N]: whether a new value replaces an old one; NaN ranks above every number."""
    match name:
        case "least":
            return (new < old) | ((old != old) & (new == new))
        case "greatest":
            return (new > old) | ((new != new) & (old == old))
    return np.zeros(new.size, np.bool_)  # COALESCE keeps the first value


# ---- strings


def _recased(
    column: Column, ascii_only: Callable[[pa.Array], pa.Array], any_text: Callable[[str], str]
) -> Column:
    """Map strings to another case, strings beyond ASCII by Python.

    Arrow uses the tables of another version of Unicode.
    """
    assert column.dictionary is not None
    texts = ascii_only(column.dictionary)
    beyond = pc.invert(pc.string_is_ascii(column.dictionary))
    if pc.any(beyond).as_py():
        mapped_texts = [any_text(text) for text in column.dictionary.filter(beyond).to_pylist()]
        texts = pc.replace_with_mask(texts, beyond, pa.array(mapped_texts, texts.type))
    return recoded(column.values, column.known, texts)


def _concatenated(operands: Sequence[Column]) -> Column:
    """Return the joined strings of each row, without NULL."""
    size = operands[0].known.size
    filled, texts = [], []
    for column in operands:
        codes, values = _distinct(column.take(np.flatnonzero(column.known)))
        each = np.zeros(size, np.int64)  # 0 is NULL
        each[column.known] = codes + 1
        filled.append(each)
        texts.append([None, *values])
    numbers, places = numbered(filled, size)
    values = [
        [of[c] for c in codes[places].tolist()] for codes, of in zip(filled, texts, strict=True)
    ]
    found = [joined(*row) for row in zip(*values, strict=True)]
    known = np.ones(size, np.bool_)
    return _scattered(found, numbers, np.arange(size), known, _STRING)


def like(column: Column, pattern: str, escape: str | None) -> Column:
    """Return whether each string matches a LIKE pattern as a whole."""
    return regexp_like(column, like_expression(pattern, escape))


def regexp_like(column: Column, pattern: str) -> Column:
    """Return whether a part of each string matches a regular expression of RE2."""
    assert column.dictionary is not None
    found = pc.match_substring_regex(column.dictionary, pattern)
    matches = np.asarray(found).astype(np.bool_)
    values = matches[column.values] if matches.size else np.zeros(column.known.size, np.bool_)
    return Column(values, column.known)


def matches(expression: Applied, text: str) -> bool:
    """Return LIKE or `regexp_like` of a single string."""
    match expression:
        case Applied("LIKE", (_, Constant(str(pattern)), Constant(str() | None as escape))):
            pattern = like_expression(pattern, escape)
        case Applied(_, (_, Constant(str(pattern)))):
            pass
    return bool(pc.match_substring_regex(pa.array([text], pa.string()), pattern)[0].as_py())


def like_expression(pattern: str, escape: str | None) -> str:
    """Return a LIKE pattern as a regular expression of RE2, which matches in linear time."""
    pieces = []
    signs = iter(pattern)
    for sign in signs:
        if sign == escape:
            pieces.append(rf"\x{{{ord(next(signs)):x}}}")
        elif sign == "%":
            pieces.append(".*" if pieces[-1:] != [".*"] else "")
        else:
            pieces.append("." if sign == "_" else rf"\x{{{ord(sign):x}}}")
    return rf"(?s)\A{''.join(pieces)}\z"


# ---- timestamps


def extract(part: str, column: Column, zone: str | None) -> Column:
    """Return a part of timestamps, see `expressions.EXTRACT_PARTS`.

    Zones have local times in the years 1 to 9999 of UTC; it is NULL for other timestamps.
    """
    if zone is None:
        return Column(part_of(part, column.values), column.known)
    known = column.known & _has_local_time(column.values)
    instants = np.where(known, column.values, 0)
    return Column(part_of(part, instants + offsets(zone_of(zone), instants)), known)


def _has_local_time(instants: Any) -> Any:
    return (instants >= MIN_INSTANT) & (instants <= MAX_INSTANT)


def part_at(part: str, instant: int, zone: str | None) -> int | None:
    """Return a part of a single timestamp, like `extract`."""
    if zone is None:
        return int(part_of(part, instant))
    if not _has_local_time(instant):
        return None
    return int(part_of(part, instant + zone_of(zone).offset(instant)))


def part_of(part: str, local: Any) -> Any:
    """Return a part of local times: an integer, or an array of them."""
    days = local // DAY
    match part:
        case "second":
            return local // SECOND % 60
        case "minute":
            return local // MINUTE % 60
        case "hour":
            return local // HOUR % 24
        case "weekday":  # 1 January 1970 was a Thursday
            return (days + 3) % 7 + 1
        case "dow":
            return (days + 4) % 7
        case "week":
            return (days - days_of(_iso_year(days), 1, 4) + _place_of_4_january(days)) // 7 + 1
        case "isoyear":
            return _iso_year(days)
    year, month, day = civil_of(days)
    return {"year": year, "quarter": (month + 2) // 3, "month": month, "day": day}[part]


def _iso_year(days: Any) -> Any:
    """Return the year of the Thursday of the week."""
    return civil_of(days - (days + 3) % 7 + 3)[0]


def _place_of_4_january(days: Any) -> Any:
    """Return the days from Monday of week 1 to 4 January, which is always in it."""
    return (days_of(_iso_year(days), 1, 4) + 3) % 7


def offsets(zone: Zone, instants: np.ndarray) -> np.ndarray:
    """Return int64[N], the offset of a zone at each timestamp.

    A day has at most one change of the offset.
    """
    days, codes = np.unique(instants // DAY, return_inverse=True)
    starts = np.array([zone.offset(day * DAY) for day in days.tolist()], np.int64)
    following = np.array([zone.offset((day + 1) * DAY) for day in days.tolist()], np.int64)
    found = starts[codes]
    for place in np.flatnonzero(starts != following).tolist():
        day = int(days[place])
        change = zone.change(day * DAY, (day + 1) * DAY)
        later = (codes == place) & (instants >= change)
        found[later] = following[place]
    return found


def date_trunc(unit: str, column: Column, zone: str | None) -> Column:
    """Return the timestamps at which units began; NULL outside of the years 1 to 9999."""
    known = column.known & _has_local_time(column.values)
    instants = np.where(known, column.values, 0)
    began = unit_start(unit, instants) if zone is None else _began(zone_of(zone), unit, instants)
    known &= _has_local_time(began)
    return Column(np.where(known, began, 0), known)


def _began(zone: Zone, unit: str, instants: np.ndarray) -> np.ndarray:
    """Return `Zone.began` of timestamps."""
    offset = offsets(zone, instants)
    local = unit_start(unit, instants + offset)
    if unit in FIXED and unit != "day":
        began = local - offset
        changed = np.flatnonzero(offsets(zone, began) != offset)
        began[changed] = [zone.began(unit, instant) for instant in instants[changed].tolist()]
        return began
    starts, codes = np.unique(local, return_inverse=True)
    return np.array([zone.first(start) for start in starts.tolist()], np.int64)[codes]


def truncated(unit: str, instant: int, zone: str | None) -> int | None:
    """Return `date_trunc` of a single timestamp."""
    if not _has_local_time(instant):
        return None
    began = unit_start(unit, instant) if zone is None else zone_of(zone).began(unit, instant)
    return int(began) if _has_local_time(began) else None
