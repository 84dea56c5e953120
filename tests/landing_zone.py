"""Small landing zones: flights written out by hand, runs over them, and the tables afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from elsinore.orchestration.run_step import Arguments
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from elsinore.timeline import Interval
from jobs import (
    aggregate_trends,
    find_plan,
    ingest_events,
    publish_results,
    report_quality,
    validate_results,
)
from tests.ingest import landing_zone as ingest_zone

departure = ingest_zone.departure

#: Every table of data that ingest writes; they follow from the files alone.
INGESTED = ("raw_events", "quarantine", "events")


def hours(first: int, end: int) -> Interval:
    """Hours of 1 January 2013."""
    return Interval.parse(f"2013-01-01T{first:02}:00Z", f"2013-01-01T{end:02}:00Z")


def put(settings: Settings, hour: int, *lines: Any, name: str = "") -> Path:
    """Write a file of the landing zone; records become JSON, text stays as it is."""
    path = settings.landing / f"2013/01/01/events-2013-01-01T{hour:02}{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def arrow_rows(lake: Lake, table: str, *found: dict[str, Any]) -> pa.Table:
    """Rows of a table of data, with the day only where they have one."""
    schema = lake.schema(table)
    left_out = set(schema.partition_by) - {name for row in found for name in row}
    fields = [field for field in schema.arrow() if field.name not in left_out]
    return pa.Table.from_pylist(list(found), schema=pa.schema(fields))


def by_hand(spark: SparkSession, lake: Lake, statement: str, table: str) -> None:
    """What somebody does to a table with Spark's SQL, which names it `{}`."""
    spark.sql(statement.format(f"delta.`{lake.path(table)}`")).collect()


def ingest(settings: Settings, interval: Interval, run: str = "test") -> dict[str, Any]:
    """Run the first job alone; return its figures."""
    return dict(ingest_events.main(Arguments(interval, run), settings))


def run_jobs(
    settings: Settings,
    interval: Interval,
    run: str,
    *,
    first: ModuleType = ingest_events,
    last: Sequence[ModuleType] = (aggregate_trends, validate_results, publish_results),
    by_hand: bool = False,
) -> dict[str, Any]:
    """Do what a run does, with the hours that it recomputes; return the first job's figures."""
    own = Arguments(interval, run, ingested=first is ingest_events, by_hand=by_hand)
    figures = dict(first.main(own, settings))
    find_plan.main(own, settings)
    recomputed = [Interval.parse(part["start"], part["end"]) for part in figures["recomputed"]]
    for part in (own, *(Arguments(part, run, ingested=False) for part in recomputed)):
        for job in last:
            job.main(part, settings)
    return figures


def run_hours(settings: Settings, first: int, end: int) -> dict[str, Any]:
    """Run all jobs of a run over hours of 1 January; return the figures of ingest."""
    last = (aggregate_trends, validate_results, publish_results, report_quality)
    return run_jobs(settings, hours(first, end), f"run {first}", last=last)


def rows(lake: Lake, table: str, *columns: str) -> list[Any]:
    """Rows in a fixed order, as tuples, or as values if one column is asked for."""
    everything = [*lake.schema(table).columns]
    found = lake.rows(table, columns=list(columns) or everything)
    found = found.take(pc.sort_indices(found, [(name, "ascending") for name in found.column_names]))
    tuples = [tuple(row.values()) for row in found.to_pylist()]
    return [row[0] for row in tuples] if len(columns) == 1 else tuples


def contents(lake: Lake) -> dict[str, list[Any]]:
    """Everything that ingest wrote."""
    return {table: rows(lake, table) for table in INGESTED}
