"""Fills the arrays that the propagation kernels read."""

from __future__ import annotations

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import Column, EventColumns, in_one_dictionary
from elsinore.engine.evaluate import evaluate
from elsinore.engine.partitions import Entries
from elsinore.kernels.graph import Graph
from elsinore.lowering.carriers import Carrier, Carriers, Weight
from elsinore.lowering.conditions import Slot
from elsinore.lowering.layout import Layout
from elsinore.template.template import State, Template


class Extremes:
    """Values of MIN and MAX carriers as ranks, smaller for more extreme, and back again.

    NaN ranks behind every number, so it is an extreme only where nothing else is.
    """

    def __init__(self, column: Column, used: np.ndarray, *, largest: bool) -> None:
        distinct, ranks = np.unique(column.values[used], return_inverse=True)
        numbers = int(np.count_nonzero(distinct == distinct))
        if largest:
            distinct[:numbers] = distinct[:numbers][::-1].copy()
            ranks = np.where(ranks < numbers, numbers - 1 - ranks, ranks)
        self.distinct = distinct
        self.ranks = np.full(used.size, np.iinfo(np.int64).max, np.int64)
        self.ranks[used] = ranks

    def value(self, rank: int) -> int | float | None:
        """The value of a rank; None for "no value"."""
        return self.distinct[rank].item() if rank < self.distinct.size else None


NO_RANK = int(np.iinfo(np.int64).max)


def build_graph(
    template: Template,
    layout: Layout,
    carriers: Carriers,
    columns: EventColumns,
    entries: Entries,
    last_events: np.ndarray,
) -> tuple[Graph, list[Extremes]]:
    """The graph of a template over its entries; with it the meaning of the extremes' ranks.

    `last_events` is int64[N] where a floor is contiguous, else empty.
    """
    extremes = [
        Extremes(*_values(carrier, template, columns, entries), largest=largest)
        for side, largest in ((carriers.minima, False), (carriers.maxima, True))
        for carrier in side
    ]
    counts = [_count_weights(c, template, columns, entries) for c in carriers.counts]
    sums = [_sum_weights(c, template, columns, entries) for c in carriers.sums]
    longs, doubles, known = fill_slots(layout.slots, columns, entries.rows, entries.states)
    graph = Graph(
        times=columns.times[entries.rows],
        states=entries.states,
        slots_l=longs,
        slots_d=doubles,
        known=known,
        count_weights=stack_rows(counts, entries.rows.size, np.int64),
        sum_weights=stack_rows(sums, entries.rows.size, np.float64),
        ranks=stack_rows([e.ranks for e in extremes], entries.rows.size, np.int64),
        no_rank=NO_RANK,
        base=last_events,
        **layout.arrays,
    )
    return graph, extremes


def _counts_at(carrier: Carrier, state: State) -> bool:
    """Whether a carrier counts the events at a state; a state's positions agree in that."""
    return state.positions <= carrier.positions


def _counted(carrier: Carrier, template: Template, entries: Entries) -> np.ndarray:
    """bool[N]: the entries that a carrier counts."""
    counting = np.array([_counts_at(carrier, state) for state in template.states], np.bool_)
    return counting[entries.states]


def _values(
    carrier: Carrier, template: Template, columns: EventColumns, entries: Entries
) -> tuple[Column, np.ndarray]:
    """A carrier's attribute at each entry, and where it counts."""
    assert carrier.attribute is not None
    column = columns.column(carrier.attribute).take(entries.rows)
    return column, column.known & _counted(carrier, template, entries)


def _count_weights(
    carrier: Carrier, template: Template, columns: EventColumns, entries: Entries
) -> np.ndarray:
    if carrier.weight is Weight.EVENT:
        return _counted(carrier, template, entries).astype(np.int64)
    column, used = _values(carrier, template, columns, entries)
    return used.astype(np.int64) if carrier.weight is Weight.PRESENT else column.values * used


def _sum_weights(
    carrier: Carrier, template: Template, columns: EventColumns, entries: Entries
) -> np.ndarray:
    column, used = _values(carrier, template, columns, entries)
    return np.where(used, column.values, 0.0)


# ---- the columns that pair programs read, as the kernels want them


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
