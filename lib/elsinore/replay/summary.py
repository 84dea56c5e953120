"""What a replay left in the tables, and its progress, for people; read without a JVM."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from elsinore.lake.provenance import PUBLISHED
from elsinore.lake.regions import Hours, Landings, run_key
from elsinore.orchestration.callbacks import TaskProgress
from elsinore.quality.judge import load_judgement
from elsinore.quality.lake import ResultCounts, TopResult, count_results, read_rows
from elsinore.settings import Settings
from elsinore.timeline import Interval

#: Counts with more digits than this are shown by their ends.
_DIGITS = 24


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """What a replay left.

    Attributes:
        interval: the replayed hours.
        seconds: time from the command to the last task's end.
        landed: sums over the landings of the hours: files, lines, accepted, duplicates,
            quarantined.
        queries: published results by query, in the order of names.
        checked: values that the reference recomputed.
        mismatches: how many of them differ; 0 in published results.
        skipped: values whose check was given up, being too costly.
        report: the run's quality report, if there is one.
        data_docs: start page of the Data Docs, if there is one.
        log: Airflow's log of the run.
    """

    interval: Interval
    seconds: float
    landed: dict[str, int]
    queries: dict[str, ResultCounts]
    checked: int
    mismatches: int
    skipped: int
    report: Path | None
    data_docs: Path | None
    log: Path


def read_summary(
    settings: Settings, interval: Interval, *, log: Path, seconds: float
) -> ReplaySummary:
    """Read what the tables say about a stretch of hours.

    Raises:
        DataError: a table is missing.
    """
    owned, landed = Hours(interval), Landings(interval)
    landings = read_rows(settings.lake, "landings", where=landed.expression(by_day=False))
    checks = read_rows(
        settings.lake,
        "validations",
        columns=["status", "mismatch"],
        where=owned.expression(by_day=False),
    )
    sums = {
        name: pc.sum(landings[name]).as_py() or 0
        for name in ("files", "lines", "accepted", "duplicates", "quarantined")
    }
    statuses = checks["status"].to_pylist()
    run = run_key(interval)
    judgement = load_judgement(settings.quality, run)
    return ReplaySummary(
        interval=interval,
        seconds=seconds,
        landed=sums,
        queries=count_results(settings.lake, PUBLISHED, owned, tops=True),
        checked=statuses.count("checked"),
        mismatches=pc.sum(checks["mismatch"]).as_py() or 0,
        skipped=statuses.count("skipped"),
        report=_existing(settings.reports / f"{run}.html"),
        data_docs=judgement.docs if judgement else None,
        log=log,
    )


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


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
    group = ", ".join(f"{name}={value}" for name, value in json.loads(top.group_key).items())
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
