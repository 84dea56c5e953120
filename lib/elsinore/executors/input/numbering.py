"""Number the distinct combinations of values in integer columns."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from elsinore.sorting import ascending

_LARGEST = 2**63 - 1


def numbered(columns: Iterable[np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the combinations of values in some integer columns.

    Numbers follow the order of the combinations, without gaps. Without columns, all rows have the
    same combination.

    Args:
        columns: int[size] each.
        size: number of rows.

    Returns:
        int64[size], the number of each row's combination; int64[*], a row of each combination.

    >>> numbered([np.array([0, 1, 1, 0]), np.array([4, 0, 4, 4])], 4)
    (array([0, 1, 2, 0]), array([3, 1, 2]))
    """
    numbers, bound = np.zeros(size, np.int64), 1
    for column in columns:
        low = int(column.min(initial=0))
        most = int(column.max(initial=0)) - low + 1
        if bound * most > _LARGEST // max(size, 1):  # without gaps neither is larger than `size`
            numbers, column = _without_gaps(numbers, bound)[0], _without_gaps(column, _LARGEST)[0]
            low, (bound, most) = 0, (int(n.max(initial=0)) + 1 for n in (numbers, column))
        column = column - low if low else column
        numbers = numbers * most + column if bound > 1 else column.astype(np.int64, copy=False)
        bound *= most
    return _without_gaps(numbers, bound)


def _without_gaps(values: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct values below `bound` in order, and return a row of each.

    A table is used if `bound` is small, otherwise a sort.
    """
    if bound <= 4 * values.size + 1024:
        rows = np.full(bound, -1)
        rows[values] = np.arange(values.size)
        there = rows >= 0
        return (values if there.all() else (np.cumsum(there) - 1)[values]), rows[there]
    order = ascending(values)
    ranked = values[order]
    begins = np.append(True, ranked[1:] != ranked[:-1])
    numbers = np.empty_like(order)
    numbers[order] = np.cumsum(begins) - 1
    return numbers, order[begins]
