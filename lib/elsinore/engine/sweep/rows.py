"""Rows of a sweep, added up by group, as partial rows; all of it goes by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from elsinore.engine.build_graph import NO_RANK, Extremes
from elsinore.engine.partial_rows import extreme_texts, lists_of
from elsinore.engine.sorting import ascending
from elsinore.engine.sweep.run import Swept, SweptRows, joined
from elsinore.engine.sweep.wide import WideRows
from elsinore.kernels.sweep_entries import add_rows
from elsinore.lowering.sweep import Member, extremes_of
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.windows import Window

#: Totals below this did not wrap on their way.
_SAFE = 2.0**62

#: What there is without events.
NO_ROWS = SweptRows(np.empty((0, 3), np.int64), np.empty((0, 1), np.int64), np.empty((0, 0)), 1)


def groups_are_apart(groups: pa.Array) -> bool:
    """Whether every partition has a group of its own, so that no two rows are of one group."""
    return len(groups) < 2 or len(groups.unique()) == len(groups)


def combine_groups(
    pieces: Sequence[Swept], groups: pa.Array, apart: bool
) -> tuple[SweptRows, bool]:
    """One row for each member, window and group; its partition is one of the group's.

    Rows whose sum may not fit 64 bits, or is no finite double, are left as they are: then the
    second value is True.

    Args:
        pieces: rows of several pieces of a stream; none of them for a stream without events.
        groups: the text of each partition's group.
        apart: every partition has a group of its own, so that there is nothing to add up.
    """
    rows = joined([piece.rows for piece in pieces]) if pieces else NO_ROWS
    if apart or not rows.keys.shape[0]:
        return rows, False
    encoded = groups.dictionary_encode()
    group_of = np.asarray(encoded.indices).astype(np.int64)
    places, size = _places(rows.keys, group_of[rows.keys[:, 0]], len(encoded.dictionary))
    totals = np.zeros((size, rows.longs.shape[1]), np.int64)
    totals[:, rows.ranks :] = NO_RANK
    sums, sizes = np.zeros((size, rows.doubles.shape[1])), np.zeros(size)
    add_rows(places, rows.longs, rows.doubles, rows.ranks, totals, sums, sizes)
    keys = np.zeros((size, 3), np.int64)
    keys[places] = rows.keys
    safe = (sizes < _SAFE) & np.isfinite(sums).all(axis=1)
    met = np.zeros(size, np.bool_)
    met[places] = True
    added = SweptRows(keys[met & safe], totals[met & safe], sums[met & safe], rows.ranks)
    if safe[met].all():
        return added, False
    left = ~safe[places]
    rest = SweptRows(rows.keys[left], rows.longs[left], rows.doubles[left], rows.ranks)
    return joined([added, rest]), True


def _places(keys: np.ndarray, groups: np.ndarray, amount: int) -> tuple[np.ndarray, int]:
    """The place of each row's total, and how many places there are; some may be empty."""
    first, members = int(keys[:, 1].min()), int(keys[:, 2].max()) + 1
    windows = int(keys[:, 1].max()) - first + 1
    if windows * members * amount <= 4 * keys.shape[0] + 1024:
        return ((keys[:, 1] - first) * members + keys[:, 2]) * amount + groups, (
            windows * members * amount
        )
    together = np.stack([keys[:, 1], keys[:, 2], groups])
    order = ascending(*together)
    borders = (np.diff(together[:, order], axis=1) != 0).any(axis=0)
    numbers = np.concatenate([[0], np.cumsum(borders)])
    places = np.empty(order.size, np.int64)
    places[order] = numbers
    return places, int(numbers[-1]) + 1


# ---- partial rows

#: How many counts, sums, minima and maxima a query has.
Shape = tuple[int, int, int, int]
#: Rows of one shape.
Chosen = slice | np.ndarray


def shape_of(member: Member) -> Shape:
    """The widths of a query's lists in partial rows."""
    c = member.carriers
    return 1 + len(c.counts), len(c.sums), len(c.minima), len(c.maxima)


