"""What becomes of each scanned line: an event to keep, a duplicate, or a line for quarantine."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.catalog.stream import StreamSchema
from elsinore.files.rejection import Reason
from elsinore.spark.regions import Landings

#: Values of the column `fate`.
ACCEPTED, DUPLICATE, QUARANTINED = "accepted", "duplicate", "quarantined"

_PLACE = ("landing", "file", "position")
_SHOWN = 60


def judge_events(
    scanned: DataFrame, events: DataFrame, stream: StreamSchema, landings: Landings
) -> DataFrame:
    """The scanned lines with their `fate`, a reason where it is quarantine, and `changed`.

    Of all events with one id the first stays: one that another landing brought before, or else the
    first of this run by (landing, file, position). Another with the same type, time and attributes
    is a duplicate; one that differs goes to quarantine as `conflicting_id`. `changed` says of an
    accepted event that the table does not hold it like this yet.

    Args:
        scanned: columns of `scanned_schema`.
        events: the table of events as it is.
        stream: the stream's schema.
        landings: the hours that are landed; what the table holds from these is replaced.
    """
    content = F.struct("event_type", "event_time", *(_quoted(n) for n in stream.attributes))
    place = F.struct(*_PLACE)
    held = events.select(
        _key(F.lit(True)).alias("key"),
        content.alias("held_content"),
        place.alias("held_place"),
        F.col("landing").between(landings.first, landings.last).alias("held_is_ours"),
    )
    is_event = F.col("reason_code").isNull()
    with_content = scanned.withColumns(
        {"key": _key(is_event), "content": content, "place": place, "is_event": is_event}
    )
    in_order = Window.partitionBy("key").orderBy(*_PLACE)
    ranked = with_content.withColumns(
        {
            "rank": F.row_number().over(in_order),
            "first_content": F.first("content").over(in_order),
            "first_place": F.first("place").over(in_order),
        }
    )
    return _judged(ranked.join(held, "key", "left"), [*scanned.columns])


def _judged(lines: DataFrame, columns: list[str]) -> DataFrame:
    taken = F.coalesce(~F.col("held_is_ours"), F.lit(False))
    kept_content = F.when(taken, F.col("held_content")).otherwise(F.col("first_content"))
    kept_place = F.when(taken, F.col("held_place")).otherwise(F.col("first_place"))
    same = F.col("content").eqNullSafe(kept_content)
    fate = (
        F.when(~F.col("is_event"), QUARANTINED)
        .when((F.col("rank") == 1) & ~taken, ACCEPTED)
        .when(same, DUPLICATE)
        .otherwise(QUARANTINED)
    )
    as_held = F.col("content").eqNullSafe(F.col("held_content")) & F.col("place").eqNullSafe(
        F.col("held_place")
    )
    in_conflict = (fate == QUARANTINED) & F.col("is_event")
    shown = F.substring("event_id", 1, _SHOWN)
    reason = F.concat(
        F.lit("id '"), shown, F.lit("' is that of another event, "),
        kept_place["file"], F.lit(":"), kept_place["position"].cast("string"),
    )  # fmt: skip
    code = F.lit(Reason.CONFLICTING_ID.value)
    judged = {
        "fate": fate,
        "changed": (fate == ACCEPTED) & ~F.coalesce(as_held, F.lit(False)),
        "reason_code": F.when(in_conflict, code).otherwise(F.col("reason_code")),
        "reason": F.when(in_conflict, reason).otherwise(F.col("reason")),
    }
    return lines.withColumns(judged).select(*(_quoted(n) for n in columns), "fate", "changed")


def _key(is_event: Column) -> Column:
    """The id of an event; where it has none (or the line is no event), the place of the line."""
    by_id = F.concat(F.lit("id:"), F.col("event_id"))
    by_place = F.concat(F.lit("at:"), F.col("file"), F.lit(":"), F.col("position").cast("string"))
    return F.when(is_event & F.col("event_id").isNotNull(), by_id).otherwise(by_place)


def _quoted(name: str) -> Column:
    return F.col(f"`{name}`")
