"""`elsinore explain`: who shares what under a plan, what it saves, and what is not shared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.describe_sharing import describe_sharing, explain_workload
from elsinore.cli.plan import read_statistics
from elsinore.engine.plan import compile_plan
from elsinore.errors import ParameterError, PlanError
from elsinore.plot.ink import require_picture
from elsinore.query.load_workload import load_workload
from elsinore.sharing.explain import figure_text
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.replan import verify

#: Rows of what is not shared that are printed; JSON holds them all.
_MOST_ROWS = 40
#: Queries of a list that are named; JSON holds them all.
_MOST_NAMES = 8


def explain(
    workload: Annotated[Path, typer.Argument(help="The queries, a .sase file.")],
    schema: Annotated[Path, typer.Option(help="How to read an event, a .yaml file.")],
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
    stream = load_schema(schema)
    bound = load_workload(workload, stream)
    statistics, _ = read_statistics(rates, events, bound)
    if plan is None and statistics is None:
        raise ParameterError("give --plan FILE, or --rates FILE or --events FILE to find one")
    if plan is not None:  # as the pipeline runs it
        found = StaticPlan.from_json(_read(plan))
        verify(found, bound)
        runtime = compile_plan(bound, statistics, static_plan=found)
    else:  # as `elsinore run` does
        assert statistics is not None
        found = find_plan(bound, statistics)
        runtime = compile_plan(bound, statistics)
    explanation = explain_workload(bound, found, statistics, runtime)
    if plot is not None:
        from elsinore.plot.save_sharing import save_sharing  # matplotlib takes its time

        save_sharing(
            found, explanation.cuts, explanation.savings, explanation.sharing, plot,
            runtime=runtime, calendar=stream.time_unit.is_calendar,
        )  # fmt: skip
    description = describe_sharing(explanation)
    if as_json:
        typer.echo(json.dumps(description, ensure_ascii=False, indent=2))
        return
    _print(description)
    if plot is not None:
        typer.echo(f"drawn in {plot}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PlanError(f"the static plan {path} is no UTF-8 text") from error


def _print(found: dict[str, Any]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    plan = found["plan"]
    proof = ", proven optimal" if plan["proven"] else ""
    console.print(
        Text(f"Plan {plan['fingerprint'][:12]} by {plan['finder']}: sharing saves"
             f" {figure_text(plan['score'])} count updates per longest window{proof}", "bold")
    )  # fmt: skip
    for title, lines in (
        ("Queries", _query_lines(found["queries"])),
        ("Kleene sub-patterns of several queries", _kleene_lines(found)),
        ("Run by auto", _executor_lines(found["queries"])),
    ):
        console.print(Text(f"\n{title}", "bold cyan"))
        for line in lines:
            console.print(line)
        if title == "Queries":
            _print_candidates(console, found)


def _query_lines(queries: list[dict[str, Any]]) -> Iterator[Text]:
    width = max((len(query["query"]) for query in queries), default=0)
    for query in queries:
        line = Text(f"  {query['query']:<{width}}  ", "bold")
        line.append(_cut_text(query))
        line.append(f"  {query['keys']} {query['window']}", style="not bold dim")
        yield line


def _cut_text(query: dict[str, Any]) -> Text:
    """The cut as `Cut` spells it, what is shared in green."""
    text = Text(query["cut"], style="not bold")
    for part in query["parts"]:
        if part["shared"] is not None:
            spelled = f"shared {part['shared']}: {', '.join(part['pattern'])}"
            start = query["cut"].index(spelled)
            text.stylize("green", start, start + len(spelled))
    return text


def _print_candidates(console: Console, found: dict[str, Any]) -> None:
    """Two tables: what is shared, and what is not."""
    wide = Console(highlight=False, width=max(console.width, 100))
    shared = Table("candidate", "shared by: gain", "cost once", "net", title="Shared",
                   title_justify="left")  # fmt: skip
    for each in found["shared"]:
        shared.add_row(
            _named(each), "\n".join(_sharers(each)), _figure(each["once"]), _figure(each["net"])
        )
    if shared.rows:
        wide.print()
        wide.print(shared)
    missed = Table("candidate", "queries", "benefit", "why not", title="Not shared",
                   title_justify="left")  # fmt: skip
    for each in found["not_shared"][:_MOST_ROWS]:
        queries = ", ".join(each["queries"])
        missed.add_row(Text(_named(each)), queries, _figure(each["benefit"]), each["why"])
    if missed.rows:
        wide.print(missed)
    more = len(found["not_shared"]) - len(missed.rows)
    if more:
        wide.print(f"{more:,} candidates more are not shared; --json has them all")


def _named(each: dict[str, Any]) -> str:
    return f"{each['id']} ({', '.join(each['pattern'])})"


def _sharers(each: dict[str, Any]) -> Iterator[str]:
    gains = each["gains"] or {}
    for name in each["shared_by"]:
        yield f"{name}: {_figure(gains[name])}" if name in gains else name
    for name, taken in each["left_out"].items():
        why = f"{', '.join(taken)} takes its place" if taken else "sharing there does not pay"
        yield f"not {name}: {why}"


def _figure(value: float | None) -> str:
    return "-" if value is None else figure_text(value)


def _kleene_lines(found: dict[str, Any]) -> Iterator[Text]:
    if not found["kleene"]:
        yield Text("  none")
    for each in found["kleene"]:
        holders = sum(map(len, each["sets"].values())) + len(each["alone"])
        yield Text(f"  {each['type']}+ in {holders} queries", "bold")
        for name, queries in each["sets"].items():
            yield Text(f"    {name} shares it: {', '.join(queries)}", "green")
        if each["apart"]:
            yield Text(f"    not one set: {each['apart']}")
        for alone in each["alone"]:
            yield Text(f"    not {alone['query']} ({alone['keys']}): {alone['why']}")
    for each in found["sets"]:
        yield Text(
            f"  {each['id']}: {len(each['queries'])} queries, {each['keys']};"
            f" panes of {each['pane_text']} from {', '.join(each['windows'])}"
        )
        run = "; ".join(f"{_listed(names)} by {who}" for who, names in each["run_by"].items())
        yield Text(f"    run: {run}")
        for arrow in each["transitions"]:
            yield Text(f"    {_arrow(each, arrow)}", "dim")


def _executor_lines(queries: list[dict[str, Any]]) -> Iterator[Text]:
    """Who runs which queries, and why."""
    alike: dict[tuple[str, str], list[str]] = {}
    for query in queries:
        alike.setdefault((query["executor"], query["why"]), []).append(query["query"])
    for (executor, why), names in alike.items():
        line = Text(f"  {executor}: ", "bold")
        line.append(f"{_listed(names)}: {why}", style="not bold")
        yield line


def _arrow(found: dict[str, Any], arrow: dict[str, Any]) -> str:
    """A transition of the merged template with the queries that have it."""
    earlier, later = (found["states"][arrow[end]]["type"] for end in ("earlier", "later"))
    names = arrow["queries"]
    queries = "all" if len(names) == len(found["queries"]) else _listed(names)
    condition = ", with an edge predicate" if arrow["conditional"] else ""
    return f"{earlier} -> {later}: {queries}{condition}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
