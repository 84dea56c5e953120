"""Prepare entries for kernels: find their windows, and fill the columns of edge predicates."""

from __future__ import annotations

from functools import partial

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.executors.input.columns import EventColumns, in_one_dictionary
from elsinore.executors.input.conditions import Slot
from elsinore.executors.input.evaluate import evaluate
from elsinore.executors.input.kernels.entries import find_spans
from elsinore.executors.row_bound import require_few_windows
from elsinore.query.bound import BoundQuery
from elsinore.timeline import Interval


def spans_of(
    query: BoundQuery, offsets: np.ndarray, times: np.ndarray, owned: Interval | None
) -> np.ndarray:
    """Return the windows that contain an entry as int64[*, 4], see `input.kernels.entries`.

    Args:
        query: the query.
        offsets: int64[P + 1], the first entry of each partition.
        times: int64[N], the time of each entry.
        owned: compute only windows that end in this interval; None for every window.

    Raises:
        QueryError: there are more than `row_bound.MOST_WINDOWS`.
    """
    window, require = query.window, partial(require_few_windows, query)
    bounds = window.owned(owned)
    return find_spans(offsets, times, window.within, window.slide, *bounds, require)


def fill_slots(
    slots: tuple[Slot, ...], columns: EventColumns, rows: np.ndarray, states: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns that programs read, filled at the entries of their states.

    Args:
        slots: the columns, K of them.
        columns: the events.
        rows: int64[N], the event of each entry.
        states: int[N], the state of each entry.

    Returns:
        int64[K, N] and float64[K, N], of which each slot uses one, and bool[K, N], whether a value
        is known.
    """
    size = len(slots), rows.size
    longs, doubles = np.zeros(size, np.int64), np.zeros(size, np.float64)
    known = np.zeros(size, np.bool_)
    chosen = [states == slot.state for slot in slots]
    places = [slice(None) if each.all() else np.flatnonzero(each) for each in chosen]
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
