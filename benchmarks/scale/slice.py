"""Aggregates the day of `benchmarks.from_events` under some master, twice; prints what came of it.

`python -m benchmarks.scale.slice MASTER HOME EVENTS [BUCKETS]`; the lake is made where there is
none. With a number of buckets, or 0, queries group by the seller, of whom there are a thousand.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from benchmarks.from_events import DAY_OF, QUERIES, aggregate_day, prepare, query_text
from elsinore.store.regions import Hours
from elsinore.store.tables import STAGED


def main(master: str, home: Path, events: int, buckets: int | None = None) -> None:
    """Prepare, aggregate, aggregate again."""
    home.mkdir(exist_ok=True)
    key = "zone" if buckets is None else "seller"
    text = "\n".join(query_text(number, key) for number in range(QUERIES))
    ground = prepare(home, events, text, master=master, ordered=True, buckets=buckets or 0)
    print(aggregate_day(ground).route, file=sys.stderr)
    began = time.perf_counter()
    done = aggregate_day(ground)
    seconds = time.perf_counter() - began
    assert done.events == events
    files = ground.lake.path("events").rglob("*.parquet")
    told = {
        "events": events,
        "rows": done.rows,
        "bytes": sum(file.stat().st_size for file in files),
        "seconds": seconds,
        "peak": _peak(),
        "digest": _digest(ground.lake.rows(STAGED, Hours(DAY_OF).expression(by_day=True))),
    }
    ground.close()
    print(json.dumps(told))


def _digest(rows: pa.Table) -> str:
    """Return a digest of rows in any order."""
    ordered = rows.sort_by([(name, "ascending") for name in rows.column_names])
    text = pa.BufferOutputStream()
    csv.write_csv(ordered, text)
    return sha256(text.getvalue()).hexdigest()


def _peak() -> float:
    """The most memory, in MB, that a process of a task has had; those of others must not run."""
    found = [0]
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if b"-m\0elsinore.spark.worker_daemon" in (process / "cmdline").read_bytes():
                status = (process / "status").read_text()
                found.append(int(status.split("VmHWM:")[1].split()[0]))
    return max(found) * 1024 / 1e6


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), *(map(int, sys.argv[4:] or ())))
