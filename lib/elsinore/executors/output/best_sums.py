"""Convert the greatest sums of windows to partial rows of MIN and MAX of measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.state_columns import StateColumn, WideExtremes
from elsinore.executors.output.window_rows import Groups
from elsinore.numbers.exact_columns import Integers
from elsinore.numbers.two_parts import LOW, PART
from elsinore.query.bound import BoundQuery


def rows_of_extremes(
    query: BoundQuery, groups: Groups, keys: np.ndarray, extremes: Sequence[StateColumn]
) -> PartialRows:
    """Return partial rows, one per partition and window.

    Args:
        query: a query of measures for MIN and MAX.
        groups: the group of each partition.
        keys: int64[R, 2], the partition and the number of the window of each row.
        extremes: the column of each extreme of the query.
    """
    size = keys.shape[0]
    return PartialRows(
        (query,),
        groups.texts,
        np.zeros(size, np.int32),
        groups.numbers[keys[:, 0]],
        keys[:, 1].copy(),
        (Integers(np.zeros(size, np.int64)), *extremes),  # their trends are not counted
    )


def extremes_of_sums(sums: np.ndarray, known: np.ndarray, *, largest: bool) -> WideExtremes:
    """Return minima or maxima of integers.

    Args:
        sums: int64[R], or int64[R, 2] in two parts: the greatest sums, negated for minima.
        known: bool[R], whether there is a sum.
        largest: whether they are maxima.
    """
    if sums.ndim == 1:
        sums = np.stack([sums >> PART, sums & LOW], axis=1)
    firsts, seconds = sums.T
    if not largest:
        firsts, seconds = -firsts - (seconds != 0), -seconds & LOW
    return WideExtremes.of(firsts, seconds, known, largest=largest)
