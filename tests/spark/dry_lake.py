"""A lake of flights without a JVM: data written by delta-rs, as only tests do."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, write_deltalake

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.finish import finish
from elsinore.events import EventTable
from elsinore.lake.provenance import STAGED, origin
from elsinore.lake.regions import Hours
from elsinore.lake.tables import Lake
from elsinore.query.bound import Workload
from elsinore.results.row import ResultRow
from elsinore.settings import Settings
from elsinore.timeline import Interval
from tests.long_rows import to_long
from tests.spark.results_lake import event_rows, flight_events


def dry_lake(settings: Settings) -> tuple[Lake, EventTable]:
    """A lake with empty tables and the flights; and these as read from their files."""
    lake = Lake.open(settings)
    for name, schema in lake.tables.items():
        DeltaTable.create(
            str(lake.path(name)), schema.arrow(), partition_by=list(schema.partition_by)
        )
    events = flight_events()
    write_deltalake(str(lake.path("events")), event_rows(lake, events), mode="append")
    return lake, events


def answers(asked: Workload, events: EventTable, owned: Interval) -> list[ResultRow]:
    """The right results of a slice."""
    return [
        row
        for query in asked.queries
        for row in finish(asked, aggregate_query(query, events, owned=owned))
    ]


def stage(lake: Lake, asked: Workload, found: Iterable[ResultRow], owned: Interval) -> None:
    """Make these the staged results of a slice, as if the job had written them."""
    fingerprints = {query.name: query.fingerprint for query in asked.queries}
    rows = [
        row | {"query_fingerprint": fingerprints[row["query"]]}
        for row in to_long(found).to_pylist()
    ]
    stage_rows(lake, rows, owned, note=origin("test", asked, "p", lake.version("events"), owned))


def stage_rows(lake: Lake, rows: list[dict], owned: Interval, *, note: str = "") -> None:
    """Put rows of staged results in place of those of a slice; days follow from the hours."""
    declared = lake.schema(STAGED).arrow()
    table = pa.Table.from_pylist(rows, schema=declared.remove(0))
    day = pc.utf8_slice_codeunits(table["owned_hour"], 0, 10).cast(pa.date32())
    write_deltalake(
        str(lake.path(STAGED)),
        table.add_column(0, declared.field(0), day),
        mode="overwrite",
        predicate=Hours(owned).predicate(by_day=False),
        commit_properties=CommitProperties(custom_metadata={"userMetadata": note}),
    )


def staged_rows(lake: Lake, owned: Interval) -> list[dict]:
    """The rows of staged results as they are, for `stage_rows`."""
    found = lake.rows(STAGED, Hours(owned).expression(by_day=True))
    return found.drop_columns(["owned_day"]).to_pylist()
