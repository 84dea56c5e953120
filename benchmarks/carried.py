"""An hour's run under long windows: by panes that are kept from run to run, and what it adds to.

The lake holds a day, a file for each hour. Timed is the aggregation of its last hour, under windows
of an hour and under those of a day, in a session that has done both once before; of the others the
panes are kept, its own are worked out anew each time. `python -m benchmarks.carried [--json]
[--events N]`, N an hour.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.alone import run_alone
from benchmarks.claim import Measured, benchmark
from benchmarks.from_events import (
    DAY_OF,
    QUERIES,
    Ground,
    aggregate_interval,
    prepare,
    query_text,
)
from benchmarks.streams import Way, medians
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.output.finish import finish_long
from elsinore.executors.plan import compile_plan
from elsinore.lake.cached_hours import FOLDER
from elsinore.ledger.event_changes import EventChanges
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.sharing.statistics import Statistics
from elsinore.spark.aggregate_hours import Aggregated
from elsinore.store.regions import Hours
from elsinore.store.tables import STAGED
from elsinore.timeline import HOUR, Interval

EVENTS, ROUNDS = 10_000_000, 3
_LAST = Interval(DAY_OF.end - HOUR, DAY_OF.end)
_BEFORE = Interval(_LAST.start - HOUR, _LAST.start)
_CHECKED = "seller 7"


@benchmark(
    "carried",
    "An hourly run under WITHIN 1 day takes about as long as under WITHIN 1 hour",
    "20 queries, SEQ(x, y+) and SEQ(x, y, z) by one of 1,000 sellers, with COUNT(*) and SUM, over"
    " one hour of 10 million events after 23 such hours; 2 cores",
    "times the time under WITHIN 1 hour",
    at_most=1.5,
)
def carried() -> Measured:
    """Median seconds of an hour's aggregation, in turns."""
    number = int(sys.argv[sys.argv.index("--events") + 1]) if "--events" in sys.argv else EVENTS
    with TemporaryDirectory() as folder:
        ground = prepare(Path(folder), 24 * number)
        short, long = (_workload(ground, n) for n in ("WITHIN 1 hour", "WITHIN 1 day SLIDE 1 hour"))
        begun = time.perf_counter()
        first = _run(ground, long, _BEFORE)
        filled = time.perf_counter() - begun
        assert first.events == 23 * number, first
        ways: dict[str, Way] = {
            "WITHIN 1 hour": lambda: _run(ground, short, _LAST),
            "WITHIN 1 day": lambda: _again(ground, long),
        }
        took = medians(ways, ROUNDS, time.perf_counter)
        done = _again(ground, long)
        _check(ground, long)
        kept = sum(file.stat().st_size for file in _files(ground))
        ground.close()
    return Measured(
        took["WITHIN 1 day"] / took["WITHIN 1 hour"],
        f"every row of {_CHECKED} with greta's over all of its events",
        tuple({"windows": name, "seconds": s, "million events/s": number / s / 1e6}
              for name, s in took.items()),
        f"{number:,} events an hour, {done.rows:,} rows; {done.route}. The first 23 hours took"
        f" {filled:.1f} s, and their panes {kept / 23e6:.1f} MB an hour.",
    )  # fmt: skip


def _workload(ground: Ground, window: str) -> Workload:
    texts = (query_text(n, "seller", window) for n in range(QUERIES))
    return read_workload("\n".join(texts), ground.lake.stream)


def _run(ground: Ground, workload: Workload, owned: Interval) -> Aggregated:
    none = np.array([], np.int64)
    changes = EventChanges(none, none, ground.lake.version("events"))
    plan = compile_plan(workload)
    if any(query.window.within > HOUR for query in workload.queries):
        # So many events that panes are cached.
        rates = Statistics.given(HOUR, dict.fromkeys(workload.schema.by_name, float(EVENTS)))
        plan = compile_plan(workload, rates, slice_length=HOUR)
        assert plan.cached is not None
        assert len(plan.cached.queries) == len(workload.queries)
    return aggregate_interval(ground, workload, owned, plan, changes)


def _again(ground: Ground, workload: Workload) -> Aggregated:
    """The last hour, as if nobody had run it yet."""
    for file in _files(ground):
        if file.name.startswith("2013-01-01T23"):
            file.unlink()
    return _run(ground, workload, _LAST)


def _files(ground: Ground) -> list[Path]:
    return [*Path(str(ground.lake.root / FOLDER)).rglob("*.parquet")]


def _check(ground: Ground, workload: Workload) -> None:
    """Against greta, over the events of one key."""
    hours = range(DAY_OF.start, DAY_OF.end, HOUR)
    tables = (ground.events(Interval(hour, hour + HOUR)).table for hour in hours)
    own = pa.concat_tables(t.filter(pc.equal(t["seller"], _CHECKED)) for t in tables)
    events = EventTable(ground.lake.stream, own)
    partial = [
        part for query in workload.queries for part in aggregate_query(query, events, owned=_LAST)
    ]
    rows = finish_long(workload, partial)
    names = ["query", "group_key", "window_start", "aggregate", "exact"]
    mine = pc.field("group_key") == f'{{"seller": "{_CHECKED}"}}'
    found = ground.lake.rows(STAGED, mine & Hours(_LAST).expression(by_day=True))
    at = found.column_names.index("window_start")
    found = found.set_column(at, "window_start", found["window_start"].cast(pa.int64()))
    order = [(name, "ascending") for name in names[:4]]
    assert found.select(names).sort_by(order).to_pylist() == (
        rows.select(names).sort_by(order).to_pylist()
    ) != []  # fmt: skip


if __name__ == "__main__":
    run_alone(carried)
