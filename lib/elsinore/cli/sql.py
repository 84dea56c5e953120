"""`elsinore sql` asks the lake; `elsinore views` prints what other engines need to do so."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import duckdb
import pyarrow as pa
import typer

from elsinore.cli.answers import Format, format_for, write_rows
from elsinore.errors import ParameterError
from elsinore.lake.views import Engine, connect, statements
from elsinore.settings import Settings
from elsinore.timeline import Instant, instant_of


def views(
    workload: Annotated[
        Path | None, typer.Argument(help="The queries, a .sase file; by default the pipeline's.")
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="How to read an event, a .yaml file.")] = None,
    dialect: Annotated[Engine, typer.Option(help="Whose SQL.")] = Engine.DUCKDB,
) -> None:
    """Print the SQL that names the lake's tables and makes a typed view for each query."""
    given = {"workload_file": workload, "schema_file": schema}
    chosen: dict[str, Any] = {name: path for name, path in given.items() if path is not None}
    if workload is not None:
        chosen["workload"] = ""
    for statement in statements(Settings.load().model_copy(update=chosen), dialect):
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
        if found is not None:  # as it is where nothing was asked: CREATE, SET
            table = found.to_arrow_table
            write_rows(found.columns, lambda: _rows(found), chosen, output, table=table)
    except (duckdb.Error, pa.ArrowException) as error:
        is_asked = isinstance(error, duckdb.Error)  # else it is how the answer is written
        hint = "SHOW TABLES lists tables and views, DESCRIBE and a name its columns"
        raise ParameterError(str(error), hint=hint if is_asked else None) from error


def _rows(found: duckdb.DuckDBPyRelation) -> list[list[Any]]:
    return [[_plain(value) for value in row] for row in found.fetchall()]


def _plain(value: Any) -> Any:
    """A value of DuckDB as results have it: decimals without a fraction are integers."""
    match value:
        case datetime():
            return Instant(instant_of(value))
        case Decimal() if value.as_tuple().exponent == 0:
            return int(value)
    return value
