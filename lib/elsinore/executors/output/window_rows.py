"""Convert the totals of windows to partial rows, and back.

Partial rows of several partitions and tasks can be merged. All conversions work by column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.executors.aggregates import Accumulator, accumulators_of
from elsinore.executors.input.columns import Column
from elsinore.executors.input.numbering import numbered
from elsinore.executors.input.weights import NO_RANK, Extremes
from elsinore.executors.output.partial_rows import PartialRows, Shape, shape_of
from elsinore.executors.output.state_columns import Extremes as StateExtremes
from elsinore.executors.output.state_columns import ScaledDoubles, StateColumn
from elsinore.executors.output.wire import (
    PARTIAL_SCHEMA,
    decode_extreme,
    encode_extreme,
    state_columns,
)
from elsinore.integers import digits_of, integer_of
from elsinore.numbers.decimals import make_scratch, write_decimals
from elsinore.numbers.exact_columns import Integers, from_limbs, from_python
from elsinore.query.bound import BoundQuery

#: An integer with at most this number of characters fits 64 bits.
_SHORT = 18
#: If the absolute values of a total add up to less, it fits int64.
_SAFE = 2.0**62
#: Maximum number of 64-bit limbs of an integer that is converted here; GMP converts wider ones
#: faster. Maximum number of limbs of all integers, so that their digits fit one string array.
_WIDEST, _MOST = 512, 2**25


@dataclass(frozen=True)
class WindowRows:
    """The totals of R windows, of several queries."""

    keys: np.ndarray  #: int64[R, 3]: partition, window number, number of the query
    #: int64[R, *], counts and other integers. If one needs more bits: uint64[R, *, L] in two's
    #: complement, or Python integers.
    counts: np.ndarray
    #: float64[R, *] and int64[R, *]; a sum of doubles is `sum * 2**exponent`.
    sums: np.ndarray
    exponents: np.ndarray
    ranks: np.ndarray  #: int64[R, *], the ranks of extremes

    @property
    def owners(self) -> np.ndarray:
        """Return the number of the query of each row, int64[R]."""
        return self.keys[:, 2]

    def where(self, chosen: np.ndarray) -> WindowRows:
        """Return some rows, chosen by number or by a bool[R]."""
        return WindowRows(*(column[chosen] for column in self._columns))

    def with_trend(self) -> WindowRows:
        """Return the rows in which any count is not 0, of whatever query it is."""
        counts = self.counts
        return self.where(np.flatnonzero(counts.any(axis=tuple(range(1, counts.ndim)))))

    @classmethod
    def joined(cls, parts: Sequence[WindowRows]) -> WindowRows:
        """Return the rows of one or more parts as one."""
        if len(parts) == 1:
            return parts[0]
        if len({part.counts.shape[1:] for part in parts}) > 1:
            parts = [replace(part, counts=exact(part.counts)) for part in parts]
        columns = zip(*(part._columns for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        return self.keys, self.counts, self.sums, self.exponents, self.ranks


@dataclass(frozen=True)
class Reading:
    """The meaning of the rows of one query.

    Their columns are the query's accumulators and extremes, in order, with minima before maxima.
    """

    query: BoundQuery  #: the query
    groups: pa.Array  #: string[P], the group of each partition as a JSON array
    extremes: Sequence[Extremes]  #: the values of the ranks, by column

    @property
    def columns(self) -> tuple[Shape, int]:
        """Return a key; rows of readings with equal keys are converted together."""
        return shape_of(self.query), id(self.groups)

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the numbers of columns: integers, sums, minima and maxima."""
        return tuple(map(len, state_columns(accumulators_of(self.query))))

    @property
    def shape(self) -> tuple[object, ...]:
        """Return a key; rows of readings with equal keys are written to one table."""
        return id(self.groups), self.query.window, self.widths