@dataclass(frozen=True)
class Meaning:
    """What the numbers in rows mean.

    Attributes:
        members: the queries.
        window: the window clause of all of them.
        groups: the text of each partition's group.
        extremes: what ranks stand for, by (attribute, whether the largest).
    """

    members: Sequence[Member]
    window: Window
    groups: pa.Array
    extremes: dict[tuple[str | None, bool], Extremes]


def swept_tables(rows: SweptRows, meaning: Meaning) -> list[pa.Table]:
    """Rows of `results.partial`, a table for each shape of rows."""
    exponents = np.zeros(rows.doubles.shape, np.int64)
    ranks = rows.longs[:, rows.ranks :]

    def texts(chosen: Chosen, width: int) -> pa.Array:
        return pa.array(rows.longs[chosen, :width].ravel()).cast(pa.string())

    return _tables(meaning, rows.keys, texts, (rows.doubles, exponents), ranks)


def wide_tables(parts: Sequence[WideRows], meaning: Meaning) -> list[pa.Table]:
    """Rows of `results.partial` whose integers have any size, tables for each shape of rows."""
    tables = []
    for rows in parts:

        def texts(chosen: Chosen, width: int, counts: np.ndarray = rows.counts) -> pa.Array:
            return pa.array(list(map(str, counts[chosen, :width].ravel())), pa.string())

        sums = rows.sums[:, :, 0], rows.sums[:, :, 1].astype(np.int64)
        tables += _tables(meaning, rows.keys, texts, sums, rows.ranks)
    return tables


def _tables(
    meaning: Meaning,
    keys: np.ndarray,
    texts: Callable[[Chosen, int], pa.Array],
    sums: tuple[np.ndarray, np.ndarray],
    ranks: np.ndarray,
) -> list[pa.Table]:
    """R rows of several shapes.

    Args:
        meaning: of the numbers.
        keys: int64[R, 3], partition, window number, member.
        texts: the first integers of some rows as texts, row by row.
        sums: float64[R, *] and int64[R, *], mantissas and exponents.
        ranks: int64[R, *].
    """
    shapes = [shape_of(member) for member in meaning.members]
    names = pa.array([member.query.name for member in meaning.members], pa.string())
    tables = []
    for shape in dict.fromkeys(shapes):
        counts, doubles, minima, maxima = shape
        mine = np.array([other == shape for other in shapes], np.bool_)
        chosen: Chosen = slice(None) if mine.all() else np.flatnonzero(mine[keys[:, 2]])
        own = keys[chosen]
        size, starts = own.shape[0], own[:, 1] * meaning.window.slide
        scaled = [pa.array(column[chosen, :doubles].ravel()) for column in sums]
        values = _extreme_texts(meaning, own[:, 2], ranks[chosen, : minima + maxima])
        columns = [
            names.take(pa.array(own[:, 2])),
            meaning.groups.take(pa.array(own[:, 0])),
            pa.array(starts),
            pa.array(starts + meaning.window.within),
            lists_of(texts(chosen, counts), size),
            lists_of(pa.StructArray.from_arrays(scaled, names=["mantissa", "exponent"]), size),
            lists_of(_row_by_row(values[:minima]), size),
            lists_of(_row_by_row(values[minima:]), size),
        ]
        tables.append(pa.Table.from_arrays(columns, schema=PARTIAL_SCHEMA))
    return tables


def _extreme_texts(meaning: Meaning, owners: np.ndarray, ranks: np.ndarray) -> list[np.ndarray]:
    """The texts of each column of ranks; what they mean depends on the row's query."""
    texts = [np.empty(ranks.shape[0], object) for _ in range(ranks.shape[1])]
    if not ranks.shape[1]:
        return texts
    for number in np.unique(owners).tolist():
        rows = np.flatnonzero(owners == number)
        for column, (carrier, largest) in enumerate(extremes_of(meaning.members[number].carriers)):
            values = meaning.extremes[carrier.attribute, largest]
            texts[column][rows] = extreme_texts(values, ranks[rows, column])
    return texts


def _row_by_row(columns: list[np.ndarray]) -> pa.Array:
    if not columns:
        return pa.array([], pa.string())
    return pa.array(np.stack(columns, axis=1).ravel().tolist(), pa.string())
