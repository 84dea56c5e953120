"""Arithmetic of int64 columns that tells where it overflows."""

from __future__ import annotations

import numpy as np
from numba import njit

from elsinore.kernels.pair_program import Op, long_arithmetic

_OPS = {
    "+": int(Op.ADD_L),
    "-": int(Op.SUBTRACT_L),
    "*": int(Op.MULTIPLY_L),
    "%": int(Op.REMAINDER_L),
}


@njit(cache=True)
def _fill(op, left, right, values, fits):  # type: ignore[no-untyped-def]
    for i in range(values.size):
        values[i], fits[i] = long_arithmetic(op, left[i], right[i])


def long_columns(
    operator: str, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`(int64[N], bool[N])`: results of `+ - * %` and where they are the true ones."""
    values = np.empty(left.size, np.int64)
    fits = np.empty(left.size, np.bool_)
    _fill(_OPS[operator], left, right, values, fits)
    return values, fits
