"""Aggregate the hours of a run with Spark tasks, and stage the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

from pyspark.sql import SparkSession

from elsinore.catalog.load_schema import load_schema
from elsinore.executors.plan import RuntimePlan
from elsinore.lake.answered import joined_queries
from elsinore.ledger.event_changes import EventChanges
from elsinore.publish.stage import Target, stage
from elsinore.publish.tables import ResultTables
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.results.task_rows import EVENTS, ROWS, WINDOWS, Counts, add_up
from elsinore.settings import Settings
from elsinore.spark.compute import Computed, compute
from elsinore.store.spark_tables import SparkTables
from elsinore.store.tables import Lake, load_tables
from elsinore.store.task_failures import spark_failures
from elsinore.template.support import lowered, pipeline_refusals, require
from elsinore.timeline import Interval, hour_label


@dataclass(frozen=True)
class EventsTable:
    """The table `events` of a stream.

    Attributes:
        store: The table in a Spark session.
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
        declared = load_tables(settings.tables_dir, stream)
        root = settings.stream_lake
        schemas = {_EVENTS: declared[_EVENTS]}
        return cls(
            SparkTables.open(spark, root, schemas),
            Lake(settings.spark_cores, root, stream, schemas),
        )

    def version(self) -> int:
        """Return the latest version of the table."""
        return self.store.version(_EVENTS)


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The result of one slice.

    Attributes:
        events_version: The version of `events` that was read.
        plan_fingerprint: The fingerprint of the static plan.
        events: Number of events in its windows, of the types that the queries read.
        windows: Number of results, one per query, group and window.
        rows: Number of written rows, one per aggregate of a result.
        route: A sentence about how tasks read their events.
        sharing: A sentence about shared queries and the predicted savings.
        counts: Bursts and so on of all tasks (`executors.hamlet.observe.Observer.counts`).
        rows_of: Number of rows per workload, by name.
        versions: The version of `results_staged` with the rows of each workload, by name.
    """

    events_version: int
    plan_fingerprint: str
    events: int
    windows: int
    rows: int
    route: str
    sharing: str
    counts: Counts = field(default_factory=dict)
    rows_of: Counts = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)

    def figures(self) -> dict[str, int | str]:
        """Return the metrics; the version is a string, because it is not a quantity."""
        figures = asdict(self) | {"events_version": str(self.events_version)}
        del figures["counts"], figures["rows_of"], figures["versions"]
        return figures


class Asked(NamedTuple):
    """A workload, and the tables of its results."""

    workload: Workload
    tables: ResultTables


def aggregate_hours(
    events: EventsTable, asked: Sequence[Asked], owned: Interval, *, static_plan: str,
    plan: RuntimePlan | None = None, parts: int, run: str, version: int | None = None,
    changes: EventChanges | None = None,
) -> Aggregated:  # fmt: skip
    """Compute the windows that end in whole hours, and replace the staged results of these hours.

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
        changes: The changes to events that the ledger records; None: no panes are cached.

    Raises:
        UnsupportedQueryError: the engine cannot run one of the queries.
        DataError: a table uses a feature that Delta does not support, or a file is damaged.
        ConflictError, LostWorkerError: transient; retry.
    """
    workload = joined_queries([(one.tables.workload, one.workload) for one in asked])
    require(workload.queries, "the pipeline", pipeline_refusals)
    plan = plan or RuntimePlan.of(lowered(workload).queries)
    store, lake = events.store, events.lake
    at = store.version(_EVENTS) if version is None else version
    targets = [
        Target(
            one.tables,
            {
                "run": run, "workload": workload_fingerprint(one.workload), "plan": static_plan,
                "events": at, "hours": [hour_label(owned.start), hour_label(owned.end)],
            },
            number,
        )
        for number, one in enumerate(asked)
    ]  # fmt: skip
    with spark_failures():
        computed = compute(
            store.spark, lake, workload, plan, owned,
            version=at, parts=parts, scan=lambda: store.read(_EVENTS, at),
            changes=changes,
        )  # fmt: skip
        rows = computed.rows(store.spark)
        done = stage(rows, targets, owned, is_scattered=computed.is_scattered)
    counts = add_up([*computed.reports, done.counts])
    names = [one.tables.workload for one in asked]
    found = _summarized(at, static_plan, plan, computed, counts)
    return replace(
        found,
        rows_of=dict(zip(names, done.rows, strict=True)),
        versions=dict(zip(names, done.versions, strict=True)),
    )


def _summarized(
    version: int, static_plan: str, plan: RuntimePlan, computed: Computed, counts: Counts
) -> Aggregated:
    """Return the result of a slice from the total of all counts."""
    others = dict(counts)
    events, windows, written = (others.pop(name, 0) for name in (EVENTS, WINDOWS, ROWS))
    return Aggregated(
        version, static_plan, events, windows, written, "; ".join(computed.words), plan.in_words(),
        others,
    )  # fmt: skip


_EVENTS = "events"
