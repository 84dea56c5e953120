"""One query at 40 thresholds of a local predicate, on one core, against the query at one threshold.

The query counts pairs of an A of at least `$least` and a later B, per key and tumbling window. The
40 queries of the list share their work. Beside them stand 40 self-joins of DuckDB on one core, with
the same counts. A second pattern, `SEQ(A+, B)`, has no self-join.
"""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import auto, counts_of, events_of, medians, stream_of
from elsinore.events import EventTable
from elsinore.query.bound import Workload
from elsinore.query.given_values import given_in_mapping
from elsinore.query.load_workload import read_workload

EVENTS, KEYS, WITHIN, ROUNDS = 400_000, 20, 4_000, 9
THRESHOLDS = list(range(0, 400, 10))
STREAM = stream_of("AB", "k", "v")
_JOIN = f"""
    SELECT a.k, a.time // {WITHIN} * {WITHIN} AS start, count(*) AS pairs
    FROM events a JOIN events b
        ON a.k = b.k AND a.time // {WITHIN} = b.time // {WITHIN} AND a.time < b.time
    WHERE a.type = 0 AND b.type = 1 AND a.v >= $least
    GROUP BY ALL
"""  # noqa: S608 - constants of this module


@benchmark(
    "thresholds",
    "A list of 40 thresholds costs little more than one threshold",
    "SEQ(A, B) WHERE A.v >= $least GROUP-BY k, 40 values against one; 400,000 events, 20 keys",
    "times the CPU time of one value",
    at_most=4.0,
)
def thresholds() -> Measured:
    """40 thresholds shared, one threshold, and 40 self-joins of DuckDB."""
    dice = np.random.default_rng(65)
    drawn = {"k": dice.integers(0, KEYS, EVENTS), "v": dice.integers(0, 400, EVENTS)}
    kinds = dice.integers(0, 2, EVENTS)
    events = events_of(STREAM, kinds, **drawn)
    rows: list[dict[str, float | str]] = []
    factors = []
    for pattern in ("SEQ(A, B)", "SEQ(A+, B)"):
        seconds = _seconds(pattern, events)
        factors.append(seconds["list"] / seconds["one"])
        rows.append(_row(pattern, seconds["list"], seconds["one"]))
    lake = duckdb.connect(config={"threads": 1})
    table = {"type": kinds, "time": np.arange(EVENTS), **drawn}
    lake.register("events", pa.table(table))
    joined = medians({"joins": lambda: [_join(lake, one) for one in THRESHOLDS]}, 1)["joins"]
    one_join = medians({"join": lambda: _join(lake, THRESHOLDS[20])}, 1)["join"]
    rows.append(_row("40 self-joins of DuckDB", joined, one_join))
    _check(auto(_workload("SEQ(A, B)", THRESHOLDS), events)(), lake)
    checked = "the counts of all 40 thresholds with the self-joins of DuckDB"
    return Measured(factors[0], checked, tuple(rows))


def _row(what: str, listed: float, one: float) -> dict[str, float | str]:
    return {"what": what, "seconds at 40": listed, "seconds at 1": one, "factor": listed / one}


def _workload(pattern: str, values: list[int]) -> Workload:
    text = (
        f"PARAM least long; QUERY q RETURN COUNT(*) PATTERN {pattern} WHERE A.v >= $least AND [k] "
        f"GROUP-BY k WITHIN {WITHIN};"
    )
    return read_workload(text, STREAM, given=given_in_mapping({"least": values}, str))


def _seconds(pattern: str, events: EventTable) -> dict[str, float]:
    """Return CPU seconds of the list and of one of its values."""
    every = {"list": THRESHOLDS, "one": THRESHOLDS[20:21]}
    ways = {name: auto(_workload(pattern, values), events) for name, values in every.items()}
    for way in ways.values():
        way()  # compiles kernels
    return medians(ways, ROUNDS)


def _join(lake: duckdb.DuckDBPyConnection, least: int) -> list[tuple[int, int, int]]:
    return lake.execute(_JOIN, {"least": least}).fetchall()


def _check(rows: pa.Table, lake: duckdb.DuckDBPyConnection) -> None:
    """Compare counts with the self-joins."""
    expected = {
        (f"q[{least}]", f"[{k}]", start): pairs
        for least in THRESHOLDS
        for k, start, pairs in _join(lake, least)
    }
    assert counts_of(rows) == expected
