"""Lands the raw files of some hours: raw lines, quarantine, events, and an account of all lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.errors import ConflictError, DataError, EngineError
from elsinore.settings import Settings
from elsinore.spark.failures import spark_failures
from elsinore.spark.judge_events import ACCEPTED, DUPLICATE, QUARANTINED, judge_events
from elsinore.spark.landing_files import LandingFile, landing_files
from elsinore.spark.regions import Landings
from elsinore.spark.run_metrics import record_metrics
from elsinore.spark.scan_landing import scan_landing
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval, hour_label, hours_of

Figures = dict[str, int | float]

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def land_events(lake: Lake, settings: Settings, interval: Interval, *, run: str) -> Figures:
    """Land the hours of an interval, whole; landed again they give the same tables.

    Raw lines and quarantine are written first, so that they can be looked at where too much is bad
    and nothing else is written.

    Returns:
        Totals of the run: files, bytes, lines, accepted, duplicates, quarantined.

    Raises:
        DataError: there is no landing zone, or too large a share of the lines is bad.
        ConflictError: another run landed some of the same events meanwhile.
        EngineError: the lines do not add up.
    """
    landings = Landings(interval)
    files = landing_files(settings.landing, interval)
    lake.create_all()
    version = lake.version("events")
    events = lake.read("events", version)
    with spark_failures():
        scanned = scan_landing(lake.spark, files, lake.stream).localCheckpoint()
        judged = judge_events(scanned, events, lake.stream, landings).localCheckpoint()
        accounts = _accounts(scanned, judged, files, interval)
    _write_lines(lake, judged, landings, run)
    totals = _totals(accounts)
    _require_few_bad(totals, accounts, settings.max_bad_share)
    with spark_failures():
        if _differs(judged, events, landings):
            _merge(lake, judged, landings, run)
        _require_landed(lake, accounts, landings)
    rows = lake.frame("landings", accounts)
    lake.replace("landings", rows, where=landings, run=run)
    record_metrics(lake, interval, "land", totals, run=run)
    return totals


def _write_lines(lake: Lake, judged: DataFrame, landings: Landings, run: str) -> None:
    raw = judged.select("landing", "file", "position", "line")
    lake.replace("raw_events", raw, where=landings, run=run)
    bad = judged.where(F.col("fate") == QUARANTINED).select(
        "landing", "file", "position", "reason_code", "reason", "line"
    )
    lake.replace("quarantine", bad.coalesce(1), where=landings, run=run)


def _accounts(
    scanned: DataFrame, judged: DataFrame, files: Sequence[LandingFile], interval: Interval
) -> list[dict[str, Any]]:
    """One row of `landings` for each hour, also for those without files.

    Lines are counted as they were scanned, their fates as they were judged: that these agree shows
    that judging lost none and made none.
    """
    accounts = {
        label: _account(label, [file for file in files if file.landing == label])
        for label in map(hour_label, hours_of(interval))
    }
    counted = (
        judged.groupBy("landing", "fate", "reason_code")
        .agg(
            F.count(F.lit(1)).alias("lines"),
            F.min(F.unix_micros("event_time")).alias("first"),
            F.max(F.unix_micros("event_time")).alias("last"),
        )
        .collect()
    )
    for row in scanned.groupBy("landing").count().collect():
        accounts[row["landing"]]["lines"] = row["count"]
    fields = {ACCEPTED: "accepted", DUPLICATE: "duplicates", QUARANTINED: "quarantined"}
    for row in counted:
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


def _require_few_bad(totals: Figures, accounts: list[dict[str, Any]], allowed: float) -> None:
    if totals["quarantined"] <= allowed * totals["lines"]:
        return
    worst = max(accounts, key=lambda account: account["quarantined"])
    raise DataError(
        f"{totals['quarantined']} of {totals['lines']} lines are bad, more than the share of "
        f"{allowed:g}; most in {worst['landing']}: {worst['reasons']}",
        hint="the table quarantine holds them with their reasons",
        **totals,
    )


def _differs(judged: DataFrame, events: DataFrame, landings: Landings) -> bool:
    """Whether the table holds anything else from these hours than what was accepted now."""
    held = events.where(F.col("landing").between(landings.first, landings.last)).count()
    accepted, changed = (
        judged.where(F.col("fate") == ACCEPTED)
        .agg(F.count(F.lit(1)), F.count_if(F.col("changed")))
        .first()
    )
    return bool(changed or held != accepted)


def _merge(lake: Lake, judged: DataFrame, landings: Landings, run: str) -> None:
    """Make the accepted events the only ones that these landings brought.

    A MERGE and not a rewrite of partitions: it conflicts with every other landing that commits
    meanwhile, so that no id can come in twice.
    """
    names = [column.name for column in lake.schema("events").columns]
    accepted = judged.where(F.col("fate") == ACCEPTED).withColumn(
        "event_day", F.to_date("event_time")
    )
    source = accepted.select(*(F.col(f"`{name}`") for name in names)).alias("s")
    target: DeltaTable = lake.delta("events")
    ours = F.col("t.landing").between(landings.first, landings.last)
    if lake.stream.id_field is not None:
        same_event = F.col("t.event_id") == F.col("s.event_id")
    else:
        same_event = (F.col("t.file") == F.col("s.file")) & (
            F.col("t.position") == F.col("s.position")
        )
    merge = (
        target.alias("t")
        .merge(source, same_event)
        .whenMatchedUpdateAll(ours & _differ(names))
        .whenNotMatchedInsertAll()
        .whenNotMatchedBySourceDelete(ours)
    )
    with _commit_note(lake.spark, run):
        merge.execute()


def _differ(names: list[str]) -> Column:
    same = F.lit(True)
    for name in names:
        same = same & F.col(f"t.`{name}`").eqNullSafe(F.col(f"s.`{name}`"))
    return ~same


@contextmanager
def _commit_note(spark: SparkSession, run: str) -> Iterator[None]:
    """What MERGE writes into the table's history; it has no option for that."""
    spark.conf.set(_USER_METADATA, run)
    try:
        yield
    finally:
        spark.conf.unset(_USER_METADATA)


def _require_landed(lake: Lake, accounts: list[dict[str, Any]], landings: Landings) -> None:
    """Read back what was committed: between judging and merging another run may have landed."""
    found = (
        lake.read("events")
        .where(F.col("landing").between(landings.first, landings.last))
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
