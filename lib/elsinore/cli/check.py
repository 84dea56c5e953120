"""`elsinore check`: parses and binds a workload and says what each query is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.main import AsJson, QueryFile, SchemaFile
from elsinore.library.check import Checked
from elsinore.plot import require_picture
from elsinore.query.load_workload import load_workload


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
    found.print(Console(highlight=False, soft_wrap=True))
    number = len(found.to_list())
    count = "1 query, it binds" if number == 1 else f"{number} queries, all of them bind"
    typer.echo(f"{count}." if plot is None else f"{count}; drawn in {plot}.")
