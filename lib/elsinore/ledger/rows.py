"""Rows of the ledger: the states of hours, and how to make rows from columns."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import EngineError
from elsinore.store.tables import TableSchema
from elsinore.timeline import HOUR, Interval

#: First instants of hours, in microseconds since 1970; or other integers.
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: The format of hours in tables, which sorts by time.
_LABEL = "%Y-%m-%dT%H"

#: Columns that `Ledger.append` sets.
SET_BY_APPEND = ("version", "time")


class State(StrEnum):
    """States of an hour. Rows of one commit count as done in this order."""

    PLANNED = "planned"  #: a run was asked for its results
    INGESTED = "ingested"  #: its files are in raw_events
    REFRESHED = "refreshed"  #: events of this hour changed
    REMOVED = "removed"  #: events of this hour were deleted after their retention period
    AGGREGATED = "aggregated"  #: results are staged
    VALIDATED = "validated"  #: the sample of the staged results passed
    PUBLISHED = "published"  #: results are published
    FAILED = "failed"  #: a step failed


#: States that belong to the stream, whatever the workload.
OF_STREAM = (State.INGESTED, State.REFRESHED, State.REMOVED)


def labels(hours: Longs) -> pa.Array:
    """Return hours as they are stored.

    >>> labels(np.array([0, 3_600_000_000])).to_pylist()
    ['1970-01-01T00', '1970-01-01T01']
    """
    return pc.strftime(pa.array(hours, pa.timestamp("us")), format=_LABEL)


def hours_from(stored: pa.Array | pa.ChunkedArray) -> Longs:
    """Return the first instants of stored hours.

    >>> hours_from(pa.array(["1970-01-01T01"])).tolist()
    [3600000000]
    """
    # Rows of a year have few distinct hours, and parsing is the slow part.
    found = stored.combine_chunks() if isinstance(stored, pa.ChunkedArray) else stored
    coded = found if pa.types.is_dictionary(found.type) else found.dictionary_encode()
    texts = coded.dictionary.cast(pa.string())
    parsed = pc.strptime(texts, format=_LABEL, unit="us").cast(pa.int64())
    return longs(parsed)[longs(coded.indices.cast(pa.int64()))]


def longs(column: pa.Array | pa.ChunkedArray, absent: int = -1) -> Longs:
    """Return a column of integers or timestamps as NumPy, with `absent` for NULL."""
    return np.asarray(pc.fill_null(column.cast(pa.int64()), absent), dtype=np.int64)


def entries(
    schema: TableSchema, state: State, hours: Longs, *,
    stream: str, step: str, run: str, workload: str = "", columns: dict[str, Any] | None = None,
) -> pa.Table:  # fmt: skip
    """Return rows of one state to append, one per hour.

    Args:
        schema: the declaration of the ledger.
        state: what was done.
        hours: first instants of the hours.
        stream: name of the stream.
        step: name of the step.
        run: id of the run.
        workload: name of the workload; empty for a state of the stream.
        columns: further columns, each a value for all hours or an array with a value per hour.
            Other columns are NULL.

    Raises:
        EngineError: the state belongs to the stream and a workload is named, or the reverse.
    """
    if state is not State.FAILED and (state in OF_STREAM) == bool(workload):
        raise EngineError(f"rows of {state} hours {'have no' if workload else 'need a'} workload")
    own = {"stream": stream, "workload": workload, "state": str(state), "step": step, "run": run}
    given = {**own, "hour": labels(hours), **(columns or {})}
    rows = {}
    for field in schema.arrow():
        if field.name in SET_BY_APPEND:
            continue
        value = given.pop(field.name, None)
        is_column = isinstance(value, pa.Array | pa.ChunkedArray | np.ndarray | list)
        if not is_column:
            rows[field.name] = pa.repeat(pa.scalar(value, field.type), len(hours))
        elif isinstance(value, pa.Array | pa.ChunkedArray):
            rows[field.name] = value.cast(field.type)
        else:
            rows[field.name] = pa.array(value, field.type)
    if given:
        raise EngineError(f"the ledger has no column {', '.join(sorted(given))}")
    return pa.table(rows)


def hours_in(interval: Interval) -> Longs:
    """Return the first instants of the hours of an interval, ascending."""
    return np.arange(interval.start, interval.end, HOUR, dtype=np.int64)


def list_files(hours: Longs, files: pa.Table) -> pa.ListArray:
    """Return the column `files` of some hours: for each, its files.

    Args:
        hours: first instants of hours, ascending.
        files: a row per file with `hour` (as stored), `name`, `size` and `modified`. Files of
            other hours are left out.
    """
    at = hours_from(files["hour"])
    order = np.argsort(at, kind="stable")
    wanted = order[np.isin(at[order], hours)]
    sorted_files = files.take(pa.array(wanted))
    ends = np.searchsorted(at[wanted], hours, side="right")
    fields = ("name", "size", "modified")
    structs = pa.StructArray.from_arrays(
        [sorted_files[name].combine_chunks() for name in fields],
        fields=[pa.field(name, sorted_files[name].type, False) for name in fields],
    )
    return pa.ListArray.from_arrays(pa.array([0, *ends.tolist()], pa.int32()), structs)


def list_hours(starts: Longs, ends: Longs, hours: Longs) -> pa.ListArray:
    """Return a list of stored hours per pair of borders: `hours[start:end]` of each."""
    counts = ends - starts
    offsets = np.concatenate([[0], np.cumsum(counts)])
    places = np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), labels(hours[places]))


def one_of(stored: pa.ChunkedArray, values: Iterable[str]) -> Flags:
    """Return whether each text of a column is one of some values."""
    found = pc.is_in(stored, pa.array(list(values), pa.string()))
    return np.asarray(found, dtype=np.bool_)
