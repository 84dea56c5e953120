"""Products of wide integers and short factors."""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import outlined
from elsinore.kernels.wide import multiply

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ROOM = 2.0**61


@outlined
def multiply_wide(target, source, factor):
    """`target = source * factor`, uint64[L] in two's complement; True if it may need more limbs.

    `factor` is not negative. Modulo `2**(64 L)` the signs need no care; whether the product fits is
    judged by the top limb.
    """
    size = source.size
    short = np.uint64(factor)
    carry = _ZERO
    for i in range(size):
        high, low = multiply(source[i], short)
        total = low + carry
        carry = high + (_ONE if total < low else _ZERO)
        target[i] = total
    top = np.float64(np.int64(source[size - 1]))
    return (abs(top) + 1.0) * np.float64(factor) > _ROOM
