"""`elsinore plan`: the static sharing plan of a workload and how it came about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from elsinore.catalog.load_schema import load_schema
from elsinore.engine.profile.measure import measure
from elsinore.errors import ParameterError
from elsinore.events import EventTable
from elsinore.files.read_events import read_events
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.query.print_query import print_length
from elsinore.sharing.explain import explain_plan
from elsinore.sharing.find_plan import TIME_LIMIT, find_plan
from elsinore.sharing.observe import observe, observed_interval
from elsinore.sharing.plan import Fate, Finder, StaticPlan
from elsinore.sharing.profile import EdgeSelectivity, Spread, StreamProfile
from elsinore.sharing.statistics import Statistics, load_rates

_SPREAD = ("mean", "median", "most")


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
    found = find_plan(bound, statistics, finder=finder, time_limit=time_limit)
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
    for row, fate in explain_plan(found):
        degree = "-" if row.degree is None else str(row.degree)
        name = f"{row.id} ({', '.join(row.pattern)})"
        style = "bold green" if row.fate is Fate.CHOSEN else None
        queries = ", ".join(row.queries)
        table.add_row(name, queries, f"{row.benefit:,.6g}", degree, fate, style=style)
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
    events, _ = read_events(list(paths), workload.schema, max_bad_share=1.0)
    return observe(workload, events), events


def describe_stream(profile: StreamProfile, console: Console, *, is_calendar: bool) -> None:
    """Print the tables of a profile; `is_calendar` says that its time is in microseconds."""
    length = print_length if is_calendar else _ticks
    for table in _tables(profile, length):
        if table.row_count:
            console.print(table)


def _tables(profile: StreamProfile, length: Callable[[int], str]) -> Iterator[Table]:
    rates = _new_table(f"Events per pane of {length(profile.pane)}", 1, "type", "least", *_SPREAD)
    for rate in profile.rates:
        _add_row(rates, rate.event_type, str(rate.events.least), *_figures(rate.events))
    yield rates
    names = ("bursts of", "by", "pane", "queries")
    bursts = _new_table("Events per burst", len(names), *names, "bursts", *_SPREAD)
    for burst in profile.bursts:
        place = (", ".join(burst.keys) or "-", length(burst.pane), ", ".join(burst.queries))
        counts = (f"{burst.lengths.number:,}", *_figures(burst.lengths))
        _add_row(bursts, burst.event_type, *place, *counts)
    yield bursts
    passing = _new_table("What predicates let through", 2, "predicate", "queries", "of", "share")
    for one in profile.local:
        _add_row(
            passing, one.condition, ", ".join(one.queries), f"{one.events:,}", _percent(one.share)
        )
    for pair in profile.edges:
        _add_row(
            passing, pair.condition, ", ".join(pair.queries), _pairs(pair), _percent(pair.share)
        )
    yield passing
    skew = _new_table("Events per partition", 1, "by", "partitions", *_SPREAD, "largest")
    for found in profile.partitions:
        counts = (f"{found.sizes.number:,}", *_figures(found.sizes))
        _add_row(skew, ", ".join(found.keys), *counts, _percent(found.largest_share))
    yield skew


def _new_table(title: str, words: int, *columns: str) -> Table:
    """A table whose first columns hold words, the others figures."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < words else "right")
    return table


def _add_row(table: Table, *cells: str) -> None:
    """Texts of the workload are no markup."""
    table.add_row(*map(Text, cells))


def _figures(spread: Spread) -> tuple[str, ...]:
    return f"{spread.mean:,.4g}", f"{spread.median:,.6g}", f"{spread.most:,}"


def _pairs(found: EdgeSelectivity) -> str:
    pairs = f"{found.pairs:,} pair{'' if found.pairs == 1 else 's'}"
    return pairs if found.sampled == found.pairs else f"{pairs}, {found.sampled:,} seen"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _ticks(count: int) -> str:
    return f"{count:,} ticks"
