"""Functions and LIKE, a column at a time, by the rules of `query/expressions.py`.

What is done to texts is done once to each distinct one, in the dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import Column, in_one_dictionary
from elsinore.query.expressions import FunctionName

_INT64_MIN = np.iinfo(np.int64).min


def call(name: FunctionName, operands: Sequence[Column], kind: AttributeType) -> Column:
    """The values of a function of a result type for all rows of its operands."""
    first = operands[0]
    match name:
        case FunctionName.ABS:
            return _absolute(first)
        case FunctionName.LOWER:
            return _recased(first, pc.ascii_lower, str.lower)
        case FunctionName.UPPER:
            return _recased(first, pc.ascii_upper, str.upper)
        case FunctionName.HOUR:
            return _calendar(first, pc.hour)
        case FunctionName.WEEKDAY:
            return _calendar(first, _weekday)
    return _chosen(name, _alike(operands, kind))


def _absolute(column: Column) -> Column:
    if column.values.dtype == np.float64:
        return Column(np.abs(column.values), column.known)
    fits = column.values != _INT64_MIN
    return Column(np.abs(np.where(fits, column.values, 0)), column.known & fits)


# ---- one of several values


def _alike(operands: Sequence[Column], kind: AttributeType) -> list[Column]:
    """Columns whose values compare: doubles where one is, or codes of one dictionary."""
    match kind:
        case AttributeType.STRING:
            return in_one_dictionary(operands)
        case AttributeType.DOUBLE:
            return [Column(column.values.astype(np.float64), column.known) for column in operands]
    return list(operands)


def _chosen(name: FunctionName, operands: Sequence[Column]) -> Column:
    """LEAST, GREATEST and COALESCE: each operand in turn takes the place of a worse one."""
    best, *others = operands
    values, known = best.values, best.known
    for other in others:
        better = other.known & (~known | _beats(name, other.values, values))
        values = np.where(better, other.values, values)
        known = known | other.known
    return Column(values, known, best.dictionary)


def _beats(name: FunctionName, new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """bool[N]: whether a new value is preferred to an old one; NaN ranks above every number."""
    match name:
        case FunctionName.LEAST:
            return (new < old) | ((old != old) & (new == new))
        case FunctionName.GREATEST:
            return (new > old) | ((new != new) & (old == old))
    return np.zeros(new.size, np.bool_)  # COALESCE keeps what it has


# ---- texts


def _recased(
    column: Column, ascii_only: Callable[[pa.Array], pa.Array], any_text: Callable[[str], str]
) -> Column:
    """Texts mapped by Python, since Arrow's tables are of another version of Unicode."""
    assert column.dictionary is not None
    texts = ascii_only(column.dictionary)
    beyond = pc.invert(pc.string_is_ascii(column.dictionary))
    if pc.any(beyond).as_py():
        mapped = [any_text(text) for text in column.dictionary.filter(beyond).to_pylist()]
        texts = pc.replace_with_mask(texts, beyond, pa.array(mapped, texts.type))
    dictionary = pc.unique(texts)
    dictionary = dictionary.take(pc.sort_indices(dictionary))
    codes = np.asarray(pc.index_in(texts, dictionary)).astype(np.int64)
    return Column(codes[column.values] if codes.size else column.values, column.known, dictionary)


def like(column: Column, pattern: str, escape: str | None) -> Column:
    """Whether each text matches a LIKE pattern as a whole."""
    assert column.dictionary is not None
    found = pc.match_substring_regex(column.dictionary, _expression(pattern, escape))
    matches = np.asarray(found).astype(np.bool_)
    values = matches[column.values] if matches.size else np.zeros(column.known.size, np.bool_)
    return Column(values, column.known)


def _expression(pattern: str, escape: str | None) -> str:
    """A LIKE pattern as a regular expression of RE2, which needs time linear in the text."""
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


# ---- instants


def _calendar(column: Column, part: Callable[[pa.Array], pa.Array]) -> Column:
    instants = pa.array(column.values, pa.int64()).view(pa.timestamp("us"))
    return Column(np.asarray(part(instants)).astype(np.int64), column.known)


def _weekday(instants: pa.Array) -> pa.Array:
    return pc.day_of_week(instants, count_from_zero=False, week_start=1)
