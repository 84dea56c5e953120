"""The totals of windows as partial rows, which merge over partitions and tasks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from elsinore.engine.build_graph import Extremes
from elsinore.engine.climb import Totals
from elsinore.engine.run_template import Propagated
from elsinore.lowering.carriers import Carriers
from elsinore.query.bound import BoundQuery
from elsinore.results.partial import PARTIAL_SCHEMA, encode_extreme


def partial_rows(query: BoundQuery, carriers: Carriers, found: Propagated) -> list[pa.Table]:
    """Rows of `results.partial`, a table for each width of counts."""
    return [_rows(query, carriers, found, totals) for totals in found.rungs]


def _rows(query: BoundQuery, carriers: Carriers, found: Propagated, totals: Totals) -> pa.Table:
    values = [
        extreme_texts(meaning, totals.rows.ranks[:, number])
        for number, meaning in enumerate(found.extremes)
    ]
    return partial_table(
        query,
        pa.array([found.entries.groups[owner] for owner in totals.spans[:, 2]], pa.string()),
        totals.spans[:, 3],
        pa.array(digits(totals.rows.counts), pa.string()),
        (totals.rows.sums, totals.rows.exponents),
        (values[: len(carriers.minima)], values[len(carriers.minima) :]),
    )


def partial_table(
    query: BoundQuery,
    groups: pa.Array,
    windows: np.ndarray,
    counts: pa.Array,
    sums: tuple[np.ndarray, np.ndarray],
    extremes: tuple[list[list[str | None]], list[list[str | None]]],
) -> pa.Table:
    """R rows of `results.partial` of one query.

    Args:
        query: the query.
        groups: R texts, the group of each row.
        windows: int64[R], the number of each row's window.
        counts: texts of the exact carriers, row by row.
        sums: float64[R, M] and int64[R, M]: mantissas and exponents.
        extremes: for each minimum, then for each maximum, the texts of R rows.
    """
    size = len(groups)
    starts = windows * query.window.slide
    scaled = [pa.array(column.ravel()) for column in sums]
    columns = [
        pa.array([query.name] * size, pa.string()),
        groups,
        pa.array(starts, pa.int64()),
        pa.array(starts + query.window.within, pa.int64()),
        lists_of(counts, size),
        lists_of(pa.StructArray.from_arrays(scaled, names=["mantissa", "exponent"]), size),
        *(lists_of(_by_row(side), size) for side in extremes),
    ]
    return pa.Table.from_arrays(columns, schema=PARTIAL_SCHEMA)


def lists_of(flat: pa.Array, size: int) -> pa.ListArray:
    """`size` lists of equal length out of one array."""
    length = len(flat) // size if size else 0
    offsets = pa.array(np.arange(size + 1, dtype=np.int32) * length, pa.int32())
    return pa.ListArray.from_arrays(offsets, flat)


def digits(counts: np.ndarray) -> list[str]:
    """Exact integers as decimal text, row by row."""
    if counts.ndim == 2:
        return [str(count) for count in counts.ravel().tolist()]
    wide = counts.reshape(-1, counts.shape[2])
    return [str(int.from_bytes(limbs.tobytes(), "little", signed=True)) for limbs in wide]


def _by_row(columns: list[list[str | None]]) -> pa.Array:
    return pa.array([text for row in zip(*columns, strict=True) for text in row], pa.string())


def extreme_texts(meaning: Extremes, ranks: np.ndarray) -> list[str | None]:
    """The values of ranks; None for "no value"."""
    values = [meaning.value(rank) for rank in ranks]
    return [None if value is None else encode_extreme(value) for value in values]
