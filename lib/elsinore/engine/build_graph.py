"""Fills the arrays that the propagation kernels read."""

from __future__ import annotations

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import Column, EventColumns, in_one_dictionary
from elsinore.engine.evaluate import evaluate
from elsinore.engine.partitions import Entries
from elsinore.kernels.graph import Graph
from elsinore.lowering.carriers import Carrier, Carriers, Weight
from elsinore.lowering.edge_programs import EdgePrograms
from elsinore.template.template import Template


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
    programs: EdgePrograms,
    carriers: Carriers,
    columns: EventColumns,
    entries: Entries,
) -> tuple[Graph, list[Extremes]]:
    """The graph of a query over its entries; with it the meaning of the extremes' ranks."""
    positions = np.array([position.index for position in template.states])[entries.states]
    extremes = [
        Extremes(*_values(carrier, columns, entries, positions), largest=largest)
        for side, largest in ((carriers.minima, False), (carriers.maxima, True))
        for carrier in side
    ]
    counts = [_count_weights(c, columns, entries, positions) for c in carriers.counts]
    sums = [_sum_weights(c, columns, entries, positions) for c in carriers.sums]
    longs, doubles, known = _slots(programs, columns, entries)
    size = len(template.states)
    transitions = template.transitions
    later = [t.later for t in transitions]
    lengths = [0, *(len(program) for program in programs.programs)]
    steps = [step for program in programs.programs for step in program]
    kept = {t.earlier for t in programs.of_transition}
    graph = Graph(
        times=columns.times[entries.rows],
        states=entries.states,
        transition_start=np.searchsorted(later, np.arange(size + 1)).astype(np.int64),
        transition_from=np.array([t.earlier for t in transitions], np.int64),
        transition_program=np.array(
            [programs.of_transition.get(t, -1) for t in transitions], np.int64
        ),
        program_start=np.cumsum(lengths, dtype=np.int64),
        program=np.array(steps, np.int64).reshape(-1, 2),
        slots_l=longs,
        slots_d=doubles,
        known=known,
        starts=np.isin(np.arange(size), list(template.starts)),
        ends=np.isin(np.arange(size), list(template.ends)),
        kept=np.isin(np.arange(size), list(kept)),
        count_weights=_stack(counts, entries.rows.size, np.int64),
        sum_weights=_stack(sums, entries.rows.size, np.float64),
        ranks=_stack([e.ranks for e in extremes], entries.rows.size, np.int64),
        no_rank=NO_RANK,
    )
    return graph, extremes


def _stack(columns: list[np.ndarray], width: int, kind: type) -> np.ndarray:
    stacked: np.ndarray = np.empty((len(columns), width), kind)
    for row, column in enumerate(columns):
        stacked[row] = column
    return stacked


def _values(
    carrier: Carrier, columns: EventColumns, entries: Entries, positions: np.ndarray
) -> tuple[Column, np.ndarray]:
    """A carrier's attribute at each entry, and where it counts."""
    assert carrier.attribute is not None
    column = columns.column(carrier.attribute).take(entries.rows)
    return column, column.known & np.isin(positions, list(carrier.positions))


def _count_weights(
    carrier: Carrier, columns: EventColumns, entries: Entries, positions: np.ndarray
) -> np.ndarray:
    if carrier.weight is Weight.EVENT:
        return np.isin(positions, list(carrier.positions)).astype(np.int64)
    column, used = _values(carrier, columns, entries, positions)
    return used.astype(np.int64) if carrier.weight is Weight.PRESENT else column.values * used


def _sum_weights(
    carrier: Carrier, columns: EventColumns, entries: Entries, positions: np.ndarray
) -> np.ndarray:
    column, used = _values(carrier, columns, entries, positions)
    return np.where(used, column.values, 0.0)


def _slots(
    programs: EdgePrograms, columns: EventColumns, entries: Entries
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns that edge predicates read, filled at the entries of their states."""
    size = len(programs.slots), entries.rows.size
    longs, doubles = np.zeros(size, np.int64), np.zeros(size, np.float64)
    known = np.zeros(size, np.bool_)
    places = [np.flatnonzero(entries.states == slot.state) for slot in programs.slots]
    found = [
        evaluate(slot.expression, columns, entries.rows[place])
        for slot, place in zip(programs.slots, places, strict=True)
    ]
    alphabets: dict[int, list[int]] = {}
    for number, slot in enumerate(programs.slots):
        if slot.alphabet is not None:
            alphabets.setdefault(slot.alphabet, []).append(number)
    for numbers in alphabets.values():
        recoded = in_one_dictionary([found[number] for number in numbers])
        for number, column in zip(numbers, recoded, strict=True):
            found[number] = column
    for number, (slot, place) in enumerate(zip(programs.slots, places, strict=True)):
        target = doubles if slot.expression.type is AttributeType.DOUBLE else longs
        target[number, place] = found[number].values
        known[number, place] = found[number].known
    return longs, doubles, known
