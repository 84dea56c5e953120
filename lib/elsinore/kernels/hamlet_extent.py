"""How much of a partition the Hamlet kernels must hold at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import kernel


class Extent(NamedTuple):
    """The most entries of any partition that are together.

    Attributes:
        live: int64[S], by state, within the reach before one of them.
        burst: in a run of one state.
        instant: at one time.
    """

    live: np.ndarray
    burst: int
    instant: int


@kernel
def _measure(offsets, times, states, reach, count, live, out):
    for p in range(offsets.size - 1):
        low = instant = burst = offsets[p]
        for s in range(count.size):
            count[s] = 0
        for entry in range(offsets[p], offsets[p + 1]):
            if times[entry] != times[instant]:
                instant = entry
            if states[entry] != states[burst]:
                burst = entry
            while times[low] <= times[entry] - reach:
                count[states[low]] -= 1
                low += 1
            s = states[entry]
            count[s] += 1
            live[s] = max(live[s], count[s])
            out[0] = max(out[0], entry - burst + 1)
            out[1] = max(out[1], entry - instant + 1)


def measure(
    offsets: np.ndarray, times: np.ndarray, states: np.ndarray, size: int, reach: int
) -> Extent:
    """The extent of partitions, see `hamlet_graph.MergedGraph`, of so many states.

    `reach` is the length of the longest window.
    """
    live, found = np.zeros(size, np.int64), np.zeros(2, np.int64)
    _measure(offsets, times, states, reach, np.zeros(size, np.int64), live, found)
    burst, instant = found.tolist()
    return Extent(live, burst, instant)
