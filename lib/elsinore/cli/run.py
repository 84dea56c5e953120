"""`elsinore run`: results from files, without a lake and without a JVM."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.choices import Executor, Format, InputFormat
from elsinore.cli.answers import format_for, opened, require_apart, write_answers
from elsinore.cli.main import progress_line
from elsinore.errors import DataError, ParameterError
from elsinore.events import EventTable
from elsinore.executors.input.admissions import holds
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.ties import Ties, ties_of
from elsinore.executors.plan import Request, require
from elsinore.files.read_events import OnProgress, ReadReport, Source, read_events
from elsinore.files.rejection import write_rejected
from elsinore.integers import digits_of
from elsinore.library.check import misses_at_borders
from elsinore.library.count_advice import instead, takes_each
from elsinore.library.results import answer, process_cores
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.given_values import given_in_options
from elsinore.query.load_workload import load_workload
from elsinore.query.print_query import count_of, print_bound
from elsinore.query.syntax import required
from elsinore.results.published import shorten_count
from elsinore.results.row import ResultRow
from elsinore.sharing.replan import load_plan
from elsinore.template.support import greta_refusals, lowered
from elsinore.wording import listed, some_of, visible

if TYPE_CHECKING:
    from elsinore.cli.report_decisions import DecisionsReport

#: Files, and queries without an answer, that are named.
_NAMED = 5
#: Trends per event above which `run` points to EACH.
_MANY_TRENDS = 1_000
_HAMLET = (Executor.HAMLET, Executor.HAMLET_STATIC)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Arguments and options of `elsinore run`."""

    workload: Path
    schema: Path
    inputs: Sequence[Path]
    executor: Executor
    input_format: InputFormat | None
    output: Path | None
    form: Format | None
    top: int | None
    quarantine: Path | None
    max_error_rate: float
    budget: int
    plan: Path | None
    decisions: Path | None
    params: Sequence[str]
    verbose: bool


def run_queries(options: RunOptions) -> None:
    """Run a workload over event files, and write the results."""
    began = time.monotonic()
    chosen = format_for(options.form, options.output)
    _require_apart(options)
    stream = load_schema(options.schema)
    bound = load_workload(options.workload, stream, given_in_options(options.params))
    require(bound.queries, options.executor)
    for warning in bound.warnings:
        _say(f"warning: {warning}")
    if options.executor is Executor.AUTO:
        _tell_of_twostep(bound)
    if options.plan is not None and options.executor is not Executor.SHARON:
        raise ParameterError("--plan needs --executor sharon", hint="add --executor sharon")
    if options.verbose or sys.stderr.isatty():
        _tell_of_borders(bound)
    plan = None if options.plan is None else load_plan(options.plan, lowered(bound))
    decisions = _decisions_report(options, stream)
    with progress_line() as progress:
        task = progress.add_task("reading")

        def on_progress(source: Source, records: int) -> None:
            progress.update(task, description=f"reading {source.name}: {records:,} records")

        def tell(names: Sequence[str]) -> None:
            which = names[0] if len(names) == 1 else f"{len(names)} queries"
            progress.update(task, description=f"{which} over {len(events):,} events")

        events, report = _read(options, stream, bound.attributes_read, on_progress)
        observe = None if decisions is None else decisions.observe
        request = Request(observe=observe, threads=process_cores(), tell=tell)
        rows = answer(
            bound, events, options.executor, options.budget, static_plan=plan, request=request
        )
    if decisions is not None:
        _say(decisions.write())
    write_answers(
        rows, chosen, options.output, options.top,
        calendar=stream.time_unit.is_calendar,
    )  # fmt: skip
    ties = ties_of(bound.queries, events, report.nanoseconds)
    _tell_why_empty(bound, events, report, rows, ties)
    _tell_ties(ties, rows)
    _tell_of_many_trends(bound, events, rows)
    counts = count_of(len(events), "event"), count_of(len(rows), "row")
    queries, seconds = count_of(len(bound.queries), "query"), time.monotonic() - began
    _say(f"{counts[0]}, {counts[1]} of {queries}, {seconds:.1f} seconds")


def _require_apart(options: RunOptions) -> None:
    """Refuse to write a file that is read, or one file twice (ParameterError)."""
    require_apart(
        [options.workload, options.schema, options.plan, *options.inputs],
        output=options.output,
        quarantine=options.quarantine,
        decisions=options.decisions,
    )


def _say(text: str) -> None:
    typer.echo(f"elsinore: {visible(text)}", err=True)


def _tell_of_twostep(workload: Workload) -> None:
    """Print which queries only twostep can run: they may take very long."""
    for query in workload.queries:
        if refusals := greta_refusals(query):
            _say(
                f"{query.name} runs on twostep, which builds every trend and may take very long; "
                f"greta cannot run it: {'; '.join(refusals)}"
            )


