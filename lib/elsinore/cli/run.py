"""`elsinore run`: answers from files, without a lake and without a JVM."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TextIO

import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.progress import progress_line
from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.finish import finish
from elsinore.errors import DataError, ParameterError, UnsupportedQueryError
from elsinore.events.table import EventTable
from elsinore.files.read_events import ReadReport, read_events
from elsinore.files.write_rejected import write_rejected
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.load_workload import load_workload
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.results.json_lines import write_rows
from elsinore.results.row import ResultRow, sorted_rows
from elsinore.template.support import greta_refusals, require_greta


class Executor(StrEnum):
    """The executors of the specification."""

    AUTO = "auto"
    HAMLET = "hamlet"
    HAMLET_STATIC = "hamlet-static"
    SHARON = "sharon"
    GRETA = "greta"
    ASEQ = "aseq"
    TWOSTEP = "twostep"


_READY = (Executor.AUTO, Executor.GRETA, Executor.TWOSTEP)


def run(
    workload: Annotated[Path, typer.Argument(help="The queries, a .sase file.")],
    schema: Annotated[Path, typer.Option(help="How to read an event, a .yaml file.")],
    input_: Annotated[
        list[Path],
        typer.Option("--input", help="Events: jsonl, csv or parquet, .gz; files or folders."),
    ],
    more: Annotated[
        list[Path] | None, typer.Argument(help="More input files, as the shell expands them.")
    ] = None,
    executor: Annotated[Executor, typer.Option(help="Who works it out.")] = Executor.AUTO,
    output: Annotated[Path | None, typer.Option(help="Where to write; else the terminal.")] = None,
    quarantine: Annotated[
        Path | None, typer.Option(help="Where to write the lines that were set aside.")
    ] = None,
    max_bad_share: Annotated[
        float, typer.Option(min=0, max=1, help="Fail when more lines than this share are bad.")
    ] = 0.05,
    budget: Annotated[
        int, typer.Option(min=1, help="Steps that twostep may take for a query.")
    ] = 20_000_000,
) -> None:
    """Answer the queries of WORKLOAD from files; JSON lines, by query, group and window."""
    if executor not in _READY:
        raise UnsupportedQueryError(
            f"the executor {executor} is not built yet",
            hint=f"choose one of {', '.join(_READY)}",
            executor=str(executor),
        )
    stream = load_schema(schema)
    bound = load_workload(workload, stream)
    if executor is Executor.GRETA:
        require_greta(bound.queries)
    with progress_line() as progress:
        task = progress.add_task("reading")
        try:
            events, report = read_events(
                [*input_, *(more or [])],
                stream,
                max_bad_share=max_bad_share,
                progress=lambda path, lines: progress.update(
                    task, description=f"reading {path.name}: {lines:,} lines"
                ),
            )
        except DataError as error:
            if isinstance(error.fields.get("report"), ReadReport):
                _set_aside(error.fields["report"], quarantine)
            raise
        _set_aside(report, quarantine)
        rows: list[ResultRow] = []
        for query in bound.queries:
            progress.update(task, description=f"{query.name} over {len(events):,} events")
            rows += answer(bound, query, events, executor, Budget(budget))
    _write(sorted_rows(rows), output)


def answer(
    workload: Workload, query: BoundQuery, events: EventTable, executor: Executor, budget: Budget
) -> list[ResultRow]:
    """The rows of one query. `auto` takes greta where it can run the query, else twostep."""
    refused = executor is Executor.AUTO and greta_refusals(query)
    if executor is Executor.TWOSTEP or refused:
        return two_step(query, events, budget=budget)
    return finish(workload, aggregate_query(query, events))


def _set_aside(report: ReadReport, target: Path | None) -> None:
    """Say what could not be read as events, and write it where asked."""
    if target is not None:
        with _opened(target) as out:
            write_rejected(report.rejected, out)
    if report.rejected.num_rows:
        reasons = ", ".join(f"{count} {reason}" for reason, count in report.by_reason.items())
        typer.echo(
            f"elsinore: {report.rejected.num_rows} of {report.lines} lines set aside ({reasons})"
            + ("" if target else "; --quarantine FILE keeps them"),
            err=True,
        )
    if report.duplicates:
        typer.echo(f"elsinore: {report.duplicates} duplicate events counted once", err=True)


def _write(rows: list[ResultRow], output: Path | None) -> None:
    if output is None:
        write_rows(rows, sys.stdout)
        return
    with _opened(output) as out:
        write_rows(rows, out)


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"cannot write {path}: {error.strerror}") from error
