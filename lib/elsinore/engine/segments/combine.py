"""Adds up the rows of partitions that have the same group, while they still are columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from elsinore.engine.segments.run import SegmentRows
from elsinore.engine.sorting import ascending
from elsinore.kernels.segments_lanes import DIGIT


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
