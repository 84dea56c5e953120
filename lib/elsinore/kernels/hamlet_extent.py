"""How much of a partition the Hamlet kernels must hold at once."""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import kernel


@kernel
def _measure(offsets, times, states, reach, out):  # type: ignore[no-untyped-def]
    for p in range(offsets.size - 1):
        low = instant = burst = offsets[p]
        for entry in range(offsets[p], offsets[p + 1]):
            if times[entry] != times[instant]:
                instant = entry
            if states[entry] != states[burst]:
                burst = entry
            while times[low] <= times[entry] - reach:
                low += 1
            out[0] = max(out[0], entry - low + 1)
            out[1] = max(out[1], entry - burst + 1)
            out[2] = max(out[2], entry - instant + 1)


def measure(
    offsets: np.ndarray, times: np.ndarray, states: np.ndarray, reach: int
) -> tuple[int, int, int]:
    """The most entries within `reach` before one, in a run of one state, and at one instant."""
    found = np.zeros(3, np.int64)
    _measure(offsets, times, states, reach, found)
    live, burst, instant = found.tolist()
    return live, burst, instant
