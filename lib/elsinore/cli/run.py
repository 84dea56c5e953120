"""`elsinore run`: answers from files, without a lake and without a JVM."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from io import TextIOWrapper
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.source_rule import InputFormat
from elsinore.catalog.stream import StreamSchema
from elsinore.cli.answers import Format, format_for, opened, require_apart, write_answers
from elsinore.cli.main import MaxBadShare, QueryFile, SchemaFile, progress_line
from elsinore.engine.columns import EventColumns
from elsinore.engine.evaluate import holds
from elsinore.engine.plan import Executor, Request, require
from elsinore.engine.ties import Ties, ties_of
from elsinore.errors import DataError, ParameterError
from elsinore.events import EventTable
from elsinore.files.read_events import OnProgress, ReadReport, read_events
from elsinore.files.rejection import write_rejected
from elsinore.library.results import BUDGET, answer, process_cores
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.load_workload import load_workload
from elsinore.query.print_query import count_of, print_bound
from elsinore.query.syntax import required
from elsinore.results.row import ResultRow, sorted_rows
from elsinore.sharing.replan import load_plan
from elsinore.template.support import greta_refusals
from elsinore.wording import listed, some_of, visible

if TYPE_CHECKING:
    from elsinore.cli.report_decisions import DecisionsReport

#: Files, and queries without an answer, that are named.
_NAMED = 5
_HAMLET = (Executor.HAMLET, Executor.HAMLET_STATIC)

_Input = Annotated[
    list[Path],
    typer.Option(
        "--input",
        help="jsonl, csv, parquet, .gz, .zst; files, directories, Delta tables, - (stdin).",
    ),
]
_More = Annotated[
    list[Path] | None, typer.Argument(help="More input files, as the shell expands them.")
]
_Executor = Annotated[Executor, typer.Option(help="Who works it out.")]
_InputFormat = Annotated[
    InputFormat | None, typer.Option(help="Of `--input -` and of files whose names do not say.")
]
_Output = Annotated[Path | None, typer.Option(help="Where to write; its name says the format.")]
_Form = Annotated[
    Format | None,
    typer.Option("--format", help="Else a table on a terminal, JSON lines in a pipe."),
]
_Top = Annotated[int | None, typer.Option(min=1, help="Of each query only its N largest rows.")]
_Quarantine = Annotated[
    Path | None, typer.Option(help="Where to write the lines that were set aside.")
]
_Budget = Annotated[int, typer.Option(min=1, help="Steps that twostep may take for a query.")]
_Plan = Annotated[
    Path | None,
    typer.Option(help="What sharon shares, from `elsinore plan --json`; else GWMIN's plan."),
]
_Decisions = Annotated[
    Path | None,
    typer.Option(help="What hamlet decides burst by burst: a .json, .svg or .png file."),
]


def run(
    workload: QueryFile,
    schema: SchemaFile,
    input_: _Input,
    more: _More = None,
    executor: _Executor = Executor.AUTO,
    input_format: _InputFormat = None,
    output: _Output = None,
    form: _Form = None,
    top: _Top = None,
    quarantine: _Quarantine = None,
    max_bad_share: MaxBadShare = 0.05,
    budget: _Budget = BUDGET,
    plan: _Plan = None,
    decisions: _Decisions = None,
) -> None:
    """Answer the queries of WORKLOAD from files or standard input.

    JSON lines are by query, group and window; tables, and what --top leaves, largest first.
    """
    began = time.monotonic()
    chosen = format_for(form, output)
    read = [workload, schema, plan, *(inputs := [*input_, *(more or [])])]
    require_apart(read, output=output, quarantine=quarantine, decisions=decisions)
    stream = load_schema(schema)
    bound = load_workload(workload, stream)
    require(bound.queries, executor)
    if executor is Executor.AUTO:
        _tell_of_twostep(bound)
    if plan is not None and executor is not Executor.SHARON:
        raise ParameterError("--plan is for --executor sharon")
    given = None if plan is None else load_plan(plan, bound)
    told = _decisions_report(decisions, stream, executor)
    with progress_line() as progress:
        task = progress.add_task("reading")
        events, report = _read(
            inputs,
            stream,
            max_bad_share,
            quarantine,
            input_format,
            bound.attributes_read,
            lambda path, lines: progress.update(
                task, description=f"reading {path.name}: {lines:,} lines"
            ),
        )

        def tell(names: Sequence[str]) -> None:
            which = names[0] if len(names) == 1 else f"{len(names)} queries"
            progress.update(task, description=f"{which} over {len(events):,} events")

        observe = None if told is None else told.observe
        request = Request(observe=observe, threads=process_cores(), tell=tell)
        rows = answer(bound, events, executor, budget, static_plan=given, request=request)
    if told is not None:
        _say(told.write())
    write_answers(sorted_rows(rows), chosen, output, top, calendar=stream.time_unit.is_calendar)
    ties = ties_of(bound.queries, events, report.nanoseconds)
    _tell_why_empty(bound, events, report, rows, ties)
    _tell_ties(ties, rows)
    counts = count_of(len(events), "event"), count_of(len(rows), "row")
    queries, seconds = count_of(len(bound.queries), "query"), time.monotonic() - began
    _say(f"{counts[0]}, {counts[1]} of {queries}, {seconds:.1f} seconds")


def _say(text: str) -> None:
    typer.echo(f"elsinore: {visible(text)}", err=True)


def _tell_of_twostep(workload: Workload) -> None:
    """Say at once which queries take the way that may never end."""
    for query in workload.queries:
        if refusals := greta_refusals(query):
            _say(
                f"{query.name} is left to twostep, which builds every trend and may take "
                f"very long; greta cannot run it: {'; '.join(refusals)}"
            )


def _decisions_report(
    path: Path | None, stream: StreamSchema, executor: Executor
) -> DecisionsReport | None:
    if path is None:
        return None
    if executor not in _HAMLET:
        raise ParameterError("--decisions is for --executor hamlet or hamlet-static")
    from elsinore.cli.report_decisions import DecisionsReport  # matplotlib takes its time

    return DecisionsReport(path, stream.time_unit.is_calendar)


def _read(
    paths: list[Path],
    stream: StreamSchema,
    max_bad_share: float,
    quarantine: Path | None,
    form: InputFormat | None,
    read: Collection[str],
    progress: OnProgress,
) -> tuple[EventTable, ReadReport]:
    """The events of all files; whatever else they hold is told and set aside."""
    if Path("-") in paths:
        if form is None:
            raise ParameterError("what is the input's format?", hint="add --input-format jsonl")
        paths = [Path("/dev/stdin") if path == Path("-") else path for path in paths]
    try:
        events, report = read_events(
            paths, stream, max_bad_share=max_bad_share, progress=progress, form=form, read=read
        )
    except DataError as error:
        if isinstance(error.fields.get("report"), ReadReport):
            _set_aside(error.fields["report"], quarantine)
        raise
    _set_aside(report, quarantine)
    return events, report


def _set_aside(report: ReadReport, target: Path | None) -> None:
    """Say what could not be read as events, and write it where asked."""
    if target is not None:
        with opened(target) as out, TextIOWrapper(out, encoding="utf-8") as text:
            write_rejected(report.rejected, text)
    tell_set_aside(report, "" if target else "; --quarantine FILE keeps them")


def tell_set_aside(report: ReadReport, hint: str = "") -> None:
    """Say which files and lines have not been read as events."""
    if report.passed_over:
        names = some_of((path.name for path in report.passed_over), _NAMED)
        _say(f"{count_of(len(report.passed_over), 'file')} passed over, no events by name: {names}")
    if report.rejected.num_rows:
        reasons = ", ".join(f"{count} {reason}" for reason, count in report.by_reason.items())
        _say(f"{report.rejected.num_rows} of {report.lines} lines set aside ({reasons}){hint}")
    if report.ignored:
        _say(f"{report.ignored} of {report.lines} lines passed over: the schema ignores their type")
    if report.duplicates:
        _say(f"{report.duplicates} duplicate events counted once")
    if 2 * report.by_reason.get("superseded", 0) > report.lines:
        _say("most events have the id of a later one: is the schema's id one for each event?")
    for warning in report.warnings:
        _say(warning)


# ---- why there is no answer


def _tell_ties(ties: Sequence[Ties], rows: list[ResultRow]) -> None:
    """Print how many events share their time, once for each partitioning of the events."""
    answered = {row.query for row in rows}
    for one in ties:
        names = f"{some_of(one.queries, _NAMED)}: "
        if one.are_many and answered.intersection(one.queries):  # else the reason above says it
            _say(names + one.text)
        if one.cut:
            _say(names + one.text_of_cut)


def _tell_why_empty(
    workload: Workload,
    events: EventTable,
    report: ReadReport,
    rows: list[ResultRow],
    ties: Sequence[Ties],
) -> None:
    """Print for each query without a row what it lacks, if that is cheap to find."""
    if not len(events):
        aside = "every line was set aside or passed over"
        why = aside if report.lines else "there is not a line in them"
        read = count_of(report.files, "file")
        _say(f"no results, because the input has no events: {read} read, {why}")
        return
    answered = {row.query for row in rows}
    columns = EventColumns(events)
    empty = [query for query in workload.queries if query.name not in answered]
    tied = {name: one for one in ties if one.tied for name in one.queries}
    for query in empty[:_NAMED]:
        _say(f"{query.name} has no row: {_lacking(query, columns, tied.get(query.name))}")
    if len(empty) > _NAMED:
        _say(f"{count_of(len(empty) - _NAMED, 'more query')} without a row")


def _lacking(query: BoundQuery, columns: EventColumns, ties: Ties | None) -> str:
    """Why there is no trend, in the order in which a reader would look."""
    types = required(query.pattern, attrgetter("type"))
    if missing := sorted(name for name in types if not columns.rows_of(name).size):
        return f"there is no event of type {listed(missing)}"
    aliases = required(query.pattern, attrgetter("alias"))
    for predicate in query.local_predicates:
        position = query.positions[predicate.position]
        rows = columns.rows_of(position.type)
        if position.alias in aliases and not holds(predicate.condition, columns, rows).any():
            condition = print_bound(predicate.condition, query.aliases)
            return f"none of {count_of(rows.size, 'event')} of type {position.type} has {condition}"
    why = "there are events of its types, but no trend: none meet all its clauses in one window"
    return why if ties is None else f"{why}; {ties.text}"