def partial_rows(rows: WindowRows, readings: Sequence[Reading]) -> list[PartialRows]:
    """Return rows of windows as partial rows, which may have several rows of one group.

    Args:
        rows: the totals of windows.
        readings: the meaning of the rows, by number of the query.
    """
    alike: dict[tuple[Shape, int], list[int]] = {}
    for number, reading in enumerate(readings):
        alike.setdefault(reading.columns, []).append(number)
    found = []
    for numbers in alike.values():
        position = np.full(len(readings), -1, np.int32)
        position[numbers] = np.arange(len(numbers))
        query = position[rows.owners]
        mine = rows if len(alike) == 1 else rows.where(query >= 0)
        if mine.keys.size:
            own = [readings[number] for number in numbers]
            found.append(_partial_rows(mine, query[query >= 0], own))
    return found


def _partial_rows(rows: WindowRows, query: np.ndarray, readings: Sequence[Reading]) -> PartialRows:
    """Return the partial rows of readings with equal `Reading.columns`.

    Args:
        rows: one or more rows.
        query: int32[R], the position of the reading of each row.
        readings: the meaning of the rows.
    """
    shape, groups = shape_of(readings[0].query), readings[0].groups.dictionary_encode()
    sums = zip(rows.sums.T[: shape.sums], rows.exponents.T, strict=False)
    columns: list[StateColumn] = [
        *from_limbs(rows.counts[:, : shape.integers]),
        *(ScaledDoubles.of(*each) for each in sums),
        *(
            _extremes_of_ranks(
                rows.ranks[:, n], query, [each.extremes[n].distinct for each in readings], largest
            )
            for n, (_, largest) in enumerate(shape.extremes)
        ),
    ]
    return PartialRows(
        tuple(reading.query for reading in readings),
        groups.dictionary,
        query,
        np.asarray(groups.indices)[rows.keys[:, 0]],
        rows.keys[:, 1].copy(),
        tuple(columns),
    )


def _extremes_of_ranks(
    ranks: np.ndarray, query: np.ndarray, tables: Sequence[np.ndarray], largest: bool
) -> StateExtremes:
    """Return the values of ranks.

    Args:
        ranks: int64[R].
        query: int32[R], the number of the table of each row.
        tables: the values of the ranks; queries of one attribute share a table.
        largest: whether the values are maxima.
    """
    distinct = {id(table): table for table in tables}
    if len(distinct) == 1:
        return StateExtremes.from_ranks(ranks, tables[0], largest=largest)
    numbers = {name: number for number, name in enumerate(distinct)}
    table_of = np.array([numbers[id(table)] for table in tables])[query]
    values, known = np.zeros(ranks.size, tables[0].dtype), np.zeros(ranks.size, np.bool_)
    for number, table in enumerate(distinct.values()):
        rows = np.flatnonzero((table_of == number) & (ranks < table.size))
        values[rows], known[rows] = table[ranks[rows]], True
    return StateExtremes.of(values, known, largest=largest)


def partial_tables(rows: WindowRows, readings: Sequence[Reading]) -> list[pa.Table]:
    """Return rows as tables of `output.wire`, one for all queries that have the same columns.

    Args:
        rows: the totals of windows.
        readings: the meaning of the rows, by number of the query.
    """
    shapes: dict[object, list[int]] = {}
    for number, reading in enumerate(readings):
        shapes.setdefault(reading.shape, []).append(number)
    tables = []
    for numbers in shapes.values():
        chosen = np.zeros(len(readings), np.bool_)
        chosen[numbers] = True
        mine = rows if len(shapes) == 1 else rows.where(chosen[rows.keys[:, 2]])
        if mine.keys.size:
            tables.append(_table(mine, readings, readings[numbers[0]]))
    return tables


