"""Rows that the tasks of an aggregation make: finished results, and counts among them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.results.published import LONG_SCHEMA

#: Counts of a task: events that windows can hold, each once; results, one for each (query, group,
#: window); rows, one for each of their aggregates.
EVENTS, WINDOWS, ROWS = "events", "windows", "rows"

#: Finished rows: the long table of results, with the fingerprint of each row's query, and the
#: number of the workload in which the query has its name.
FINISHED_SCHEMA = pa.schema(
    [
        *LONG_SCHEMA,
        pa.field("query_fingerprint", pa.string(), False),
        pa.field("workload", pa.int32(), False),
    ]
)

Counts = dict[str, int]

#: The column of counts, as JSON; NULL in rows of results, which are NULL in rows of counts. Counts
#: are rows, so that the counts of a task that runs twice count once.
TASK_COUNTS = "task_counts"

#: Counts that are sizes: their total is the largest one, not the sum.
_SIZES = frozenset({"bytes"})


def with_counts(schema: pa.Schema) -> pa.Schema:
    """Return the schema of rows of a schema among rows of counts."""
    fields = [field.with_nullable(True) for field in schema]
    return pa.schema([*fields, pa.field(TASK_COUNTS, pa.string())])


def results_of(table: pa.Table) -> Iterable[pa.RecordBatch]:
    """Return rows of results with the column of counts."""
    none = pa.nulls(table.num_rows, pa.string())
    return table.append_column(TASK_COUNTS, none).cast(with_counts(table.schema)).to_batches()


def counts_of(schema: pa.Schema, counts: Mapping[str, int]) -> pa.RecordBatch:
    """Return a row of counts among rows of a schema."""
    columns = [*(pa.nulls(1, field.type) for field in schema), pa.array([json.dumps(counts)])]
    return pa.record_batch(columns, schema=with_counts(schema))


def split(table: pa.Table) -> tuple[pa.Table, Counts]:
    """Return the rows of results, and the total of the counts among them."""
    is_counts = pc.is_valid(table[TASK_COUNTS])
    counts = read_counts(table[TASK_COUNTS].filter(is_counts).to_pylist())
    return table.filter(pc.invert(is_counts)).drop_columns([TASK_COUNTS]), counts


def read_counts(texts: Iterable[str]) -> Counts:
    """Return the total of counts in JSON.

    >>> read_counts(['{"rows": 2}', '{"rows": 3}'])
    {'rows': 5}
    """
    return add_up(map(json.loads, texts))


def add_up(reports: Iterable[Counts]) -> Counts:
    """Return the sum of each count; of sizes the largest."""
    total: Counts = {}
    for counts in reports:
        for name, number in counts.items():
            before = total.get(name, 0)
            total[name] = max(before, number) if name in _SIZES else before + number
    return total
