"""Arithmetic of int64 columns that tells where it overflows."""

from __future__ import annotations

import numpy as np

from elsinore.kernels.arithmetic import MINUS, PLUS, REMAINDER, TIMES, long_arithmetic
from elsinore.kernels.compiled import kernel

_OPS = {"+": PLUS, "-": MINUS, "*": TIMES, "%": REMAINDER}


@kernel
def _fill(op, left, right, values, fits):
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
