"""Memory and time of ingesting one hour against the number of its records.

An hour of ten files is ingested into an empty lake by the embedded Spark server. The peaks of all
processes are compared: this one, the JVM and its Python workers.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil  # type: ignore[import-untyped]
import pyarrow as pa

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import peak_megabytes
from elsinore.catalog.load_schema import load_schema
from elsinore.events import EventTable, arrow_schema
from elsinore.generate.write_events import json_lines
from elsinore.ingest.ingest_hours import ingest_hours
from elsinore.ingest.landing_zone import landing_files
from elsinore.ingest.tables import IngestTables
from elsinore.settings import Settings
from elsinore.spark.server import stop_server
from elsinore.spark.session import open_session
from elsinore.timeline import HOUR, Interval
from tests.faults.strikes import server_processes

SIZES, FILES, KINDS = (1_000_000, 10_000_000), 10, 10
_HOUR = Interval(start := Interval.parse("2013-01-01", "2013-01-02").start, start + HOUR)


@benchmark(
    "landing",
    "The memory of ingesting an hour does not depend on the size of the hour",
    "one hour of 1 and of 10 million records in ten files, ids unique within the hour",
    "times the peak of any process with a tenth of the records",
    at_most=1.2,
)
def landing() -> Measured:
    """Peak memory of any process, and time, for each size."""
    rows = []
    for size in SIZES:
        with TemporaryDirectory() as folder:
            write_zone(Path(folder), size)
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.landing", folder, str(size)],
                check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1],
            )  # fmt: skip
        rows.append(json.loads(done.stdout))
    low, high = (row["peak MB"] for row in rows)
    return Measured(
        high / low,
        "every record is an event of the table",
        tuple(rows),
        "Peak resident memory of the largest process. Tasks use both cores.",
    )


def settings_of(folder: Path) -> Settings:
    """A home in a folder."""
    return Settings(home=folder, schema_file=folder / "stream.yaml", spark_master="local[2,4]")


def write_zone(folder: Path, size: int) -> None:
    """The raw files of an hour, and the schema."""
    own = "{key: string, value: double, price: double}"
    text = "stream: bench\ntime: {field: time, unit: iso}\ntype: {field: type}\n"
    text += "id: {field: id, unique_within: hour}\ntypes:\n"
    text += "".join(f"  T{number}: {own}\n" for number in range(KINDS))
    (folder / "stream.yaml").write_text(text)
    schema, dice = load_schema(folder / "stream.yaml"), np.random.default_rng(1)
    keys = pa.array([f"seller {n}" for n in range(1_000)])
    columns = {
        "_time": _HOUR.start + np.arange(size) * (HOUR // size),
        "_type": dice.integers(0, KINDS, size).astype(np.int32),
        "key": keys.take(pa.array(dice.integers(0, len(keys), size))),
        "value": dice.random(size),
        "price": dice.integers(0, 1_000, size) / 4,
    }
    layout = arrow_schema(schema)
    table = pa.table({name: columns[name] for name in layout.names}, layout)
    zone = settings_of(folder).landing / "2013/01/01"
    zone.mkdir(parents=True)
    for number in range(FILES):
        first, end = (size * part // FILES for part in (number, number + 1))
        lines = json_lines(EventTable(schema, table), first, end)
        (zone / f"events-2013-01-01T00-{number}.jsonl").write_bytes(lines)


def ingest_hour(folder: Path, size: int) -> dict[str, object]:
    """Ingest the hour, and measure the processes that take part."""
    settings = settings_of(folder)
    (folder / "lake").mkdir()
    files = landing_files(settings.landing, _HOUR)
    try:
        with open_session(settings) as spark:
            tables = IngestTables.open(spark, settings)
            tables.create()
            begun = time.perf_counter()
            done = ingest_hours(tables, files, [_HOUR.start], run="r")
            took = time.perf_counter() - begun
        assert done.events.inserted == size
        peaks = [peak_megabytes(), *(_peak(process) for process in server_processes(folder))]
    finally:
        stop_server(settings)
    return {"records": size, "µs per record": took / size * 1e6, "peak MB": max(peaks)}


def _peak(process: psutil.Process) -> float:
    """Return the peak resident megabytes of a process; 0 for a worker that has just ended."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)  # zombies have none
    return int(found[1]) * 1024 / 1e6 if found else 0.0


if __name__ == "__main__":
    folder, size = sys.argv[1:]
    print(json.dumps(ingest_hour(Path(folder), int(size))))
