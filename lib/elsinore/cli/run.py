"""`elsinore run`: answers from files, without a lake and without a JVM."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.cli.main import progress_line
from elsinore.engine.plan import Executor, Request, require
from elsinore.errors import DataError, ParameterError
from elsinore.events import EventTable
from elsinore.files.read_events import OnProgress, ReadReport, read_events
from elsinore.files.rejection import write_rejected
from elsinore.library.answer import answer
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.reference.budget import Budget
from elsinore.results.row import ResultRow, sorted_rows, write_rows
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.replan import verify
from elsinore.template.support import greta_refusals

if TYPE_CHECKING:
    from elsinore.cli.report_decisions import DecisionsReport

_HAMLET = (Executor.HAMLET, Executor.HAMLET_STATIC)


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
    plan: Annotated[
        Path | None,
        typer.Option(help="What sharon shares, from `elsinore plan --json`; else GWMIN's plan."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(help="What hamlet decides burst by burst: a .json, .svg or .png file."),
    ] = None,
) -> None:
    """Answer the queries of WORKLOAD from files; JSON lines, by query, group and window."""
    stream = load_schema(schema)
    bound = load_workload(workload, stream)
    require(bound.queries, executor)
    if executor is Executor.AUTO:
        _tell_of_twostep(bound)
    given = _given_plan(plan, bound, executor)
    told = _decisions_report(decisions, stream, executor)
    with progress_line() as progress:
        task = progress.add_task("reading")
        events = _read(
            [*input_, *(more or [])],
            stream,
            max_bad_share,
            quarantine,
            lambda path, lines: progress.update(
                task, description=f"reading {path.name}: {lines:,} lines"
            ),
        )

        def tell(names: Sequence[str]) -> None:
            which = names[0] if len(names) == 1 else f"{len(names)} queries"
            progress.update(task, description=f"{which} over {len(events):,} events")

        observe = None if told is None else told.observe
        request = Request(observe=observe, threads=process_cores(), tell=tell)
        rows = answer(bound, events, executor, Budget(budget), static_plan=given, request=request)
    if told is not None:
        typer.echo(f"elsinore: {told.write()}", err=True)
    _write(sorted_rows(rows), output)


def _tell_of_twostep(workload: Workload) -> None:
    """Say at once which queries take the way that may never end."""
    for query in workload.queries:
        if refusals := greta_refusals(query):
            typer.echo(
                f"elsinore: {query.name} is left to twostep, which builds every trend and may take "
                f"very long; greta cannot run it: {'; '.join(refusals)}",
                err=True,
            )


def process_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def _decisions_report(
    path: Path | None, stream: StreamSchema, executor: Executor
) -> DecisionsReport | None:
    if path is None:
        return None
    if executor not in _HAMLET:
        raise ParameterError("--decisions is for --executor hamlet or hamlet-static")
    from elsinore.cli.report_decisions import DecisionsReport  # matplotlib takes its time

    return DecisionsReport(path, stream.time_unit.is_calendar)


def _given_plan(path: Path | None, workload: Workload, executor: Executor) -> StaticPlan | None:
    if path is None:
        return None
    if executor is not Executor.SHARON:
        raise ParameterError("--plan is for --executor sharon")
    try:
        plan = StaticPlan.from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"cannot read {path}: {error}") from error
    verify(plan, workload)
    return plan


def _read(
    paths: list[Path],
    stream: StreamSchema,
    max_bad_share: float,
    quarantine: Path | None,
    progress: OnProgress,
) -> EventTable:
    """The events of all files; whatever else they hold is told and set aside."""
    try:
        events, report = read_events(paths, stream, max_bad_share=max_bad_share, progress=progress)
    except DataError as error:
        if isinstance(error.fields.get("report"), ReadReport):
            _set_aside(error.fields["report"], quarantine)
        raise
    _set_aside(report, quarantine)
    return events


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
    with nullcontext(sys.stdout) if output is None else _opened(output) as out:
        write_rows(rows, out)


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"cannot write {path}: {error.strerror}") from error
