"""`elsinore check`: parses and binds a workload and says what each query is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from elsinore.catalog.load_schema import load_schema
from elsinore.engine.plan import REFUSALS, Executor
from elsinore.lowering.layout import answered_by_order
from elsinore.plot import require_picture
from elsinore.query.bound import BoundQuery, Key
from elsinore.query.load_workload import load_workload
from elsinore.query.print_query import print_bound, print_length, print_pattern
from elsinore.template.build import WHOLE, carried_keys, template_parts
from elsinore.template.describe import describe_template, numbered_nots
from elsinore.template.support import greta_refusals

#: Columns that the titles of lines take.
_MARGIN = 13


def check(
    workload: Annotated[Path, typer.Argument(help="The queries, a .sase file.")],
    schema: Annotated[Path, typer.Option(help="How to read an event, a .yaml file.")],
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the templates: a .svg or .png file.")
    ] = None,
) -> None:
    """Parse and bind WORKLOAD; say what each query is, or list all faults at once."""
    if plot is not None:
        require_picture(plot)
    stream = load_schema(schema)
    bound = load_workload(workload, stream)
    calendar = stream.time_unit.is_calendar
    found = [describe_query(query, calendar=calendar) for query in bound.queries]
    if plot is not None:
        from elsinore.plot.diagram import save_templates  # matplotlib takes its time

        save_templates(bound.queries, plot)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    for description in found:
        console.print(_as_text(description))
    count = "1 query, it binds" if len(found) == 1 else f"{len(found)} queries, all of them bind"
    typer.echo(f"{count}." if plot is None else f"{count}; drawn in {plot}.")


def _as_text(found: dict[str, Any]) -> Text:
    text = Text(found["query"], style="bold")
    text.append("\n")
    for title, lines in _lines(found):
        for number, line in enumerate(lines):
            text.append(f"  {title if number == 0 else '':<{_MARGIN}}", style="not bold cyan")
            text.append(f"{line}\n", style="not bold")
    return text


def _lines(found: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Titles, each with its lines."""
    yield "pattern", [found["pattern"]]
    for template in found["templates"]:
        yield "template", _template_lines(template, of_several=len(found["templates"]) > 1)
    local = [f"{p['alias']}: {p['condition']}" for p in found["local_predicates"]]
    yield "local", local or ["-"]
    edges = [
        f"{edge['earlier']} to {edge['later']}: {edge['condition']}"
        + ("  (by order)" if edge["by_order"] else "")  # more than a look at every pair
        for edge in found["edge_predicates"]
    ]
    yield "edge", edges or ["-"]
    yield "keys", [_key_line(key) for key in found["keys"]] or ["-"]
    yield "returns", [", ".join(found["aggregates"])]
    yield "window", [found["window"]]
    yield "semantics", [found["semantics"]]
    yield "executors", [", ".join(found["executors"])]
    for executor, reasons in found["refused"].items():
        yield f"not {executor}", reasons


def _template_lines(template: dict[str, Any], *, of_several: bool) -> list[str]:
    """The lines of a template; of several, each says which trends are its own."""
    if not of_several:
        return list(template["text"])
    side = "" if template["of"] == WHOLE else f"{template['of']}, "
    keys = ", ".join(template["keys"]) or "no key"
    return [f"{side}trends that carry {keys}:", *(f"  {line}" for line in template["text"])]


def _key_line(key: dict[str, Any]) -> str:
    """What a key does, and which events carry it."""
    uses = ["names the rows (GROUP-BY)"] if key["group"] is not None else []
    uses += ["equal in all events that carry it"] if key["equivalence"] else []
    carriers = ", ".join(key["aliases"])
    others = ", ".join(key["not_carried_by"])
    reach = f"carried by {carriers}" + (f", not by {others}" if others else "")
    return f"{key['attribute']}: {'; '.join(uses)}; {reach}"


def describe_query(query: BoundQuery, *, calendar: bool) -> dict[str, Any]:
    """Everything that `check` says of a query.

    Args:
        query: the query.
        calendar: whether the stream's time is in microseconds, not in ticks of no unit.

    Returns:
        A mapping that JSON can hold. `within`, `slide` and `pane` are numbers, `window` says the
        same in words; `templates` is empty where the pattern cannot be made unambiguous. `by_order`
        of an edge predicate: greta answers it from order statistics, not by pairs.
    """
    refusals = greta_refusals(query)
    executors = [name for name, refused in REFUSALS.items() if not refused(query)]
    parts = [] if refusals else template_parts(query)
    aliases = {position.index: position.alias for position in query.positions}
    return {
        "query": query.name,
        "fingerprint": query.fingerprint,
        "pattern": print_pattern(query.pattern),
        "nots": [
            {"number": found.number, "pattern": print_pattern(found.body), "inside": found.inside}
            for found in numbered_nots(query)
        ],
        "templates": [
            {
                "of": side,
                "keys": carried_keys(query, template),
                "text": describe_template(query, template),
            }
            for side, template in parts
        ],
        "local_predicates": [
            {"alias": aliases[p.position], "condition": print_bound(p.condition, aliases)}
            for p in query.local_predicates
        ],
        "edge_predicates": [
            {
                "earlier": aliases[edge.earlier],
                "later": aliases[edge.later],
                "condition": print_bound(edge.condition, aliases),
                "by_order": answered_by_order(edge, (template for _, template in parts)),
            }
            for edge in query.edge_predicates
        ],
        "keys": [_key(query, key) for key in query.keys],
        "aggregates": [aggregate.label for aggregate in query.aggregates],
        **_window(query, calendar=calendar),
        "semantics": str(query.semantics),
        "executors": [*map(str, executors), str(Executor.TWOSTEP)],
        "refused": {"greta": list(refusals)} if refusals else {},
    }


def _key(query: BoundQuery, key: Key) -> dict[str, Any]:
    return {
        "attribute": key.attribute,
        "aliases": [query.positions[p].alias for p in sorted(key.positions)],
        "not_carried_by": [p.alias for p in query.positions if p.index not in key.positions],
        "equivalence": key.equivalence,
        "group": key.group_label,
    }


def _window(query: BoundQuery, *, calendar: bool) -> dict[str, Any]:
    window = query.window
    lengths = {"within": window.within, "slide": window.slide, "pane": window.pane()}
    words = [f"{name} {print_length(n, calendar=calendar)}" for name, n in lengths.items()]
    return lengths | {"window": ", ".join(words)}
