"""`elsinore explain`: who shares what under a plan, what it saves, and what is not shared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.main import QueryFile, SchemaFile
from elsinore.cli.plan import read_statistics
from elsinore.engine.plan import compile_plan
from elsinore.errors import ParameterError
from elsinore.library.explain import Explained
from elsinore.plot import require_picture
from elsinore.query.load_workload import load_workload
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.replan import load_plan


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
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Explain the sharing in WORKLOAD: each query's cut, what sharing saves, Kleene sets.

    With a plan the gains per query are told only beside the rates or events that it was found from.
    """
    if plot is not None:
        require_picture(plot)
    bound = load_workload(workload, load_schema(schema))
    statistics, _ = read_statistics(rates, events, bound)
    if plan is None and statistics is None:
        raise ParameterError("give --plan FILE, or --rates FILE or --events FILE to find one")
    if plan is not None:  # as the pipeline runs it
        found = load_plan(plan, bound)
        runtime = compile_plan(bound, statistics, static_plan=found)
    else:  # as `elsinore run` does
        assert statistics is not None
        found = find_plan(bound, statistics)
        runtime = compile_plan(bound, statistics)
    explained = Explained(bound, found, statistics, runtime)
    if plot is not None:
        explained.draw(plot)
    if as_json:
        typer.echo(json.dumps(explained.to_dict(), ensure_ascii=False, indent=2))
        return
    explained.print(Console(highlight=False, soft_wrap=True))
    if plot is not None:
        typer.echo(f"drawn in {plot}")