def _table(rows: WindowRows, readings: Sequence[Reading], first: Reading) -> pa.Table:
    """Return the table of rows that all have the shape of the reading `first`."""
    size, window = rows.keys.shape[0], first.query.window
    integers, doubles, minima, maxima = first.widths
    names = pa.array([reading.query.name for reading in readings], pa.string())
    starts = rows.keys[:, 1] * window.slide
    scaled = [pa.array(_flat(column, doubles)) for column in (rows.sums, rows.exponents)]
    columns = [
        names.take(pa.array(rows.keys[:, 2])),
        first.groups.take(pa.array(rows.keys[:, 0])),
        pa.array(starts),
        pa.array(starts + window.within),
        _lists_of(_texts(_flat(rows.counts, integers)), size),
        _lists_of(pa.StructArray.from_arrays(scaled, names=["mantissa", "exponent"]), size),
        _lists_of(_extremes(rows, readings, 0, minima), size),
        _lists_of(_extremes(rows, readings, minima, maxima), size),
    ]
    return pa.Table.from_arrays(columns, schema=PARTIAL_SCHEMA)


def _flat(values: np.ndarray, width: int) -> np.ndarray:
    """Return the first `width` columns row by row, without a copy if these are all columns."""
    return values[:, :width].reshape(-1, *values.shape[2:])


def _texts(integers: np.ndarray) -> pa.Array:
    if integers.dtype == np.int64:
        return pa.array(integers).cast(pa.string())
    if integers.ndim == 1:
        return pa.array([digits_of(each) for each in integers], pa.string())
    size, limbs = integers.shape
    few = 8 * size < limbs  # too few to pay for the table of powers
    if few or limbs > _WIDEST or size * limbs > _MOST or integers[:, -1].max() >> 63:
        return _texts(exact(integers[:, None])[:, 0])
    scratch, ends = make_scratch(limbs), np.zeros(size + 1, np.int32)
    text = np.empty(size * scratch.chars.size, np.uint8)
    write_decimals(np.ascontiguousarray(integers), scratch, text, ends)
    return pa.StringArray.from_buffers(size, pa.py_buffer(ends), pa.py_buffer(text[: ends[-1]]))


def _extremes(rows: WindowRows, readings: Sequence[Reading], first: int, width: int) -> pa.Array:
    """Return the texts of some columns of extremes, row by row.

    The meaning of a rank depends on the query of the row.
    """
    owners = rows.keys[:, 2]
    texts = np.empty((owners.size, width), object)
    for number in np.unique(owners).tolist() if width else ():
        mine = np.flatnonzero(owners == number)
        for column, meaning in enumerate(readings[number].extremes[first : first + width]):
            values = [meaning.value(rank) for rank in rows.ranks[mine, first + column]]
            texts[mine, column] = [None if v is None else encode_extreme(v) for v in values]
    return pa.array(texts.ravel().tolist(), pa.string())


def _lists_of(flat: pa.Array, size: int) -> pa.ListArray:
    """Return the values of an array as `size` lists of equal length."""
    length = len(flat) // size if size else 0
    offsets = pa.array(np.arange(size + 1, dtype=np.int32) * length, pa.int32())
    return pa.ListArray.from_arrays(offsets, flat)


# ---- partial rows to states


class States(NamedTuple):
    """The states of R partial rows of one query: a column per accumulator, in their order."""

    #: int64[R], or Python integers if one is longer. The first are the numbers of trends.
    integers: dict[Accumulator, np.ndarray]
    #: float64[R] and int64[R]; a sum is `sum * 2**exponent`.
    sums: dict[Accumulator, tuple[np.ndarray, np.ndarray]]
    extremes: dict[Accumulator, Column]

    @classmethod
    def of(cls, query: BoundQuery, rows: pa.Table) -> States:
        """Return the states of rows of `executors.output.wire`, at least one."""
        longs, doubles, ranks = accumulators_of(query).columns
        counts, sums, *extremes = (
            _columns_of(rows[name].combine_chunks())
            for name in ("counts", "sums", "minima", "maxima")
        )
        scaled = ((np.asarray(each.field(0)), np.asarray(each.field(1))) for each in sums)
        values = (_extremes_of(texts) for side in extremes for texts in side)
        return cls(
            dict(zip(longs, map(_integers_of, counts), strict=True)),
            dict(zip(doubles, scaled, strict=True)),
            dict(zip(ranks, values, strict=True)),
        )


