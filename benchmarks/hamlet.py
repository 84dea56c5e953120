"""Hamlet: shared against greta and not shared, over burst lengths and numbers of queries.

Every answer is checked against greta's.
`python -m benchmarks.hamlet [--sweep] [--json]`; `--calibrate` prints the costs for
`engine/hamlet/costs.json`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.hamlet_calibrate import calibrated
from benchmarks.hamlet_cases import Case, bar_cases, prepared, sweep_cases
from benchmarks.hamlet_decisions import decision_seconds
from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.hamlet import aggregate_set
from elsinore.engine.hamlet.decisions import ALWAYS, DYNAMIC, NEVER
from elsinore.engine.hamlet.observe import Observer

__all__ = ["bar_cases", "measured", "sweep_cases"]

ROUNDS = 5

WAYS = {"always": ALWAYS, "never": NEVER, "dynamic": DYNAMIC}


def main() -> None:
    """Run what the command line asks for."""
    if "--calibrate" in sys.argv:
        print(json.dumps(calibrated(), indent=2))
        return
    cases = sweep_cases() if "--sweep" in sys.argv else bar_cases()
    found = [measured(case, against_greta="--sweep" not in sys.argv) for case in cases]
    if "--json" in sys.argv:
        print(json.dumps(found, indent=2))
        return
    table = Table(*found[0], title=f"Hamlet, least of {ROUNDS} rounds, microseconds an event")
    for row in found:
        table.add_row(*(f"{v:,.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=200).print(table)


def measured(case: Case, *, against_greta: bool) -> dict[str, object]:
    """The least processor time of one case, its ratios, and what the run decided.

    `always`, `never`, `dynamic` and `greta` are whole runs, `kernels` the kernels of the dynamic
    one; `dynamic/best` compares the kernels alone, `decisions` is their share of the dynamic run.
    """
    found, events = prepared(case)
    expected = normal(pa.concat_tables([aggregate_query(q, events) for q in found.queries]))
    runs: dict[str, Callable[[Observer], pa.Table]] = {
        name: lambda seen, way=way: aggregate_set(  # type: ignore[misc]
            found, events, decisions=way, observer=seen
        )
        for name, way in WAYS.items()
    }
    if against_greta:
        runs["greta"] = lambda _: pa.concat_tables(
            [aggregate_query(q, events) for q in found.queries]
        )
    for name, run in runs.items():
        assert normal(run(Observer(room=0))) == expected, f"{case.name}: {name} gives other rows"
    whole, kernels = least(runs)
    observer = Observer(room=0)
    aggregate_set(found, events, observer=observer)
    row: dict[str, object] = {"case": case.name}
    row |= {name: seconds / case.events * 1e6 for name, seconds in whole.items()}
    row["kernels"] = kernels["dynamic"] / case.events * 1e6
    if against_greta:
        row["greta/always"] = whole["greta"] / whole["always"]
        row["greta/dynamic"] = whole["greta"] / whole["dynamic"]
    row["dynamic/best"] = kernels["dynamic"] / min(kernels["always"], kernels["never"])
    row["decisions"] = decision_seconds(found, events) / whole["dynamic"]
    row["bytes/event"] = observer.counts["bytes"] / case.within
    row["shared"] = observer.counts["shared"] / max(observer.counts["bursts"], 1)
    return row


def least(
    runs: dict[str, Callable[[Observer], pa.Table]],
) -> tuple[dict[str, float], dict[str, float]]:
    """Processor seconds of each way, and of its kernels, the ways run in turns."""
    whole, kernels = dict.fromkeys(runs, float("inf")), dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            observer = Observer(room=0)
            began = time.thread_time()
            run(observer)
            whole[name] = min(whole[name], time.thread_time() - began)
            kernels[name] = min(kernels[name], sum(observer.seconds.values()))
    return whole, kernels


def normal(rows: pa.Table) -> list[tuple[object, ...]]:
    """Rows that compare."""
    return sorted(
        (row["query"], row["window_start"], tuple(row["counts"])) for row in rows.to_pylist()
    )


if __name__ == "__main__":
    main()
