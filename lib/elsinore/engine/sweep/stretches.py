"""Which windows of which partitions are swept, in pieces that can be swept side by side."""

from __future__ import annotations

import numpy as np

from elsinore.engine.sweep.entries import Entries
from elsinore.timeline import Interval
from elsinore.windows import Window


def make_stretches(
    entries: Entries, window: Window, owned: Interval | None, pieces: int
) -> list[np.ndarray]:
    """int64[*, 5] for each of about `pieces` pieces of equal numbers of entries.

    Columns are those of `kernels.sweep.sweep`. A partition that is larger than a piece is parted
    between windows.
    """
    first, last = _numbers(window, owned)
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


def _numbers(window: Window, owned: Interval | None) -> tuple[int, int]:
    if owned is None:
        whole = np.iinfo(np.int64)
        return int(whole.min), int(whole.max)
    numbers = window.ending_in(owned)
    return numbers.start, numbers.stop - 1


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
