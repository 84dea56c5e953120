"""The columns that pair programs read, as the kernels want them."""

from __future__ import annotations

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import EventColumns, in_one_dictionary
from elsinore.engine.evaluate import evaluate
from elsinore.lowering.conditions import Slot


def stack_rows(columns: list[np.ndarray], width: int, kind: type) -> np.ndarray:
    """Columns of `width` values as the rows of one array, also where there is none."""
    stacked: np.ndarray = np.empty((len(columns), width), kind)
    for row, column in enumerate(columns):
        stacked[row] = column
    return stacked


def fill_slots(
    slots: tuple[Slot, ...], columns: EventColumns, rows: np.ndarray, states: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns that programs read, filled at the entries of their states.

    Args:
        slots: K of them.
        columns: the events.
        rows: int64[N], the event of each entry.
        states: int[N], the state of each entry.

    Returns:
        int64[K, N] and float64[K, N], of which a slot uses one, and bool[K, N]: what is known.
    """
    size = len(slots), rows.size
    longs, doubles = np.zeros(size, np.int64), np.zeros(size, np.float64)
    known = np.zeros(size, np.bool_)
    places = [np.flatnonzero(states == slot.state) for slot in slots]
    found = [
        evaluate(slot.expression, columns, rows[place])
        for slot, place in zip(slots, places, strict=True)
    ]
    texts = [n for n, slot in enumerate(slots) if slot.expression.type is AttributeType.STRING]
    recoded = in_one_dictionary([found[number] for number in texts]) if texts else []
    for number, column in zip(texts, recoded, strict=True):
        found[number] = column
    for number, (slot, place) in enumerate(zip(slots, places, strict=True)):
        target = doubles if slot.expression.type is AttributeType.DOUBLE else longs
        target[number, place] = found[number].values
        known[number, place] = found[number].known
    return longs, doubles, known
