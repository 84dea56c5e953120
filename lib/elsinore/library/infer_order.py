"""Infer which field orders events with equal times: a sequence number, or the order of the file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from elsinore.catalog.stream import RECORD_NUMBER

#: A smaller share of events with equal times is not worth a line of the schema.
_LITTLE = 0.01
#: Names of sequence numbers, compared without case.
_SEQUENCES = frozenset(
    {"seq", "sequence", "seqno", "seq_no", "sequence_number", "offset", "lsn", "ordinal", "line",
     "event_number"}
)  # fmt: skip


def infer_order(times: pa.Array, table: pa.Table, others: list[str]) -> str | None:
    """Return the field that orders events with equal times, or `RECORD_NUMBER` for the file.

    A field fits if its whole numbers are different in all events with equal times, and if it has
    the name of a sequence number or ascends along the file within equal times. The order of the
    file fits if its times never descend.

    Args:
        times: the times of the events in the order of the file.
        table: the events.
        others: the columns that may order them.

    Returns:
        None if few events have equal times, or if nothing orders them.
    """
    if times.null_count or not len(times):
        return None
    instants = times.to_numpy(zero_copy_only=False)
    _, moments, sizes = np.unique(instants, return_inverse=True, return_counts=True)
    tied = np.flatnonzero(sizes[moments] > 1)
    if tied.size <= _LITTLE * len(times):
        return None
    along = tied[np.argsort(moments[tied], kind="stable")]
    fitting = [name for name in others if _fits(name, table[name], moments, along)]
    if fitting:
        return min(fitting, key=lambda name: name.lower() not in _SEQUENCES)
    return RECORD_NUMBER if bool((instants[1:] >= instants[:-1]).all()) else None


def _fits(name: str, column: pa.ChunkedArray, moments: np.ndarray, along: np.ndarray) -> bool:
    """Return whether a column orders the rows `along`, which are by moment and then by place."""
    if not types.is_integer(column.type) or column.type == pa.uint64() or column.null_count:
        return False
    values = pc.cast(column, pa.int64()).to_numpy()[along]
    own = moments[along]
    ordered = np.lexsort((values, own))
    same_moment = own[1:] == own[:-1]
    again = own[ordered], values[ordered]
    if ((again[0][1:] == again[0][:-1]) & (again[1][1:] == again[1][:-1])).any():
        return False
    return name.lower() in _SEQUENCES or bool((values[1:] > values[:-1])[same_moment].all())
