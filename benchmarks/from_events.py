"""From the table `events` to published rows, against Spark alone moving the same events.

The lake holds one day, a file for each hour as it is landed, with the columns of the pipeline.
Timed are the aggregation of the whole day and its publication, in a session that has done both once
before; against them reading the columns that the queries read, shuffling them by the key and
sorting them by key and time, the result thrown away. Validation is left out.
`python -m benchmarks.from_events [--json] [--events N]`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from benchmarks.alone import run_alone
from benchmarks.claim import Measured, benchmark
from benchmarks.streams import Way, medians
from elsinore.events import ARROW_TYPES, EventTable, arrow_schema
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.output.finish import finish_long
from elsinore.executors.plan import RuntimePlan, compile_plan
from elsinore.ledger.event_changes import EventChanges
from elsinore.publish.publish_hours import Published, publish
from elsinore.publish.tables import ResultTables
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.settings import Settings
from elsinore.sharing.observe import observe
from elsinore.spark.aggregate_hours import Aggregated, Asked, EventsTable, aggregate_hours
from elsinore.spark.server import server_url, stop_server
from elsinore.spark.session import connect
from elsinore.store.regions import Hours, sql
from elsinore.store.spark_tables import SparkTables
from elsinore.store.tables import RESULTS, STAGED, Lake
from elsinore.timeline import DAY, HOUR, Interval
from tests.data_tables import laid_out

EVENTS, QUERIES, ZONES, KINDS, ROUNDS = 10_000_000, 20, 20, 10, 3
DAY_OF = Interval.parse("2013-01-01", "2013-01-02")
_CHECKED = Interval(DAY_OF.start + 7 * HOUR, DAY_OF.start + 8 * HOUR)


@dataclass(frozen=True)
class Ground:
    """A lake with events, where it lies, a session, the queries, and the events once more."""

    settings: Settings
    spark: SparkSession
    lake: Lake
    workload: Workload
    plan: RuntimePlan
    events: Callable[[Interval], EventTable]

    @property
    def store(self) -> SparkTables:
        """The tables in the session."""
        return SparkTables.open(self.spark, str(self.lake.root), self.lake.tables)

    @property
    def results(self) -> ResultTables:
        """The tables of results."""
        return ResultTables(self.store, self.lake.cores)

    def close(self) -> None:
        """End the session and its server, which writes into the folder of the lake."""
        self.spark.stop()
        stop_server(self.settings)


@benchmark(
    "from-events",
    "A run over the table `events` is faster than a read, shuffle and sort by Spark",
    "20 queries, SEQ(x, y+) and SEQ(x, y, z) by zone within 10 minutes, over one day of 10 million"
    " events in 24 files; 2 cores",
    "times the time of Spark",
    at_most=0.5,
)
def from_events() -> Measured:
    """Median seconds of the pipeline's steps and of Spark alone, in turns."""
    number = int(sys.argv[sys.argv.index("--events") + 1]) if "--events" in sys.argv else EVENTS
    with TemporaryDirectory() as folder:
        ground = prepare(Path(folder), number)
        done = aggregate_day(ground)
        assert done.events == number
        published = _publish(ground)
        assert sum(published.rows.values()) == done.rows > 0
        _check(ground)
        ways: dict[str, Way] = {
            "aggregate": lambda: aggregate_day(ground),
            "publish": lambda: _publish(ground),
            "read, shuffle and sort by Spark": lambda: _spark_alone(ground),
        }
        took = medians(ways, ROUNDS, time.perf_counter)
        ground.close()
    ours = took["aggregate"] + took["publish"]
    return Measured(
        ours / took["read, shuffle and sort by Spark"],
        f"every row of one hour ({_CHECKED}) against greta over one table",
        tuple({"step": n, "seconds": s, "million events/s": number / s / 1e6}
              for n, s in took.items()),
        f"{number:,} events, {done.rows:,} rows, {done.route}.",
    )  # fmt: skip


def prepare(
    folder: Path,
    number: int,
    text: str | None = None,
    *,
    master: str = "local[2,4]",
    ordered: bool = False,
    buckets: int = 0,
) -> Ground:
    """A lake of one day of so many events, if the folder has none, and the queries.

    Its files have no order, which is the hardest case, or that of time, as feeds as a rule have.
    They may be laid out by so many buckets of sellers.
    """
    attributes = "    zone: string\n    value: double\n    price: double\n    seller: string\n"
    types = "".join(f"  T{n}:\n{attributes}" for n in range(KINDS))
    schema = folder / "stream.yaml"
    schema.write_text(
        f"stream: bench\ntime: {{field: time, unit: us}}\ntype: {{field: type}}\ntypes:\n{types}"
        + (f"buckets: {{by: [seller], number: {buckets}}}\n" if buckets else "")
    )
    settings = Settings(home=folder, schema_file=schema, spark_master=master, spark_java_options="")
    spark, lake = connect(server_url(settings)), Lake.open(settings)
    store = SparkTables.open(spark, str(lake.root), lake.tables)
    is_new = not store.exists("events")
    for table in ("events", STAGED, RESULTS):
        store.create(table)

    def events(interval: Interval) -> EventTable:
        hours = range(interval.start, interval.end, HOUR)
        return EventTable(
            lake.stream, pa.concat_tables([_hour(lake, hour, number) for hour in hours])
        )

    for hour in range(DAY_OF.start, DAY_OF.end, HOUR) if is_new else ():
        landed = _hour(lake, hour, number)
        _land(lake, landed.sort_by("_time") if ordered else landed)
    text = text or "\n".join(query_text(n) for n in range(QUERIES))
    workload = read_workload(text, lake.stream)
    plan = compile_plan(workload, observe(workload, events(_CHECKED)))
    return Ground(settings, spark, lake, workload, plan, events)


