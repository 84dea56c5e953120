"""Numbers for rows by their values, the same in every process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

#: Mixes the hashes of several attributes.
_ODD = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(table: pa.Table, names: Sequence[str]) -> np.ndarray:
    """Return a hash per row of the values of columns, which is the same in every process."""
    hashes = np.zeros(table.num_rows, np.uint64)
    for name in names:
        hashes = hashes * _ODD + _hashes(table[name])
    return hashes


def _hashes(column: pa.ChunkedArray) -> np.ndarray:
    """Return a hash per value, which is the same in every process and for equal values."""
    if pa.types.is_string(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries().combine_chunks()
    if pa.types.is_dictionary(column.type):
        if len(column.dictionary) > len(column):  # a slice shares the dictionary of a large file
            column = column.cast(column.type.value_type).dictionary_encode()
        values = np.append(column.dictionary.to_numpy(zero_copy_only=False), "")
        numbers = pd.util.hash_array(values, categorize=False)
        return np.asarray(numbers[np.asarray(pc.fill_null(column.indices, -1))])
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    zero = pa.scalar(0).cast(column.type)
    plain = np.asarray(pc.fill_null(column, zero).to_numpy(zero_copy_only=False))
    if plain.dtype == np.float64:
        plain = np.where(np.isnan(plain), np.nan, plain + 0.0)  # one NaN, and no -0.0
    return np.asarray(pd.util.hash_array(plain, categorize=False))
