"""Judges a landing: its own lines, with all stored lines and events that bear on the same ids.

What stays of an event is decided among all landed lines with its id, so that the order of landings
does not matter. A landing whose lines may change their fate by this one is judged anew as a whole.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.errors import ConflictError
from elsinore.spark.commit_notes import commits
from elsinore.spark.judge_events import judge_events
from elsinore.spark.landing_counts import LandingCounts, count_landing
from elsinore.spark.regions import Landings
from elsinore.spark.scan_landing import decode_stored
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval, parse_instant, stretches

_STORED = ("landing", "file", "position", "line")


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of the tables that a landing is judged at.

    Attributes:
        events: the version of `events`.
        turn: how many turns that has seen.
        raw: a version of `raw_events` that holds the lines of all landings which took these turns.
    """

    events: int
    turn: int
    raw: int

    @classmethod
    def of(cls, lake: Lake) -> Seen:
        """The latest one; a landing stores its lines before it takes its turn."""
        events, turn = lake.turn("events")
        return cls(events, turn, lake.version("raw_events"))

    def require_alone(self, lake: Lake, *, stored: bool, merged: bool) -> None:
        """Refuse to go on where others have changed rows since.

        Args:
            lake: the tables.
            stored: whether this landing has since stored its lines.
            merged: whether it has changed `events`.

        Raises:
            ConflictError: others have.
        """
        own = {"raw_events": (self.raw, stored), "events": (self.events, merged)}
        for table, (version, mine) in own.items():
            changes = sum(
                commit.changes_rows for commit in commits(lake.path(table), after=version)
            )
            if changes > mine:
                raise ConflictError("another run landed meanwhile")


@dataclass(frozen=True)
class JudgedLanding:
    """A landing that was judged, and those that were judged again with it.

    Attributes:
        rows: what `judge_events` gives.
        region: the landings that were judged as a whole: the run's own, and in `also` others.
        counts: what it comes to.
    """

    rows: DataFrame
    region: Landings
    counts: LandingCounts


def judge_landing(
    lake: Lake,
    scanned: DataFrame,
    interval: Interval,
    seen: Seen,
    *,
    few: bool,
    also: Collection[str] = (),
) -> JudgedLanding:
    """Judge the scanned lines of an interval's landings.

    Args:
        lake: the tables.
        scanned: columns of `scanned_schema`.
        interval: the landings of this run.
        seen: the versions to read.
        few: whether their ids fit into the memory of each worker.
        also: labels of other landings that are judged again in any case.
    """
    ours = Landings(interval)
    events, raw = lake.read("events", seen.events), lake.read("raw_events", seen.raw)
    # What these landings brought before, too: without it another line may stay.
    brought = events.where(_inside(ours))
    judged = judge_events(scanned, brought, lake.stream).localCheckpoint(eager=False)
    ids = judged.select("event_id").where("event_id IS NOT NULL")
    ids = F.broadcast(ids) if few else ids
    elsewhere = None
    if lake.stream.id_field is not None and _has_others(lake, ours, seen):
        elsewhere = _of_ids(events.where(~_inside(ours)), ids).select("landing")
    counts = count_landing(judged, _inside(ours), elsewhere)
    labels = set(also)
    if counts.held or counts.others:
        rivals = _of_ids(raw.where(~_inside(ours, by_day=True)), ids)
        labels.update(row["landing"] for row in rivals.select("landing").distinct().collect())
    if not labels | counts.others:
        return JudgedLanding(judged, ours, counts)

    others = stretches(parse_instant(f"{label}:00") for label in labels)
    region, again = Landings(interval, others), F.lit(False)
    if others:
        again = _inside(Landings(others[0], others[1:]), by_day=True)
    whole, stored = _inside(region), raw.where(again)
    ids = ids.unionByName(stored.select("event_id").dropna())
    rivals = _of_ids(raw.where(~_inside(ours, by_day=True) & ~again), ids)
    rows = stored.where("position > 0").select(*_STORED).unionByName(rivals.select(*_STORED))
    # Of a file that was unusable as a whole nothing but its fault was stored.
    unusable = lake.read("quarantine").where(again).where("position = 0").drop("landing_day")
    decoded = decode_stored(rows, lake.stream)
    lines = scanned.unionByName(decoded).unionByName(unusable, allowMissingColumns=True)
    held = events.where(whole).unionByName(_of_ids(events.where(~whole), ids))
    judged = judge_events(lines, held, lake.stream).localCheckpoint(eager=False)
    return JudgedLanding(judged, region, count_landing(judged, whole, None))


def _has_others(lake: Lake, ours: Landings, seen: Seen) -> bool:
    """Whether other landings have brought any event."""
    events = lake.dataset("events", seen.events)
    other = events.head(1, columns=["landing"], filter=~ours.expression(by_day=False))
    return bool(other.num_rows)


def _of_ids(rows: DataFrame, ids: DataFrame) -> DataFrame:
    return rows.join(ids, "event_id", "left_semi")


def _inside(landings: Landings, *, by_day: bool = False) -> Column:
    return F.expr(landings.predicate(by_day=by_day))
