"""What a landing changes in the table `events`, the times that this touches, and the MERGE."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.spark.judge_events import PLACE, content_of, key_of, quoted
from elsinore.spark.tables import Lake
from elsinore.timeline import HOUR, hour_label

#: By hour, the first and the last instant among the changed events that it holds.
Touched = dict[str, tuple[int, int]]

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_PUT, _DELETE = "put", "delete"


def event_changes(lake: Lake, accepted: DataFrame, held: DataFrame) -> DataFrame:
    """The rows of `events` that are to be written or deleted.

    Args:
        lake: the tables.
        accepted: the events that are to stay, of some ids.
        held: the rows of `events` that these replace.

    Returns:
        Columns of `events`, those of a deleted row as they were; `op`, `put` or `delete`; and
        `times`, the event times at which what events say changes: none where only the line changes
        that an event is taken from.
    """
    names = [column.name for column in lake.schema("events").columns]
    new = _keyed(accepted.withColumn("event_day", F.to_date("event_time")), lake, names, "new")
    old = _keyed(held, lake, names, "old")
    # Held, since Spark's planner would write these structs out again in every column below.
    both = new.join(old, "key", "full_outer").localCheckpoint()
    is_new, is_gone = F.col("old").isNull(), F.col("new").isNull()
    same = F.col("new_content").eqNullSafe(F.col("old_content"))
    op = (
        F.when(is_gone, _DELETE)
        .when(is_new | ~same | ~F.col("new_place").eqNullSafe(F.col("old_place")), _PUT)
        .otherwise(None)
    )
    times = F.when(same, F.array().cast("array<timestamp>")).otherwise(
        F.array_compact(F.array(F.col("old")["event_time"], F.col("new")["event_time"]))
    )
    row = F.coalesce("new", "old")
    return (
        both.withColumns({"op": op, "times": times, "row": row})
        .where(F.col("op").isNotNull())
        .select(*(F.col("row")[name].alias(name) for name in names), "op", "times")
    )


def touched_times(changes: DataFrame) -> Touched:
    """By hour of event time, the first and the last instant at which something changes.

    That is all that it takes to tell which hours own a window that holds a changed event: windows
    that lie between the two and hold neither end in this very hour, as one that holds the first
    does (SLIDE is never longer than WITHIN).
    """
    at = changes.select(F.explode("times").alias("at")).select(F.unix_micros("at").alias("at"))
    hour = F.floor(F.col("at") / F.lit(HOUR)).alias("hour")
    found = at.groupBy(hour).agg(F.min("at").alias("a"), F.max("at").alias("b"))
    return {hour_label(row["hour"] * HOUR): (row["a"], row["b"]) for row in found.collect()}


def merge_changes(lake: Lake, changes: DataFrame, touched: Touched, *, run: str) -> None:
    """Apply changes to `events` in one commit, which notes the touched times.

    A MERGE and not a rewrite of partitions: it conflicts with every other landing that commits
    meanwhile, so that no id can come in twice.

    Raises:
        ConflictError: another landing got there first.
    """
    names = [column.name for column in lake.schema("events").columns]
    key = ("event_id",) if lake.stream.id_field is not None else ("file", "position")
    same_event = F.lit(True)
    for name in key:
        same_event = same_event & (F.col(f"t.{name}") == F.col(f"s.{name}"))
    row = {f"`{name}`": F.col(f"s.`{name}`") for name in names}
    put = F.col("s.op") == _PUT
    target: DeltaTable = lake.delta("events")
    merge = (
        target.alias("t")
        .merge(changes.drop("times").alias("s"), same_event)
        .whenMatchedDelete(F.col("s.op") == _DELETE)
        .whenMatchedUpdate(put, row)
        .whenNotMatchedInsert(put, row)
    )
    note = json.dumps({"run": run, "touched": dict(sorted(touched.items()))})
    with _commit_note(lake.spark, note):
        merge.execute()


def _keyed(events: DataFrame, lake: Lake, names: list[str], side: str) -> DataFrame:
    return events.select(
        key_of(F.lit(True)).alias("key"),
        F.struct(*(quoted(name) for name in names)).alias(side),
        content_of(lake.stream).alias(f"{side}_content"),
        F.struct(*PLACE).alias(f"{side}_place"),
    )


@contextmanager
def _commit_note(spark: SparkSession, note: str) -> Iterator[None]:
    """What MERGE writes into the table's history; it has no option for that."""
    spark.conf.set(_USER_METADATA, note)
    try:
        yield
    finally:
        spark.conf.unset(_USER_METADATA)
