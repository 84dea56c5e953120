"""Lands the raw files of some hours: raw lines, quarantine, events, and an account of all lines."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.errors import ConflictError, DataError, EngineError
from elsinore.files.rejection import bad_lines
from elsinore.settings import Settings
from elsinore.spark.event_changes import event_changes, merge_changes, touched_times
from elsinore.spark.failures import spark_failures
from elsinore.spark.judge_events import ACCEPTED, DUPLICATE, QUARANTINED, judge_events
from elsinore.spark.landed_lines import LandedLines, gather_lines, in_landings
from elsinore.spark.landing_files import LandingFile, landing_files
from elsinore.spark.regions import Landings
from elsinore.spark.run_metrics import record_metrics
from elsinore.spark.scan_landing import scan_landing
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval, hour_label, hours_of

Figures = dict[str, int | float]


def land_events(lake: Lake, settings: Settings, interval: Interval, *, run: str) -> Figures:
    """Land the hours of an interval, whole.

    The tables follow from the files alone: hours landed again, in any order, in any cut, leave the
    same `raw_events`, `quarantine`, `events` and `landings`. Where a line of this landing decides
    on one of another, that landing is judged again and its account written anew.

    Events are written last: until then everything that a rerun needs to know is as it was, so that
    a run that is killed at any point is mended by the next one. Where too much is bad, quarantine
    alone is written, so that it can be looked at.

    Returns:
        Totals of the run's own hours: files, bytes, lines, accepted, duplicates, quarantined.

    Raises:
        DataError: there is no landing zone, or too large a share of the lines is bad.
        ConflictError: another run landed some of the same events meanwhile.
        EngineError: the lines do not add up.
    """
    files = landing_files(settings.landing, interval)
    lake.create_all()
    version = lake.version("events")
    with spark_failures():
        scanned = scan_landing(lake.spark, files, lake.stream).localCheckpoint()
        gathered = gather_lines(lake, scanned, interval)
        judged = judge_events(gathered.lines, lake.stream).localCheckpoint()
        whole = judged.where(gathered.is_ours | in_landings(gathered.region.also))
        accounts = _accounts(lake, gathered, whole, files)
        own = {hour_label(hour) for hour in hours_of(interval)}
        totals = _totals([account for account in accounts if account["landing"] in own])
        try:
            _require_few_bad(accounts, own, settings.max_bad_share)
        except DataError:
            _write_quarantine(lake, whole.where(gathered.is_ours), Landings(interval), run)
            raise
        raw_version = _write_raw(lake, scanned, interval, run)
        _write_quarantine(lake, whole, gathered.region, run)
        rows = lake.frame("landings", accounts)
        lake.replace("landings", rows, where=gathered.region, run=run)
        _write_events(lake, gathered, judged, version, run)
        _require_landed(lake, accounts, gathered)
        _require_same_rivals(lake, gathered, raw_version)
    record_metrics(lake, interval, "land", totals, run=run)
    return totals


def _write_raw(lake: Lake, scanned: DataFrame, interval: Interval, run: str) -> int:
    """The version of `raw_events` after it, at the latest."""
    raw = scanned.select("landing", "file", "position", "line", "event_id")
    lake.replace("raw_events", raw, where=Landings(interval), run=run)
    return lake.version("raw_events")


def _write_quarantine(lake: Lake, judged: DataFrame, region: Landings, run: str) -> None:
    bad = judged.where(F.col("fate") == QUARANTINED).select(
        "landing", "file", "position", "reason_code", "reason", "line"
    )
    lake.replace("quarantine", bad.coalesce(1), where=region, run=run)


def _write_events(
    lake: Lake, gathered: LandedLines, judged: DataFrame, version: int, run: str
) -> None:
    events = lake.read("events", version)
    held = events.where(gathered.is_ours | in_landings(gathered.region.also))
    if gathered.region.also:
        other = events.join(gathered.ids, "event_id", "left_semi").select(events.columns)
        held = held.unionByName(other).dropDuplicates(["landing", "file", "position"])
    changes = event_changes(lake, judged.where(F.col("fate") == ACCEPTED), held).localCheckpoint()
    # What is as it should be is left alone: no version of `events` without a change.
    if not changes.isEmpty():
        merge_changes(lake, changes, touched_times(changes), run=run)


def _accounts(
    lake: Lake, gathered: LandedLines, judged: DataFrame, files: Sequence[LandingFile]
) -> list[dict[str, Any]]:
    """One row of `landings` for each hour that is judged, also for those without files.

    Lines are counted as they were gathered, their fates as they were judged: that these agree shows
    that judging lost none and made none.
    """
    accounts = {
        label: _account(label, [file for file in files if file.landing == label])
        for label in map(hour_label, hours_of(gathered.region.interval))
    } | _earlier_accounts(lake, gathered.region.also)
    counted = (
        judged.groupBy("landing", "fate", "reason_code")
        .agg(
            F.count(F.lit(1)).alias("lines"),
            F.min(F.unix_micros("event_time")).alias("first"),
            F.max(F.unix_micros("event_time")).alias("last"),
        )
        .collect()
    )
    for row in gathered.lines.groupBy("landing").count().collect():
        if row["landing"] in accounts:
            accounts[row["landing"]]["lines"] = row["count"]
    fields = {ACCEPTED: "accepted", DUPLICATE: "duplicates", QUARANTINED: "quarantined"}
    for row in counted:
        if row["landing"] not in accounts:
            continue
        account = accounts[row["landing"]]
        account[fields[row["fate"]]] += row["lines"]
        if row["fate"] == QUARANTINED:
            account["reasons"][row["reason_code"]] = row["lines"]
        elif row["fate"] == ACCEPTED:
            account["first_event"], account["last_event"] = row["first"], row["last"]
    for account in accounts.values():
        found = account["accepted"] + account["duplicates"] + account["quarantined"]
        if account["lines"] != found:
            raise EngineError(f"landing {account['landing']}: {account['lines']} lines, {found}")
        account["reasons"] = json.dumps(account["reasons"], sort_keys=True)
    return list(accounts.values())


def _earlier_accounts(lake: Lake, also: Sequence[Interval]) -> dict[str, dict[str, Any]]:
    """Accounts to be filled of hours landed before, with what their files were.

    An hour whose landing was killed before it had an account is left to its own rerun.
    """
    labels = [hour_label(hour) for stretch in also for hour in hours_of(stretch)]
    if not labels:
        return {}
    names = ["landing", "files", "bytes"]
    rows = lake.rows("landings", pc.field("landing").isin(labels), columns=names).to_pylist()
    return {row["landing"]: _account(row["landing"], ()) | row for row in rows}


def _account(label: str, files: Sequence[LandingFile]) -> dict[str, Any]:
    return {
        "landing": label,
        "files": len(files),
        "bytes": sum(file.size for file in files),
        "lines": 0,
        "accepted": 0,
        "duplicates": 0,
        "quarantined": 0,
        "first_event": None,
        "last_event": None,
        "reasons": {},
    }


def _totals(accounts: list[dict[str, Any]]) -> Figures:
    names = ("files", "bytes", "lines", "accepted", "duplicates", "quarantined")
    return {"landings": len(accounts)} | {n: sum(a[n] for a in accounts) for n in names}


def _require_few_bad(
    accounts: Sequence[dict[str, Any]], own: Collection[str], allowed: float
) -> None:
    """Refuse the run's own hours.

    A line that was corrected since is not bad, nor is an empty file: an hour may have no events.
    """
    counts = {
        account["landing"]: (bad_lines(json.loads(account["reasons"])), account)
        for account in accounts
        if account["landing"] in own
    }
    bad = sum(count for count, _ in counts.values())
    lines = sum(account["lines"] for _, account in counts.values())
    if bad <= allowed * lines:
        return
    _, worst = max(counts.values(), key=lambda pair: pair[0])
    raise DataError(
        f"{bad} of {lines} lines are bad, more than the share of {allowed:g}; most in "
        f"{worst['landing']}: {worst['reasons']}",
        hint="the table quarantine holds them with their reasons",
        lines=lines,
        bad=bad,
    )


def _require_landed(lake: Lake, accounts: list[dict[str, Any]], gathered: LandedLines) -> None:
    """Read back what was committed: meanwhile another run may have landed."""
    found = (
        lake.read("events")
        .where(gathered.is_ours | in_landings(gathered.region.also))
        .groupBy("landing")
        .count()
        .collect()
    )
    counts = {row["landing"]: row["count"] for row in found}
    for account in accounts:
        there = counts.get(account["landing"], 0)
        if there != account["accepted"]:
            raise ConflictError(
                f"landing {account['landing']} accepted {account['accepted']} events, but the "
                f"table holds {there}: another run landed some of them meanwhile"
            )


def _require_same_rivals(lake: Lake, gathered: LandedLines, own_version: int) -> None:
    """Refuse to end where another run stored lines of the same ids that this one did not see.

    Of two landings at the same time at least one finds the other's lines here, since each stores
    its own before it looks.
    """
    latest = lake.version("raw_events")
    if latest == own_version == gathered.raw_version + 1 or latest == gathered.raw_version:
        return
    before = gathered.rivals(lake, gathered.raw_version)
    if gathered.rivals(lake, latest) != before:
        raise ConflictError("another run landed some of the same events meanwhile")
