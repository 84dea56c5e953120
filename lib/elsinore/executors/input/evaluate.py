"""Evaluate expressions over single events, one column at a time.

The rules of `query/expressions.py` apply: three-valued logic, NaN compares as NULL, undefined
arithmetic is NULL, and `/` divides doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.executors.input.columns import Column, EventColumns, in_one_dictionary, recoded
from elsinore.numbers.arithmetic import long_columns
from elsinore.query.expressions import Applied, BoundExpression, Constant, Field
from elsinore.template.placement import Admission

_INT64_MIN = np.iinfo(np.int64).min


def call(name: str, operands: Sequence[Column], kind: AttributeType) -> Column:
    """Return the values of a function for all rows of its operands.

    Args:
        name: the function's name.
        operands: at least one column; all have the same length.
        kind: the type of the result.
    """
    first = operands[0]
    match name:
        case "abs":
            return _absolute(first)
        case "lower":
            return _recased(first, pc.ascii_lower, str.lower)
        case "upper":
            return _recased(first, pc.ascii_upper, str.upper)
        case "hour":
            return _calendar(first, pc.hour)
        case "weekday":
            return _calendar(first, _weekday)
    return _chosen(name, _alike(operands, kind))


def _absolute(column: Column) -> Column:
    if column.values.dtype == np.float64:
        return Column(np.abs(column.values), column.known)
    fits = column.values != _INT64_MIN
    return Column(np.abs(np.where(fits, column.values, 0)), column.known & fits)


# ---- one of several values


def _alike(operands: Sequence[Column], kind: AttributeType) -> list[Column]:
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
        mapped = [any_text(text) for text in column.dictionary.filter(beyond).to_pylist()]
        texts = pc.replace_with_mask(texts, beyond, pa.array(mapped, texts.type))
    return recoded(column.values, column.known, texts)


def like(column: Column, pattern: str, escape: str | None) -> Column:
    """Return whether each text matches a LIKE pattern as a whole."""
    assert column.dictionary is not None
    found = pc.match_substring_regex(column.dictionary, like_expression(pattern, escape))
    matches = np.asarray(found).astype(np.bool_)
    values = matches[column.values] if matches.size else np.zeros(column.known.size, np.bool_)
    return Column(values, column.known)


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


def _calendar(column: Column, part: Callable[[pa.Array], pa.Array]) -> Column:
    instants = pa.array(column.values, pa.int64()).view(pa.timestamp("us"))
    return Column(np.asarray(part(instants)).astype(np.int64), column.known)


def _weekday(instants: pa.Array) -> pa.Array:
    return pc.day_of_week(instants, count_from_zero=False, week_start=1)


_DOUBLE = AttributeType.DOUBLE
_CALCULATE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
}
_COMPARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def holds(condition: BoundExpression, columns: EventColumns, rows: np.ndarray) -> np.ndarray:
    """Return bool[len(rows)]: whether a condition is *true* for each event."""
    truth = evaluate(condition, columns, rows)
    return truth.values & truth.known


def admitted(admission: Admission, columns: EventColumns, rows: np.ndarray) -> np.ndarray:
    """Return bool[len(rows)]: whether each event meets an admission."""
    meets, misses = admission
    found = np.ones(rows.size, np.bool_)
    for condition in meets:
        found &= holds(condition, columns, rows)
    for conditions in misses:
        all_hold = np.ones(rows.size, np.bool_)
        for condition in conditions:
            all_hold &= holds(condition, columns, rows)
        found &= ~all_hold
    return found


def evaluate(expression: BoundExpression, columns: EventColumns, rows: np.ndarray) -> Column:
    """Return the values of an expression for the events at `rows`."""
    return work_out(expression, lambda field: columns.column(field.attribute).take(rows), rows.size)


def work_out(expression: BoundExpression, read: Callable[[Field], Column], size: int) -> Column:
    """Return `size` values of an expression; `read` returns the values of an attribute."""
    match expression:
        case Constant():
            return _constant(expression, size)
        case Field():
            return read(expression)
        case Applied():
            return _applied(expression, lambda operand: work_out(operand, read, size))
    raise AssertionError(f"{expression} is not an expression of events")


def _applied(expression: Applied, inner: Callable[[BoundExpression], Column]) -> Column:
    match expression:
        case Applied("+" | "-" | "*" | "/" | "%" as operator, (left, right), kind):
            return _arithmetic(operator, inner(left), inner(right), kind)
        case Applied("neg", (operand,), kind):
            value = inner(operand)
            if kind is _DOUBLE:
                return Column(-value.values, value.known)
            zero = Column(np.zeros_like(value.values), np.ones_like(value.known))
            return _arithmetic("-", zero, value, kind)
        case Applied("AND", parts):
            return _all([inner(part) for part in parts])
        case Applied("OR", parts):
            return _inverse(_all([_inverse(inner(part)) for part in parts]))
        case Applied("NOT", (operand,)):
            return _inverse(inner(operand))
        case Applied("IS NULL", (operand,)):
            known = inner(operand).known
            return Column(~known, np.ones_like(known))
        case Applied("LIKE", (operand, Constant(str(pattern)), Constant(str() | None as escape))):
            return like(inner(operand), pattern, escape)
        case Applied(operator, (left, right)) if operator in _COMPARE:
            return _comparison(operator, left, right, inner)
    return call(expression.name, [inner(o) for o in expression.operands], expression.type)


def _constant(constant: Constant, size: int) -> Column:
    known = np.full(size, constant.value is not None)
    match constant.type:
        case AttributeType.STRING:
            dictionary = pa.array([constant.value], pa.string())
            return Column(np.zeros(size, np.int64), known, dictionary)
        case AttributeType.DOUBLE:
            return Column(np.full(size, constant.value, np.float64), known)
        case AttributeType.BOOLEAN:
            return Column(np.full(size, bool(constant.value)), known)
    return Column(np.full(size, constant.value, np.int64), known)


def _all(truths: list[Column]) -> Column:
    """Return SQL's AND: false if one part is false, else NULL if one part is NULL."""
    false = np.zeros_like(truths[0].known)
    known = np.ones_like(false)
    for truth in truths:
        false |= truth.known & ~truth.values
        known &= truth.known
    return Column(~false, known | false)


def _inverse(truth: Column) -> Column:
    return Column(~truth.values, truth.known)


def _comparison(
    operator: str,
    left: BoundExpression,
    right: BoundExpression,
    inner: Callable[[BoundExpression], Column],
) -> Column:
    sides = [inner(left), inner(right)]
    if left.type is AttributeType.STRING:
        sides = in_one_dictionary(sides)
    values = [side.values for side in sides]
    known = sides[0].known & sides[1].known
    if _DOUBLE in (left.type, right.type):
        values = [value.astype(np.float64) for value in values]
        known &= ~np.isnan(values[0]) & ~np.isnan(values[1])
    return Column(_COMPARE[operator](values[0], values[1]), known)


def _arithmetic(operator: str, left: Column, right: Column, kind: AttributeType) -> Column:
    known = left.known & right.known
    if kind is not _DOUBLE:
        values, fits = long_columns(operator, left.values, right.values)
        return Column(values, known & fits)
    a, b = left.values.astype(np.float64), right.values.astype(np.float64)
    with np.errstate(all="ignore"):
        values = _CALCULATE[operator](a, b)
    return Column(values, known & (b != 0) if operator in ("/", "%") else known)
