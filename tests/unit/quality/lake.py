"""A small lake that is right in every row, for tests to spoil; written without a JVM."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from elsinore.catalog.load_schema import load_schema
from elsinore.choices import Optimizer
from elsinore.ledger.fold import Fold
from elsinore.quality.check_expectations import ValidationResults
from elsinore.quality.report import write_report
from elsinore.sharing.plan import Fate, KleenePart, Occurrence, PlannedCandidate, StaticPlan
from elsinore.sharing.statistics import Statistics
from elsinore.store.tables import Lake, load_tables
from elsinore.timeline import Interval
from tests.written_tables import DECLARATIONS, declared, state_in, write_hours, write_table

Row = dict[str, Any]

REPOSITORY = Path(__file__).parents[3]
EXPECTATIONS = REPOSITORY / "expectations"
INTERVAL = Interval.parse("2013-01-01T10:00", "2013-01-01T12:00")
RUN = "2013-01-01T10_2013-01-01T12"
STREAM = load_schema(REPOSITORY / "schemas/events/flights.yaml")
DAY = date(2013, 1, 1)
HOURS = ("2013-01-01T10", "2013-01-01T11")

#: The states of the ledger that `healthy` has rows of, in the order of their commits.
STATES = ("ingested", "refreshed", "aggregated", "published")


def at(hour: int, minute: int = 0) -> datetime:
    """An instant of the first of January 2013."""
    return datetime(2013, 1, 1, tzinfo=UTC) + timedelta(hours=hour, minutes=minute)


def statistics() -> Statistics:
    """Rates of three types."""
    return Statistics.given(3_600_000_000, {"A": 40, "B": 30, "C": 5})


def plan() -> StaticPlan:
    """A plan that shares one of two candidates."""
    places = (
        Occurrence(query="delays", start=0, stop=2),
        Occurrence(query="cascade", start=1, stop=3),
    )
    return StaticPlan(
        workload_fingerprint="c" * 64,
        statistics_fingerprint=statistics().fingerprint,
        queries={"delays": "a" * 64, "cascade": "b" * 64},
        finder=Optimizer.OPTIMAL,
        candidates=(
            PlannedCandidate(
                id="p1", pattern=("A", "B"), occurrences=places, benefit=1234.5,
                degree=1, score_max=1234.5, fate=Fate.CHOSEN, shared_by=("delays", "cascade"),
                shared_benefit=1234.5, excluded_by=(),
            ),
            PlannedCandidate(
                id="p2", pattern=("B", "C"), occurrences=places, benefit=99.0,
                degree=1, score_max=99.0, fate=Fate.IN_CONFLICT, shared_by=(),
                shared_benefit=None, excluded_by=("p1",),
            ),
        ),
        chosen=("p1",),
        score=1234.5,
        guaranteed_weight=600.0,
        bound=1234.5,
        proven=True,
        kleene=(KleenePart(event_type="A", queries=("delays", "cascade")),),
        sets=(),
    )  # fmt: skip


def result(query: str, group: str, count: int, **other: Any) -> Row:
    """A staged count of the window from 10 to 11."""
    try:
        value = float(count)
    except OverflowError:
        value = math.inf
    row: Row = {
        "window_end_day": DAY, "window_end_hour": HOURS[0], "query": query,
        "query_fingerprint": "a" * 64,
        "group_key": group, "window_start": at(10), "window_end": at(11),
        "aggregate": "COUNT(*)", "value": value, "exact": str(count),
        "log2": float(count.bit_length() - 1) if count else None,
    }  # fmt: skip
    return row | other


def check(query: str, group: str, published: int, reference: int, **other: Any) -> Row:
    """A validated count."""
    row: Row = {
        "window_end_hour": HOURS[0], "workload_fingerprint": "c" * 64, "query": query,
        "group_key": group, "window_start": at(10), "window_end": at(11), "aggregate": "COUNT(*)",
        "published_exact": str(published), "published_value": None,
        "reference_exact": str(reference), "reference_value": None,
        "mismatch": published != reference, "status": "checked", "reason": None,
    }  # fmt: skip
    return row | other


def healthy() -> dict[str, list[Row]]:
    """Rows of every table the way a run without faults leaves them."""
    events = [
        {
            "event_day": DAY, "event_id": f"e{n}", "event_type": "A",
            "event_time": at(10 + n // 3, n), "file_hour": HOURS[n // 3], "file": "f",
            "record_number": n,
        }
        for n in range(6)
    ]  # fmt: skip
    ingested = [
        hour_row("ingested", hour, file_count=1, bytes=900, records=5 - n, bad_records=1 - n,
                 first_event=at(10 + n, 3 * n), last_event=at(10 + n, 3 * n + 2))
        for n, hour in enumerate(HOURS)
    ]  # fmt: skip
    stats = statistics()
    both = [
        {
            "kind": "statistics", "fingerprint": stats.fingerprint,
            "workload_fingerprint": "c" * 64, "statistics_fingerprint": stats.fingerprint,
            "body": stats.to_json(), "finder": "counted",
        },
        {
            "kind": "plan", "fingerprint": plan().fingerprint, "workload_fingerprint": "c" * 64,
            "statistics_fingerprint": stats.fingerprint, "body": plan().to_json(),
            "finder": "gwmin",
        },
    ]  # fmt: skip
    staged = [
        result("delays", '{"carrier":"UA"}', 43),
        result("delays", '{"carrier":"B6"}', 2**1100),
        result("cascade", "{}", 0),
        result("cascade", "{}", 1, aggregate="AVG(A.x)", exact=None, value=math.inf, log2=None),
    ]
    return {
        "ingested": ingested,
        "refreshed": [hour_row("refreshed", hour, events_version=3) for hour in HOURS],
        "aggregated": [
            hour_row("aggregated", hour, **origin(), results_version=0) for hour in HOURS
        ],
        "quarantine": [
            {
                "file_day": DAY, "file_hour": HOURS[0], "file": "f", "record_number": 4,
                "reason_code": "bad_json", "reason": "no JSON", "record": "{",
            }
        ],
        "events": events,
        "plans": both,
        "results_staged": staged,
        "results": staged,
        "validations": [
            check("delays", '{"carrier":"UA"}', 43, 43),
            check("cascade", "{}", 0, 0),
            check("delays", '{"carrier":"B6"}', 2**1100, 0, mismatch=False, status="skipped",
                  reason="too many trends", reference_exact=None),
        ],
        "published": [published(hour) for hour in HOURS],
        "run_metrics": [
            metric("ingest", "began_at", 1000.0),
            metric("ingest", "ended_at", 1012.5),
            metric("ingest", "events", 6.0),
            metric("aggregate", "began_at", 1020.0),
            metric("aggregate", "ended_at", 1040.0),
            metric("aggregate", "events", 6.0),
        ],
    }  # fmt: skip


def origin() -> Row:
    """Return the columns of a row of the ledger that name the origin of results."""
    return {
        "workload_fingerprint": "c" * 64, "plan_fingerprint": plan().fingerprint,
        "events_version": 3,
    }  # fmt: skip


def hour_row(state: str, hour: str, **columns: Any) -> Row:
    """Return a row of the ledger."""
    workload = "" if state in ("ingested", "refreshed") else "test"
    own = {"stream": "flights", "workload": workload, "hour": hour, "state": state}
    return {**own, "step": "test", "run": "test", **columns}


def published(hour: str, **columns: Any) -> Row:
    """Return the row of a publication, an hour after the end of the last hour."""
    given = {"results_version": 0, "rows": 4, "checked_rows": 2, "missing_inputs": []}
    return hour_row("published", hour, **{**origin(), **given, "time": at(12), **columns})


def metric(step: str, name: str, value: float | None, detail: str | None = None) -> Row:
    """A figure of the run."""
    own = {"run_key": RUN, "workload_fingerprint": "c" * 64, "step": step}
    return own | {"metric": name, "value": value, "detail": detail}


def arrow_schema(table: str) -> pa.Schema:
    """Return the columns that `schemas/tables` declares."""
    return declared(table).arrow()


def write_lake(lake: Path, rows: Mapping[str, Sequence[Row]]) -> Path:
    """Write Delta tables with the columns that `schemas/tables` declares, and the ledger."""
    for table, content in rows.items():
        if table not in STATES:
            found = pa.Table.from_pylist(list(content), schema=arrow_schema(table))
            write_table(lake, declared(table), found, mode="overwrite")
    write_hours(lake, *(rows.get(state, ()) for state in STATES))
    return lake


def state_of(lake: Path) -> Fold:
    """Return the state of the hours of the workload of `healthy`."""
    return state_in(lake, "test")


def opened(lake: Path) -> Lake:
    """Return the tables of a lake of `STREAM`."""
    return Lake(1, lake, STREAM, load_tables(DECLARATIONS, STREAM))


def report(
    lake: Path,
    out: Path,
    interval: Interval,
    validation: ValidationResults | None = None,
    **others: Any,
) -> Path:
    """Write the report of a lake."""
    return write_report(lake, state_of(lake), out, interval, validation, **others)
