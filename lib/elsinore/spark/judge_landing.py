"""Judges a landing: its own lines, with all stored lines and events of the same ids.

What stays of an event is decided among all landed lines with its id, so that the order of landings
does not matter. A landing whose lines may change their fate by this one is judged anew as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ConflictError
from elsinore.files.rejection import Reason
from elsinore.lake.delta_log import commits
from elsinore.lake.regions import Landings, day_of
from elsinore.spark.scan_landing import decode_stored, scanned_schema
from elsinore.spark.tables import SparkLake
from elsinore.timeline import HOUR, Interval, hour_label, parse_hour, stretches

_STORED = ("landing", "file", "position", "line")

#: Values of the column `fate`.
ACCEPTED, DUPLICATE, QUARANTINED = "accepted", "duplicate", "quarantined"

#: Values of the column `op`.
INSERT, UPDATE, DELETE = "insert", "update", "delete"

#: Where a line was; of lines with one id the greatest place wins.
PLACE = ("landing", "file", "position")

_SHOWN = 60

#: By hour or landing, the first and the last instant of some events.
Spans = dict[str, tuple[int, int]]


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
    def of(cls, lake: SparkLake) -> Seen:
        """The latest one; a landing stores its lines before it takes its turn."""
        events, turn = lake.turn("events")
        return cls(events, turn, lake.version("raw_events"))

    def require_alone(self, lake: SparkLake, *, stored: bool, merged: bool) -> None:
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
        own: the landings that were scanned.
        others: further ones that were judged again as a whole.
        counts: what it comes to.
    """

    rows: DataFrame
    own: Landings
    others: tuple[Interval, ...]
    counts: LandingCounts

    @property
    def region(self) -> Landings:
        """All landings that were judged as a whole."""
        return Landings(self.own.interval, (*self.own.also, *self.others))


def judge_landing(
    lake: SparkLake,
    scanned: DataFrame,
    ours: Landings,
    seen: Seen,
    *,
    few: bool,
    also: Collection[str] = (),
) -> JudgedLanding:
    """Judge the scanned lines of some landings.

    Args:
        lake: the tables.
        scanned: columns of `scanned_schema`.
        ours: the landings.
        seen: the versions to read.
        few: whether their ids fit into the memory of each worker.
        also: labels of other landings that are judged again in any case.
    """
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
        return JudgedLanding(judged, ours, (), counts)

    others = stretches(parse_hour(label) for label in labels)
    region = Landings(ours.interval, (*ours.also, *others))
    again = _inside(Landings(others[0], others[1:]), by_day=True) if others else F.lit(False)
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
    return JudgedLanding(judged, ours, others, count_landing(judged, whole, None))


def _has_others(lake: SparkLake, ours: Landings, seen: Seen) -> bool:
    """Whether other landings have brought any event."""
    events = lake.dataset("events", seen.events)
    other = events.head(1, columns=["landing"], filter=~ours.expression(by_day=False))
    return bool(other.num_rows)


def _of_ids(rows: DataFrame, ids: DataFrame) -> DataFrame:
    return rows.join(ids, "event_id", "left_semi")


def _inside(landings: Landings, *, by_day: bool = False) -> Column:
    return F.expr(landings.predicate(by_day=by_day))


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
    judged = ranked.withColumns(_fate_and_change(place, says))
    return judged.withColumns(_consequences()).select(
        *map(quoted, scanned_schema(stream).names), "fate", "op", "was", "alike"
    )


def _fate_and_change(place: Column, says: Column) -> dict[str, Column]:
    """`fate` and `op` of a row beside the greatest landed and held entries of its key."""
    is_held, is_event = F.col("held"), F.col("reason_code").isNull()
    new, old = F.col("new"), F.col("old")
    stays = is_event & (place == new["place"])
    fate = (
        F.when(is_held, None)
        .when(stays, ACCEPTED)
        .when(is_event & says.eqNullSafe(new["says"]), DUPLICATE)
        .otherwise(QUARANTINED)
    )
    moved = ~new["says"].eqNullSafe(old["says"]) | (new["place"] != old["place"])
    op = (
        F.when(is_held, F.when(new.isNull(), DELETE))
        .when(stays & old.isNull(), INSERT)
        .when(stays & moved, UPDATE)
    )
    return {"fate": fate, "op": op}


