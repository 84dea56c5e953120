"""Memory of landing one hour against the number of its lines: by buckets of ids it stays as it is.

Processes land an hour of ten files into an empty lake, one with all of its lines in memory, the
others by buckets, one after another, as tasks of Spark would; their peaks are compared.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import peak_megabytes
from elsinore.catalog.load_schema import load_schema
from elsinore.events import EventTable, arrow_schema
from elsinore.generate.write_events import json_lines
from elsinore.lake.land import land
from elsinore.lake.tables import Lake
from elsinore.settings import Settings
from elsinore.timeline import HOUR, Interval

SIZES, FILES, KINDS = (1_000_000, 4_000_000), 10, 10
#: Bytes of lines that land at once: half of the default, so that the smaller hour is more.
MOST = 64_000_000
_HOUR = Interval(start := Interval.parse("2013-01-01", "2013-01-02").start, start + HOUR)


@benchmark(
    "landing",
    "The memory of ingesting an hour depends on a bucket of ids, not on the size of the hour",
    "one hour of 1 and of 4 million records in ten files, ids unique within the hour",
    "times the peak with a quarter of the records",
    at_most=1.2,
)
def landing() -> Measured:
    """Peak memory and time of a process for each size, all lines at once and by buckets."""
    ways = [(size, most) for most in (10**12, MOST) for size in SIZES]
    rows = []
    for size, most in ways:
        with TemporaryDirectory() as folder:
            write_zone(Path(folder), size)
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.landing", folder, str(size), str(most)],
                check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1],
            )  # fmt: skip
        rows.append(json.loads(done.stdout))
    low, high = (row["peak MB"] for row in rows[-2:])
    return Measured(
        high / low,
        "every record is an event of the table",
        tuple(rows),
        "Peak resident memory of the whole process. Decoding uses both cores.",
    )


def settings_of(folder: Path, most: int) -> Settings:
    """A home in a folder, whose processes land so many bytes at once."""
    return Settings(home=folder, schema_file=folder / "stream.yaml", landing_bytes=most)


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
    zone = settings_of(folder, 1).landing / "2013/01/01"
    zone.mkdir(parents=True)
    for number in range(FILES):
        first, end = (size * part // FILES for part in (number, number + 1))
        lines = json_lines(EventTable(schema, table), first, end)
        (zone / f"events-2013-01-01T00-{number}.jsonl").write_bytes(lines)


def land_hour(folder: Path, size: int, most: int) -> dict[str, object]:
    """Land the hour in this process."""
    settings, begun = settings_of(folder, most), time.perf_counter()
    figures = land(lake := Lake.open(settings), settings, _HOUR, run="r")
    took = time.perf_counter() - begun
    assert lake.dataset("events").count_rows() == figures["accepted"] == size
    way = "by buckets" if int(figures["bytes"]) > most else "all at once"
    cost = took / size * 1e6
    return {"records": size, "way": way, "µs per record": cost, "peak MB": peak_megabytes()}


if __name__ == "__main__":
    folder, size, most = sys.argv[1:]
    print(json.dumps(land_hour(Path(folder), int(size), int(most))))