def _tell_of_borders(workload: Workload) -> None:
    """Print which queries miss matches because their windows do not overlap."""
    if names := [query.name for query in workload.queries if misses_at_borders(query)]:
        _say(
            f"{some_of(names, _NAMED)}: matches across a window border are not counted "
            "(`elsinore check` suggests a SPAN)"
        )


def _decisions_report(options: RunOptions, stream: StreamSchema) -> DecisionsReport | None:
    if options.decisions is None:
        return None
    if options.executor not in _HAMLET:
        raise ParameterError(
            "--decisions needs --executor hamlet or hamlet-static", hint="add --executor hamlet"
        )
    # Lazy import: matplotlib is slow to load.
    from elsinore.cli.report_decisions import DecisionsReport

    return DecisionsReport(options.decisions, stream.time_unit.is_calendar)


def _read(
    options: RunOptions, stream: StreamSchema, attributes: Collection[str], progress: OnProgress
) -> tuple[EventTable, ReadReport]:
    """Return the events of all inputs; report and quarantine everything else in them."""
    paths = list(options.inputs)
    if Path("-") in paths:
        if options.input_format is None:
            raise ParameterError(
                "standard input has no format", hint=f"add --input-format {listed(InputFormat)}"
            )
        paths = [Path("/dev/stdin") if path == Path("-") else path for path in paths]
    try:
        events, report = read_events(
            paths, stream, max_error_rate=options.max_error_rate, progress=progress,
            form=options.input_format, read=attributes,
        )  # fmt: skip
    except DataError as error:
        if isinstance(error.fields.get("report"), ReadReport):
            _set_aside(error.fields["report"], options.quarantine)
        raise
    _set_aside(report, options.quarantine)
    return events, report


def _set_aside(report: ReadReport, target: Path | None) -> None:
    """Report rejected records, and write them to the quarantine file if there is one."""
    if target is not None:
        with opened(target) as out, TextIOWrapper(out, encoding="utf-8") as text:
            write_rejected(report.rejected, text)
    tell_set_aside(report, "" if target else "; --quarantine FILE keeps them")


def tell_set_aside(report: ReadReport, hint: str = "") -> None:
    """Print which files and records were not read as events."""
    if report.passed_over:
        names = some_of((path.name for path in report.passed_over), _NAMED)
        _say(f"{count_of(len(report.passed_over), 'file')} skipped, not an event file: {names}")
    if report.rejected.num_rows:
        reasons = ", ".join(f"{count} {reason}" for reason, count in report.by_reason.items())
        _say(f"{report.rejected.num_rows} of {report.lines} records rejected ({reasons}){hint}")
    if report.ignored:
        _say(f"{report.ignored} of {report.lines} records skipped: the schema ignores their type")
    if report.duplicates:
        _say(f"{report.duplicates} duplicate events removed")
    if 2 * report.by_reason.get("superseded", 0) > report.lines:
        _say("most events have the id of a later one: check that the schema's id is unique")
    for warning in report.warnings:
        _say(warning)


# ---- what results mean


def _tell_of_many_trends(workload: Workload, events: EventTable, rows: list[ResultRow]) -> None:
    """Point to EACH if COUNT(*) of a query is far larger than its number of events."""
    places = {
        query.name: query.value_names.index(query.count_name)
        for query in workload.queries
        if query.count_name is not None and takes_each(query)
    }
    totals = Counter[str]()
    for row in rows:
        if row.query in places:
            totals[row.query] += cast(int, row.values[places[row.query]][1])
    if not totals:
        return
    columns = EventColumns(events)
    for name, total in totals.most_common():
        query = workload.by_name[name]
        size = sum(columns.rows_of(kind).size for kind in query.event_types)
        if total > _MANY_TRENDS * size:
            _say(
                f"{name}: COUNT(*) counts matches, {shorten_count(digits_of(total))} of "
                f"{count_of(size, 'event')}; {instead(query)}"
            )
            return


# ---- why a query has no results


def _tell_ties(ties: Sequence[Ties], rows: list[ResultRow]) -> None:
    """Print how many events share their time, once per partitioning of the events."""
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
    """Print why a query has no row, if that is cheap to find."""
    if not len(events):
        empty_files = "it is empty" if report.files == 1 else "they are empty"
        why = "every record was rejected or skipped" if report.lines else empty_files
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
    """Return why a query has no trend, the simplest reason first."""
    types = required(query.pattern, attrgetter("type"))
    if missing := sorted(name for name in types if not columns.rows_of(name).size):
        return f"the input has no event of type {listed(missing)}"
    aliases = required(query.pattern, attrgetter("alias"))
    for predicate in query.local_predicates:
        position = query.positions[predicate.position]
        rows = columns.rows_of(position.type)
        is_needed = position.alias in aliases and not position.choice
        if is_needed and not holds(predicate.condition, columns, rows).any():
            condition = print_bound(predicate.condition, query.aliases)
            events = f"{count_of(rows.size, 'event')} of type {position.type}"
            return f"none of {events} has {condition}"
    why = "the input has events of its types, but no match: none meet all clauses in one window"
    return why if ties is None else f"{why}; {ties.text}"
