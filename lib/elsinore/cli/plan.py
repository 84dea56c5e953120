"""`elsinore plan`: the static sharing plan of a workload and how it came about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.describe_stream import describe_stream
from elsinore.cli.read_statistics import read_statistics
from elsinore.engine.auto import choose_sets, glimpse
from elsinore.engine.profile.measure import measure
from elsinore.errors import ParameterError
from elsinore.query.load_workload import load_workload
from elsinore.sharing.explain import explain_plan
from elsinore.sharing.find_plan import TIME_LIMIT, find_plan
from elsinore.sharing.observe import observed_interval
from elsinore.sharing.plan import Fate, Finder, StaticPlan


def plan(
    workload: Annotated[Path, typer.Argument(help="The queries, a .sase file.")],
    schema: Annotated[Path, typer.Option(help="How to read an event, a .yaml file.")],
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
            " whole and optimal use a solver, without and with subsets of queries."
        ),
    ] = Finder.OPTIMAL,
    time_limit: Annotated[
        float, typer.Option(help="Seconds for the finder, but for gwmin and exhaustive.")
    ] = TIME_LIMIT,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the Sharon graph into this .svg file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The whole artifact.")] = False,
) -> None:
    """Find the static plan of WORKLOAD: candidates, benefits, conflicts, and what is shared."""
    if (rates is None) == (not events):
        raise ParameterError("give either --rates FILE or --events FILE")
    stream = load_schema(schema)
    bound = load_workload(workload, stream)
    statistics, counted = read_statistics(rates, events, bound)
    assert statistics is not None
    profiles = () if counted is None else glimpse(bound, counted)
    sets = choose_sets(bound, statistics, profiles).sets
    found = find_plan(bound, statistics, finder=finder, time_limit=time_limit, sets=sets)
    if plot is not None:
        from elsinore.plot.draw_plan import draw_plan  # matplotlib takes its time

        draw_plan(found, plot)
    if as_json:
        typer.echo(found.to_json())
        return
    if counted is not None:
        profile = measure(counted, bound, observed_interval(counted))
        describe_stream(profile, Console(), is_calendar=stream.time_unit.is_calendar)
    _print(found)


def _print(found: StaticPlan) -> None:
    table = Table("candidate", "queries", "benefit", "conflicts", "fate", title="Static plan")
    chosen = {candidate.id for candidate in found.candidates if candidate.fate is Fate.CHOSEN}
    for row in explain_plan(found):
        degree = "-" if row.degree is None else str(row.degree)
        name = f"{row.id} {row.pattern}"
        style = "bold green" if row.id in chosen else None
        queries = ", ".join(row.queries)
        table.add_row(name, queries, f"{row.benefit:,.6g}", degree, row.fate, style=style)
    console = Console()
    console.print(table)
    console.print(
        f"score {found.score:,.6g} ({found.finder}{_proof(found)}),"
        f" guaranteed {found.guaranteed_weight:,.6g} (GWMIN)"
    )
    console.print(f"fingerprint {found.fingerprint}")


def _proof(found: StaticPlan) -> str:
    if found.bound is None:
        return ""
    if found.proven:
        return ", proven optimal"
    return f", no plan scores more than {found.bound:,.6g}"
