"""Gathers what a landing has to judge: its own lines, and stored ones that bear on the same ids.

What stays of an event is decided among all landed lines with its id, so that the order of landings
does not matter. A landing whose lines may change their fate by this one is judged anew as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.spark.regions import Landings
from elsinore.spark.scan_landing import decode_stored
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval, parse_instant, stretches

_STORED = ("landing", "file", "position", "line")


@dataclass(frozen=True)
class LandedLines:
    """Lines to be judged together.

    Attributes:
        lines: columns of `scanned_schema`: of each id among the landings in `region`, every line.
        region: the landings that are judged as a whole: those of this run, and in `also` others.
        ids: the ids among them, as a column `event_id`.
        raw_version: the version of `raw_events` that the others were read from.
    """

    lines: DataFrame
    region: Landings
    ids: DataFrame
    raw_version: int

    @property
    def is_ours(self) -> Column:
        """Whether a row belongs to this run's own landings."""
        return F.col("landing").between(self.region.first, self.region.last)

    def rivals(self, lake: Lake, version: int) -> tuple[int, Decimal | None]:
        """How many stored lines of others bear on the outcome, and a sum that tells them apart."""
        raw = lake.read("raw_events", version).where(~self.is_ours)
        also = raw.where(in_landings(self.region.also))
        other = raw.where(~in_landings(self.region.also)).join(self.ids, "event_id", "left_semi")
        number = F.sum(F.xxhash64(*_STORED).cast("decimal(38,0)"))
        row = also.select(*_STORED).unionByName(other.select(*_STORED)).agg(
            F.count(F.lit(1)).alias("count"), number.alias("sum")
        ).first()  # fmt: skip
        assert row is not None
        return row["count"], row["sum"]


def gather_lines(lake: Lake, scanned: DataFrame, interval: Interval) -> LandedLines:
    """The scanned lines of an interval's landings, and all that they are to be judged with.

    Args:
        lake: the tables.
        scanned: columns of `scanned_schema`.
        interval: the landings of this run.
    """
    ours = Landings(interval)
    is_ours = F.col("landing").between(ours.first, ours.last)
    version = lake.version("raw_events")
    own_ids = scanned.where("event_id IS NOT NULL").select("event_id")
    if lake.stream.id_field is None:
        return LandedLines(scanned, ours, own_ids, version)
    # Ids that these landings brought before, too: without them another line may stay.
    brought = lake.read("events").where(is_ours).select("event_id")
    ids = own_ids.unionByName(brought).distinct().localCheckpoint()
    others = lake.read("raw_events", version).where(~is_ours & F.col("event_id").isNotNull())
    touched = others.join(ids, "event_id", "left_semi").select("landing").distinct().collect()
    if not touched:
        return LandedLines(scanned, ours, ids, version)
    also = stretches(parse_instant(f"{row['landing']}:00") for row in touched)
    again = in_landings(also)
    stored = lake.read("raw_events", version).where(again).select("event_id", *_STORED)
    ids = ids.unionByName(stored.select("event_id").dropna()).distinct().localCheckpoint()
    rivals = others.where(~again).join(ids, "event_id", "left_semi")
    rows = stored.where("position > 0").unionByName(rivals.select("event_id", *_STORED))
    # Of a file that was unusable as a whole nothing but its fault was stored.
    whole = lake.read("quarantine").where(again & (F.col("position") == 0))
    nulls = {
        name: F.lit(None).cast(scanned.schema[name].dataType)
        for name in scanned.columns
        if name not in whole.columns
    }
    lines = (
        scanned.unionByName(decode_stored(rows.select(*_STORED), lake.stream))
        .unionByName(whole.withColumns(nulls))
        .localCheckpoint()
    )
    return LandedLines(lines, Landings(interval, also), ids, version)


def in_landings(stretches: tuple[Interval, ...]) -> Column:
    """Whether a row belongs to one of some stretches of landings."""
    found = F.lit(False)
    for stretch in stretches:
        hours = Landings(stretch)
        found = found | F.col("landing").between(hours.first, hours.last)
    return found
