"""Finishes the states of aggregates straight into the long table of results."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.engine.finish import Values, by_query, finish_columns, group_of
from elsinore.query.bound import BoundQuery, Workload
from elsinore.results.published import LONG_SCHEMA, group_text, to_double
from elsinore.timeline import hour_label


def finish_long(workload: Workload, partial: pa.Table) -> pa.Table:
    """The results of merged partial rows (`results.partial`) as in `LONG_SCHEMA`, by query."""
    tables = [LONG_SCHEMA.empty_table()]
    for query, rows in by_query(workload, partial):
        keys = _keys(query, rows)
        for label, values in finish_columns(query, rows):
            columns = keys | _numbers(values) | {"aggregate": _repeated(label, rows.num_rows)}
            table = [columns[name] for name in LONG_SCHEMA.names]
            tables.append(pa.table(table, schema=LONG_SCHEMA))
    return pa.concat_tables(tables)


def _numbers(values: Values) -> dict[str, pa.Array]:
    """What `results.published.numbers_of` makes of each value."""
    numbers, unknown = values.numbers, ~values.known
    sized = values.known & (numbers != 0) & (numbers == numbers)
    sizes = np.zeros(numbers.size)
    sizes[sized] = [log2(abs(number)) for number in numbers[sized].tolist()]  # NumPy's differ
    doubles, exact = numbers, pa.nulls(numbers.size, pa.string())
    if numbers.dtype == object:
        doubles = np.array(list(map(to_double, numbers.tolist())))
        exact = pa.array(np.array(list(map(str, numbers.tolist())), object), mask=unknown)
    elif numbers.dtype == np.int64:
        doubles = numbers.astype(np.float64)
        exact = pa.array(numbers, mask=unknown).cast(pa.string())
    return {
        "value": pa.array(doubles, mask=unknown),
        "exact": exact,
        "log2": pa.array(sizes, mask=~sized),
    }


def _keys(query: BoundQuery, rows: pa.Table) -> dict[str, pa.Array]:
    """What the results of a row have in common; each distinct text is made once."""
    starts, ends, groups = (
        rows[name].combine_chunks() for name in ("window_start", "window_end", "group")
    )
    return {
        "owned_hour": _each_once(ends, lambda end: hour_label(end - 1)),
        "query": _repeated(query.name, len(ends)),
        "group_key": _each_once(groups, lambda text: group_text(group_of(query, text))),
        "window_start": starts,
        "window_end": ends,
    }


def _each_once(values: pa.Array, text_of: Callable[[Any], str]) -> pa.Array:
    encoded = values.dictionary_encode()
    texts = pa.array([text_of(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)


def _repeated(text: str, size: int) -> pa.Array:
    return pa.array([text]).take(pa.array(np.zeros(size, np.int64)))
