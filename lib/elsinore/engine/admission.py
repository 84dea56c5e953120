"""Which events of a table may stand at a state: what a query asks of single events."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from elsinore.engine.columns import EventColumns
from elsinore.engine.evaluate import holds
from elsinore.engine.key_codes import usable_keys
from elsinore.query.bound import Key
from elsinore.sharing.merged import Admission


def rows_at(
    kind: str, keys: Iterable[Key], admission: Admission, columns: EventColumns
) -> np.ndarray:
    """int64 row numbers: the events of a type that carry its equivalence keys and are admitted."""
    rows = columns.rows_of(kind)
    for key in keys:
        if key.equivalence:
            rows = rows[usable_keys(key, columns.column(key.attribute).take(rows))]
    return rows[admitted(admission, columns, rows)]


def admitted(admission: Admission, columns: EventColumns, rows: np.ndarray) -> np.ndarray:
    """bool[len(rows)]: the events that meet an admission."""
    meets, misses = admission
    found = np.ones(rows.size, np.bool_)
    for condition in meets:
        found &= holds(condition, columns, rows)
    for conditions in misses:
        all_hold = np.ones(rows.size, np.bool_)
        for condition in conditions:
            all_hold &= holds(condition, columns, rows)
        found &= ~all_hold
    return found
