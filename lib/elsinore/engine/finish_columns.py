"""Finishes the states of aggregates column by column: what `finish` does with each row.

Only for rows whose integers are short (`short_rows`): they are exact as doubles, so that sums,
ratios and rounding come out as they do with Python's integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.lowering.carriers import Carriers, Weight, carrier_of, carriers_of
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery
from elsinore.results.partial import decode_extreme

#: Characters of a count or integer sum; any such number is less than 2**53.
SHORT = 15


@dataclass(frozen=True, slots=True)
class Numbers:
    """The columns `value`, `exact` and `log2` of one aggregate (`results.published`)."""

    value: pa.Array
    exact: pa.Array
    log2: pa.Array


def short_rows(rows: pa.Table) -> np.ndarray:
    """bool[R]: rows of which every count and integer sum is short."""
    texts = rows["counts"].combine_chunks()
    lengths = np.asarray(pc.utf8_length(pc.list_flatten(texts)))
    width = lengths.size // max(len(texts), 1)
    return np.asarray((lengths.reshape(len(texts), width) <= SHORT).all(axis=1))


def finish_columns(query: BoundQuery, rows: pa.Table) -> Iterator[tuple[str, Numbers]]:
    """Each aggregate of RETURN, by label, of merged partial rows of a query that are short."""
    carriers, states = carriers_of(query), _States(rows)
    for item in query.aggregates:
        yield item.label, _finished(item, carriers, states)


@dataclass(frozen=True)
class _States:
    """The states of R rows; places are those of `lowering.carriers`."""

    rows: pa.Table

    def texts(self, side: str, place: int) -> pa.Array:
        """Texts of `counts`, `minima` or `maxima`."""
        return self._flat(side, place)

    def integers(self, place: int) -> np.ndarray:
        """A count or integer sum, int64[R]."""
        return np.asarray(self._flat("counts", place).cast(pa.int64()))

    def scaled(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Mantissas and exponents of a sum of doubles, float64[R] and int64[R]."""
        found = self._flat("sums", place)
        return np.asarray(found.field("mantissa")), np.asarray(found.field("exponent"))

    def _flat(self, side: str, place: int) -> pa.Array:
        lists = self.rows[side].combine_chunks()
        flat = pc.list_flatten(lists)
        width = len(flat) // max(len(lists), 1)
        return flat.take(pa.array(np.arange(len(lists)) * width + place))


def _finished(item: BoundAggregate, carriers: Carriers, states: _States) -> Numbers:
    value = carrier_of(item, Weight.VALUE)
    match item.function:
        case AggregateFunction.COUNT:
            place = 0  # the number of trends
            if not item.counts_trends:
                place = carriers.counts.index(carrier_of(item, Weight.EVENT)) + 1
            return _of_integers(states.integers(place), states.texts("counts", place))
        case AggregateFunction.MIN:
            return _extreme(states.texts("minima", carriers.minima.index(value)), item.type)
        case AggregateFunction.MAX:
            return _extreme(states.texts("maxima", carriers.maxima.index(value)), item.type)
    present = states.integers(carriers.counts.index(carrier_of(item, Weight.PRESENT)) + 1)
    average = item.function is AggregateFunction.AVG
    if item.type is AttributeType.DOUBLE:
        mantissas, exponents = states.scaled(carriers.sums.index(value))
        if average:
            mantissas = mantissas / np.maximum(present, 1)
        return _of_doubles(_unscaled(mantissas, exponents), present > 0)
    place = carriers.counts.index(value) + 1
    total = states.integers(place)
    if average:
        return _of_doubles(total / np.maximum(present, 1), present > 0)
    texts = pc.if_else(pa.array(present > 0), states.texts("counts", place), None)
    return _of_integers(total, texts)


def _unscaled(mantissas: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """`Scaled.to_float` of each."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(mantissas, np.clip(exponents, -10_000, 10_000).astype(np.int32)) + 0.0


def _extreme(texts: pa.Array, kind: AttributeType | None) -> Numbers:
    if kind is AttributeType.DOUBLE:
        found = [None if text is None else decode_extreme(text) for text in texts.to_pylist()]
        values = np.array([0.0 if value is None else value for value in found])
        return _of_doubles(values, np.asarray(texts.is_valid()))
    return _of_integers(np.asarray(pc.fill_null(texts.cast(pa.int64()), 0)), texts)


def _of_integers(values: np.ndarray, texts: pa.Array) -> Numbers:
    """Integers that are known where they have a text."""
    found = _of_doubles(values.astype(np.float64), np.asarray(texts.is_valid()))
    return Numbers(found.value, texts, found.log2)


def _of_doubles(values: np.ndarray, known: np.ndarray) -> Numbers:
    sizes = np.abs(values)
    sized = known & (sizes > 0)
    logarithms = np.zeros(values.size)
    logarithms[sized] = [log2(size) for size in sizes[sized].tolist()]  # NumPy's differ
    return Numbers(
        pa.array(values, mask=~known),
        pa.nulls(values.size, pa.string()),
        pa.array(logarithms, mask=~sized),
    )
