"""A home of flights: its tables, runs of its hours, and rows of results written by hand."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from elsinore.ingest.ingest_run import IngestedRun, ingest_run
from elsinore.ledger.fold import Fold, fold
from elsinore.ledger.rows import State, entries
from elsinore.maintain.retention import remove_old
from elsinore.maintain.tables import OwnTables
from elsinore.settings import Settings
from elsinore.timeline import DAY, HOUR, Interval, hour_label
from tests.ingest.landing_zone import START, hour

QUERIES = """
QUERY planes
RETURN tailnum, COUNT(*)
PATTERN Departure D+
GROUP-BY D.tailnum
WITHIN 2 hours SLIDE 1 hour;
"""

#: The shortest periods that runs allow.
KEEP = {
    "events": 3, "raw_events": 5, "quarantine": 5, "results_staged": 2, "validations": 2,
    "run_metrics": 3, "reports": 2, "data_docs": 2,
}  # fmt: skip


class Home:
    """A home, with the tables of its stream and main workload."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self.spark, self.settings = spark, settings
        self.own = OwnTables.open(spark, settings)
        self.zone = settings.landing

    @property
    def lake(self) -> Path:
        return self.settings.home / "lake"

    def run(self, number: int, day: int = 0, until: int | None = None) -> IngestedRun:
        """Ingest an hour of a day, or several ones."""
        end = hour(number + 1, day) if until is None else hour(until, day)
        own = Interval(hour(number, day), end)
        return ingest_run(self.own.ingest, self.own.ledger, self.settings, own, run="r")

    def remove_old(self, day: int, **keep: int) -> dict[str, int]:
        """Remove what is too old at the start of a day."""
        changed = self.settings.model_copy(update={"retention_days": keep})
        own = OwnTables.open(self.spark, changed)
        return remove_old(own, longest=2 * HOUR, until=START + day * DAY, run="night")

    def state(self) -> Fold:
        return fold(self.own.ledger.read(), self.settings.workload_name)

    def rows(self, table: str, *columns: str) -> list[Any]:
        """Rows of a table in order; of one column, its values."""
        store = self.own.data[table]
        found = sorted(map(tuple, store.read(table).select(*columns).collect()))
        return [row[0] for row in found] if len(columns) == 1 else found

    def sql(self, statement: str, table: str) -> Any:
        """Run a statement of somebody else, in which `{}` is a table."""
        return self.spark.sql(statement.replace("{}", self.own.data[table].name(table))).collect()

    def put_results(self, number: int, *planes: str) -> None:
        """Write results of an hour, one per plane, as a run of the hour."""
        label = hour_label(hour(number))
        for table in ("results_staged", "results"):
            store = self.own.results.store
            fields = store.schema(table).arrow()
            rows = [{**_result(label), "group_key": json.dumps({"tailnum": p}, ensure_ascii=False)}
                    for p in planes]  # fmt: skip
            made = [{name: row.get(name) for name in fields.names} for row in rows]
            frame = self.spark.createDataFrame(pa.Table.from_pylist(made, schema=fields))
            store.append(table, frame, {"run": "r", "hours": [label]})
        checks = [_check(label, plane) for plane in planes]
        self.own.lake.record("validations", checks, where=[[("window_end_hour", "=", label)]],
                             run="r")  # fmt: skip
        version = self.own.ingest.store.version("events")
        columns: Mapping[str, Any] = {
            "events_version": version, "results_version": self.own.results.store.version("results"),
        }  # fmt: skip
        done = entries(
            self.own.ledger.schema, State.PUBLISHED, pa.array([hour(number)]).to_numpy(),
            stream="flights", step="publish", run="r", workload=self.settings.workload_name,
            columns=dict(columns),
        )  # fmt: skip
        self.own.ledger.append([done], run="r")


def _result(label: str) -> dict[str, Any]:
    start = int(date.fromisoformat(label[:10]).strftime("%s")) * 1_000_000
    return {
        "window_end_day": date.fromisoformat(label[:10]), "window_end_hour": label,
        "query": "planes", "query_fingerprint": "f", "window_start": start, "window_end": start,
        "aggregate": "COUNT(*)", "value": 1.0, "exact": "1", "log2": 0.0,
    }  # fmt: skip


def _check(label: str, plane: str) -> dict[str, Any]:
    row = {**_result(label), "group_key": json.dumps({"tailnum": plane}, ensure_ascii=False)}
    names = ("window_end_hour", "query", "group_key", "window_start", "window_end", "aggregate")
    return {name: row[name] for name in names} | {
        "workload_fingerprint": "w", "mismatch": False, "status": "checked",
    }  # fmt: skip


def texts(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every file below a directory, with its text, unpacked, and that of its name."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            yield path, str(path) + data.decode("utf-8", "replace")
            if path.suffix == ".gz":
                yield path, gzip.decompress(data).decode()
            if path.suffix == ".parquet" and data.startswith(b"PAR1"):
                yield path, str(pq.read_table(io.BytesIO(data)).to_pylist())


def holding(home: Home, value: str) -> set[str]:
    """The directories and files of a home that contain a value, in any spelling of JSON."""
    spelled = (value, json.dumps(value)[1:-1], json.dumps(json.dumps(value))[2:-2])
    top = home.settings.home
    return {
        "/".join(path.relative_to(top).parts[:2])
        for path, text in texts(top)
        if any(one in text for one in spelled)
    }
