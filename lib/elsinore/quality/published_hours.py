"""Which hours of the lake are published, and for which queries; read without a JVM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable

from elsinore.quality.lake import read_rows
from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.spark.publish import PUBLISH_STEP, PUBLISHED
from elsinore.timeline import Interval, hour_label, hours_of, parse_instant

#: Metric of the step `publish`: the workload whose results were published.
WORKLOAD_FINGERPRINT = "workload_fingerprint"


@dataclass(frozen=True, slots=True)
class PublishedHours:
    """What the lake holds of some hours.

    Attributes:
        hours: how many hours were asked for.
        published: how many of them were published for the workload.
        other_queries: names of queries with results there that the workload does not have, or not
            with the same text.
    """

    hours: int
    published: int
    other_queries: tuple[str, ...]


def published_hours(lake: Path, workload: Workload, interval: Interval) -> PublishedHours:
    """Look up what is published of an interval's hours; without a lake, nothing is.

    Raises:
        DataError: a table cannot be read.
    """
    labels = [hour_label(hour) for hour in hours_of(interval)]
    if not DeltaTable.is_deltatable(str(lake / PUBLISHED)):
        return PublishedHours(len(labels), 0, ())
    wanted = workload_fingerprint(workload)
    metrics = read_rows(
        lake, "run_metrics", columns=["run_key", "detail"],
        step=[PUBLISH_STEP], metric=[WORKLOAD_FINGERPRINT],
    ).to_pylist()  # fmt: skip
    done = {
        hour_label(hour)
        for row in metrics
        if row["detail"] == wanted
        for hour in hours_of(_hours_of_run(row["run_key"]))
    }
    columns = ["query", "query_fingerprint"]
    rows = read_rows(lake, PUBLISHED, columns=columns, owned_hour=labels)
    held = {tuple(row.values()) for row in rows.group_by(columns).aggregate([]).to_pylist()}
    known = {(query.name, query.fingerprint) for query in workload.queries}
    others = tuple(sorted({name for name, _ in held - known}))
    return PublishedHours(len(labels), len(done & set(labels)), others)


def _hours_of_run(key: str) -> Interval:
    first, end = key.split("_")
    return Interval(parse_instant(f"{first}:00"), parse_instant(f"{end}:00"))
