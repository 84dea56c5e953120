"""Key columns as small integers, and the natural join of such columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import Column, EventColumns
from elsinore.engine.sorting import ascending
from elsinore.query.bound import Key


@dataclass(frozen=True)
class KeyCodes:
    """Codes of a key's values over all events of a table.

    Attributes:
        values: int64[N]; 0 is NULL.
        usable: bool[N]: False where an equivalence key keeps the event out of all trends.
        meaning: the value that each code stands for.
    """

    values: np.ndarray
    usable: np.ndarray
    meaning: list[Any]

    @classmethod
    def of(cls, key: Key, columns: EventColumns) -> KeyCodes:
        """The codes of one key; made once for all queries over these events."""
        name = (cls, key.attribute, key.equivalence)
        return columns.once(name, lambda: cls._made(key, columns))

    @classmethod
    def _made(cls, key: Key, columns: EventColumns) -> KeyCodes:
        column = columns.column(key.attribute)
        usable = usable_keys(key, column)
        if column.dictionary is not None:
            codes, meaning = column.values + 1, column.dictionary.to_pylist()
        else:
            distinct, found = np.unique(column.values, return_inverse=True)
            codes, meaning = found + 1, distinct.tolist()
        return cls(np.where(column.known, codes, 0), usable, [None, *meaning])

    def decoded(self, codes: Iterable[int]) -> list[Any]:
        """The values that codes stand for."""
        return [self.meaning[code] for code in codes]


def usable_keys(key: Key, column: Column) -> np.ndarray:
    """Where an event may join trends: an equivalence key is neither NULL nor NaN."""
    if not key.equivalence:
        return np.ones(column.known.size, np.bool_)
    if key.type is AttributeType.DOUBLE:
        return column.known & ~np.isnan(column.values)
    return column.known


def group_texts(values: Sequence[Iterable[Any]], size: int) -> list[str]:
    """The JSON array of group values of each of `size` partitions, given each key's values."""
    if not values:
        return ["[]"] * size
    return [json.dumps(group, ensure_ascii=False) for group in zip(*values, strict=True)]


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
