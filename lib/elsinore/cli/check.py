"""`elsinore check`: parses and binds a workload and says what each query is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.query.bound import BoundQuery
from elsinore.query.load_workload import load_workload
from elsinore.query.print_query import print_pattern
from elsinore.template.support import greta_refusals
from elsinore.template.template import build_template, describe_template


def check(
    workload: Annotated[Path, typer.Argument(help="The queries, a .sase file.")],
    schema: Annotated[Path, typer.Option(help="How to read an event, a .yaml file.")],
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Parse and bind WORKLOAD; say what each query is, or list all faults at once."""
    bound = load_workload(workload, load_schema(schema))
    found = [describe(query) for query in bound.queries]
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    for description in found:
        typer.echo(_as_text(description))
    typer.echo(f"{len(found)} queries, all of them bind.")


def describe(query: BoundQuery) -> dict[str, Any]:
    """What a query is, as plain data."""
    refusals = greta_refusals(query)
    return {
        "query": query.name,
        "fingerprint": query.fingerprint,
        "pattern": print_pattern(query.pattern),
        "template": describe_template(build_template(query)),
        "local_predicates": [query.positions[p.position].alias for p in query.local_predicates],
        "edge_predicates": [
            [query.positions[e.earlier].alias, query.positions[e.later].alias]
            for e in query.edge_predicates
        ],
        "keys": [
            {
                "attribute": key.attribute,
                "aliases": [query.positions[p].alias for p in sorted(key.positions)],
                "equivalence": key.equivalence,
                "group": key.group_label is not None,
            }
            for key in query.keys
        ],
        "aggregates": [aggregate.label for aggregate in query.aggregates],
        "within": query.window.within,
        "slide": query.window.slide,
        "pane": query.window.pane(),
        "semantics": str(query.semantics),
        "executors": ["twostep"] if refusals else ["greta", "twostep"],
        "refused": {"greta": list(refusals)} if refusals else {},
    }


def _as_text(found: dict[str, Any]) -> str:
    keys = [
        key["attribute"]
        + (" (group)" if key["group"] else "")
        + (" (equal in the trend)" if key["equivalence"] else "")
        + f" of {', '.join(key['aliases'])}"
        for key in found["keys"]
    ]
    edges = [f"{earlier} to {later}" for earlier, later in found["edge_predicates"]]
    lines = {
        "pattern": found["pattern"],
        "template": ("\n" + " " * 14).join(found["template"]),
        "local on": ", ".join(found["local_predicates"]) or "-",
        "edges": ", ".join(edges) or "-",
        "keys": ("\n" + " " * 14).join(keys) or "-",
        "returns": ", ".join(found["aggregates"]),
        "window": f"within {found['within']} slide {found['slide']} pane {found['pane']} (ticks)",
        "executors": ", ".join(found["executors"]),
    }
    if found["refused"]:
        lines["greta"] = "; ".join(found["refused"]["greta"])
    body = "\n".join(f"  {title:<11} {text}" for title, text in lines.items())
    return f"{found['query']}\n{body}\n"
