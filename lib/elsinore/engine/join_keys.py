"""The natural join of columns of key codes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from elsinore.engine.sorting import ascending


def join_keys(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """Every row of one frame with every row of the other that agrees in the columns of both.

    All columns are int64. (`DataFrame.merge` warns of its own doing where nothing agrees.)

    >>> join_keys(pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [2, 2], "b": [5, 6]}))
       a  b
    0  2  5
    1  2  6
    """
    shared = [name for name in right.columns if name in left.columns]
    ours, theirs = in_one_coding(left, right, shared)
    order = ascending(theirs)
    first = np.searchsorted(theirs[order], ours, "left")
    counts = np.searchsorted(theirs[order], ours, "right") - first
    lefts = np.repeat(np.arange(len(left)), counts)
    within = np.arange(lefts.size) - np.repeat(np.cumsum(counts) - counts, counts)
    rights = order[np.repeat(first, counts) + within]
    columns = {name: left[name].to_numpy()[lefts] for name in left.columns}
    columns |= {n: right[n].to_numpy()[rights] for n in right.columns if n not in shared}
    return pd.DataFrame(columns)


def in_one_coding(
    left: pd.DataFrame, right: pd.DataFrame, shared: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """One number for each combination of values in some columns, for the rows of two frames."""
    if not shared:
        return np.zeros(len(left), np.int64), np.zeros(len(right), np.int64)
    together = pd.concat([left[shared], right[shared]])
    numbers = together.groupby(shared, sort=False).ngroup().to_numpy(np.int64)
    return numbers[: len(left)], numbers[len(left) :]
