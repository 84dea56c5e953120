"""Finishes the states of aggregates straight into the long table of results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.engine.finish import finishers_of, group_of
from elsinore.engine.finish_columns import Numbers, finish_columns, short_rows
from elsinore.query.bound import BoundQuery, Workload
from elsinore.results.published import LONG_SCHEMA, group_text, numbers_of
from elsinore.timeline import hour_label

_STATES = ("counts", "sums", "minima", "maxima")


def finish_long(workload: Workload, partial: pa.Table) -> pa.Table:
    """What `to_long(finish(workload, partial))` is, query by query, in another order.

    It goes by columns where integers are short: 1.2 us a result, against 9 row by row.
    """
    named = partial["query"].combine_chunks().dictionary_encode()
    codes = np.asarray(named.indices)
    tables = [LONG_SCHEMA.empty_table()]
    for number, name in enumerate(named.dictionary.to_pylist()):
        rows = partial.take(pa.array(np.flatnonzero(codes == number)))
        tables += _of_query(workload.by_name[name], rows)
    return pa.concat_tables(tables)


def _of_query(query: BoundQuery, rows: pa.Table) -> Iterator[pa.Table]:
    """A table for each aggregate, for the rows of short integers and for the others."""
    short = short_rows(rows)
    for chosen, finished in ((short, finish_columns), (~short, _row_by_row)):
        if chosen.any():
            part = rows if chosen.all() else rows.filter(pa.array(chosen))
            keys = _keys(query, part)
            for label, numbers in finished(query, part):
                yield _long(keys, label, numbers)


def _keys(query: BoundQuery, rows: pa.Table) -> dict[str, pa.Array]:
    """What the results of a row have in common; each distinct text is made once."""

    def group(values: str) -> str:
        return group_text(group_of(query, json.loads(values)))

    starts, ends = (rows[name].combine_chunks() for name in ("window_start", "window_end"))
    return {
        "owned_hour": _each_once(ends, lambda end: hour_label(end - 1)),
        "query": pa.array([query.name]).take(pa.array(np.zeros(len(ends), np.int64))),
        "group_key": _each_once(rows["group"].combine_chunks(), group),
        "window_start": starts,
        "window_end": ends,
    }


def _each_once(values: pa.Array, text_of: Callable[[Any], str]) -> pa.Array:
    encoded = values.dictionary_encode()
    texts = pa.array([text_of(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)


def _long(keys: dict[str, pa.Array], label: str, numbers: Numbers) -> pa.Table:
    labels = pa.array([label]).take(pa.array(np.zeros(len(numbers.value), np.int64)))
    values = {"value": numbers.value, "exact": numbers.exact, "log2": numbers.log2}
    columns = keys | {"aggregate": labels} | values
    return pa.table([columns[name] for name in LONG_SCHEMA.names], schema=LONG_SCHEMA)


def _row_by_row(query: BoundQuery, rows: pa.Table) -> Iterator[tuple[str, Numbers]]:
    """The same for integers of any size."""
    states = [
        dict(zip(_STATES, lists, strict=True))
        for lists in zip(*(rows[name].to_pylist() for name in _STATES), strict=True)
    ]
    for label, finisher in finishers_of(query):
        value, exact, log2 = zip(*(numbers_of(finisher(state)) for state in states), strict=True)
        doubles = (pa.array(found, pa.float64()) for found in (value, log2))
        yield label, Numbers(next(doubles), pa.array(exact, pa.string()), next(doubles))
