"""Progress and summary of a replay for people: tables on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from elsinore.orchestration.task_progress import TaskProgress
from elsinore.quality.lake import ResultCounts, TopResult
from elsinore.replay.summary import ReplaySummary

#: Counts with more digits than this are shown by their ends.
_DIGITS = 24


class ProgressPrinter:
    """Prints one line when a task starts to run and one when it has ended, with its seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started: dict[tuple[str, str], float] = {}

    def __call__(self, step: TaskProgress) -> None:
        """Prints one step."""
        key = (step.task, step.label)
        if step.state == "started":
            self._started[key] = time.monotonic()
        name = f"{step.task} ({step.label})" if step.label else step.task
        line = f"  {step.state:8} {name}"
        if step.state != "started" and key in self._started:
            line += f"  {time.monotonic() - self._started[key]:.1f} s"
        if step.reason:
            line += f": {step.reason}"
        style = {"failed": "red", "retried": "yellow", "done": "green"}.get(step.state)
        self._console.print(escape(line), style=style, highlight=False, soft_wrap=True)


def print_summary(summary: ReplaySummary, console: Console) -> None:
    """Prints the top result of each query, what landed, what was checked, and where things lie."""
    if console.is_terminal:
        console.print(_table(summary.queries))
    else:
        for name, counts in summary.queries.items():
            line = "\t".join(_cells(name, counts))
            console.print(line, soft_wrap=True, markup=False, highlight=False)
    landed = summary.landed
    lines = [
        f"landed    {landed['lines']:,} lines of {landed['files']:,} files: "
        f"{landed['accepted']:,} accepted, {landed['duplicates']:,} duplicates, "
        f"{landed['quarantined']:,} quarantined",
        f"validated {summary.checked:,} values against the reference: "
        f"{summary.mismatches:,} mismatches, {summary.skipped:,} skipped",
        f"report    {_place(summary.report)}",
        f"Data Docs {_place(summary.data_docs)}",
        f"log       {_place(summary.log)}",
        f"replayed  {summary.interval} in {summary.seconds:.0f} s",
    ]
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _table(queries: Mapping[str, ResultCounts]) -> Table:
    table = Table(title="Published trend aggregates: the largest count of each query")
    for heading in ("query", "rows", "aggregate", "largest", "group", "window (UTC)"):
        right = heading in {"rows", "largest"}
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for name, counts in queries.items():
        table.add_row(*(escape(cell) for cell in _cells(name, counts)))
    return table


def _cells(query: str, counts: ResultCounts) -> tuple[str, ...]:
    top = counts.top
    if top is None:
        return query, f"{counts.rows:,}", "", "", "", ""
    group = ", ".join(f"{name}={value}" for name, value in json.loads(top.group).items())
    window = f"{top.window_start:%m-%d %H:%M} to {top.window_end:%m-%d %H:%M}"
    return query, f"{counts.rows:,}", top.aggregate, shorten(top), group, window


def shorten(top: TopResult) -> str:
    """The count in full, or its ends, number of digits and binary logarithm if it is long."""
    if len(top.exact) <= _DIGITS:
        return f"{int(top.exact):,}"
    return f"{top.exact[:6]}…{top.exact[-4:]} ({len(top.exact)} digits, 2^{top.log2:.1f})"


def _place(path: Path | None) -> str:
    if path is None:
        return "none"
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
