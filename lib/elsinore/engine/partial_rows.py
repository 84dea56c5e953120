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
    size = totals.spans.shape[0]
    starts = totals.spans[:, 3] * query.window.slide
    values = [
        [_extreme_text(meaning, rank) for rank in totals.rows.ranks[:, number]]
        for number, meaning in enumerate(found.extremes)
    ]
    smallest, largest = values[: len(carriers.minima)], values[len(carriers.minima) :]
    sums = pa.StructArray.from_arrays(
        [pa.array(totals.rows.sums.ravel()), pa.array(totals.rows.exponents.ravel())],
        names=["mantissa", "exponent"],
    )
    columns = [
        pa.array([query.name] * size, pa.string()),
        pa.array([found.entries.groups[owner] for owner in totals.spans[:, 2]], pa.string()),
        pa.array(starts, pa.int64()),
        pa.array(starts + query.window.within, pa.int64()),
        _lists(pa.array(digits(totals.rows.counts), pa.string()), size),
        _lists(sums, size),
        _lists(_by_row(smallest), size),
        _lists(_by_row(largest), size),
    ]
    return pa.Table.from_arrays(columns, schema=PARTIAL_SCHEMA)


def _lists(flat: pa.Array, size: int) -> pa.ListArray:
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


def _extreme_text(meaning: Extremes, rank: int) -> str | None:
    value = meaning.value(rank)
    return None if value is None else encode_extreme(value)
