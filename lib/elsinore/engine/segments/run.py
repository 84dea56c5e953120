"""Runs a segment program over its entries, as many partitions at a time as results have room."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2

import numpy as np

from elsinore.engine.build_graph import NO_RANK
from elsinore.engine.weights import EventWeights
from elsinore.kernels.segments import Found, Lanes, run_steps
from elsinore.kernels.segments_lanes import DIGIT
from elsinore.kernels.segments_steps import EntryColumns, Steps, Weights, fold_steps
from elsinore.kernels.segments_windows import Clock, Final
from elsinore.lowering.chains import Chain
from elsinore.lowering.segments import Lowered
from elsinore.timeline import Interval

#: Result rows to make room for at once, unless one partition alone may have more.
_ROOM = 50_000


def run_segments(
    lowered: Lowered, entries: EntryColumns, weights: EventWeights, owned: Interval | None
) -> Iterator[Found]:
    """The rows of all queries in all windows that end in `owned` (None: in every window)."""
    if not entries.rows.size:
        return
    steps = fold(lowered, entries, weights)
    program = lowered.program._replace(windows=_windows(lowered, owned))
    amounts = np.bincount(entries.symbols, minlength=len(lowered.symbols))
    largest = int(np.diff(entries.offsets).max())
    planes = _planes_needed(lowered.chains, amounts, largest, weights.longs)
    lanes = make_lanes(lowered, planes)
    needed = _rows_needed(lowered, program.windows, steps)
    most = int(max(_ROOM, needed.max()))
    widths = lowered.program.finals[:, [Final.COUNTS, Final.DOUBLES, Final.RANKS]].max(axis=0)
    found = Found(
        np.empty((most, 3), np.int64),
        np.zeros((most, widths[0], planes + 1), np.int64),
        np.zeros((most, widths[1])),
        np.zeros((most, widths[2]), np.int64),
    )
    clocks = np.zeros((program.windows.shape[0], len(Clock)), np.int64)
    copied = np.full(len(lowered.symbols), -1, np.int64)
    first = 0
    while first < needed.size:
        last = first + max(1, int(np.searchsorted(np.cumsum(needed[first:]), most, side="right")))
        size = run_steps(program, lanes, steps, first, last, clocks, copied, found)
        first = last
        if size:
            yield Found(*(column[:size].copy() for column in found))
            for column in found:  # a row has the columns of its query alone
                column[:size] = 0


def fold(lowered: Lowered, entries: EntryColumns, weights: EventWeights) -> Steps:
    """The entries as steps."""
    size, symbols = entries.rows.size, len(lowered.symbols)
    own = Weights(weights.longs, weights.doubles, weights.ranks)
    steps = Steps(
        instants=np.empty(size, np.int64),
        groups=np.empty(size + 1, np.int64),
        group_offsets=np.empty(entries.offsets.size, np.int64),
        symbols=np.empty(size, np.int32),
        counts=np.empty(size, np.int64),
        longs=np.empty((own.longs.shape[0], size), np.int64),
        doubles=np.empty((own.doubles.shape[0], size)),
        ranks=np.empty((own.ranks.shape[0], size), np.int64),
    )
    many, few = fold_steps(
        entries, own,
        lowered.program.windows, lowered.runs,
        np.full(symbols, -1, np.int64), np.zeros(symbols, np.int64), steps,
    )  # fmt: skip
    return steps._replace(
        instants=steps.instants[:many],
        groups=steps.groups[: many + 1],
        symbols=steps.symbols[:few],
        counts=steps.counts[:few],
    )


def _planes_needed(
    chains: list[Chain], symbols: np.ndarray, largest: int, longs: np.ndarray
) -> int:
    """Planes that hold any count of some chains: no more trends than choices of their events.

    Args:
        chains: the queries.
        symbols: int64[Y], number of entries of each symbol.
        largest: entries of the largest partition.
        longs: int64[K, N], the integer weights.
    """
    choices = np.log2(np.minimum(symbols, largest) + 1.0)
    bits = max(float(choices[list(chain.symbols)].sum()) for chain in chains)
    heaviest = max(1.0, float(np.abs(longs.astype(np.float64)).max(initial=1.0)))
    longest = max(len(chain.symbols) for chain in chains)
    return int((bits + log2(heaviest) + log2(longest) + 2) // DIGIT) + 2


def make_lanes(lowered: Lowered, planes: int) -> Lanes:
    """Clear lanes for a program."""
    counts, doubles, ranks = (int(starts[-1]) for starts in lowered.starts)
    rows = lowered.starts[0].size - 1
    return Lanes(
        np.zeros((planes, counts), np.int64),
        np.zeros(doubles),
        np.full(ranks, NO_RANK, np.int64),
        *lowered.starts,
        np.ones(rows, np.int64),
        np.zeros(rows),
    )


def _windows(lowered: Lowered, owned: Interval | None) -> np.ndarray:
    windows = lowered.program.windows.copy()
    for chain in lowered.chains:
        windows[chain.window, 3:] = chain.query.window.owned(owned)
    return windows


def _rows_needed(lowered: Lowered, windows: np.ndarray, steps: Steps) -> np.ndarray:
    """int64[P]: rows that each partition has at most."""
    begin, end = steps.group_offsets[:-1], steps.group_offsets[1:]
    amounts = end - begin
    filled = amounts > 0
    needed = np.zeros(amounts.size, np.int64)
    first = steps.instants[begin[filled]]
    last = steps.instants[end[filled] - 1]
    queries = np.diff(lowered.program.final_starts)
    for (within, slide, lanes, low, high), number in zip(windows.tolist(), queries, strict=True):
        numbers = np.minimum(last // slide, high) - np.maximum((first - within) // slide + 1, low)
        numbers = np.clip(numbers + 1, 0, amounts[filled] * lanes)
        needed[filled] += number * numbers
    return needed
