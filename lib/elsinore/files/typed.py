"""A column of raw values made into one typed Arrow array, with the values that would not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.events import ARROW_TYPES
from elsinore.files.rejection import Fault

#: Integers that a double holds without a doubt: beyond, `9007199254740993.0` reads as ...992.
EXACT_IN_DOUBLE = 2**53
MIN_LONG, MAX_LONG = -(2**63), 2**63 - 1


class Typed(NamedTuple):
    """Values of one field.

    Attributes:
        array: as long as the raw column; NULL where the value is missing or faulty.
        faults: (index into the column, fault) of each value that is there and cannot be used.
    """

    array: pa.Array
    faults: list[tuple[int, Fault]]


def type_each(values: list[Any], arrow_type: pa.DataType, convert: Callable[[Any], Any]) -> Typed:
    """Convert value by value, the slow way that can name each fault.

    Args:
        values: raw values, None where missing.
        arrow_type: type of the array.
        convert: gives the value as `arrow_type` takes it, or a `Fault`.
    """
    good: list[Any] = []
    faults: list[tuple[int, Fault]] = []
    for index, value in enumerate(values):
        outcome = None if value is None else convert(value)
        if isinstance(outcome, Fault):
            faults.append((index, outcome))
            outcome = None
        good.append(outcome)
    return Typed(one_chunk(pa.array(good, arrow_type)), faults)


def nothing(kind: AttributeType, length: int) -> Typed:
    """A field that no record has."""
    return Typed(pa.nulls(length, ARROW_TYPES[kind]), [])


def one_chunk(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Arrow splits very long columns of text; the parts as one."""
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
