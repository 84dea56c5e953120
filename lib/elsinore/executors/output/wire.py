"""Partial rows as Arrow tables, for Spark and for cached panes.

All rows have the same columns, whatever their query. The values of a row are lists, whose lengths
depend on its query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.executors.output.exact_states import ExactSums, IntegerExtremes
from elsinore.executors.output.partial_rows import ExtremeKind, PartialRows, Shape, shape_of
from elsinore.executors.output.participation import MOST_LISTED, too_many
from elsinore.executors.output.state_columns import (
    Extremes,
    ScaledDoubles,
    StateColumn,
    WideExtremes,
)
from elsinore.executors.output.value_lists import ValueLists
from elsinore.numbers.exact_columns import Band, Integers
from elsinore.query.bound import BoundQuery
from elsinore.query.query_keys import QueryKey

#: `query`, `opening` and `state` are a `Place`. `window` is the number of a window, or the start of
#: a session, whose end is `end` (otherwise NULL). `integers`
#: are 0 if they do not fit 64 bits; then `wide` has their bytes, little-endian in two's complement.
#: `wide` is NULL if all integers of a row fit, and its elements are NULL if their integer fits. A
#: sum is `sum * 2**exponent`. `extremes` are integers, or the bits of doubles, or the two parts of
#: `WideExtremes`, one after the other; NULL if unknown. Extremes of any size are 0 there, and their
#: values follow the other `integers`. So do exact sums; their powers of two follow the other
#: `exponents`. `lists` are values of `ValueLists`, integers or the bits of doubles.
WIRE_SCHEMA = pa.schema(
    [
        pa.field("query", pa.int32(), False),
        pa.field("opening", pa.int16(), False),
        pa.field("state", pa.int16(), False),
        pa.field("group", pa.string(), False),
        pa.field("window", pa.int64(), False),
        pa.field("end", pa.int64()),
        pa.field("integers", pa.list_(pa.int64()), False),
        pa.field("wide", pa.list_(pa.binary())),
        pa.field("sums", pa.list_(pa.float64()), False),
        pa.field("exponents", pa.list_(pa.int64()), False),
        pa.field("extremes", pa.list_(pa.int64()), False),
        pa.field("lists", pa.list_(pa.list_(pa.int64())), False),
    ]
)


class Place(NamedTuple):
    """Which query a row belongs to; if the window is a pane, also which row of its map."""

    query: int  #: number of the query that ran
    opening: int = -1  #: number of the opening of a pane; -1 if the window is not a pane
    state: int = -1  #: the state at which the trends of a pane end


def to_arrow(parts: Sequence[PartialRows], places: Mapping[QueryKey, Place]) -> pa.Table:
    """Return partial rows as a table of `WIRE_SCHEMA`.

    Args:
        parts: the rows.
        places: the place of each query by its key; no two queries have the same one.
    """
    tables = [_table(part, places) for part in parts if len(part)]
    return pa.concat_tables([WIRE_SCHEMA.empty_table(), *tables])


def _table(part: PartialRows, places: Mapping[QueryKey, Place]) -> pa.Table:
    found = np.array([places[query.key] for query in part.queries], np.int64)
    query, opening, state = found[part.query].T
    size, columns = len(part), part.columns
    integers = [each for column in columns if (each := _integers_of(column)) is not None]
    scales = [np.full(size, column.scale) for column in columns if isinstance(column, ExactSums)]
    sums = [column for column in columns if isinstance(column, ScaledDoubles)]
    words = [
        (word, column.known)
        for column in columns
        if isinstance(column, Extremes | WideExtremes | IntegerExtremes)
        for word in _words_of(column)
    ]
    exponents = (column.exponents for column in sums)
    known = _by_row([known for _, known in words], size, np.bool_)
    bits = _by_row([word for word, _ in words], size, np.int64)
    arrays = [
        pa.array(query, pa.int32()),
        pa.array(opening, pa.int16()),
        pa.array(state, pa.int16()),
        part.groups.take(pa.array(part.group)),
        pa.array(part.window),
        pa.nulls(size, pa.int64()) if part.ends is None else pa.array(part.ends),
        _lists(pa.array(_by_row([column.small for column in integers], size, np.int64)), size),
        _wide_lists(integers, size),
        _lists(pa.array(_by_row([column.mantissas for column in sums], size, np.float64)), size),
        _lists(pa.array(_by_row([*exponents, *scales], size, np.int64)), size),
        _lists(pa.array(bits, mask=~known), size),
        _value_lists([column for column in columns if isinstance(column, ValueLists)], size),
    ]
    return pa.Table.from_arrays(arrays, schema=WIRE_SCHEMA)


def _integers_of(column: StateColumn) -> Integers | None:
    """Return the integers of any size of a column; None if it has none."""
    if isinstance(column, ExactSums | IntegerExtremes):
        return column.integers
    return column if isinstance(column, Integers) else None


def _value_lists(columns: Sequence[ValueLists], size: int) -> pa.ListArray:
    """Return the column `lists`: for each row, a list of values per column."""
    if not columns:
        return _lists(pa.array([], pa.list_(pa.int64())), size)
    # Column by column, then in the order of rows.
    whole = ValueLists.joined([replace(c, values=c.values.view(np.int64)) for c in columns])
    numbers = np.arange(len(columns) * size).reshape(len(columns), size).T.ravel()
    by_row = whole.take(numbers)
    flat = pa.ListArray.from_arrays(pa.array(by_row.offsets, pa.int32()), pa.array(by_row.values))
    return _lists(flat, size)


def _words_of(column: Extremes | WideExtremes | IntegerExtremes) -> Sequence[np.ndarray]:
    """Return the columns of 64 bits of a column of extremes."""
    if isinstance(column, IntegerExtremes):
        return (np.zeros(len(column), np.int64),)
    if isinstance(column, WideExtremes):
        return column.firsts, column.seconds
    return (column.values.view(np.int64),)


def _by_row(columns: Sequence[np.ndarray], size: int, kind: type) -> np.ndarray:
    """Return the values of columns of `size` rows, row by row."""
    return np.array(columns, kind).reshape(len(columns), size).T.ravel()


def _lists(flat: pa.Array, size: int) -> pa.ListArray:
    """Return the values of an array as `size` lists of equal length."""
    offsets = np.arange(size + 1) * (len(flat) // size)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)


def _wide_lists(columns: Sequence[Integers], size: int) -> pa.ListArray:
    """Return the column `wide`; Python objects exist only for wide rows."""
    rows = np.concatenate([np.empty(0, np.int64), *(b.rows for c in columns for b in c.wide)])
    rows = np.unique(rows)
    held = np.full((rows.size, len(columns)), None, object)
    for number, column in enumerate(columns):
        for band in column.wide:
            held[np.searchsorted(rows, band.rows), number] = [
                limbs.tobytes() for limbs in band.limbs
            ]
    is_wide = np.zeros(size, np.bool_)
    is_wide[rows] = True
    offsets = np.append(0, np.cumsum(is_wide) * len(columns))
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()),
        pa.array(held.ravel().tolist(), pa.binary()),
        mask=pa.array(~is_wide),
    )


# ---- back


def from_arrow(table: pa.Table, queries: Mapping[Place, BoundQuery]) -> list[PartialRows]:
    """Return the rows of a table of `WIRE_SCHEMA`, one part per shape.

    Args:
        table: the rows, in any order.
        queries: the query of each place; places that no row has are allowed.

    Raises:
        QueryError: the lists of values of a query have too many values.
    """
    columns = (np.asarray(table[name], np.int64) for name in Place._fields)
    query, opening, state = columns
    packed = pa.array((query << 32) + ((opening + 1) << 16) + (state + 1)).dictionary_encode()
    codes = np.asarray(packed.indices)
    places = [
        Place(code >> 32, (code >> 16 & 0xFFFF) - 1, (code & 0xFFFF) - 1)
        for code in packed.dictionary.to_pylist()
    ]
    by_shape: dict[Shape, list[int]] = {}
    for number, place in enumerate(places):
        by_shape.setdefault(shape_of(queries[place]), []).append(number)
    found = []
    for shape, numbers in by_shape.items():
        position = np.full(len(places), -1, np.int32)
        position[numbers] = np.arange(len(numbers))
        rows = table
        if len(by_shape) > 1:
            rows = table.filter(pa.array(position[codes] >= 0))
        own = position[codes]
        run = tuple(queries[places[number]] for number in numbers)
        found.append(_rows(rows.combine_chunks(), run, own[own >= 0], shape))
    return found


def _rows(
    table: pa.Table, queries: tuple[BoundQuery, ...], query: np.ndarray, shape: Shape
) -> PartialRows:
    groups = _array(table, "group").dictionary_encode()
    exponents = _values(table, "exponents", shape.sums + shape.exact, np.int64)
    sums = zip(_values(table, "sums", shape.sums, np.float64), exponents, strict=False)
    unlimited = sum(kind is ExtremeKind.INTEGER for kind, _ in shape.extremes)
    integers = _integers(table, shape.integers + unlimited + shape.exact)
    others = iter(integers[shape.integers :])
    columns: list[StateColumn] = [
        *integers[: shape.integers],
        *(ScaledDoubles(*each) for each in sums),
        *_extremes(table, shape, others),
        *map(ExactSums.of_scales, others, exponents[shape.sums :]),
        *_value_columns(table, shape),
    ]
    _require_few(queries, query, [each for each in columns if isinstance(each, ValueLists)])
    return PartialRows(
        queries,
        groups.dictionary,
        query,
        np.asarray(groups.indices),
        np.asarray(table["window"]),
        tuple(columns),
        _ends(table),
    )


def _ends(table: pa.Table) -> np.ndarray | None:
    """Return the ends of sessions; None if no row has one."""
    if table["end"].null_count == table.num_rows:
        return None
    return np.asarray(pc.fill_null(table["end"], 0))


def _extremes(table: pa.Table, shape: Shape, integers: Iterator[Integers]) -> Iterator[StateColumn]:
    """Yield the columns of extremes; `integers` are the columns of values of any size."""
    width = sum(2 if kind is ExtremeKind.WIDE else 1 for kind, _ in shape.extremes)
    bits = _array(table, "extremes").flatten()
    known = np.asarray(bits.is_valid()).reshape(table.num_rows, width)
    values = np.asarray(bits.fill_null(0)).reshape(table.num_rows, width)
    words = ((np.ascontiguousarray(values[:, n]), known[:, n].copy()) for n in range(width))
    for kind, largest in shape.extremes:
        word, is_known = next(words)
        if kind is ExtremeKind.INTEGER:
            yield IntegerExtremes(next(integers), is_known, largest)
        elif kind is ExtremeKind.WIDE:
            yield WideExtremes.of(word, next(words)[0], is_known, largest=largest)
        else:
            numbers = word.view(np.float64) if kind is ExtremeKind.DOUBLE else word
            yield Extremes.of(numbers, is_known, largest=largest)


def _value_columns(table: pa.Table, shape: Shape) -> Iterator[ValueLists]:
    """Yield the columns of lists of values."""
    inner, width = _array(table, "lists").flatten(), len(shape.lists)
    sizes = np.asarray(pc.list_value_length(inner)).astype(np.int64)
    whole = ValueLists(np.append(0, np.cumsum(sizes)), np.asarray(inner.flatten(), np.int64))
    for number, doubles in enumerate(shape.lists):
        own = whole.take(np.arange(table.num_rows) * width + number)
        yield replace(own, values=own.values.view(np.float64)) if doubles else own


def _require_few(
    queries: Sequence[BoundQuery], query: np.ndarray, columns: Sequence[ValueLists]
) -> None:
    """Raise QueryError if lists have more values than a task may hold; it names the largest."""
    if sum(column.values.size for column in columns) > MOST_LISTED:
        sizes = sum(np.bincount(query, column.sizes, len(queries)) for column in columns)
        raise too_many(queries[int(np.argmax(sizes))])


def _array(table: pa.Table, name: str) -> pa.Array:
    """Return a column of a table as one array."""
    chunks = table[name].chunks
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


def _values(table: pa.Table, name: str, width: int, kind: type) -> list[np.ndarray]:
    """Return the columns of a column of lists of `width` values."""
    flat: np.ndarray = np.asarray(_array(table, name).flatten(), kind).reshape(
        table.num_rows, width
    )
    return [np.ascontiguousarray(column) for column in flat.T]


def _integers(table: pa.Table, width: int) -> list[Integers]:
    """Return the columns of integers, also of the wide ones."""
    lists = _array(table, "wide")
    rows = np.flatnonzero(np.asarray(lists.is_valid()))
    held = np.array(lists.flatten().to_pylist(), object).reshape(rows.size, width)
    return [
        Integers(small, _bands(rows, held[:, number]))
        for number, small in enumerate(_values(table, "integers", width, np.int64))
    ]


def _bands(rows: np.ndarray, held: np.ndarray) -> tuple[Band, ...]:
    """Return the bands of some rows, given their bytes, object[W]; None if a row is not wide."""
    sizes = np.array([len(each) if each is not None else 0 for each in held.tolist()], np.int64)
    bands = []
    for size in np.unique(sizes[sizes > 0]).tolist():
        mine = sizes == size
        limbs = np.frombuffer(b"".join(held[mine].tolist()), np.uint64).reshape(-1, size // 8)
        bands.append(Band(rows[mine], limbs))
    return tuple(bands)
