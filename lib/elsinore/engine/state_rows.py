"""Which events may stand at a state of a template."""

from __future__ import annotations

import numpy as np

from elsinore.engine.columns import EventColumns
from elsinore.engine.evaluate import holds
from elsinore.engine.key_codes import usable_keys
from elsinore.query.bound import BoundQuery
from elsinore.template.template import State


def state_rows(query: BoundQuery, state: State, columns: EventColumns) -> np.ndarray:
    """int64 row numbers: by type, local predicates and equivalence keys."""
    rows = columns.rows_of(query.positions[min(state.meets)].type)
    for number in state.keys:
        key = query.keys[number]
        rows = rows[usable_keys(key, columns.column(key.attribute).take(rows))]
    for position in sorted(state.meets):
        rows = rows[_admitted(query, position, columns, rows)]
    for position in sorted(state.misses):
        rows = rows[~_admitted(query, position, columns, rows)]
    return rows


def _admitted(
    query: BoundQuery, position: int, columns: EventColumns, rows: np.ndarray
) -> np.ndarray:
    """bool[len(rows)]: where all local predicates of a position are true."""
    admitted = np.ones(rows.size, np.bool_)
    for predicate in query.local_predicates:
        if predicate.position == position:
            admitted &= holds(predicate.condition, columns, rows)
    return admitted
