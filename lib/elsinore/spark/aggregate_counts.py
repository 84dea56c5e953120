"""Counts that the tasks of a Spark job report, such as bursts and how many were shared.

They come as rows beside those of results, in a column of their own. So of a task that is done twice
the counts are those of the rows that are used, and each counts once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

Counts = dict[str, int]

#: The column of counts, as JSON; NULL in rows of results, which are NULL in rows of counts.
TASK_COUNTS = "task_counts"

#: Counts that are sizes: of these the largest is told, not the sum.
_SIZES = frozenset({"bytes"})


def carrying(schema: pa.Schema) -> pa.Schema:
    """What tasks make whose rows are of a schema: such rows, or counts."""
    fields = [field.with_nullable(True) for field in schema]
    return pa.schema([*fields, pa.field(TASK_COUNTS, pa.string())])


def results_of(table: pa.Table) -> Iterable[pa.RecordBatch]:
    """Rows of results, as `carrying` has them."""
    none = pa.nulls(table.num_rows, pa.string())
    return table.append_column(TASK_COUNTS, none).cast(carrying(table.schema)).to_batches()


def counts_of(schema: pa.Schema, counts: Mapping[str, int]) -> pa.RecordBatch:
    """A row of counts, beside rows of a schema."""
    columns = [*(pa.nulls(1, field.type) for field in schema), pa.array([json.dumps(counts)])]
    return pa.record_batch(columns, schema=carrying(schema))


def split(table: pa.Table) -> tuple[pa.Table, Counts]:
    """Rows of results, and the counts beside them together."""
    told = pc.is_valid(table[TASK_COUNTS])
    counts = table[TASK_COUNTS].filter(told).to_pylist()
    return table.filter(pc.invert(told)).drop_columns([TASK_COUNTS]), add_up_texts(counts)


def add_up(reports: Iterable[Mapping[str, int]]) -> Counts:
    """The sum of each count; of sizes the largest."""
    total: Counts = {}
    for counts in reports:
        for name, number in counts.items():
            before = total.get(name, 0)
            total[name] = max(before, number) if name in _SIZES else before + number
    return total


def add_up_texts(texts: Iterable[str]) -> Counts:
    """The same of counts as JSON."""
    return add_up(json.loads(text) for text in texts)
