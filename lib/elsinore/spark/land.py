"""Lands the raw files of some hours: raw lines, quarantine, events, and an account of all lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random

from elsinore.errors import ConflictError, DataError, EngineError
from elsinore.files.rejection import bad_lines, judged_lines
from elsinore.lake.regions import Landings
from elsinore.settings import Settings
from elsinore.spark.failures import spark_failures
from elsinore.spark.judge_landing import (
    ACCEPTED,
    DELETE,
    DUPLICATE,
    INSERT,
    QUARANTINED,
    UPDATE,
    JudgedLanding,
    LandingCounts,
    Seen,
    judge_landing,
)
from elsinore.spark.scan_landing import (
    LandingFile,
    landing_files,
    late_landings,
    listings,
    scan_landing,
)
from elsinore.spark.tables import SparkLake
from elsinore.timeline import Interval, hour_label, hours_of, stretches

#: Times that a landing is judged before it gives way to others that land beside it.
_TRIES = 5

#: Bytes of a line, compressed, about.
_LINE = 20

#: Bytes of files whose ids each worker can hold, however well they are packed.
_FEW = 16 * 1024 * 1024

#: What an account counts.
_COUNTED = ("files", "bytes", "lines", "accepted", "duplicates", "quarantined")

#: The figure that names refused landings, with the reasons.
REFUSED = "refused_landings"

Figures = dict[str, int | float | str]

#: The changes are a checkpoint: there is no need to make another one of them.
_AS_IT_IS = {"spark.databricks.delta.merge.materializeSource": "none"}


def land_events(lake: SparkLake, settings: Settings, interval: Interval, *, run: str) -> Figures:
    """Land the hours of an interval, whole, and earlier ones whose files are new or have changed.

    The tables follow from the files alone: hours landed again, in any order, in any cut, leave the
    same `raw_events`, `quarantine`, `events` and `landings`. Where a line of this landing decides
    on one of another, that landing is judged again and its account written anew.

    Events are written last: until then everything that a rerun needs to know is as it was, so that
    a run that is killed at any point is mended by the next one. Where too much is bad, quarantine
    alone is written, so that it can be looked at.

    Landings may overlap. Each stores its lines, then changes `events` in a turn of its own: where
    another one took the turn for which it was judged, nothing is written and it is judged again. So
    `events` is at any version what the landings before it make of the files.

    Of the days before (`Settings.late_days`) it lands the hours that have files which came, or were
    changed, since somebody looked last. Such an hour never fails a run: where it cannot be read or
    too much of it is bad, it is left as it was, and tried again by each run until its files change
    or are too old.

    Returns:
        Totals of the run's own hours: files, bytes, lines, accepted, duplicates, quarantined. Of
        earlier ones `late_landings`, how many were landed with them, and, where there are any,
        `refused_landings`: those that could not, with the reasons, as a JSON object.

    Raises:
        DataError: there is no landing zone, or too large a share of the lines is bad.
        ConflictError: other runs kept landing meanwhile.
        EngineError: the lines do not add up.
    """
    files = landing_files(settings.landing, interval)
    lake.create_all()
    late, refused = late_landings(lake, settings.landing, interval.start, settings.late_days)
    own = Landings(interval, stretches(late))
    for stretch in own.also:
        files += landing_files(settings.landing, stretch)
    again = Retrying(
        retry=retry_if_exception_type(ConflictError),
        stop=stop_after_attempt(_TRIES),
        wait=wait_random(0, 0.5),
        reraise=True,
    )
    lines = sum(file.size for file in files) // _LINE
    with spark_failures(), lake.compiled(lines):
        scanned = scan_landing(lake, files).localCheckpoint(eager=False)
        landing = _Landing(lake, own, run, settings.max_bad_share, files, scanned, refused)
        figures = again(landing.attempt)
    told = {REFUSED: json.dumps(landing.refused)} if landing.refused else {}
    return {**figures, "late_landings": len(landing.late), **told}


@dataclass
class _Landing:
    """A landing until it has got its turn.

    Attributes:
        lake, own, run: what lands where, and by whom; earlier hours are in `own.also`.
        allowed: share of lines that may be bad.
        files, scanned: the files, and their lines.
        refused: earlier hours that are left as they were, and why.
        also: other landings that it has written accounts of.
        stored: whether its lines are stored.
    """

    lake: SparkLake
    own: Landings
    run: str
    allowed: float
    files: Sequence[LandingFile]
    scanned: DataFrame
    refused: dict[str, str]
    also: set[str] = field(default_factory=set)
    stored: bool = False

    def attempt(self) -> dict[str, int]:
        """Judge and write.

        Raises:
            ConflictError: others wrote first: it is to be tried again.
        """
        lake, own = self.lake, list(map(hour_label, hours_of(self.own.interval)))
        seen = Seen.of(lake)
        few = sum(file.size for file in self.files) <= _FEW
        landing = judge_landing(lake, self.scanned, self.own, seen, few=few, also=self.also)
        accounts = _accounts(lake, landing, self.files)
        try:
            _require_few_bad([accounts[label] for label in own], self.allowed)
        except DataError:
            _write_quarantine(lake, landing, Landings(self.own.interval), self.run)
            raise
        if self._refuse_bad(accounts):
            return self.attempt()
        storing = not self.stored
        if storing:
            raw = self.scanned.select("landing", "file", "position", "line", "event_id")
            lake.replace("raw_events", raw, where=self.own, run=self.run)
            self.stored = True
        raw_version = lake.version("raw_events")
        # Accounts of others are written only while nobody has landed anything else.
        seen.require_alone(lake, stored=storing, merged=False)
        _require_accounted(lake, accounts, landing.region, raw_version)
        self.also.update(hour_label(hour) for part in landing.others for hour in hours_of(part))
        _write_quarantine(lake, landing, landing.region, self.run)
        lake.record("landings", list(accounts.values()), where=landing.region, run=self.run)
        # What is as it should be is left alone: no version of `events` without a change.
        merging = bool(landing.counts.changes)
        if merging:
            merge_changes(lake, landing.rows, landing.counts, turn=seen.turn + 1, run=self.run)
        seen.require_alone(lake, stored=storing, merged=merging)
        return _totals([accounts[label] for label in own])

    @property
    def late(self) -> list[int]:
        """The earlier hours that it lands."""
        return [hour for part in self.own.also for hour in hours_of(part)]

    def _refuse_bad(self, accounts: Mapping[str, dict[str, Any]]) -> list[str]:
        """Leave out the earlier hours of which too much is bad: their labels."""
        bad = []
        for label in map(hour_label, self.late):
            try:
                _require_few_bad([accounts[label]], self.allowed)
            except DataError as error:
                bad.append(label)
                self.refused[label] = error.message
        if bad:
            self.scanned = self.scanned.where(~F.col("landing").isin(bad))
            self.files = [file for file in self.files if file.landing not in bad]
            rest = stretches(hour for hour in self.late if hour_label(hour) not in bad)
            self.own = Landings(self.own.interval, rest)
        return bad


def _write_quarantine(lake: SparkLake, landing: JudgedLanding, region: Landings, run: str) -> None:
    """Write the bad lines of a region, unless there are none and were none."""
    is_bad = any(fate == QUARANTINED for _, fate, _ in landing.counts.fates)
    held = lake.dataset("quarantine").head(1, filter=region.expression(by_day=True))
    if is_bad or held.num_rows:
        bad = landing.rows.where(region.predicate(by_day=False)).where(f"fate = '{QUARANTINED}'")
        bad = bad.select("landing", "file", "position", "reason_code", "reason", "line")
        lake.replace("quarantine", bad.repartition(1), where=region, run=run)


def _accounts(
    lake: SparkLake, landing: JudgedLanding, files: Sequence[LandingFile]
) -> dict[str, dict[str, Any]]:
    """By hour that is judged a row of `landings`, also for those without files."""
    own = [hour_label(hour) for part in landing.own.intervals for hour in hours_of(part)]
    accounts = {label: _account(label) for label in own} | _earlier_accounts(lake, landing.others)
    there = listings(files)
    for label in own:
        accounts[label]["listing"] = json.dumps(there.get(label, {}), sort_keys=True)
    for file in files:
        accounts[file.landing]["files"] += 1
        accounts[file.landing]["bytes"] += file.size
    reasons: dict[str, dict[str | None, int]] = {label: {} for label in accounts}
    fields = {ACCEPTED: "accepted", DUPLICATE: "duplicates", QUARANTINED: "quarantined"}
    for (label, fate, reason), count in landing.counts.fates.items():
        if label in accounts:
            accounts[label]["lines"] += count
            accounts[label][fields[fate]] += count
            if fate == QUARANTINED:
                reasons[label][reason] = count
    for label, account in accounts.items():
        span = landing.counts.accepted.get(label, (None, None))
        account["first_event"], account["last_event"] = span
        account["reasons"] = json.dumps(reasons[label], sort_keys=True)
    return accounts


def _earlier_accounts(lake: SparkLake, also: Sequence[Interval]) -> dict[str, dict[str, Any]]:
    """Accounts to be filled of hours landed before, with what their files were.

    An hour whose landing was killed before it had an account is left to its own rerun.
    """
    labels = [hour_label(hour) for stretch in also for hour in hours_of(stretch)]
    if not labels:
        return {}
    names = ["landing", "files", "bytes", "listing"]
    rows = lake.rows("landings", pc.field("landing").isin(labels), columns=names).to_pylist()
    return {row["landing"]: _account(row["landing"]) | row for row in rows}


def _account(label: str) -> dict[str, Any]:
    return {"landing": label, **dict.fromkeys(_COUNTED, 0)}


def _totals(accounts: list[dict[str, Any]]) -> dict[str, int]:
    return {"landings": len(accounts)} | {n: sum(a[n] for a in accounts) for n in _COUNTED}


def _require_few_bad(accounts: Sequence[dict[str, Any]], allowed: float) -> None:
    """Refuse the run's own hours.

    A line that was corrected since is not bad, nor is an empty file: an hour may have no events.
    Lines whose types the schema passes over do not count.
    """
    reasons = [json.loads(account["reasons"]) for account in accounts]
    bad = list(map(bad_lines, reasons))
    lines = sum(map(judged_lines, (account["lines"] for account in accounts), reasons))
    if sum(bad) <= allowed * lines:
        return
    worst = accounts[bad.index(max(bad))]
    raise DataError(
        f"{sum(bad)} of {lines} lines are bad, more than the share of {allowed:g}; most in "
        f"{worst['landing']}: {worst['reasons']}",
        hint="the table quarantine holds them with their reasons",
        lines=lines,
        bad=sum(bad),
    )


def _require_accounted(
    lake: SparkLake, accounts: Mapping[str, dict[str, Any]], region: Landings, version: int
) -> None:
    """Count the stored lines: that they agree shows that judging lost none and made none."""
    stored: Counter[str] = Counter()
    where = region.expression(by_day=True)
    for batch in lake.dataset("raw_events", version).to_batches(columns=["landing"], filter=where):
        for found in batch["landing"].value_counts().to_pylist():
            stored[found["values"]] += found["counts"]
    for label, account in accounts.items():
        if stored[label] != account["lines"]:
            raise EngineError(f"landing {label}: {stored[label]} lines, {account['lines']} fates")


def merge_changes(
    lake: SparkLake, judged: DataFrame, counts: LandingCounts, *, turn: int, run: str
) -> None:
    """Apply changes to `events` in one commit, which notes the touched times.

    Args:
        lake: the tables.
        judged: rows of `judge_events`, at the version of `events` that had seen one turn less.
        counts: theirs.
        turn: the number of this change (`SparkLake.run_sql`).
        run: what to note beside the times.

    Raises:
        ConflictError: another landing has taken the turn, or somebody else changes the same rows.
    """
    key = ("event_id",) if lake.stream.id_field is not None else ("file", "position")
    same_event = " AND ".join(f"t.{name} = s.{name}" for name in key)
    # Files of other days are neither read nor written.
    days = ", ".join(f"DATE'{day}'" for day in sorted(counts.days))
    names = [f"`{name}`" for name in lake.schema("events").columns]
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
