"""Which events of a table meet what a query asks of single events at a state."""

from __future__ import annotations

import numpy as np

from elsinore.engine.columns import EventColumns
from elsinore.engine.evaluate import holds
from elsinore.lowering.merged import Admission


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
