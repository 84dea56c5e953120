"""Rows of segment programs, added up by group, as partial rows, which merge over tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from elsinore.engine.build_graph import Extremes
from elsinore.engine.key_codes import KeyCodes, group_texts
from elsinore.engine.partial_rows import extreme_texts, partial_table
from elsinore.engine.segments.run import SegmentRows
from elsinore.engine.sorting import ascending
from elsinore.kernels.segments_lanes import DIGIT
from elsinore.lowering.chains import Chain, Column, group_names


def by_query(chunks: Sequence[SegmentRows], queries: int) -> Iterator[SegmentRows]:
    """The rows of each query, by its place; some may have none."""
    if not chunks:
        return
    rows = SegmentRows(*map(np.concatenate, zip(*map(_columns, chunks), strict=True)))
    order = ascending(rows.queries)
    borders = np.searchsorted(rows.queries[order], np.arange(queries + 1))
    for first, last in pairwise(borders.tolist()):
        yield SegmentRows(*(column[order[first:last]] for column in _columns(rows)))


def combine_groups(rows: SegmentRows, keys: Iterable[np.ndarray], size: int) -> SegmentRows:
    """One row for each window and group of a query; its partition is one of the group's.

    Args:
        rows: of one query.
        keys: the code of each group key in each partition.
        size: number of partitions.
    """
    if not rows.windows.size:
        return rows
    groups = np.zeros(size, np.int64)
    for codes in keys:
        _, groups = np.unique(np.stack([groups, codes]), axis=1, return_inverse=True)
    mine = groups[rows.partitions]
    order = ascending(rows.windows, mine)
    windows, mine = rows.windows[order], mine[order]
    first = np.ones(order.size, np.bool_)
    first[1:] = (windows[1:] != windows[:-1]) | (mine[1:] != mine[:-1])
    if first.all():
        return rows
    starts = np.flatnonzero(first)
    counts = np.add.reduceat(rows.counts[order], starts, axis=0)
    for digit in range(counts.shape[2] - 1):
        carried = counts[:, :, digit] >> DIGIT
        counts[:, :, digit] -= carried << DIGIT
        counts[:, :, digit + 1] += carried
    kept = order[starts]
    with np.errstate(over="ignore"):  # a sum of doubles may be infinite
        doubles = np.add.reduceat(rows.doubles[order], starts, axis=0)
    return SegmentRows(
        rows.queries[kept],
        rows.partitions[kept],
        rows.windows[kept],
        counts,
        doubles,
        np.minimum.reduceat(rows.ranks[order], starts, axis=0),
    )


def _columns(rows: SegmentRows) -> tuple[np.ndarray, ...]:
    return rows.queries, rows.partitions, rows.windows, rows.counts, rows.doubles, rows.ranks


# ---- partial rows


def partial_rows(
    rows: SegmentRows,
    chain: Chain,
    extremes: Mapping[tuple[str | None, bool], Extremes],
    keys: dict[str, np.ndarray],
    codes: dict[str, KeyCodes],
) -> tuple[pa.Table, np.ndarray]:
    """The rows of a query, and the numbers of windows in which a sum of doubles overflowed.

    The latter have no row.

    Args:
        rows: of this query.
        chain: the query.
        extremes: the meaning of ranks, by (attribute, whether the largest).
        keys: the partitions' key codes, by name.
        codes: the meaning of these.
    """
    sums = rows.doubles[:, _order(chain.doubles)]
    overflowed = rows.windows[~np.isfinite(sums).all(axis=1)]
    mine = np.flatnonzero(~np.isin(rows.windows, overflowed))
    counts = rows.counts[mine][:, [0, *(1 + n for n in _order(chain.counts))]]
    texts = [
        extreme_texts(extremes[column.carrier.attribute, column.largest], rows.ranks[mine, place])
        for place, column in enumerate(chain.ranks)
    ]
    minima = [texts[n] for n in _order(chain.ranks) if not chain.ranks[n].largest]
    maxima = [texts[n] for n in _order(chain.ranks) if chain.ranks[n].largest]
    table = partial_table(
        chain.query,
        _groups(chain, rows.partitions[mine], keys, codes),
        rows.windows[mine],
        _digits(counts),
        (sums[mine], np.zeros(sums[mine].shape, np.int64)),
        (minima, maxima),
    )
    return table, np.unique(overflowed)


def _order(columns: Sequence[Column]) -> list[int]:
    """Places of columns in the order of their carriers."""
    return sorted(range(len(columns)), key=lambda place: columns[place].number)


def _digits(counts: np.ndarray) -> pa.Array:
    """Digits of 30 bits as decimal text, int64[R, C, digits] row by row."""
    flat = counts.reshape(-1, counts.shape[2])
    low = flat[:, 0].copy()
    for digit in range(1, min(3, flat.shape[1])):
        low += flat[:, digit] << (DIGIT * digit)
    small = np.ones(low.size, np.bool_)
    for digit in range(flat.shape[1]):  # does int64 say the same?
        same = low >> min(DIGIT * digit, 63)
        if digit + 1 < flat.shape[1]:
            same &= 2**DIGIT - 1
        small &= flat[:, digit] == same
    if small.all():
        return pa.array(low).cast(pa.string())
    texts = low.astype(object)
    for row in np.flatnonzero(~small):
        texts[row] = sum(int(value) << (DIGIT * n) for n, value in enumerate(flat[row]))
    return pa.array([str(value) for value in texts.tolist()], pa.string())


def _groups(
    chain: Chain,
    partitions: np.ndarray,
    keys: dict[str, np.ndarray],
    codes: dict[str, KeyCodes],
) -> pa.Array:
    """The JSON array of group values of each row."""
    named = group_names(chain.query)
    if not named or not partitions.size:
        return pa.array(["[]"] * partitions.size, pa.string())
    distinct, places = np.unique(partitions, return_inverse=True)
    values = [codes[name].decoded(keys[name][distinct]) for name in named]
    return pa.array(group_texts(values, distinct.size), pa.string()).take(pa.array(places))
