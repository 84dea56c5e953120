"""Measure how much of a partition the Hamlet kernels must hold at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.numbers.compiled import kernel


class Extent(NamedTuple):
    """The largest numbers of entries of any partition that are needed together.

    Attributes:
        live: int64[S], per state, the most entries in a time range of the reach.
        burst: the longest run of entries in one state.
        instant: the most entries at one timestamp.
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
    """Return the extent of partitions.

    Args:
        offsets: int64[P + 1], the first entry of each partition.
        times: int64[N], ascending in each partition.
        states: int32[N], the state of each entry.
        size: the number of states.
        reach: the length of the longest window.
    """
    live, found = np.zeros(size, np.int64), np.zeros(2, np.int64)
    _measure(offsets, times, states, reach, np.zeros(size, np.int64), live, found)
    burst, instant = found.tolist()
    return Extent(live, burst, instant)
