"""`elsinore check`, `plan` and `explain`: describe queries and the work that they share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.choices import Optimizer
from elsinore.console import SafeConsole
from elsinore.errors import ParameterError
from elsinore.events import EventTable
from elsinore.executors.plan import compile_plan
from elsinore.files.read_events import read_events
from elsinore.library.check import Checked
from elsinore.library.explain import Explained
from elsinore.library.plan import Planned
from elsinore.plot import require_picture
from elsinore.query.bound import Workload
from elsinore.query.given_values import given_in_options
from elsinore.query.load_workload import load_workload
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.observe import observe
from elsinore.sharing.replan import load_plan
from elsinore.sharing.statistics import Statistics, load_rates
from elsinore.template.support import lowered
from elsinore.timeline import HOUR
from elsinore.wording import visible


def tell_warnings(workload: Workload) -> None:
    """Print the warnings of a workload."""
    for warning in workload.warnings:
        typer.echo(f"elsinore: warning: {visible(str(warning))}", err=True)


def check(
    workload: Path, schema: Path, params: Sequence[str], as_json: bool, plot: Path | None
) -> None:
    """Print a description of each query, as text or as JSON."""
    if plot is not None:
        require_picture(plot)
    bound = load_workload(workload, load_schema(schema), given_in_options(params))
    tell_warnings(bound)
    found = Checked(bound)
    if plot is not None:
        found.draw(plot)
    if as_json:
        typer.echo(json.dumps(found.to_list(), ensure_ascii=False, indent=2))
        return
    found.print(SafeConsole(highlight=False, soft_wrap=True))
    number = len(found.to_list())
    count = "1 query is valid" if number == 1 else f"{number} queries are valid"
    typer.echo(f"{count}." if plot is None else f"{count}; templates drawn in {plot}.")


def plan(
    workload: Path, schema: Path, params: Sequence[str], rates: Path | None,
    events: Sequence[Path] | None, optimizer: Optimizer, time_limit: float, plot: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Find a static plan and print it, as text or as JSON."""
    if (rates is None) == (not events):
        raise ParameterError(
            "a plan needs either rates or events", hint="give one of --rates FILE and --events FILE"
        )
    bound = load_workload(workload, load_schema(schema), given_in_options(params))
    tell_warnings(bound)
    bound = lowered(bound)
    statistics, counted = read_statistics(rates, events, bound)
    assert statistics is not None
    found = find_plan(bound, statistics, optimizer=optimizer, time_limit=time_limit)
    planned = Planned(found, bound, None if as_json else counted)
    if plot is not None:
        planned.draw(plot)
    if as_json:
        typer.echo(found.to_json())
        return
    planned.print(SafeConsole())


def explain(
    workload: Path, schema: Path, params: Sequence[str], plan: Path | None, rates: Path | None,
    events: Sequence[Path] | None, plot: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Print which queries share which work, as text or as JSON."""
    if plot is not None:
        require_picture(plot)
    bound = load_workload(workload, load_schema(schema), given_in_options(params))
    tell_warnings(bound)
    bound = lowered(bound)
    statistics, _ = read_statistics(rates, events, bound)
    if plan is not None:
        found = load_plan(plan, bound)
    elif statistics is not None:
        found = find_plan(bound, statistics)
    else:
        raise ParameterError(
            "explain needs a plan, rates or events",
            hint="add --plan FILE, --rates FILE or --events FILE",
        )
    if plan is None:  # as `elsinore run`, which has no static plan and reads all events
        runtime = compile_plan(bound, statistics)
    else:  # as the pipeline, with a stored plan; its schedule computes an hour per run
        hourly = HOUR if bound.schema.time_unit.is_calendar else None
        runtime = compile_plan(bound, statistics, static_plan=found, slice_length=hourly)
    explained = Explained(bound, found, statistics, runtime)
    if plot is not None:
        explained.draw(plot)
    if as_json:
        typer.echo(json.dumps(explained.to_dict(), ensure_ascii=False, indent=2))
        return
    explained.print(SafeConsole(highlight=False, soft_wrap=True))
    if plot is not None:
        typer.echo(f"sharing drawn in {plot}")


def read_statistics(
    rates: Path | None, paths: Sequence[Path] | None, workload: Workload
) -> tuple[Statistics | None, EventTable | None]:
    """Return statistics from a rates file or from events, and these events.

    Invalid records are ignored. For a lake's table of events, the statistics cover all of them, and
    the latest ones are returned.

    Raises:
        ParameterError: there are rates and events, or a table and files, or the rates are invalid.
        DataError: the files have no events, or cannot be read.
    """
    if rates is not None and paths:
        raise ParameterError("--rates and --events exclude each other", hint="remove one of them")
    if rates is not None:
        return load_rates(rates, workload.schema), None
    if not paths:
        return None, None
    if any((path / "_delta_log").is_dir() for path in paths):
        if len(paths) > 1:
            raise ParameterError(
                "a table of events cannot be combined with other events", hint="give only the table"
            )
        from elsinore.lake.stored_events import StoredEvents

        stored = StoredEvents.of(paths[0], workload)
        return stored.statistics(), stored.last()[0]
    events, report = read_events(list(paths), workload.schema, max_error_rate=1.0)
    for warning in report.warnings:
        typer.echo(f"elsinore: {warning}", err=True)
    return observe(workload, events), events
