"""Stage results: Spark's workers write the rows that they make; no row passes through the driver.

The rows of counts among them are collected while the rows are written (`DataFrame.observe`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.publish.tables import DAY_COLUMN, HOUR_COLUMN, STAGED, ResultTables, of_result_hours
from elsinore.results.task_rows import TASK_COUNTS, Counts, read_counts
from elsinore.store.regions import day_of
from elsinore.store.spark_tables import Note
from elsinore.timeline import Interval, hours_of


@dataclass(frozen=True)
class Target:
    """The tables of a workload that runs together with others.

    Attributes:
        tables: Its tables.
        note: Note of the commit: run, workload, plan, version of events and so on.
        workload: Its number among the joined workloads (`query.bound.Origin`).
    """

    tables: ResultTables
    note: Note
    workload: int = 0


@dataclass(frozen=True)
class StagedRows:
    """The result of staging.

    Attributes:
        counts: Total of the counts that the tasks made, by name.
        rows: Number of rows that each target got, in their order.
        versions: For each target, the version of its `results_staged` with these rows.
    """

    counts: Counts
    rows: tuple[int, ...]
    versions: tuple[int, ...]


def stage(
    rows: DataFrame, targets: Sequence[Target], interval: Interval, *, is_scattered: bool = False
) -> StagedRows:
    """Replace the staged results of some hours of each workload, in one commit per workload.

    Args:
        rows: Finished rows of windows that end in the interval, and rows of counts
            (`results.task_rows`). Without a row the hours become empty.
        targets: The workloads, at least one.
        interval: Whole hours.
        is_scattered: Tasks make rows of all days, not of consecutive ones. Then rows of several
            days are shuffled by day, so that each day is written by one task.

    Raises:
        ConflictError: other writers won each time.
        DataError: a table uses a feature that Delta does not support.
        ElsinoreError: a task raised it.
    """
    first = targets[0].tables
    first.store.plan_for(0, first.cores)
    # Several workloads read the rows, which are computed once.
    common = rows.persist(StorageLevel.DISK_ONLY) if len(targets) > 1 else rows
    try:
        counted = Observation()
        texts = F.collect_list(TASK_COUNTS).alias("counts")
        # The first write computes all rows, and only it has to count.
        frames = [common.observe(counted, texts), *(common for _ in targets[1:])]
        written = [
            _write(_own_rows(frame, target), target, interval, is_scattered)
            for frame, target in zip(frames, targets, strict=True)
        ]
    finally:
        if common is not rows:
            common.unpersist()
    numbers, versions = zip(*written, strict=True)
    return StagedRows(read_counts(counted.get["counts"]), numbers, versions)


def _own_rows(rows: DataFrame, target: Target) -> DataFrame:
    """Return the results of a workload, without rows of counts, which have none."""
    return rows.where(F.col("workload") == F.lit(target.workload))


def _write(
    rows: DataFrame, target: Target, interval: Interval, is_scattered: bool
) -> tuple[int, int]:
    """Replace the staged rows of a workload; return their number, and the version."""
    tables, written = target.tables, Observation()
    shaped = rows.select([_column(name) for name in tables.store.columns(STAGED)])
    if is_scattered and day_of(interval.start) != day_of(interval.end - 1):
        shaped = shaped.repartition(tables.cores, DAY_COLUMN)
    shaped = shaped.observe(written, F.count(F.lit(1)).alias("rows"))
    where = of_result_hours(hours_of(interval))
    own = {**target.note, "id": uuid4().hex}
    tables.store.replace(STAGED, shaped, where, own)
    commit = tables.store.committed(STAGED, own["id"])
    # Delta commits nothing if there are neither old nor new rows.
    version = tables.store.version(STAGED) if commit is None else commit.version
    return int(written.get["rows"]), version


def _column(name: str) -> Column:
    """Return a column of the staged table from the columns of finished rows."""
    if name == DAY_COLUMN:
        return F.to_date(F.substring(_HOUR, 1, 10)).alias(name)
    if name == HOUR_COLUMN:
        return F.col(_HOUR).alias(name)
    if name in ("window_start", "window_end"):
        return F.timestamp_micros(name).alias(name)
    return F.col(name)


#: The column of finished rows with the hour in which the window ends.
_HOUR = "window_end_hour"
