"""Runs benchmarks one after the other and prints the results."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.claim import Benchmark, number
from benchmarks.results import Result, as_json, run_benchmark


def run_alone(*benchmarks: Benchmark) -> None:
    """What a module does that takes more options; ends with 1 if an answer was wrong."""
    results = run_all(benchmarks, json_lines="--json" in sys.argv)
    sys.exit(any(result.figure is None for result in results))


def run_all(benchmarks: Sequence[Benchmark], *, json_lines: bool) -> list[Result]:
    """Run and print; for programs a line of JSON each."""
    results, console = [], Console(width=120)
    for benchmark in benchmarks:
        result = run_benchmark(benchmark)
        results.append(result)
        if json_lines:
            print(json.dumps(as_json(result)), flush=True)
        else:
            show(result, console)
    return results


def show(result: Result, console: Console) -> None:
    """Print a table of the measured values, and the comparison with the target."""
    if result.rows:
        table = Table(*result.rows[0], title=f"{result.name}: {result.claim}", title_justify="left")
        for row in result.rows:
            table.add_row(*cells(row))
        console.print(table)
    style = None if result.headroom is None else "green" if result.headroom >= 1 else "yellow"
    console.print(summary(result), style=style, highlight=False)
    for line in (result.note, f"checked: {result.checked}; took {result.took:.0f} s"):
        if line:
            console.print(f"  {line}", highlight=False)


def summary(result: Result) -> str:
    """Return one line: measured value, target, verdict."""
    if result.figure is None:
        return f"{result.name}: {result.verdict}"
    return (
        f"{result.name}: {number(result.figure)} {result.unit}, {target_text(result)}:"
        f" {result.verdict}"
    )


def target_text(claimed: Benchmark | Result) -> str:
    """Return the target in words."""
    if claimed.target is None:
        return "no target"
    return f"at {'least' if claimed.at_least else 'most'} {number(claimed.target)}"


def cells(row: Mapping[str, Any]) -> list[str]:
    """Figures and texts for people."""
    return [number(value) if isinstance(value, float) else _plain(value) for value in row.values()]


def _plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
