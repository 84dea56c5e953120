"""`elsinore check`, `plan` and `explain`: what each query is, what is shared, and by whom."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.main import AsJson, QueryFile, SchemaFile
from elsinore.console import SafeConsole
from elsinore.engine.plan import compile_plan
from elsinore.errors import ParameterError
from elsinore.events import EventTable
from elsinore.files.read_events import read_events
from elsinore.library.check import Checked
from elsinore.library.explain import Explained
from elsinore.library.plan import Planned
from elsinore.plot import require_picture
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.sharing.find_plan import TIME_LIMIT, find_plan
from elsinore.sharing.observe import observe
from elsinore.sharing.plan import Finder
from elsinore.sharing.replan import load_plan
from elsinore.sharing.statistics import Statistics, load_rates


def check(
    workload: QueryFile,
    schema: SchemaFile,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the templates: a .svg or .png file.")
    ] = None,
) -> None:
    """Parse and bind WORKLOAD; say what each query is, or list all faults at once."""
    if plot is not None:
        require_picture(plot)
    found = Checked(load_workload(workload, load_schema(schema)))
    if plot is not None:
        found.draw(plot)
    if as_json:
        typer.echo(json.dumps(found.to_list(), ensure_ascii=False, indent=2))
        return
    found.print(SafeConsole(highlight=False, soft_wrap=True))
    number = len(found.to_list())
    count = "1 query, it binds" if number == 1 else f"{number} queries, all of them bind"
    typer.echo(f"{count}." if plot is None else f"{count}; drawn in {plot}.")


def plan(
    workload: QueryFile,
    schema: SchemaFile,
    rates: Annotated[
        Path | None, typer.Option(help="Rates of the event types, a .yaml file.")
    ] = None,
    events: Annotated[
        list[Path] | None, typer.Option(help="Or event files to count, or a lake's table.")
    ] = None,
    finder: Annotated[
        Finder,
        typer.Option(
            help="gwmin is greedy; sharon and exhaustive are the paper's, for small workloads;"
            " optimal uses a solver over all subsets of queries."
        ),
    ] = Finder.OPTIMAL,
    time_limit: Annotated[
        float, typer.Option(help="Seconds for the finder, but for gwmin and exhaustive.")
    ] = TIME_LIMIT,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the Sharon graph: a .svg or .png file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The whole artifact.")] = False,
) -> None:
    """Find the static plan of WORKLOAD: candidates, benefits, conflicts, and what is shared."""
    if (rates is None) == (not events):
        raise ParameterError("give either --rates FILE or --events FILE")
    bound = load_workload(workload, load_schema(schema))
    statistics, counted = read_statistics(rates, events, bound)
    assert statistics is not None
    found = find_plan(bound, statistics, finder=finder, time_limit=time_limit)
    planned = Planned(found, bound, None if as_json else counted)
    if plot is not None:
        planned.draw(plot)
    if as_json:
        typer.echo(found.to_json())
        return
    planned.print(SafeConsole())


def explain(
    workload: QueryFile,
    schema: SchemaFile,
    plan: Annotated[
        Path | None, typer.Option(help="The plan, as `elsinore plan --json` prints it.")
    ] = None,
    rates: Annotated[
        Path | None, typer.Option(help="Or find it from rates of the event types, a .yaml file.")
    ] = None,
    events: Annotated[list[Path] | None, typer.Option(help="Or from event files to count.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw who shares what: a .svg or .png file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain the sharing in WORKLOAD: each query's cut, what sharing saves, Kleene sets.

    With a plan the gains per query are told only beside the rates or events that it was found from.
    """
    if plot is not None:
        require_picture(plot)
    bound = load_workload(workload, load_schema(schema))
    statistics, _ = read_statistics(rates, events, bound)
    if plan is not None:
        found = load_plan(plan, bound)
    elif statistics is not None:
        found = find_plan(bound, statistics)
    else:
        raise ParameterError("give --plan FILE, or --rates FILE or --events FILE to find one")
    # A stored plan is what the pipeline runs, none what `elsinore run` does.
    runtime = compile_plan(bound, statistics, static_plan=None if plan is None else found)
    explained = Explained(bound, found, statistics, runtime)
    if plot is not None:
        explained.draw(plot)
    if as_json:
        typer.echo(json.dumps(explained.to_dict(), ensure_ascii=False, indent=2))
        return
    explained.print(SafeConsole(highlight=False, soft_wrap=True))
    if plot is not None:
        typer.echo(f"drawn in {plot}")


def read_statistics(
    rates: Path | None, paths: Sequence[Path] | None, workload: Workload
) -> tuple[Statistics | None, EventTable | None]:
    """Statistics from a rates file or from the events in files, and these events.

    What cannot be read as an event does not count. Of a lake's table of events all are counted, and
    the last ones given.

    Raises:
        ParameterError: both are given, or a table beside files, or the rates file is not valid.
        DataError: the files hold no events, or cannot be read.
    """
    if rates is not None and paths:
        raise ParameterError("give either --rates FILE or --events FILE")
    if rates is not None:
        return load_rates(rates, workload.schema), None
    if not paths:
        return None, None
    if any((path / "_delta_log").is_dir() for path in paths):
        if len(paths) > 1:
            raise ParameterError("give one table of events, or files")
        from elsinore.lake.stored_events import StoredEvents

        stored = StoredEvents.of(paths[0], workload)
        return stored.statistics(), stored.last()[0]
    events, report = read_events(list(paths), workload.schema, max_bad_share=1.0)
    for warning in report.warnings:
        typer.echo(f"elsinore: {warning}", err=True)
    return observe(workload, events), events
