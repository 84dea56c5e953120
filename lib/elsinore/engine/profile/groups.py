"""Puts events into groups that a measure never leaves: one partition, one span of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from elsinore.engine.columns import EventColumns
from elsinore.engine.key_codes import KeyCodes
from elsinore.engine.partitions import admitted
from elsinore.query.bound import Key
from elsinore.query.expressions import BoundExpression


def passing(
    columns: EventColumns, event_type: str, choices: Sequence[Iterable[BoundExpression]]
) -> np.ndarray:
    """int64: rows of the events of a type that meet all conditions of one of the choices."""
    rows = columns.rows_of(event_type)
    found = np.zeros(rows.size, np.bool_)
    for conditions in choices:
        found |= admitted((frozenset(conditions), frozenset()), columns, rows)
    return rows[found]


def grouped(columns: EventColumns, keys: Sequence[Key], span: int, rows: np.ndarray) -> np.ndarray:
    """int64[len(rows)]: the group of each event, by its keys and its multiple of `span`; in order.

    -1 where a missing value of an equivalence key keeps the event out of all trends.
    """
    usable = np.ones(rows.size, np.bool_)
    frame = {"span": columns.times[rows] // span}
    for number, key in enumerate(keys):
        codes = KeyCodes.of(key, columns)
        usable &= codes.usable[rows]
        frame[f"key {number}"] = codes.values[rows]
    groups = pd.DataFrame(frame).groupby(list(frame)).ngroup().to_numpy(np.int64)
    return np.where(usable, groups, -1)
