"""Lanes of segment programs: rows of counts side by side, as wide as each row needs.

Counts stand in planes of an int64[planes, lanes] array: the value of a lane is the sum of
`plane[p] * 2**(28 p)` over the planes that its row has taken so far. Additions do not carry, so
that they are plain vector additions; a row is settled (carried over, and given one more plane where
need be) when a bound on its lanes, kept as one number a row, says that a lane might wrap.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.sweep_numbers import HALF, trim

#: Bits of each plane but a row's last.
DIGIT = HALF
_BASE = 2.0**DIGIT
_MASK = 2**DIGIT - 1

#: No lane of any plane comes to this.
LIMIT = 2.0**62

#: What a settled row's last plane stays below.
_TALL = 2**56


@outlined
def settle(counts, starts, limbs, bounds, row, tall):
    """Carry a row over, so that its bound is true again; see `segments.Lanes` for the arrays.

    A last plane with a lane larger than `tall` is carried into one more plane, if there is one.
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
        counts[top + 1, low:high] = 0  # a row of scratch may have left something there
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
    """Settle rows until `target += factor * source` fits; the bound of what is added.

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
    """`target lanes += factor * source lanes`, of one plane each.

    Indices are unsigned: a signed one may count from the end, and the loop is then not vectorised
    (1.9 ns a lane against 0.15).
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
    """`target lanes += weight * source lanes`; the weight is taken apart into digits."""
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
    """Whether a lane counts anything."""
    for plane in range(limbs):  # noqa: SIM110 (numba compiles the loop, not any())
        if counts[plane, lane] != 0:
            return True
    return False


@inlined
def as_double(counts, lane, limbs):
    """A lane as the nearest doubles add up to."""
    value = 0.0
    for plane in range(limbs - 1, -1, -1):
        value = value * _BASE + np.float64(counts[plane, lane])
    return value


def digits_for(planes: int) -> int:
    """Digits of `sweep_numbers` that hold the sum of any lanes of so many planes."""
    return (planes + 3) // 2 + 1


@inlined
def add_up(counts, base, limbs, lanes, first, last, number):
    """Write the sum of lanes to a clear number (`sweep_numbers`), two planes to a digit.

    A column has `lanes` lanes from `base` on, and window w the lane `w % lanes`; windows `first` to
    `last` are added up, of `limbs` planes. The digits of `number` are told by `digits_for`.
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
