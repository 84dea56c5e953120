"""`elsinore sql` queries the lake; `elsinore views` prints views for other engines."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import typer

from elsinore.choices import Engine, Format
from elsinore.cli.answers import format_for, write_rows
from elsinore.errors import ParameterError
from elsinore.lake.views import connect, statements
from elsinore.settings import Settings
from elsinore.timeline import Instant, instant_of

_ASKED = duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN
#: Hints by a pattern of the SQL or of DuckDB's message; the first match is used.
_HINTS = {
    r"^\s*QUERY\s": "`elsinore run` evaluates queries of this language",
    r"^\S+\.sql\n": 'pass the text, as in "$(cat report.sql)"',
    r'column "count" not found': "the count of trends is the column trends",
    r"^\s*(delete|insert|update|drop|alter|truncate)\b": "the lake is read-only here",
    "": "SHOW TABLES lists tables and views, DESCRIBE NAME lists columns",
}


def views(workload: Path | None, schema: Path | None, dialect: Engine) -> None:
    """Print SQL that defines the lake's tables and a typed view per query."""
    settings = Settings.load()
    if schema is not None:
        settings = settings.model_copy(update={"schema_file": schema})
    for statement in statements(_of(settings, workload) if workload else settings, dialect):
        typer.echo(f"{statement};")


def _of(settings: Settings, file: Path) -> Settings:
    """Return the settings of the workload with this file, or else the defaults with this file."""
    every = map(settings.of_workload, settings.known_workloads)
    mine = (own for own in every if own.queries.resolve() == file.resolve())
    return next(mine, settings.model_copy(update={"workload_file": file, "workload": ""}))


def sql(query: str, form: Format | None, output: Path | None) -> None:
    """Query the lake with one statement, and write its result."""
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
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise ParameterError("the SQL is not UTF-8", hint="type it in a UTF-8 terminal") from error
    every = lake.extract_statements(query)
    if not every:
        raise ParameterError("the SQL is empty", hint="try SHOW TABLES")
    if any(one.type in _ASKED for one in every[:-1]):
        raise ParameterError(f"the SQL has {len(every)} statements", hint="run one at a time")
    found = lake.sql(query)
    if found is not None:  # CREATE and SET return nothing
        table = found.to_arrow_table
        write_rows(found.columns, lambda: _rows(found), form, output, table=table)


def _rows(found: duckdb.DuckDBPyRelation) -> list[list[Any]]:
    return [[_plain(value) for value in row] for row in found.fetchall()]


def _plain(value: Any) -> Any:
    """Return a value of DuckDB as in results: decimals without a fraction are integers."""
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
