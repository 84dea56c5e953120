"""Sweep overlapping windows pane by pane, if this is predicted to cost less."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elsinore.executors.input.weights import NO_RANK
from elsinore.executors.linear.kernels.sweep_panes import (
    Panes,
    Stacks,
    find_panes,
    slide_panes,
    sweep_panes,
)
from elsinore.executors.linear.kernels.sweep_program import Events, WindowRun, make_work
from elsinore.executors.linear.run import Swept, joined, make_found, take_rows
from elsinore.executors.linear.sweep_sets import Member
from elsinore.executors.linear.sweep_tables import Lowered
from elsinore.executors.row_bound import RowBound
from elsinore.windows import Window

#: Measured nanoseconds per event, per cell of an event, per window, and per query in a window.
_EVENT, _CELL, _WINDOW, _ROW = 8.0, 0.1, 126.0, 1.2
#: Per pane, per operation on a run of cells, per cell of a product, and per query in a window.
_PANE, _RUN, _TERM, _LAST = 120.0, 3.5, 2.0, 45.0
#: Per cell of a product, to build the tables. They are cached, but often used only once.
_WRITTEN = 1e5
#: Maximum number of bytes of the matrices of all panes.
_LARGEST = 2**30


def cheaper_by_panes(
    members: Sequence[Member],
    window: Window,
    runs: np.ndarray,
    times: np.ndarray,
    asked: bool | None,
) -> bool:
    """Return whether to sweep runs of windows by panes.

    Panes are possible only if windows overlap and the queries return only COUNT(*).

    Args:
        members: the queries, which have the same window clause.
        window: the window clause.
        runs: int64[*, 5], see `executors.linear.kernels.sweep_program.WindowRun`.
        times: int64[N], the times of the entries.
        asked: the answer if panes are possible; None: use them if predicted to cost less.
    """
    if window.slide >= window.within or any(any(m.accumulators.weighed) for m in members):
        return False
    if asked is not None:
        return asked
    first, after = runs[:, WindowRun.FIRST], runs[:, WindowRun.END]
    length, entries = window.pane(), float((after - first).sum())
    spans = times[after - 1] // length - times[first] // length + 1
    panes = float(np.minimum(spans, after - first).sum())
    window_by_window, by_panes = pane_costs(members, window, entries, panes, runs.shape[0])
    return by_panes < window_by_window


def pane_costs(
    members: Sequence[Member], window: Window, entries: float, panes: float, partitions: int
) -> tuple[float, float]:
    """Return the predicted nanoseconds window by window, and by panes.

    Args:
        members: the queries.
        window: their window clause.
        entries: number of entries.
        panes: number of panes that have entries.
        partitions: number of runs of windows.
    """
    counts = [len(m.states) for m in members]
    rows = [[len(m.states)] + [len(Member(m.query, m.template, s).states)
            for s in m.states] for m in members]  # fmt: skip
    cells = sum(map(sum, rows))
    terms = sum(size * sum(more) for size, more in zip(counts, rows, strict=True))
    runs = max(map(len, rows), default=0) ** 2 + terms / 4  # the latter for queries that differ
    product = _RUN * runs + _TERM * terms
    if panes * cells * 8 > _LARGEST or panes < 2 * partitions:
        return 0.0, np.inf
    overlap = window.within / window.slide
    windows = panes * window.pane() / window.slide + partitions * overlap
    window_by_window = overlap * entries * (_EVENT + _CELL * sum(counts))
    return (
        window_by_window + windows * (_WINDOW + _ROW * len(members)),
        _WRITTEN * terms
        + entries * (_EVENT + _CELL * cells)
        + panes * (_PANE + 2 * product)
        + windows * _LAST * len(members),
    )


def run_panes(
    lowered: Lowered, events: Events, runs: np.ndarray, window: Window, bound: RowBound
) -> Swept:
    """Sweep all windows of some runs as products of panes; `bound` counts the rows."""
    program, products = lowered.panes.tables.program, lowered.panes.products
    work, found = make_work(program, events), make_found(lowered.tables.program)
    length, size = window.pane(), products.unit.size
    spread, step = window.within // length, window.slide // length
    parts = []
    for run in runs:
        low, high = int(run[WindowRun.FIRST]), int(run[WindowRun.END])
        panes = _panes(events, low, high, length, size)
        stacks = _stacks(min(spread, panes.numbers.size), size)
        sweep_panes(program, events, products, panes, high, work, NO_RANK)
        while not slide_panes(products, panes, run, spread, step, stacks, found):
            parts.append(take_rows(found))
            bound.add(parts[-1].rows.owners)
    return joined([*parts, take_rows(found)])


def _stacks(panes: int, cells: int) -> Stacks:
    return Stacks(
        np.zeros((panes, cells), np.int64),
        np.zeros(panes, np.bool_),
        np.zeros(cells, np.int64),
        np.zeros(cells, np.int64),
    )


def _panes(events: Events, low: int, high: int, length: int, cells: int) -> Panes:
    """Return the panes of a run of windows, with empty matrices."""
    numbers, firsts = np.empty(high - low, np.int64), np.empty(high - low, np.int64)
    count = find_panes(events.times, low, high, length, numbers, firsts)
    return Panes(
        numbers[:count].copy(),
        firsts[:count].copy(),
        np.zeros((count, cells), np.int64),
        np.zeros(count, np.bool_),
    )