def of_text(queries: Sequence[BoundQuery], table: pa.Table) -> list[PartialRows]:
    """Return rows of `executors.output.wire` as columns.

    Args:
        queries: the queries of the rows, and possibly others.
        table: the rows.
    """
    names = table["query"].combine_chunks().dictionary_encode()
    by_name, codes = {query.name: query for query in queries}, np.asarray(names.indices)
    run = [by_name[name] for name in names.dictionary.to_pylist()]
    by_shape: dict[Shape, list[int]] = {}
    for number, query in enumerate(run):
        by_shape.setdefault(shape_of(query), []).append(number)
    found = []
    for shape, numbers in by_shape.items():
        position = np.full(len(run), -1, np.int32)
        position[numbers] = np.arange(len(numbers))
        own = position[codes]
        rows = table if len(by_shape) == 1 else table.filter(pa.array(own >= 0))
        chosen = tuple(run[number] for number in numbers)
        found.append(_of_text(chosen, own[own >= 0], rows, shape))
    return found


def _of_text(
    queries: tuple[BoundQuery, ...], query: np.ndarray, rows: pa.Table, shape: Shape
) -> PartialRows:
    groups = rows["group"].combine_chunks().dictionary_encode()
    slides = np.array([each.window.slide for each in queries])
    counts, sums, *sides = (
        _columns_of(rows[name].combine_chunks()) for name in ("counts", "sums", "minima", "maxima")
    )
    columns: list[StateColumn] = []
    for integers in map(_integers_of, counts):
        is_long = integers.dtype == object
        columns.append(from_python(integers.tolist()) if is_long else Integers(integers))
    columns += (
        ScaledDoubles.of(np.asarray(each.field(0)), np.asarray(each.field(1))) for each in sums
    )
    extremes = (_extremes_of(texts) for side in sides for texts in side)
    for (is_double, largest), column in zip(shape.extremes, extremes, strict=True):
        values = column.values.astype(np.float64 if is_double else np.int64)
        columns.append(StateExtremes.of(values, column.known, largest=largest))
    return PartialRows(
        queries,
        groups.dictionary,
        query,
        np.asarray(groups.indices),
        np.asarray(rows["window_start"]) // slides[query],
        tuple(columns),
    )


def _columns_of(lists: pa.ListArray) -> list[pa.Array]:
    """Return the columns of lists of equal length."""
    flat = pc.list_flatten(lists)
    width = len(flat) // len(lists)
    return [flat.take(pa.array(np.arange(n, len(flat), width))) for n in range(width)]


def _integers_of(texts: pa.Array) -> np.ndarray:
    if pc.max(pc.utf8_length(texts)).as_py() <= _SHORT:
        return np.asarray(texts.cast(pa.int64()))
    return np.array([integer_of(text) for text in texts.to_pylist()], object)


def _extremes_of(texts: pa.Array) -> Column:
    known = np.asarray(texts.is_valid())
    first = texts[int(known.argmax())].as_py()  # all have the same type
    if first is not None and isinstance(decode_extreme(first), float):
        found = [0.0 if text is None else decode_extreme(text) for text in texts.to_pylist()]
        return Column(np.array(found, np.float64), known)
    return Column(np.asarray(pc.fill_null(texts.cast(pa.int64()), 0)), known)


# ---- several rows of one group


