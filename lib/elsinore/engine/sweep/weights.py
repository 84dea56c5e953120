"""The columns of weights that a sweep reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.engine.build_graph import Extremes
from elsinore.engine.columns import Column, EventColumns
from elsinore.engine.slots import stack_rows
from elsinore.engine.sweep.entries import Entries
from elsinore.lowering.carriers import Weight
from elsinore.lowering.sweep_tables import Columns


@dataclass(frozen=True)
class Weights:
    """Columns by number, of N entries.

    Attributes:
        longs: int64[*, N], without column 0; doubles: float64[*, N]; ranks: int64[*, N].
        extremes: the meaning of the ranks, by (attribute, whether the largest).
    """

    longs: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray
    extremes: dict[tuple[str | None, bool], Extremes]


def weigh_entries(asked: Columns, entries: Entries, columns: EventColumns) -> Weights:
    """The weights that some tables ask for."""
    size = entries.times.size

    def read(name: str | None) -> Column:
        assert name is not None
        column = columns.column(name)
        return column if entries.rows is None else column.take(entries.rows)

    longs = []
    for weight, name in list(asked.longs)[1:]:
        column = read(name)
        known = column.known
        longs.append(known.astype(np.int64) if weight is Weight.PRESENT else column.values * known)
    doubles = []
    for name in asked.doubles:
        column = read(name)
        doubles.append(np.where(column.known, column.values, 0.0))
    extremes = {}
    for name, largest in asked.ranks:
        column = read(name)
        extremes[name, largest] = Extremes(column, column.known, largest=largest)
    return Weights(
        stack_rows(longs, size, np.int64),
        stack_rows(doubles, size, np.float64),
        stack_rows([extreme.ranks for extreme in extremes.values()], size, np.int64),
        extremes,
    )
