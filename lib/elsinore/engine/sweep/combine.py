"""Adds up the rows of partitions that have the same group, while they still are columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from elsinore.engine.build_graph import NO_RANK
from elsinore.engine.sorting import ascending
from elsinore.engine.sweep.run import Swept, SweptRows, joined
from elsinore.kernels.sweep_entries import add_rows

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
