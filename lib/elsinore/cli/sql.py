"""`elsinore sql` asks the lake; `elsinore views` prints what other engines need to do so."""

from __future__ import annotations

import re
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

_ASKED = duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN
#: What to write instead, by what is found in the SQL or in what DuckDB says; the first that is.
_HINTS = {
    r"^\s*QUERY\s": "`elsinore run` answers queries of the language",
    r"^\S+\.sql\n": 'give the text, as in "$(cat report.sql)"',
    r'column "count" not found': "the count of trends is the column trends",
    r"^\s*(delete|insert|update|drop|alter|truncate)\b": "the lake is only read here",
    "": "SHOW TABLES lists tables and views, DESCRIBE and a name its columns",
}


def views(
    workload: Annotated[
        Path | None, typer.Argument(help="The queries, a .sase file; by default the pipeline's.")
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="How to read an event, a .yaml file.")] = None,
    dialect: Annotated[Engine, typer.Option(help="Whose SQL.")] = Engine.DUCKDB,
) -> None:
    """Print the SQL that names the lake's tables and makes a typed view for each query."""
    settings = Settings.load()
    if schema is not None:
        settings = settings.model_copy(update={"schema_file": schema})
    for statement in statements(_of(settings, workload) if workload else settings, dialect):
        typer.echo(f"{statement};")


def _of(settings: Settings, file: Path) -> Settings:
    """Those of the workload whose file it is; it takes the place of the first one's if of none."""
    every = map(settings.of_workload, settings.known_workloads)
    mine = (own for own in every if own.queries.resolve() == file.resolve())
    return next(mine, settings.model_copy(update={"workload_file": file, "workload": ""}))


def sql(
    query: Annotated[str, typer.Argument(help="SQL as DuckDB speaks it.")],
    form: Annotated[Format | None, typer.Option("--format", help="As of `run`.")] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write, as of `run`.")] = None,
) -> None:
    """Ask the lake: its tables by their names, and for each query a view of its results."""
    chosen = format_for(form, output)
    try:
        try:
            _answer(connect(), query, chosen, output)
        except duckdb.Error as error:
            if "string_view" not in str(error):  # of tables from which delta-rs has deleted rows
                raise
            _answer(connect(any_text=True), query, chosen, output)
    except (duckdb.Error, pa.ArrowException) as error:
        is_asked = isinstance(error, duckdb.Error)  # else it is how the answer is written
        words, _, line = str(error).partition("\n\nLINE ")  # its caret has no place in ours
        said = re.sub(r"^[\w ]+ Error: ", "", words)
        said += f" in line {line.partition(':')[0]}" if line else ""
        hint = next(_HINTS[h] for h in _HINTS if re.search(h, f"{query}\n{said}", re.IGNORECASE))
        raise ParameterError(said, hint=hint if is_asked else None) from error


def _answer(lake: duckdb.DuckDBPyConnection, query: str, form: Format, output: Path | None) -> None:
    every = lake.extract_statements(query)
    if not every:
        raise ParameterError("there is no SQL", hint="as in SHOW TABLES")
    if any(one.type in _ASKED for one in every[:-1]):
        raise ParameterError(f"these are {len(every)} statements", hint="ask one at a time")
    found = lake.sql(query)
    if found is not None:  # as it is where nothing was asked: CREATE, SET
        table = found.to_arrow_table
        write_rows(found.columns, lambda: _rows(found), form, output, table=table)


def _rows(found: duckdb.DuckDBPyRelation) -> list[list[Any]]:
    return [[_plain(value) for value in row] for row in found.fetchall()]


def _plain(value: Any) -> Any:
    """A value of DuckDB as results have it: decimals without a fraction are integers."""
    match value:
        case datetime():
            return Instant(instant_of(value))
        case Decimal() if value.as_tuple().exponent == 0:
            return int(value)
        case list():
            return list(map(_plain, value))
        case dict():
            return {name: _plain(each) for name, each in value.items()}
    return value