def _consequences() -> dict[str, Column]:
    """What follows from `fate` and `op`: a reason, the text of a bad line, `was` and `alike`."""
    new, old = F.col("new"), F.col("old")
    superseded = F.col("reason_code").isNull() & (F.col("fate") == QUARANTINED)
    reason = F.concat(
        F.lit("id '"), F.substring("event_id", 1, _SHOWN), F.lit("' was corrected by "),
        new["place"]["file"], F.lit(":"), new["place"]["position"].cast("string"),
    )  # fmt: skip
    code = F.lit(Reason.SUPERSEDED.value)
    return {
        "reason_code": F.when(superseded, code).otherwise(F.col("reason_code")),
        "reason": F.when(superseded, reason).otherwise(F.col("reason")),
        "line": F.when(F.col("fate") == QUARANTINED, F.col("line")),
        "was": F.when(F.col("op") == UPDATE, old["says"]["event_time"]),
        "alike": new["says"].eqNullSafe(old["says"]),
    }


def _key(is_event: Column) -> Column:
    """The id of an event; where it has none (or the line is no event), the place of the line."""
    by_id = F.concat(F.lit("id:"), F.col("event_id"))
    by_place = F.concat(F.lit("at:"), F.col("file"), F.lit(":"), F.col("position").cast("string"))
    return F.when(is_event & F.col("event_id").isNotNull(), by_id).otherwise(by_place)


def quoted(name: str) -> Column:
    """A column whatever its name is made of."""
    return F.col(f"`{name}`")


@dataclass(frozen=True)
class LandingCounts:
    """The counts.

    Attributes:
        fates: lines by landing, fate and reason.
        accepted: by landing, the first and the last instant of its accepted events.
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

    fates: Counter[tuple[str, str, str | None]]
    accepted: Spans
    others: frozenset[str]
    held: int
    changes: Counter[str]
    days: frozenset[date]
    touched: Spans


def count_landing(judged: DataFrame, whole: Column, others: DataFrame | None) -> LandingCounts:
    """Count what `judge_events` gives, all of it in one pass.

    Args:
        judged: its rows.
        whole: which lines belong to landings that are judged as a whole.
        others: the column `landing` of events of other landings.
    """
    at, was = F.unix_micros("event_time"), F.unix_micros("was")
    is_line, is_change = F.col("fate").isNotNull() & whole, F.col("op").isNotNull()
    groups = {
        "held": F.col("fate").isNull(),
        "fate": F.when(is_line, F.col("fate")),
        "landing": F.when(is_line, F.col("landing")),
        "reason": F.when(is_line, F.col("reason_code")),
        "op": F.col("op"),
        "alike": F.when(is_change, F.col("alike")),
        "hour": F.when(is_change, F.floor(at / F.lit(HOUR))),
        "hour_before": F.floor(was / F.lit(HOUR)),
        "other": F.lit(None).cast("string"),
    }
    columns = (groups | {"at": at, "was": was}).items()
    rows = judged.select(*(column.alias(name) for name, column in columns))
    if others is not None:
        labels = others.select(F.col("landing").alias("other")).distinct()
        rows = rows.unionByName(labels, allowMissingColumns=True)
    counted = rows.groupBy(*groups).agg(
        F.count(F.lit(1)).alias("count"),
        F.min("at").alias("first"),
        F.max("at").alias("last"),
        F.min("was").alias("first_before"),
        F.max("was").alias("last_before"),
    )
    return _sorted_out(counted.collect())


def _sorted_out(rows: Sequence[Row]) -> LandingCounts:
    fates: Counter[tuple[str, str, str | None]] = Counter()
    changes: Counter[str] = Counter()
    accepted: Spans = {}
    touched: Spans = {}
    days = set()
    for row in rows:
        here = row["hour"], row["first"], row["last"]
        before = row["hour_before"], row["first_before"], row["last_before"]
        if row["fate"] is not None:
            fates[row["landing"], row["fate"], row["reason"]] += row["count"]
        if row["fate"] == ACCEPTED:
            _widen(accepted, row["landing"], *here[1:])
        if row["op"] is not None:
            changes[row["op"]] += row["count"]
        for hour, first, last in (here, before):
            if hour is not None:
                days.add(day_of(hour * HOUR))
                if not row["alike"]:
                    _widen(touched, hour_label(hour * HOUR), first, last)
    return LandingCounts(
        fates,
        accepted,
        frozenset(row["other"] for row in rows if row["other"] is not None),
        sum(row["count"] for row in rows if row["held"]),
        changes,
        frozenset(days),
        dict(sorted(touched.items())),
    )


def _widen(spans: Spans, label: str, first: int, last: int) -> None:
    before = spans.get(label, (first, last))
    spans[label] = min(before[0], first), max(before[1], last)
