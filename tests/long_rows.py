"""Result rows as the long table of results, row by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from elsinore.query.bound import Workload
from elsinore.results.published import LONG_SCHEMA, group_text, numbers_of
from elsinore.results.row import ResultRow
from elsinore.timeline import Instant, hour_label


def to_long(workload: Workload, rows: Iterable[ResultRow]) -> pa.Table:
    """What `executors.output.finish` makes of partial rows, made of result rows one by one."""
    columns: dict[str, list[Any]] = {name: [] for name in LONG_SCHEMA.names}
    types = {
        (query.name, output.name): output.type_name
        for query in workload.queries
        for output in query.outputs
    }
    for row in rows:
        group = group_text(row.group)
        hour = hour_label(row.window_end - 1) if isinstance(row.window_end, Instant) else ""
        for label, value in row.values:
            fields = (
                hour,
                row.query,
                group,
                row.step,
                int(row.window_start),
                int(row.window_end),
                label,
                types[row.query, label],
                *numbers_of(value),
            )
            for column, field in zip(columns.values(), fields, strict=True):
                column.append(field)
    return pa.table(columns, schema=LONG_SCHEMA)
