"""What a landing comes to, counted in one go: fates of lines, changes of events, other landings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.spark.judge_events import ACCEPTED, DUPLICATE, QUARANTINED
from elsinore.spark.regions import day_of
from elsinore.timeline import HOUR, hour_label

#: By hour, the first and the last instant among the changed events that it holds.
Touched = dict[str, tuple[int, int]]

#: What a row counts, beside fates and changes.
_OTHER, _HELD, _WAS = "other", "held", "was"


@dataclass(frozen=True)
class LandingCounts:
    """The counts.

    Attributes:
        fates: rows with `kind` (a fate), `landing`, `reason`, `count`, and the `first` and `last`
            event time.
        others: labels of other landings from which events of the same ids come.
        held: how many events were held against the lines.
        changes: how many events are inserted, updated and deleted.
        days: the days of event time that hold these, before or after.
        touched: by hour of event time, the first and the last instant at which what events say
            changes; not those where only the line changes that an event is taken from. That is all
            that it takes to tell which hours own a window that holds a changed event: windows that
            lie between the two and hold neither end in this very hour, as one that holds the first
            does (SLIDE is never longer than WITHIN).
    """

    fates: tuple[Row, ...] = ()
    others: frozenset[str] = frozenset()
    held: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    days: frozenset[date] = frozenset()
    touched: Touched = field(default_factory=dict)


def count_landing(judged: DataFrame, whole: Column, others: DataFrame | None) -> LandingCounts:
    """Count what `judge_events` gives.

    Args:
        judged: its rows.
        whole: which lines belong to landings that are judged as a whole.
        others: the column `landing` of events of other landings.
    """
    at, was = F.unix_micros("event_time"), F.unix_micros("was")
    says_else = ~F.col("alike")
    is_line, is_change = F.col("fate").isNotNull() & whole, F.col("op").isNotNull()
    nothing = F.lit(None).cast("bigint")
    told = F.array(
        F.when(F.col("fate").isNull(), _told(F.lit(_HELD), nothing)),
        F.when(is_line, _told(F.col("fate"), at, landing="landing", reason="reason_code")),
        F.when(is_change, _told(F.col("op"), F.when(says_else, at), hour=_hour(at))),
        F.when(F.col("was").isNotNull(), _told(F.lit(_WAS), F.when(says_else, was), _hour(was))),
    )
    told_rows = judged.select(F.explode(F.array_compact(told)).alias("told")).select("told.*")
    if others is not None:
        told_rows = told_rows.unionByName(
            others.select(_told(F.lit(_OTHER), nothing, landing="landing").alias("told"))
            .select("told.*")
            .distinct()
        )
    rows = (
        told_rows.groupBy("kind", "landing", "reason", "hour")
        .agg(
            F.count(F.lit(1)).alias("count"), F.min("at").alias("first"), F.max("at").alias("last")
        )
        .collect()
    )
    return _sorted_out(rows)


def _sorted_out(rows: Sequence[Row]) -> LandingCounts:
    changes: Counter[str] = Counter()
    touched: Touched = {}
    hours = [row for row in rows if row["hour"] is not None]
    for row in hours:
        if row["kind"] != _WAS:
            changes[row["kind"]] += row["count"]
        if row["first"] is not None:
            label = hour_label(row["hour"] * HOUR)
            first, last = touched.get(label, (row["first"], row["last"]))
            touched[label] = min(first, row["first"]), max(last, row["last"])
    return LandingCounts(
        tuple(row for row in rows if row["kind"] in (ACCEPTED, DUPLICATE, QUARANTINED)),
        frozenset(row["landing"] for row in rows if row["kind"] == _OTHER),
        sum(row["count"] for row in rows if row["kind"] == _HELD),
        changes,
        frozenset(day_of(row["hour"] * HOUR) for row in hours),
        dict(sorted(touched.items())),
    )


def _told(
    kind: Column,
    at: Column,
    hour: Column | None = None,
    *,
    landing: str | None = None,
    reason: str | None = None,
) -> Column:
    no_text = F.lit(None).cast("string")
    return F.struct(
        kind.alias("kind"),
        (F.col(landing) if landing else no_text).alias("landing"),
        (F.col(reason) if reason else no_text).alias("reason"),
        (F.lit(None).cast("bigint") if hour is None else hour).alias("hour"),
        at.alias("at"),
    )


def _hour(at: Column) -> Column:
    return F.floor(at / F.lit(HOUR))
