"""What becomes of each landed line and of each stored event with the same id."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.catalog.stream import StreamSchema
from elsinore.files.rejection import Reason
from elsinore.spark.scan_landing import scanned_schema

#: Values of the column `fate`.
ACCEPTED, DUPLICATE, QUARANTINED = "accepted", "duplicate", "quarantined"

#: Values of the column `op`.
INSERT, UPDATE, DELETE = "insert", "update", "delete"

#: Where a line was; of lines with one id the greatest place wins.
PLACE = ("landing", "file", "position")
_SHOWN = 60


def judge_events(lines: DataFrame, held: DataFrame, stream: StreamSchema) -> DataFrame:
    """The lines with their `fate`, a reason where it is quarantine, and what changes in `events`.

    Of all lines with one event id the last one by (landing, file, position) stays: what comes later
    corrects what came before. Another with the same type, time and attributes is a duplicate; one
    that differs goes to quarantine as `superseded`, with the place of the correction. Nothing else
    decides, least of all when a line was landed: the same lines always end the same.

    Args:
        lines: columns of `scanned_schema`; of the ids that it holds, every line that was landed.
        held: rows of `events`: those of these ids, and those that these landings brought.
        stream: the stream's schema.

    Returns:
        A row for each line and, without a `fate`, for each held event, with the columns of `lines`
        (`line` where it is quarantined), and: `op`, where `events` is to change by this row; `was`,
        the time of the event that an update replaces; `alike`, whether it says the same.
    """
    is_held, is_event = F.col("held"), F.col("reason_code").isNull()
    both = lines.withColumn("held", F.lit(False)).unionByName(
        held.drop("event_day").withColumn("held", F.lit(True)), allowMissingColumns=True
    )
    one_key = Window.partitionBy("key")
    place = F.struct(*PLACE)
    # What an event says: its type, its time, and the values of all attributes.
    says = F.struct("event_type", "event_time", *(quoted(name) for name in stream.attributes))
    entry = F.struct(place.alias("place"), says.alias("says"))
    # Put together by key first, so that the entries are made where they are compared.
    ranked = (
        both.withColumn("key", _key(is_event))
        .repartition("key")
        .withColumns(
            {
                "new": F.max(F.when(is_event & ~is_held, entry)).over(one_key),
                "old": F.max(F.when(is_held, entry)).over(one_key),
            }
        )
    )
    new, old = F.col("new"), F.col("old")
    stays = is_event & (place == new["place"])
    fate = (
        F.when(is_held, None)
        .when(stays, ACCEPTED)
        .when(is_event & says.eqNullSafe(new["says"]), DUPLICATE)
        .otherwise(QUARANTINED)
    )
    alike = new["says"].eqNullSafe(old["says"])
    moved = ~alike | (new["place"] != old["place"])
    op = (
        F.when(is_held, F.when(new.isNull(), DELETE))
        .when(stays & old.isNull(), INSERT)
        .when(stays & moved, UPDATE)
    )
    superseded = is_event & (F.col("fate") == QUARANTINED)
    reason = F.concat(
        F.lit("id '"), F.substring("event_id", 1, _SHOWN), F.lit("' was corrected by "),
        new["place"]["file"], F.lit(":"), new["place"]["position"].cast("string"),
    )  # fmt: skip
    code = F.lit(Reason.SUPERSEDED.value)
    return (
        ranked.withColumns({"fate": fate, "op": op})
        .withColumns(
            {
                "reason_code": F.when(superseded, code).otherwise(F.col("reason_code")),
                "reason": F.when(superseded, reason).otherwise(F.col("reason")),
                "line": F.when(F.col("fate") == QUARANTINED, F.col("line")),
                "was": F.when(F.col("op") == UPDATE, old["says"]["event_time"]),
                "alike": alike,
            }
        )
        .select(*map(quoted, scanned_schema(stream).names), "fate", "op", "was", "alike")
    )


def _key(is_event: Column) -> Column:
    """The id of an event; where it has none (or the line is no event), the place of the line."""
    by_id = F.concat(F.lit("id:"), F.col("event_id"))
    by_place = F.concat(F.lit("at:"), F.col("file"), F.lit(":"), F.col("position").cast("string"))
    return F.when(is_event & F.col("event_id").isNotNull(), by_id).otherwise(by_place)


def quoted(name: str) -> Column:
    """A column whatever its name is made of."""
    return F.col(f"`{name}`")
