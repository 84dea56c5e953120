"""Key columns as small integers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import Column, EventColumns
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
