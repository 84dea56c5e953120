"""Parts a stream into pieces, and sweeps these side by side, each in the way that costs less."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from elsinore.engine.sweep.entries import Entries
from elsinore.engine.sweep.panes import can_use_panes, predict_panes, run_panes
from elsinore.engine.sweep.run import Swept, joined, run_sweep
from elsinore.kernels.sweep_program import Events, Stretch
from elsinore.lowering.sweep_tables import Lowered
from elsinore.timeline import Interval
from elsinore.windows import Window


def make_stretches(
    entries: Entries, window: Window, owned: Interval | None, pieces: int
) -> list[np.ndarray]:
    """Which windows of which partitions are swept: about `pieces` pieces of equally many entries.

    Each is int64[*, 5] with the columns of `kernels.sweep.sweep`. A partition that is larger than a
    piece is parted between windows.
    """
    first, last = window.owned(owned)
    offsets = entries.offsets
    sizes = np.diff(offsets)
    filled = np.flatnonzero(sizes)
    rows = np.empty((filled.size, 5), np.int64)
    rows[:, 0], rows[:, 1] = offsets[filled], offsets[filled + 1]
    rows[:, 2], rows[:, 3], rows[:, 4] = filled, first, last
    total = int(offsets[-1])
    if pieces < 2 or not total:
        return [rows] if filled.size else []
    borders = [total * n // pieces for n in range(1, pieces)]
    parted = _parted(rows, entries.times, window, borders)
    place = (parted[:, 0] + parted[:, 1]) // 2 * pieces // total
    return [parted[place == n] for n in range(pieces) if (place == n).any()]


def _parted(rows: np.ndarray, times: np.ndarray, window: Window, borders: list[int]) -> np.ndarray:
    """The stretches, cut at the windows that begin after some entries."""
    found = []
    for border in borders:
        inside = np.flatnonzero((rows[:, 0] < border) & (border < rows[:, 1]))
        for n in inside:
            low, high, partition, first, last = rows[n].tolist()
            number = int(times[border]) // window.slide + 1
            if not first < number <= last:
                continue
            start = low + int(np.searchsorted(times[low:high], number * window.slide))
            end = low + int(
                np.searchsorted(times[low:high], (number - 1) * window.slide + window.within)
            )
            found.append([low, max(end, low), partition, first, number - 1])
            rows[n, 0], rows[n, 3] = start, number
    if not found:
        return rows
    parts = np.concatenate([rows, np.array(found, np.int64)])
    return parts[parts[:, 0] < parts[:, 1]]


def sweep_pieces(
    lowered: Lowered,
    events: Events,
    pieces: list[np.ndarray],
    window: Window,
    panes: bool | None,
) -> Iterator[Swept]:
    """Sweep pieces, each in a thread of its own."""

    def run(stretches: np.ndarray) -> Swept:
        if not _by_panes(lowered, events, stretches, window, panes):
            return run_sweep(lowered.tables, events, stretches, window)
        found = run_panes(lowered.panes, lowered.tables.program, events, stretches, window)
        # A product that may not fit 64 bits says little of the sum that it is part of.
        columns = *found.outgrown.T, found.outgrown[:, Stretch.NUMBER]  # the last window, too
        once_more = np.stack(columns, axis=1)
        again = run_sweep(lowered.tables, events, once_more, window)
        return Swept(joined([found.rows, again.rows]), again.outgrown)

    if len(pieces) == 1:
        yield run(pieces[0])
    elif pieces:
        with ThreadPoolExecutor(len(pieces)) as pool:
            yield from pool.map(run, pieces)


def _by_panes(
    lowered: Lowered,
    events: Events,
    stretches: np.ndarray,
    window: Window,
    panes: bool | None,
) -> bool:
    if window.slide >= window.within or not can_use_panes(lowered.members):
        return False
    if panes is not None:
        return panes
    costs = predict_panes(lowered.members, window, stretches, events.times)
    return costs.by_panes < costs.window_by_window
