"""Find the events that meet conditions on single events."""

from __future__ import annotations

import numpy as np

from elsinore.executors.input.columns import Column, EventColumns
from elsinore.executors.input.evaluate import work_out
from elsinore.executors.input.exact import exact_values
from elsinore.query import expressions
from elsinore.query.expressions import Applied, BoundExpression, Field
from elsinore.template.placement import Admission


def holds(condition: BoundExpression, columns: EventColumns, rows: np.ndarray) -> np.ndarray:
    """Return bool[len(rows)]: whether a condition is *true* for each event."""
    return EventsAt(columns, rows).holds(condition)


class EventsAt:
    """The events at some rows, whose attributes are read once for all conditions."""

    def __init__(self, columns: EventColumns, rows: np.ndarray) -> None:
        self._columns, self._rows = columns, rows
        self._read: dict[str, Column] = {}

    def admitted(self, admission: Admission) -> np.ndarray:
        """Return bool[len(rows)]: whether each event meets an admission."""
        meets, misses = admission
        found = np.ones(self._rows.size, np.bool_)
        for condition in meets:
            found &= self.holds(condition)
        for conditions in misses:
            all_hold = np.ones(self._rows.size, np.bool_)
            for condition in conditions:
                all_hold &= self.holds(condition)
            found &= ~all_hold
        return found

    def holds(self, condition: BoundExpression) -> np.ndarray:
        """Return bool[len(rows)]: whether a condition is *true* for each event."""
        match condition:
            case Applied(expressions.HAS_VALUE, (value,)):
                return self._has_value(value)
            case Applied("NOT", (Applied(expressions.HAS_VALUE, (value,)),)):
                return ~self._has_value(value)
        truth = work_out(condition, self._column, self._rows.size)
        return truth.values & truth.known

    def _has_value(self, value: BoundExpression) -> np.ndarray:
        assert isinstance(value, Field | Applied)
        source = value.attribute if isinstance(value, Field) else value
        return exact_values(source, self._columns).column.known[self._rows]

    def _column(self, field: Field) -> Column:
        if field.attribute not in self._read:
            self._read[field.attribute] = self._columns.column(field.attribute).take(self._rows)
        return self._read[field.attribute]
