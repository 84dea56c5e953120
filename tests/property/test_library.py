"""The library gives the rows of `elsinore run`, whatever the events come in.

`ELSINORE_LONG=1` draws 500 random workloads instead of some.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import elsinore
from elsinore.catalog.stream import StreamSchema
from elsinore.cli.main import run_command
from elsinore.errors import AuthorError
from elsinore.query.print_query import print_query
from elsinore.results.row import plain_value
from elsinore.timeline import Instant, format_instant, instant_of
from tests.draws import draws
from tests.property.random_cases import CALENDAR, SCHEMA, random_case
from tests.property.random_cases.streams import Event
from tests.property.random_workloads import random_workload

#: What a calendar time must at least be to be taken for one.
LATER = instant_of(datetime(2020, 1, 1, tzinfo=UTC))

Make = Callable[[pa.Table], Any]

#: What events may come in; pandas' own columns have no NaN, and are looked at below.
KINDS: dict[str, Make] = {
    "arrow": lambda table: table,
    "batches": lambda table: pa.RecordBatchReader.from_batches(
        table.schema, table.to_batches(max_chunksize=3)
    ),
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "duckdb": duckdb.from_arrow,
    "two": lambda table: [table[: len(table) // 2], pl.from_arrow(table[len(table) // 2 :])],
}


def yaml_of(schema: StreamSchema) -> str:
    types = {
        kind.name: {a.name: {"type": str(a.type), "nullable": True} for a in kind.attributes}
        for kind in schema.types
    }
    head = {"stream": "random", "time": {"field": "time", "unit": str(schema.time_unit)}}
    return yaml.safe_dump(head | {"type": {"field": "type"}, "types": types})


def raw_events(schema: StreamSchema, rows: list[Event]) -> pa.Table:
    """The events as a raw table; instants as Arrow has them."""
    later = LATER if schema.time_unit.is_calendar else 0
    columns: dict[str, pa.Array] = {
        "time": pa.array([time + later for _, time, _ in rows], pa.int64()),
        "type": pa.array([kind for kind, _, _ in rows], pa.string()),
    }
    kinds = {"string": pa.string(), "long": pa.int64(), "double": pa.float64(),
             "boolean": pa.bool_(), "timestamp": pa.timestamp("us", "UTC")}  # fmt: skip
    for name, kind in schema.attributes.items():
        columns[name] = pa.array([values.get(name) for _, _, values in rows], kinds[kind])
    return pa.table(columns)


def lines_of(results: elsinore.Results) -> list[dict[str, Any]]:
    """The tables as the lines of `elsinore run`, in their order."""
    lines = []
    for name in sorted(results):
        for row in results[name].to_pylist():
            cells = {label: plain(value) for label, value in row.items()}
            at = list(cells).index("window_start")
            lines.append({
                "query": name,
                "group": dict(list(cells.items())[:at]),
                "window_start": cells["window_start"],
                "window_end": cells["window_end"],
                "values": dict(list(cells.items())[at + 2 :]),
            })  # fmt: skip
    return lines


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_instant(instant_of(value))
    if isinstance(value, Decimal):
        return int(value)
    return plain_value(Instant(value) if isinstance(value, Instant) else value)


def texts(lines: list[dict[str, Any]]) -> list[str]:
    """Strictly comparable: 1 is not 1.0, nor "1"; but for integers that only text can hold."""
    return [json.dumps(line) for line in lines]


def drawn(number: int) -> tuple[str, StreamSchema, list[Event]]:
    if number % 2:
        workload = random_workload(f"{('mixed', 'short', 'fixed')[number % 3]}:{number}")
        texts = (print_query(query.source) for query in workload.workload.queries)
        return "\n".join(texts), SCHEMA, list(workload.rows)
    case = random_case(f"calendar time:{number}" if number % 8 == 0 else number)
    return case.query.text, case.workload.schema, list(case.rows)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_every_frame_gives_the_rows_of_the_command(part: int, tmp_path: Path) -> None:
    answered = 0
    for number in range(part, draws(24, 500), 4):
        text, schema, rows = drawn(number)
        (tmp_path / "w.sase").write_text(text)
        (tmp_path / "s.yaml").write_text(yaml_of(schema))
        table = raw_events(schema, rows)
        pq.write_table(table, tmp_path / "events.parquet")
        workload = elsinore.workload(tmp_path / "w.sase", schema=tmp_path / "s.yaml")
        out = tmp_path / "out.jsonl"
        status = run_command([
            "run", str(tmp_path / "w.sase"), "--schema", str(tmp_path / "s.yaml"), "--input",
            str(tmp_path / "events.parquet"), "--max-error-rate", "1", "--output", str(out),
        ])  # fmt: skip
        for kind, make in KINDS.items():
            if status:
                with pytest.raises(AuthorError):
                    workload.run(make(table), max_error_rate=1)
                continue
            found = workload.run(make(table), max_error_rate=1)
            expected = [json.loads(line) for line in out.read_text().splitlines()]
            assert texts(lines_of(found)) == texts(expected), (kind, number, text)
            assert found.events + found.rejected.num_rows == len(rows)
            answered += bool(expected)
    assert answered >= draws(24, 500) / 4


def test_both_units_of_time_are_drawn() -> None:
    units = {drawn(number)[1].time_unit for number in range(24)}
    assert units == {SCHEMA.time_unit, CALENDAR.time_unit}