def group_tables(parts: Sequence[WindowRows], readings: Sequence[Reading]) -> Iterator[pa.Table]:
    """Yield rows of `output.wire` whose states are added up by group while they are numbers.

    Only counts of equal width are added up, since others become Python integers if they are joined.
    `merge_partials` merges the few rows that differ only in width.

    Args:
        parts: rows of windows, each part with counts of one width.
        readings: the meaning of the rows of each query.
    """
    widths: dict[tuple[int, ...], list[WindowRows]] = {}
    for rows in parts:
        widths.setdefault(rows.counts.shape[1:], []).append(rows)
    for alike in widths.values():
        for combined in combine_groups(alike, readings):
            yield from partial_tables(combined, readings)


def combine_groups(
    parts: Sequence[WindowRows], readings: Sequence[Reading]
) -> Sequence[WindowRows]:
    """Return rows with one row per query, window and group.

    The partition of a row is any partition of its group. If no group has several partitions, the
    parts are returned unchanged.

    Args:
        parts: the totals of windows.
        readings: the meaning of the rows, by number of the query.
    """
    shared = {}
    for texts, groups in {id(reading.groups): reading.groups for reading in readings}.items():
        encoded = groups.dictionary_encode()
        if len(encoded.dictionary) < len(encoded):
            shared[texts] = np.asarray(encoded.indices)
    if not shared or not parts:
        return parts
    rows = WindowRows.joined(parts)
    mixed = rows.keys[:, 0].copy()
    for texts, numbers in shared.items():
        mine = np.array([id(reading.groups) == texts for reading in readings])[rows.keys[:, 2]]
        mixed[mine] = numbers[rows.keys[mine, 0]]
    places, _ = numbered([rows.keys[:, 2], rows.keys[:, 1], mixed], mixed.size)
    return [_added_up(rows, places) if places.size else rows]


def _added_up(rows: WindowRows, places: np.ndarray) -> WindowRows:
    """Return the totals of the rows of each place; `places` is int64[R]."""
    size = int(places.max()) + 1
    counts, keys = exact(rows.counts), np.zeros((size, 3), np.int64)
    keys[places] = rows.keys
    if counts.dtype != object:
        # Without a copy of all counts; the negative of -2**63 needs a double.
        sizes = np.maximum(counts.max(axis=1), -counts.min(axis=1).astype(np.float64))
        safe = np.bincount(places, sizes).max() < _SAFE
        counts = counts if safe else counts.astype(object)
    sums, exponents = normal(rows.sums, rows.exponents)
    highest = _total(np.maximum, exponents, places, LOWEST)
    below = np.maximum(exponents - highest[places], -(2**20)).astype(np.int32)
    sums = _total(np.add, np.ldexp(sums, below), places, 0.0)
    return WindowRows(
        keys,
        _total(np.add, counts, places, 0),
        sums,
        np.where(sums == 0.0, 0, highest),
        _total(np.minimum, rows.ranks, places, NO_RANK),
    )


def _total(combine: np.ufunc, values: np.ndarray, places: np.ndarray, begin: float) -> np.ndarray:
    """Return the combined values of each place, column by column."""
    totals = np.full((int(places.max()) + 1, values.shape[1]), begin, values.dtype)
    for column in range(values.shape[1]):
        out = totals[:, column].copy()
        combine.at(out, places, values[:, column])
        totals[:, column] = out
    return totals


# ---- numbers of any size

#: The exponent of a sum that is zero.
LOWEST = -(2**40)


def normal(sums: np.ndarray, exponents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same sums with mantissas below 1, so that adding them does not overflow."""
    sums, shifts = np.frexp(sums)
    return sums, np.where(sums == 0.0, LOWEST, exponents + shifts)


def exact(counts: np.ndarray) -> np.ndarray:
    """Return counts as an array of two dimensions.

    uint64[R, K, L] in two's complement becomes Python integers, object[R, K]. Other arrays are
    returned unchanged.
    """
    if counts.ndim == 2:
        return counts
    limbs = counts.reshape(-1, counts.shape[2])
    values = [int.from_bytes(each.tobytes(), "little", signed=True) for each in limbs]
    return np.array(values, object).reshape(counts.shape[:2])
