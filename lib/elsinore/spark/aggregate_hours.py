"""Aggregates the hours of a run into `results_staged`, which Spark's workers write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from elsinore.catalog.load_schema import load_schema
from elsinore.engine.plan import RuntimePlan
from elsinore.lake.answered import joined_queries, own_name
from elsinore.lake.tables import Lake, load_tables
from elsinore.publish.stage import Target, stage
from elsinore.publish.tables import ResultTables
from elsinore.query.bound import Workload
from elsinore.results.task_rows import add_up
from elsinore.settings import Settings
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.spark.aggregate import Aggregated, summarized
from elsinore.spark.compute import compute
from elsinore.store.spark_tables import SparkTables
from elsinore.store.task_failures import spark_failures
from elsinore.template.support import require
from elsinore.timeline import Interval, hour_label


@dataclass(frozen=True)
class EventsTable:
    """The table `events` of a stream.

    Attributes:
        store: The table in a session of Spark.
        lake: The same table for tasks that read its files.
    """

    store: SparkTables
    lake: Lake

    @classmethod
    def open(cls, spark: SparkSession, settings: Settings) -> EventsTable:
        """Return the table of the stream of the settings.

        Raises:
            SchemaError: the schema of the stream or of a table is invalid.
        """
        stream = load_schema(settings.schema_file)
        declared = load_tables(settings.root / "schemas" / "next", stream)
        root: Path = settings.home / settings.stream / "lake"
        schemas = {_EVENTS: declared[_EVENTS]}
        return cls(
            SparkTables.open(spark, root, schemas),
            Lake(settings.spark_cores, root, stream, schemas),
        )


class Asked(NamedTuple):
    """A workload, and the tables of its results."""

    workload: Workload
    tables: ResultTables


def aggregate_hours(
    events: EventsTable, asked: Sequence[Asked], owned: Interval, *, static_plan: str,
    plan: RuntimePlan | None = None, parts: int, run: str, version: int | None = None,
) -> Aggregated:  # fmt: skip
    """Compute the windows that end in some hours, and replace the staged results of these hours.

    All queries of all workloads run together; each workload has its own tables.

    Args:
        events: The table of events.
        asked: The workloads, at least one.
        owned: Whole hours.
        static_plan: Fingerprint of the plan.
        plan: The plan; None: queries run separately.
        parts: Maximum number of tasks.
        run: Name of the run, for the history of the tables.
        version: Version of `events`; None: the latest one.

    Raises:
        UnsupportedQueryError: the engine cannot run one of the queries.
        DataError: a table uses a feature that Delta does not support, or a file is damaged.
        ConflictError, LostWorkerError: transient; retry.
    """
    workload = joined_queries([(one.tables.workload, one.workload) for one in asked])
    require(workload.queries)
    plan = plan or RuntimePlan.of(workload.queries)
    store, lake = events.store, events.lake
    at = store.version(_EVENTS) if version is None else version
    targets = [
        Target(
            one.tables,
            {
                "run": run, "workload": workload_fingerprint(one.workload), "plan": static_plan,
                "events": at, "hours": [hour_label(owned.start), hour_label(owned.end)],
            },
            own_name(one.tables.workload, "") if number else "",
        )
        for number, one in enumerate(asked)
    ]  # fmt: skip
    with spark_failures():
        computed = compute(
            store.spark, lake, workload, plan, owned,
            version=at, parts=parts, scan=lambda: store.read(_EVENTS, at),
        )  # fmt: skip
        rows = computed.rows(store.spark)
        done = stage(rows, targets, owned, is_scattered=computed.is_scattered)
    counts = add_up([*computed.reports, done.counts])
    rows_of = {one.tables.workload: number for one, number in zip(asked, done.rows, strict=True)}
    return summarized(at, static_plan, plan, computed, counts, rows_of)


_EVENTS = "events"
