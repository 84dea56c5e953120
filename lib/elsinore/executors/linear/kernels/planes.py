"""Lanes of segment programs: rows of counts, each as wide as it needs.

Counts are stored in planes of an int64[planes, lanes] array. The value of a lane is the sum of
`plane[p] * 2**(28 p)` over the planes that its row uses. Additions do not carry, so they are plain
vector additions. Each row has one number as a bound on its lanes. When the bound shows that a lane
could wrap, the row is settled: it is carried over, and gets one more plane if it needs one.
"""

from __future__ import annotations

import numpy as np

from elsinore.executors.linear.kernels.digits import HALF, trim
from elsinore.numbers.compiled import inlined, outlined

#: Bits of each plane except a row's last.
DIGIT = HALF
_BASE = 2.0**DIGIT
_MASK = 2**DIGIT - 1

#: Each lane of each plane stays below this.
LIMIT = 2.0**62

#: The last plane of a settled row stays below this.
_TALL = 2**56


@outlined
def settle(counts, starts, limbs, bounds, row, tall):
    """Carry a row over and set its bound; see `segments.Lanes` for the arrays.

    If a lane of the last plane is not below `tall`, it is carried into one more plane, if there is
    one.
    """
    low, high = starts[row], starts[row + 1]
    top = limbs[row] - 1
    for plane in range(top):
        _carry(counts, plane, low, high)
    while True:
        largest, at = 0, np.uintp(top)
        for lane in range(np.uintp(low), np.uintp(high)):
            largest = max(largest, abs(counts[at, lane]))
        if largest < tall or top + 1 == counts.shape[0]:
            break
        counts[top + 1, low:high] = 0  # a row of scratch may have written there
        _carry(counts, top, low, high)
        top += 1
    limbs[row] = top + 1
    bounds[row] = np.float64(largest) if top == 0 else max(np.float64(largest), _BASE)


@inlined
def _carry(counts, plane, low, high):
    at, above = np.uintp(plane), np.uintp(plane + 1)
    for lane in range(np.uintp(low), np.uintp(high)):
        carried = counts[at, lane] >> DIGIT
        counts[at, lane] -= carried << DIGIT
        counts[above, lane] += carried


@outlined
def make_room(counts, starts, limbs, bounds, target, source, factor):
    """Settle rows until `target += factor * source` fits; return the bound of the added lanes.

    `factor` is below 2**30 in magnitude.
    """
    added = bounds[source] * factor
    if added >= LIMIT / 2:
        settle(counts, starts, limbs, bounds, source, _TALL)
        added = bounds[source] * factor
        if added >= LIMIT / 2:
            settle(counts, starts, limbs, bounds, source, _MASK)
            added = bounds[source] * factor
    if bounds[target] + added >= LIMIT:
        settle(counts, starts, limbs, bounds, target, _TALL)
    return added


@inlined
def add_plane(counts, to_plane, target, plane, source, width, factor):
    """Add `factor` times `width` lanes of one plane to lanes of another plane.

    Indices are unsigned. A signed index can count from the end, so the compiler would not vectorize
    the loop (1.9 ns per lane instead of 0.15).
    """
    up, at = np.uintp(to_plane), np.uintp(plane)
    to, origin, size = np.uintp(target), np.uintp(source), np.uintp(width)
    if factor == 1:
        for lane in range(size):
            counts[up, to + lane] += counts[at, origin + lane]
    else:
        for lane in range(size):
            counts[up, to + lane] += factor * counts[at, origin + lane]


@outlined
def weigh_lanes(
    counts, starts, limbs, bounds, target_row, source_row, target, source, width, weight
):
    """Add `weight` times source lanes to target lanes; the weight is split into digits."""
    digit = 0
    while True:
        small = -(2**DIGIT) < weight < 2**DIGIT
        factor = weight if small else weight & _MASK
        size = np.float64(abs(factor))
        bounds[target_row] += make_room(counts, starts, limbs, bounds, target_row, source_row, size)
        taken = limbs[source_row]
        for plane in range(min(taken, counts.shape[0] - digit)):
            add_plane(counts, plane + digit, target, plane, source, width, factor)
        limbs[target_row] = max(limbs[target_row], min(taken + digit, counts.shape[0]))
        if small:
            return
        weight >>= DIGIT
        digit += 1


@inlined
def any_trend(counts, lane, limbs):
    """Return whether a lane is not 0."""
    for plane in range(limbs):  # noqa: SIM110 (numba compiles the loop, not any())
        if counts[plane, lane] != 0:
            return True
    return False


@inlined
def as_double(counts, lane, limbs):
    """Return a lane as a double, added up from its planes."""
    value = 0.0
    for plane in range(limbs - 1, -1, -1):
        value = value * _BASE + np.float64(counts[plane, lane])
    return value


def digits_for(planes: int) -> int:
    """Return the digits of `digits` that hold the sum of any lanes of `planes` planes."""
    return (planes + 3) // 2 + 1


@inlined
def add_up(counts, base, limbs, lanes, first, last, number):
    """Write the sum of lanes to a clear number (`digits`), two planes to a digit.

    A column has `lanes` lanes from index `base`, and window w has lane `w % lanes`. The sum is over
    windows `first` to `last`, with `limbs` planes. `digits_for` gives the size of `number`.
    """
    carried = np.int64(0)
    for plane in range(limbs + 3):
        low, high = carried, np.int64(0)
        if plane < limbs:
            for begun in range(first, last + 1):
                value = counts[plane, base + begun % lanes]
                low += value & _MASK
                high += value >> DIGIT
        carried = high + (low >> DIGIT)
        number[1 + plane // 2] += (low & _MASK) << DIGIT * (plane % 2)
    top = limbs + 3
    number[1 + top // 2] += carried << DIGIT * (top % 2)
    trim(number, number.size - 1)
