"""What becomes of each landed line: an event to keep, a duplicate, or a line for quarantine."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.catalog.stream import StreamSchema
from elsinore.files.rejection import Reason

#: Values of the column `fate`.
ACCEPTED, DUPLICATE, QUARANTINED = "accepted", "duplicate", "quarantined"

#: Where a line was; of lines with one id the greatest place wins.
PLACE = ("landing", "file", "position")
_SHOWN = 60


def judge_events(lines: DataFrame, stream: StreamSchema) -> DataFrame:
    """The lines with their `fate`, and a reason where it is quarantine.

    Of all lines with one event id the last one by (landing, file, position) stays: what comes later
    corrects what came before. Another with the same type, time and attributes is a duplicate; one
    that differs goes to quarantine as `superseded`, with the place of the correction. Nothing else
    decides, least of all when a line was landed: the same lines always end the same.

    Args:
        lines: columns of `scanned_schema`; of the ids that it holds, every line that was landed.
        stream: the stream's schema.
    """
    content = content_of(stream)
    is_event = F.col("reason_code").isNull()
    last_first = Window.partitionBy("key").orderBy(*(F.col(name).desc() for name in PLACE))
    ranked = lines.withColumns(
        {"key": key_of(is_event), "content": content, "place": F.struct(*PLACE)}
    ).withColumns(
        {
            "rank": F.row_number().over(last_first),
            "kept": F.first("content").over(last_first),
            "kept_place": F.first("place").over(last_first),
        }
    )
    same = F.col("content").eqNullSafe(F.col("kept"))
    fate = (
        F.when(~is_event, QUARANTINED)
        .when(F.col("rank") == 1, ACCEPTED)
        .when(same, DUPLICATE)
        .otherwise(QUARANTINED)
    )
    superseded = is_event & (fate == QUARANTINED)
    reason = F.concat(
        F.lit("id '"), F.substring("event_id", 1, _SHOWN), F.lit("' was corrected by "),
        F.col("kept_place")["file"], F.lit(":"), F.col("kept_place")["position"].cast("string"),
    )  # fmt: skip
    judged = {
        "fate": fate,
        "reason_code": F.when(superseded, F.lit(Reason.SUPERSEDED.value)).otherwise(
            F.col("reason_code")
        ),
        "reason": F.when(superseded, reason).otherwise(F.col("reason")),
    }
    return ranked.withColumns(judged).select(*(quoted(name) for name in lines.columns), "fate")


def content_of(stream: StreamSchema) -> Column:
    """What an event says: its type, its time, and the values of all attributes."""
    return F.struct("event_type", "event_time", *(quoted(name) for name in stream.attributes))


def key_of(is_event: Column) -> Column:
    """The id of an event; where it has none (or the line is no event), the place of the line."""
    by_id = F.concat(F.lit("id:"), F.col("event_id"))
    by_place = F.concat(F.lit("at:"), F.col("file"), F.lit(":"), F.col("position").cast("string"))
    return F.when(is_event & F.col("event_id").isNotNull(), by_id).otherwise(by_place)


def quoted(name: str) -> Column:
    """A column whatever its name is made of."""
    return F.col(f"`{name}`")
