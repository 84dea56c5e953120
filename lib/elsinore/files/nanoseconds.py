"""Nanoseconds of event times, which are truncated: Elsinore stores times in microseconds."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from elsinore.files.typed import Column

#: int16[N], 0 to 999: the nanoseconds of each time beyond its microsecond; None if all are 0.
Nanoseconds: TypeAlias = npt.NDArray[np.int16] | None

#: The length of `2025-03-03T10:00:00.123456Z`: a shorter text has no nanoseconds.
_MICROSECONDS = 27


def nanoseconds_of(column: Column) -> Nanoseconds:
    """Return the nanoseconds beyond the microsecond in a raw column of event times."""
    if isinstance(column, list):
        texts = [v if type(v) is str and len(v) >= _MICROSECONDS and v.isascii() else None
                 for v in column]  # fmt: skip
        column = pa.array(texts, pa.string())
    if types.is_timestamp(column.type) and column.type.unit == "ns":
        found = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) % 1_000
        return found.astype(np.int16) if found.any() else None
    return _in_texts(column) if types.is_string(column.type) else None


def _in_texts(texts: pa.Array) -> Nanoseconds:
    lengths = pc.binary_length(texts)
    if (pc.max(lengths).as_py() or 0) < _MICROSECONDS:
        return None
    # With `Z` at its end such a text has microseconds, so few columns need the slow check.
    ends_early = pc.and_(pc.equal(lengths, _MICROSECONDS), pc.ends_with(texts, "Z"))
    may_have = pc.and_(pc.greater_equal(lengths, _MICROSECONDS), pc.invert(ends_early))
    rows = np.flatnonzero(pc.fill_null(may_have, False).to_numpy(zero_copy_only=False))
    if not rows.size:
        return None
    parts = pc.extract_regex(texts.take(pa.array(rows)), r"[.,][0-9]{6}(?P<rest>[0-9]{1,3})")
    digits = pc.utf8_rpad(pc.fill_null(pc.struct_field(parts, "rest"), "0"), 3, "0")
    found = np.zeros(len(texts), np.int16)
    found[rows] = digits.cast(pa.int16()).to_numpy(zero_copy_only=False)
    return found if found.any() else None


def joined(parts: list[tuple[Nanoseconds, int]]) -> Nanoseconds:
    """Return the nanoseconds of several parts as one array; each part has its event count."""
    if all(part is None for part, _ in parts):
        return None
    return np.concatenate(
        [np.zeros(size, np.int16) if part is None else part for part, size in parts]
    )
