"""The MERGE that applies what a landing changes in the table `events`."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.errors import ConflictError
from elsinore.spark.judge_events import DELETE, INSERT, UPDATE
from elsinore.spark.landing_counts import LandingCounts
from elsinore.spark.tables import Lake

#: The changes are a checkpoint: there is no need to make another one of them.
_AS_IT_IS = {"spark.databricks.delta.merge.materializeSource": "none"}


def merge_changes(
    lake: Lake, judged: DataFrame, counts: LandingCounts, *, turn: int, run: str
) -> None:
    """Apply changes to `events` in one commit, which notes the touched times.

    Args:
        lake: the tables.
        judged: rows of `judge_events`, at the version of `events` that had seen one turn less.
        counts: theirs.
        turn: the number of this change (`Lake.run_sql`).
        run: what to note beside the times.

    Raises:
        ConflictError: another landing has taken the turn, or somebody else changes the same rows.
    """
    key = ("event_id",) if lake.stream.id_field is not None else ("file", "position")
    same_event = " AND ".join(f"t.{name} = s.{name}" for name in key)
    # Files of other days are neither read nor written.
    days = ", ".join(f"DATE'{day}'" for day in sorted(counts.days))
    names = [f"`{column.name}`" for column in lake.schema("events").columns]
    updates = ", ".join(f"t.{name} = s.{name}" for name in names)
    values = f"({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})"
    clauses = {
        DELETE: f"WHEN MATCHED AND s.op = '{DELETE}' THEN DELETE",
        UPDATE: f"WHEN MATCHED AND s.op = '{UPDATE}' THEN UPDATE SET {updates}",
        INSERT: f"WHEN NOT MATCHED AND s.op = '{INSERT}' THEN INSERT {values}",
    }
    # Delta reads the table once less where it has only to insert.
    wanted = " ".join(clause for op, clause in clauses.items() if counts.changes[op])
    # Names of the stream's schema, which are plain identifiers, our own, and days.
    target = lake.sql_name("events").replace("{", "{{").replace("}", "}}")
    merge = (
        f"MERGE INTO {target} t USING {{changes}} s "
        f"ON t.event_day IN ({days}) AND {same_event} {wanted}"
    )
    day = F.to_date("event_time").alias("event_day")
    changes = judged.where(F.col("op").isNotNull()).select(day, *names[1:], "op")
    note = json.dumps({"run": run, "touched": counts.touched})
    with lake.configured(_AS_IT_IS):
        made = lake.run_sql(merge, note=note, turn=turn, changes=changes)
    fields = {INSERT: "num_inserted_rows", UPDATE: "num_updated_rows", DELETE: "num_deleted_rows"}
    found = {op: sum(row[name] for row in made) for op, name in fields.items()}
    if found != {op: counts.changes[op] for op in fields}:
        raise ConflictError(f"another run landed first: {found} instead of {dict(counts.changes)}")
