"""What a schema says of an attribute's values, checked a column at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import Attribute, AttributeType
from elsinore.files.rejection import Fault, Reason, shown
from elsinore.timeline import format_instant


def check_limits(column: pa.Array, attribute: Attribute) -> Iterator[tuple[int, Fault]]:
    """Each value that the attribute may not have, as (index, fault).

    Rules in order: NULL only where nullable, not infinite, at least `min`, at most `max`, one of
    `allowed`. A NULL breaks no rule but the first; NaN is within no limits.

    Args:
        column: values in the attribute's Arrow type.
        attribute: the rules.
    """
    if column.null_count and not attribute.nullable:
        for index in positions(pc.is_null(column)):
            yield index, Fault(Reason.MISSING_ATTRIBUTE, f"{attribute.name} is missing")
    for code, broken, rule in _rules(column, attribute):
        for index in positions(broken):
            value = _spelled(column[index].as_py(), attribute)
            yield index, Fault(code, f"{attribute.name}: {value} {rule}")


def _rules(column: pa.Array, attribute: Attribute) -> Iterator[tuple[Reason, pa.BooleanArray, str]]:
    """Which values break which rule."""
    if attribute.type is AttributeType.DOUBLE:
        yield Reason.NOT_FINITE, pc.is_inf(column), "is not finite"
        if attribute.minimum is not None or attribute.maximum is not None:
            yield Reason.NOT_FINITE, pc.is_nan(column), "is within no limits"
    if attribute.minimum is not None:
        low = pc.less(column, pa.scalar(attribute.minimum, column.type))
        yield Reason.OUT_OF_RANGE, low, f"is below {_spelled(attribute.minimum, attribute)}"
    if attribute.maximum is not None:
        high = pc.greater(column, pa.scalar(attribute.maximum, column.type))
        yield Reason.OUT_OF_RANGE, high, f"is above {_spelled(attribute.maximum, attribute)}"
    if attribute.allowed is not None:
        known = pc.is_in(column, pa.array(attribute.allowed, column.type))
        strange = pc.and_(pc.is_valid(column), pc.invert(known))
        names = ", ".join(_spelled(value, attribute) for value in attribute.allowed)
        yield Reason.NOT_ALLOWED, strange, f"is not one of {names}"


def positions(mask: pa.BooleanArray) -> list[int]:
    """Where a mask is true; NULL is not."""
    if not pc.any(mask).as_py():
        return []
    true: npt.NDArray[np.bool_] = pc.fill_null(mask, False).to_numpy(zero_copy_only=False)
    return [int(index) for index in np.flatnonzero(true)]


def _spelled(value: Any, attribute: Attribute) -> str:
    return format_instant(value) if attribute.type is AttributeType.TIMESTAMP else shown(value)
