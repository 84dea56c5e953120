"""Which hours of the lake are published, and for which queries; read without a JVM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable

from elsinore.lake.provenance import PUBLICATIONS, PUBLISHED, read_publications
from elsinore.lake.regions import Hours
from elsinore.lake.stale_hours import stale_hours
from elsinore.quality.lake import read_rows
from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import Interval, hour_label, hours_of


@dataclass(frozen=True, slots=True)
class PublishedHours:
    """What the lake holds of some hours.

    Attributes:
        hours: how many hours were asked for.
        published: how many of them were published for the workload, and hold what they should: no
            event of their windows has changed since.
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
    if not DeltaTable.is_deltatable(str(lake / PUBLICATIONS)):
        return PublishedHours(len(labels), 0, ())
    wanted = workload_fingerprint(workload)
    stale = {
        hour_label(hour)
        for part in stale_hours(lake, workload).inside([interval])
        for hour in hours_of(part)
    }
    done = [
        label
        for label, publication in read_publications(lake, labels).items()
        if publication.workload_fingerprint == wanted and label not in stale
    ]
    columns = ["query", "query_fingerprint"]
    owned = Hours(interval).expression(by_day=True)
    rows = read_rows(lake, PUBLISHED, columns=columns, where=owned)
    held = {tuple(row.values()) for row in rows.group_by(columns).aggregate([]).to_pylist()}
    known = {(query.name, query.fingerprint) for query in workload.queries}
    others = tuple(sorted({name for name, _ in held - known}))
    return PublishedHours(len(labels), len(done), others)
