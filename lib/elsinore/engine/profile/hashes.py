"""Hashes of events by content: the same wherever, and in whatever batch, an event is met."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from elsinore.engine.columns import Column, EventColumns

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mixed(values: np.ndarray) -> np.ndarray:
    """uint64[N]: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        z = values.astype(np.uint64) + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def row_hashes(
    columns: EventColumns, names: Iterable[str], rows: np.ndarray, seed: int
) -> np.ndarray:
    """uint64[len(rows)]: a hash of the named columns; their order matters.

    Args:
        columns: of a table of events.
        names: attributes, or `expressions.TIME`.
        rows: which events.
        seed: another seed gives hashes that have nothing to do with these.
    """
    found = np.full(rows.size, seed, np.uint64)
    for name in names:
        found = mixed(found ^ _hashes(columns.column(name).take(rows)))
    return found


def _hashes(column: Column) -> np.ndarray:
    if column.dictionary is not None:
        texts = np.array(column.dictionary.to_pylist(), object)
        of_texts = pd.util.hash_array(texts, categorize=False) if texts.size else texts
        values = of_texts[column.values] if texts.size else np.zeros(column.values.size, np.uint64)
    elif column.values.dtype == np.float64:
        # All NaN alike; columns hold no negative zero.
        plain = np.where(np.isnan(column.values), np.nan, column.values)
        values = plain.view(np.uint64)
    else:
        values = column.values.astype(np.int64).view(np.uint64)
    return np.where(column.known, mixed(values), np.uint64(0))
