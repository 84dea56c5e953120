"""Compare the published values of a replay with `elsinore run`: `python -m tests.e2e`.

By default the replay covers the year of flights, in one run. The output is a line with the number
of values that were compared, and a line per value that differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from elsinore.files.read_events import read_events
from elsinore.library.results import answer
from elsinore.publish.tables import RESULTS
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.spark.server import stop_server
from elsinore.store.tables import Lake
from elsinore.timeline import Interval
from tests.e2e.support import Home
from tests.results_lake import as_staged, staged

#: The most differences that are printed.
SHOWN = 20

#: The columns that identify a value.
KEY = ("query", "group_key", "window_start", "aggregate")


def main() -> int:
    """Replay a time range and compare; return 1 if a value differs, or none was published."""
    options = argparse.ArgumentParser(prog="python -m tests.e2e", description=__doc__)
    options.add_argument("--start", default="2013-01-01T00:00Z", help="the first hour")
    options.add_argument("--end", default="2014-01-01T00:00Z", help="the end of the last hour")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="elsinore-replay-") as name:
        home = Home(Path(name), {})
        settings = Settings(home=home.path / "var")
        try:
            home.replay(chosen.start, chosen.end)
        finally:
            stop_server(settings)
        number, different = compared(settings, Interval.parse(chosen.start, chosen.end))
    print(f"{number} values, {len(different)} differ", *different[:SHOWN], sep="\n")
    return 1 if different or not number else 0


def compared(settings: Settings, own: Interval) -> tuple[int, list[str]]:
    """Compare the published values of an interval with those that `elsinore run` computes.

    Returns:
        The number of published values, and the keys of values that only one of both has or that
        differ.
    """
    lake = Lake.open(settings)
    workload = load_workload(settings.workload_file, lake.stream)
    events, _ = read_events([settings.landing], lake.stream, max_error_rate=settings.max_error_rate)
    rows = (row for row in answer(workload, events) if own.start < row.window_end <= own.end)
    wanted = by_key(as_staged(workload, rows))
    published = by_key(staged(lake, own, RESULTS))
    keys = sorted(wanted.keys() | published.keys())
    return len(published), [str(key) for key in keys if wanted.get(key) != published.get(key)]


def by_key(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return rows by their key, which is unique."""
    found = {tuple(row[name] for name in KEY): row for row in rows}
    assert len(found) == len(rows)
    return found


if __name__ == "__main__":
    sys.exit(main())
