"""Numbers of an Arrow column as NumPy sees them, without a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class _Memory:
    """The memory of an Arrow array, as NumPy's array interface asks for it."""

    array: pa.Array
    __array_interface__: dict[str, Any]


def plain_values(column: pa.ChunkedArray, kind: type[np.generic]) -> np.ndarray:
    """The values of a column without NULL, of the type `kind`.

    Arrow's own view is read-only, of which kernels would have to be compiled once more; nothing
    writes to this one.
    """
    if column.num_chunks != 1:
        return np.asarray(column).astype(kind)
    chunk = column.chunk(0)
    size = np.dtype(kind).itemsize
    if not len(chunk) or chunk.type.bit_width != 8 * size:
        return np.asarray(chunk).astype(kind)
    address = chunk.buffers()[1].address + chunk.offset * size
    shape = {"shape": (len(chunk),), "typestr": np.dtype(kind).str}
    return np.asarray(_Memory(chunk, {**shape, "data": (address, False), "version": 3}))
