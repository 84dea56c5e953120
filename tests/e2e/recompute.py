"""Works published rows out again: from the raw files, by the two-step reference, on the CLI."""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deltalake import DeltaTable

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.main import run_command
from elsinore.engine.aggregate import aggregate_query
from elsinore.files.read_events import read_events
from elsinore.query.bound import BoundQuery
from elsinore.query.load_workload import load_workload
from elsinore.query.syntax import Semantics
from elsinore.timeline import Interval
from tests.e2e.support import ROOT

SCHEMA = ROOT / "schemas/events/flights.yaml"
WORKLOAD = ROOT / "schemas/workloads/flights.sase"

Row = dict[str, Any]


def published_rows(lake: Path) -> dict[str, list[Row]]:
    """Published rows by query, one for each group and window, smallest counts first."""
    found: dict[tuple[str, str, datetime, datetime], Row] = {}
    for record in DeltaTable(lake / "trend_aggregates").to_pyarrow_table().to_pylist():
        names = ("query", "group_key", "window_start", "window_end")
        place = tuple(record[name] for name in names)
        row = found.setdefault(place, dict(zip(names, place, strict=True)) | {"values": {}})
        row["values"][record["aggregate"]] = record
    by_query: dict[str, list[Row]] = {}
    for row in sorted(found.values(), key=_size):
        by_query.setdefault(row["query"], []).append(row)
    return by_query


def rows_without_a_lake(landing: Path, interval: Interval) -> dict[str, int]:
    """How many rows each query has in the windows that end in an interval, straight from files.

    No Spark, no tables, no slices: one batch of all events for each query.
    """
    schema = load_schema(SCHEMA)
    events, _ = read_events([landing], schema, max_bad_share=0.05)
    counts = {
        query.name: aggregate_query(query, events, owned=interval).num_rows
        for query in load_workload(WORKLOAD, schema).queries
    }
    return {name: count for name, count in counts.items() if count}


def _size(row: Row) -> tuple[Any, ...]:
    largest = max(record["log2"] or 0.0 for record in row["values"].values())
    return largest, row["group_key"], row["window_start"]


def disagreements(row: Row, landing: Path) -> list[str]:
    """What `elsinore run --executor twostep` finds else than a published row says.

    It is given the raw lines of the row's window that fit its group, as they were landed.
    """
    query = load_workload(WORKLOAD, load_schema(SCHEMA)).by_name[row["query"]]
    with TemporaryDirectory() as scratch:
        names = ("query.sase", "events.jsonl", "rows.jsonl")
        workload, events, answer = (Path(scratch, name) for name in names)
        workload.write_text(query.text, encoding="utf-8")
        events.write_text("".join(_raw_lines(row, query, landing)), encoding="utf-8")
        code = run_command(
            ["run", str(workload), "--schema", str(SCHEMA), "--input", str(events),
             "--executor", "twostep", "--budget", "200000000", "--output", str(answer)]
        )  # fmt: skip
        if code:
            return [f"exit code {code}"]
        found_rows = answer.read_text(encoding="utf-8").splitlines()
    wanted = json.loads(row["group_key"]), row["window_start"], row["window_end"]
    for line in found_rows:
        found = json.loads(line)
        bounds = (datetime.fromisoformat(found[name]) for name in ("window_start", "window_end"))
        if (found["group"], *bounds) == wanted:
            return _differences(found["values"], row["values"])
    return [f"no row for {wanted}"]


def _raw_lines(row: Row, query: BoundQuery, landing: Path) -> list[str]:
    group = json.loads(row["group_key"])
    carried = load_schema(SCHEMA).by_name
    every = query.semantics is Semantics.CONTIGUOUS  # events of any type part its trends
    lines = []
    for path in sorted(landing.rglob("events-*.jsonl.gz")):
        hour = datetime.fromisoformat(path.name[7:20] + ":00:00+00:00")
        if hour.timestamp() // 3600 * 3600 + 3600 <= row["window_start"].timestamp():
            continue
        if hour >= row["window_end"]:
            continue
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                event = json.loads(line)
                known = carried[event["type"]].by_name
                fits = all(event.get(k) == v for k, v in group.items() if k in known)
                if (every or event["type"] in query.event_types) and fits:
                    lines.append(line)
    return lines


def _differences(found: dict[str, Any], published: dict[str, Row]) -> list[str]:
    differences = []
    for label, record in published.items():
        value = found[label]
        if record["exact"] is not None:
            same = str(value) == record["exact"]
        elif value is None or record["value"] is None:
            same = value is None and record["value"] is None
        else:
            same = abs(value - record["value"]) <= 1e-9 * max(abs(value), abs(record["value"]))
        if not same:
            differences.append(f"{label}: published {record}, recomputed {value}")
    return differences
