"""Aggregates the trends of one time slice: events in, staged results out, one Spark job."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from tempfile import TemporaryFile
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.engine.plan import RuntimePlan
from elsinore.lake.answered import Answered, joined, own_name
from elsinore.lake.event_files import types_read
from elsinore.lake.kept_hours import InTasks
from elsinore.lake.provenance import STAGED, origin
from elsinore.lake.regions import Hours
from elsinore.lake.stale_hours import lost_hours, require_kept
from elsinore.query.bound import Workload
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.settings import Settings
from elsinore.spark.aggregate_route import Route, choose_routes
from elsinore.spark.aggregate_worker import (
    EVENTS,
    FINISHED_SCHEMA,
    ROWS,
    WINDOWS,
    Counts,
    Task,
    add_up,
    each_number,
    reading,
    results_of,
    split,
    with_counts,
)
from elsinore.spark.carry import Carrying, choose_carrying
from elsinore.spark.failures import spark_failures
from elsinore.spark.partitions import finished_together
from elsinore.spark.session import open_session
from elsinore.template.support import require
from elsinore.timeline import Interval, hours_of

#: What tasks tell of their numbers, as JSON.
_TOLD = pa.schema({"number": pa.int64(), "told": pa.string()})


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The result of one slice.

    Attributes:
        events_version: the version of `events` that was read.
        plan_fingerprint: of the static plan.
        events: number of events in its windows, of the types that the queries read.
        windows: number of results, one per query, group and window.
        rows: number of written rows, one per aggregate of a result.
        route: how tasks read their events, in words.
        sharing: what queries shared, and the predicted savings, in words.
        counts: bursts and so on of all tasks (`engine.hamlet.observe.Observer.counts`).
        rows_of: number of rows of each workload, by name.
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

    def figures(self) -> dict[str, int | str]:
        """As plain values, for metrics; the version is a name, hence text."""
        figures = asdict(self) | {"events_version": str(self.events_version)}
        del figures["counts"], figures["rows_of"]
        return figures


def aggregate(
    spark: SparkSession,
    answered: Sequence[Answered],
    owned: Interval,
    *,
    static_plan: str,
    plan: RuntimePlan | None = None,
    parts: int,
    run: str,
) -> Aggregated:
    """Compute the windows that end in `owned`, and replace the staged results of its hours.

    All queries of all workloads run together; each workload gets its own results. All tasks read
    the version of events that is the latest at the start. Without a plan, queries run separately;
    `static_plan` is the fingerprint of the plan. `parts` limits the number of tasks. `run` is named
    in the table's history.

    Raises:
        UnsupportedQueryError: the engine cannot run one of the queries.
        DataError: events of the windows were removed after their retention period.
        ConflictError, LostWorkerError: transient; retry.
    """
    workload, lake = joined(answered), answered[0].lake
    require(workload.queries)
    plan = plan or RuntimePlan.of(workload.queries)
    version = lake.version("events")
    if all(lost_hours(one.lake.root, one.workload, hours_of(owned)) for one in answered):
        require_kept(lake.root, workload, owned)  # of others publishing refuses the results
    carrying = choose_carrying(lake, workload, plan, owned, version)
    rest = carrying.rest if carrying else plan
    reports: list[Counts] = []
    frames: list[DataFrame] = []
    words: list[str] = []
    notes = [origin(run, one.workload, static_plan, version, owned) for one in answered]
    with spark_failures():
        counted = frozenset[str]()
        routes = choose_routes(lake, rest.queries, owned, version, parts) if rest else ()
        for queries, route in routes:
            if route.parts:
                own = plan.of_queries([query.name for query in queries])
                asked = replace(workload, queries=queries)
                frames.append(
                    aggregated(spark, asked, route, plan=own, parts=parts, counted=counted)
                )
            counted |= types_read(workload, queries)
            words.append(route.in_words())
        if carrying:
            frames.append(_carried(spark, carrying, parts, reports))
            words.append(carrying.in_words())
        rows = chain.from_iterable(split_rows(frame, reports) for frame in frames)
        rows_of = _stage(answered, rows, Hours(owned), notes)
    counts = add_up(reports)
    events, windows, written = (counts.pop(name, 0) for name in (EVENTS, WINDOWS, ROWS))
    return Aggregated(
        version, static_plan, events, windows, written, "; ".join(words), plan.in_words(), counts,
        rows_of,
    )  # fmt: skip


def _carried(
    spark: SparkSession, carrying: Carrying, parts: int, reports: list[Counts]
) -> DataFrame:
    """The rows of the queries whose panes are kept; those that are missing are worked out first."""
    if carrying.missing:
        reports += _told(spark, len(carrying.parts), carrying.work_out())
    tasks = min(parts, len(carrying.carried.queries))
    return _numbered(spark, tasks, carrying.multiply(tasks))


@contextmanager
def in_tasks_of(settings: Settings, name: str) -> Iterator[InTasks]:
    """What does something for each number below a limit in tasks of Spark; see `InTasks`.

    Its session begins when it is needed first and ends with the block; `name` is what for, see
    `open_session`. What goes wrong in a task is raised as it is.
    """
    with ExitStack() as stack:
        sessions: list[SparkSession] = []

        def in_tasks(number: int, do: Callable[[int], Any]) -> list[Any]:
            if not sessions:
                sessions.append(stack.enter_context(open_session(settings, name)))
            with spark_failures():
                return _told(sessions[0], number, do)

        yield in_tasks


def _told(spark: SparkSession, tasks: int, do: Callable[[int], Any]) -> list[Any]:
    """Do something for each of so many numbers in a task; gives what each gave; see `InTasks`."""

    def done(number: int) -> Iterable[pa.RecordBatch]:
        row = {"number": number, "told": json.dumps(do(number))}
        return results_of(pa.Table.from_pylist([row], schema=_TOLD))

    rows = split_rows(_numbered(spark, tasks, each_number(done), _TOLD), [])
    told = pa.concat_tables(rows).sort_by("number")["told"]
    return [json.loads(text) for text in told.to_pylist()]


def _numbered(
    spark: SparkSession, tasks: int, task: Task, rows: pa.Schema = FINISHED_SCHEMA
) -> DataFrame:
    """What a task makes of so many numbers, each of which Spark may give to another worker."""
    numbers = spark.range(0, tasks, numPartitions=tasks)
    return numbers.mapInArrow(task, from_arrow_schema(with_counts(rows)))


def _stage(
    answered: Sequence[Answered], parts: Iterable[pa.Table], where: Hours, notes: Sequence[str]
) -> Counts:
    """Give each workload its rows of all, which come in parts; gives how many each was given.

    Those of the first are written as they come, those of others kept in files until all have come.
    """
    first, *others = answered
    rows_of: Counter[str] = Counter()
    with ExitStack() as stack:
        files = {one.name: stack.enter_context(TemporaryFile()) for one in others}
        kept = {name: pa.ipc.new_stream(file, FINISHED_SCHEMA) for name, file in files.items()}

        def of_first() -> Iterator[pa.Table]:
            for part in parts:
                rest = part
                for name, file in kept.items():
                    is_own = pc.starts_with(rest["query"], own_name(name, ""))
                    own, rest = rest.filter(is_own), rest.filter(pc.invert(is_own))
                    file.write_table(_with_short_names(own, name))
                    rows_of[name] += own.num_rows
                rows_of[first.name] += rest.num_rows
                yield rest

        first.lake.stream_rows(STAGED, of_first(), where=where, note=notes[0])
        for one, note in zip(others, notes[1:], strict=True):
            kept[one.name].close()
            files[one.name].seek(0)
            batches = pa.ipc.open_stream(files[one.name])
            rows = (pa.Table.from_batches([batch]) for batch in batches)
            one.lake.stream_rows(STAGED, rows, where=where, note=note)
    return dict(rows_of)


def _with_short_names(rows: pa.Table, workload: str) -> pa.Table:
    """Rows of a workload with the names that its queries have there."""
    names = pc.utf8_slice_codeunits(rows["query"], len(own_name(workload, "")))
    return rows.set_column(rows.schema.get_field_index("query"), "query", names).cast(
        FINISHED_SCHEMA
    )


def aggregated(
    spark: SparkSession,
    workload: Workload,
    route: Route,
    *,
    plan: RuntimePlan,
    parts: int,
    counted: frozenset[str] = frozenset(),
) -> DataFrame:
    """The rows of `trend_aggregates` for a slice, and rows of counts; for `split_rows`.

    Events of the types `counted` are counted elsewhere.
    """
    task = reading(workload, route.parts, plan, counted, merged=route.merged)
    if not route.merged:
        return _numbered(spark, len(route.parts), task)
    rows = _numbered(spark, len(route.parts), task, PARTIAL_SCHEMA)
    return finished_together(rows, workload, parts)


def split_rows(rows: DataFrame, counts: list[Counts]) -> Iterator[pa.Table]:
    """The rows of `aggregated` without counts, as they come; the counts are added to a list."""
    frame: Any = rows
    client, plan = frame.sparkSession.client, frame._plan
    # A part at a time; `toArrow` would hold them all.
    for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(part, pa.Table):
            results, found = split(part)
            counts.append(found)
            if results.num_rows:
                yield results
