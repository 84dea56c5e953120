"""Aggregates the trends of one time slice: events in, staged results out, one Spark job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import chain
from tempfile import TemporaryFile

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from elsinore.engine.plan import RuntimePlan
from elsinore.lake.answered import Answered, joined, own_name
from elsinore.lake.provenance import STAGED, origin
from elsinore.lake.regions import Hours
from elsinore.lake.stale_hours import lost_hours, require_kept
from elsinore.results.task_rows import (
    EVENTS,
    FINISHED_SCHEMA,
    ROWS,
    WINDOWS,
    Counts,
    add_up,
)
from elsinore.spark.compute import Computed, compute
from elsinore.spark.tasks import split_rows
from elsinore.store.task_failures import spark_failures
from elsinore.template.support import require
from elsinore.timeline import Interval, hours_of


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
    reports: list[Counts] = []
    notes = [origin(run, one.workload, static_plan, version, owned) for one in answered]
    with spark_failures():
        computed = compute(spark, lake, workload, plan, owned, version=version, parts=parts)
        rows = chain.from_iterable(split_rows(frame, reports) for frame in computed.frames)
        rows_of = _stage(answered, rows, Hours(owned), notes)
    counts = add_up([*computed.reports, *reports])
    return summarized(version, static_plan, plan, computed, counts, rows_of)


def summarized(
    version: int, static_plan: str, plan: RuntimePlan, computed: Computed, counts: Counts,
    rows_of: Counts,
) -> Aggregated:  # fmt: skip
    """Return the result of a slice from the total of all counts."""
    others = dict(counts)
    events, windows, written = (others.pop(name, 0) for name in (EVENTS, WINDOWS, ROWS))
    return Aggregated(
        version, static_plan, events, windows, written, "; ".join(computed.words), plan.in_words(),
        others, rows_of,
    )  # fmt: skip


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
