"""`elsinore sql` asks the lake; `elsinore views` says how other engines see each query's results."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.answers import Format, format_for, write_rows
from elsinore.errors import ParameterError
from elsinore.lake.connect import connect
from elsinore.lake.tables import Lake
from elsinore.lake.views import DIALECTS, table_statements, view_statements
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.timeline import Instant, instant_of


_Dialect = StrEnum("_Dialect", list(DIALECTS))


def views(
    workload: Annotated[
        Path | None, typer.Argument(help="The queries, a .sase file; by default the pipeline's.")
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="How to read an event, a .yaml file.")] = None,
    dialect: Annotated[_Dialect, typer.Option(help="Whose SQL.")] = _Dialect.duckdb,
) -> None:
    """Print the SQL that names the lake's tables and makes a typed view for each query."""
    settings = Settings.load()
    if schema is not None:
        settings = settings.model_copy(update={"schema_file": schema})
    lake, spoken = Lake.open(settings), DIALECTS[dialect]
    queries = load_workload(workload or settings.workload_file, lake.stream)
    for statement in table_statements(lake, spoken):
        typer.echo(f"{statement};")
    for statement in view_statements(queries, spoken, lake.tables):
        typer.echo(f"{statement};")


def sql(
    query: Annotated[str, typer.Argument(help="SQL as DuckDB speaks it.")],
    form: Annotated[Format | None, typer.Option("--format", help="As of `run`.")] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write, as of `run`.")] = None,
) -> None:
    """Ask the lake: its tables by their names, and for each query a view of its results."""
    chosen = format_for(form, output)
    try:
        found = connect().sql(query)
        rows = [[_plain(value) for value in row] for row in found.fetchall()] if found else []
    except duckdb.Error as error:
        hint = "SHOW TABLES lists tables and views, DESCRIBE and a name its columns"
        raise ParameterError(f"DuckDB: {error}", hint=hint) from error
    if found:
        write_rows(found.columns, rows, chosen, output, table=found.to_arrow_table)


def _plain(value: Any) -> Any:
    """A value of DuckDB as results have it: whole decimals are integers, times are instants."""
    match value:
        case datetime():
            return Instant(instant_of(value))
        case Decimal() if value == value.to_integral_value():
            return int(value)
    return value