def aggregate_day(ground: Ground) -> Aggregated:
    """Aggregate the day, as the pipeline does, in four parts at most."""
    return aggregate_interval(ground, ground.workload, DAY_OF, ground.plan)


def aggregate_interval(
    ground: Ground, workload: Workload, owned: Interval, plan: RuntimePlan,
    changes: EventChanges | None = None,
) -> Aggregated:  # fmt: skip
    """Aggregate some hours; with the recorded changes of events, panes are cached."""
    return aggregate_hours(
        EventsTable(ground.store, ground.lake), [Asked(workload, ground.results)], owned,
        static_plan="p", plan=plan, parts=4, run="r", changes=changes,
    )  # fmt: skip


def query_text(number: int, key: str = "zone", window: str = "WITHIN 10 minutes") -> str:
    """One of the queries."""
    kinds = [f"T{(number + n) % KINDS}" for n in range(3)]
    if number % 2:
        pattern, rare = f"SEQ({kinds[0]} a, {kinds[1]} b, {kinds[2]} c)", "abc"
    else:
        pattern, rare = f"SEQ({kinds[0]} a, {kinds[1]} b+)", "ab"
    where = " AND ".join(f"{name}.value > 0.95" for name in rare)
    return (
        f"QUERY q{number} RETURN {key}, COUNT(*), SUM(b.price) PATTERN {pattern} WHERE {where}"
        f" GROUP-BY {key} {window};"
    )


def _hour(lake: Lake, hour: int, number: int) -> pa.Table:
    """The typed events of an hour, in an order of no meaning."""
    dice = np.random.default_rng(hour // HOUR)
    size = number * (hour + HOUR - DAY_OF.start) // DAY - number * (hour - DAY_OF.start) // DAY
    zones = pa.array([f"zone {n}" for n in range(ZONES)])
    sellers = pa.array([f"seller {n}" for n in range(1000)])
    columns = {
        "_time": hour + dice.integers(0, HOUR, size),
        "_type": dice.integers(0, KINDS, size).astype(np.int32),
        "zone": zones.take(pa.array(dice.integers(0, ZONES, size))),
        "value": dice.random(size),
        "price": dice.integers(0, 1000, size) / 4,  # sums are exact in any order
        "seller": sellers.take(pa.array(dice.integers(0, 1000, size))),
    }
    layout = arrow_schema(lake.stream)
    return pa.table({name: columns[name] for name in layout.names}, layout)


def _land(lake: Lake, events: pa.Table) -> None:
    """Write the events of an hour as one commit of one file."""
    time_of = events["_time"].cast(pa.timestamp("us", "UTC"))
    names = pa.array([f"T{n}" for n in range(KINDS)])
    size = events.num_rows
    columns = {
        "event_id": pa.nulls(size, pa.string()),
        "event_type": names.take(events["_type"].combine_chunks()),
        "event_time": time_of,
        "file_hour": pa.array(["2013-01-01T00"] * size).dictionary_encode(),
        "file": pa.array(["events.jsonl"] * size).dictionary_encode(),
        "record_number": pa.array(np.arange(size)),
    }
    columns |= {name: events[name].cast(ARROW_TYPES[kind])
                for name, kind in lake.stream.attributes.items()}  # fmt: skip
    declared = lake.schema("events").arrow()
    rows = laid_out(pa.table(columns), lake.stream).select(declared.names).cast(declared)
    write_deltalake(str(lake.path("events")), rows, mode="append", target_file_size=2**40)


def _publish(ground: Ground) -> Published:
    """Publish the staged results."""
    tables = ground.results
    version = tables.store.version(STAGED)
    return publish(tables, DAY_OF, staged_version=version, note={"run": "r"})


#: Our server interprets expressions, which suits small runs; Spark by itself compiles them.
_AS_SPARK_DOES = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}


def _spark_alone(ground: Ground) -> None:
    for name, value in _AS_SPARK_DOES.items():
        ground.spark.conf.set(name, value)
    events = _read(ground, "events")
    events = events.select("event_time", "event_type", "zone", "value", "price")
    moved = events.repartition(4, "zone").sortWithinPartitions("zone", "event_time")
    moved.write.format("noop").mode("overwrite").save()
    for name in _AS_SPARK_DOES:
        ground.spark.conf.unset(name)


def _read(ground: Ground, table: str) -> DataFrame:
    return ground.spark.read.format("delta").load(str(ground.lake.path(table)))


def _check(ground: Ground) -> None:
    queries = ground.workload.queries
    events = ground.events(Interval(_CHECKED.start - HOUR, _CHECKED.end))
    partial = [part for query in queries for part in aggregate_query(query, events, owned=_CHECKED)]
    rows = finish_long(ground.workload, partial)
    names = ["query", "group_key", "window_start", "aggregate", "exact", "value"]
    found = _read(ground, RESULTS).where(sql(Hours(_CHECKED).conditions(by_day=True)))
    micros = F.unix_micros("window_start").alias("window_start")
    there = found.select(*(micros if name == "window_start" else name for name in names)).toArrow()
    order = [(name, "ascending") for name in names[:4]]
    assert there.sort_by(order).to_pylist() == rows.select(names).sort_by(order).to_pylist() != []


if __name__ == "__main__":
    run_alone(from_events)
