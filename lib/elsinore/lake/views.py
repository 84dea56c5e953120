"""Define a typed SQL view per query over the long table of published results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalake import DeltaTable

from elsinore.catalog.stream import AttributeType
from elsinore.choices import Engine
from elsinore.executors.aggregates import is_exact
from elsinore.lake.old_names import OLD_NAMES, old_views
from elsinore.lake.own_workload import load_own_workload
from elsinore.query.bound import BoundOutput, BoundQuery, Workload
from elsinore.query.expressions import GroupValue, Slot
from elsinore.settings import Settings
from elsinore.store.delta_log import arrow_dataset, no_table, read_failures
from elsinore.store.tables import RESULTS, Lake

if TYPE_CHECKING:
    import duckdb

#: Characters that names of views do not have.
_OTHER = re.compile("[^A-Za-z0-9_]+")
_BOUNDS = ("window_start", "window_end")
#: The tables that `schemas/tables` declares. Views of queries do not have these or old names.
TABLES = (
    "events", "hours", "plans", "quarantine", "raw_events", "results", "results_staged",
    "run_metrics", "validations",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """The SQL of an engine, as far as engines differ."""

    quote: str  #: the quotation mark of names
    #: the types of strings and of timestamps.
    text: str
    instant: str
    #: SQL of the group's value with a label, as a type. Labels consist of ASCII letters, digits,
    #: `_` and `.`.
    value: Callable[[str, str], str]
    from_micros: Callable[[str], str]  #: SQL of a timestamp from digits of microseconds since 1970
    #: the text of a string literal, given a string.
    literal: Callable[[str], str] = lambda text: text.replace("'", "''")
    #: SQL of a table in a directory; None: the engine needs its own catalog.
    table: Callable[[str], str] | None = None

    def name(self, name: str) -> str:
        """Quote a name, so that keywords are valid names."""
        return _quoted(name, self.quote)

    def string(self, text: str) -> str:
        """Return a string of SQL."""
        return f"'{self.literal(text)}'"

    def type(self, kind: AttributeType) -> str:
        """Return the SQL type of an attribute."""
        others = {AttributeType.STRING: self.text, AttributeType.TIMESTAMP: self.instant}
        return others.get(kind) or _TYPES[kind]


_TYPES = {
    AttributeType.LONG: "BIGINT",
    AttributeType.DOUBLE: "DOUBLE",
    AttributeType.BOOLEAN: "BOOLEAN",
}


def _quoted(text: str, quote: str) -> str:
    return f"{quote}{text.replace(quote, 2 * quote)}{quote}"


def _value_in_trino(label: str, kind: str) -> str:
    text = f"json_extract_scalar(r.group_key, '$[\"{label}\"]')"
    if kind.startswith("TIMESTAMP"):  # a cast would need a blank between date and time
        text = f"from_iso8601_timestamp_nanos({text})"
    return f"CAST({text} AS {kind})"


_DIALECTS = {
    Engine.DUCKDB: Dialect(
        quote='"',
        text="VARCHAR",
        instant="TIMESTAMP WITH TIME ZONE",
        value=lambda label, kind: (
            f"CAST(json_extract_string(r.group_key, '$.\"{label}\"') AS {kind})"
        ),
        from_micros=lambda digits: f"make_timestamptz(CAST({digits} AS BIGINT))",
        table=lambda path: f"delta_scan({_quoted(path, chr(39))})",
    ),
    Engine.SPARK: Dialect(
        quote="`",
        text="STRING",
        instant="TIMESTAMP",
        # With a type, because its other JSON functions reject NaN and Infinity.
        value=lambda label, kind: f"from_json(r.group_key, '`{label}` {kind}').`{label}`",
        from_micros=lambda digits: f"timestamp_micros(CAST({digits} AS BIGINT))",
        literal=lambda text: text.replace("\\", "\\\\").replace("'", "\\'"),
        table=lambda path: f"delta.{_quoted(path, '`')}",
    ),
    Engine.TRINO: Dialect(
        quote='"',
        text="VARCHAR",
        instant="TIMESTAMP(6) WITH TIME ZONE",
        value=_value_in_trino,
        # A decimal, because nanoseconds can exceed 64 bits.
        from_micros=lambda digits: (
            f"CAST(from_unixtime_nanos(1000 * CAST({digits} AS DECIMAL(22, 0))) "
            "AS TIMESTAMP(6) WITH TIME ZONE)"
        ),
    ),
}


def statements(settings: Settings, engine: Engine) -> Iterator[str]:
    """Yield SQL statements that define views of the lake's tables and queries in an engine.

    The lake's tables become views, so that they are read-only, and so that views of another lake
    are replaced, but not tables. Engines that need their own catalog get no views of tables. There
    is a view per query, and one per old table name (`old_views`).

    Raises:
        QueryError: the workload does not parse or bind.
        SchemaError: the stream's schema is not valid.
    """
    lake, dialect = Lake.open(settings), _DIALECTS[engine]
    workload = load_own_workload(settings, lake.stream)
    published = RESULTS
    if table := dialect.table:
        folders = {name: table(str(lake.path(name).absolute())) for name in lake.tables}
        for name, folder in folders.items():
            yield f"CREATE OR REPLACE VIEW {dialect.name(name)} AS SELECT * FROM {folder}"  # noqa: S608 - a declared name, a quoted path
        # By its directory: statements of another workload may use the name for their own results.
        published = folders[RESULTS]
    yield from _old_views(settings, engine)
    yield from view_statements(workload, engine, lake.tables, published)


def _old_views(settings: Settings, engine: Engine) -> Iterator[str]:
    return old_views(settings.workload_name, _DIALECTS[engine].name)


def connect(
    settings: Settings | None = None, *, any_text: bool = False
) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection with the lake's tables, a view per query, and old table names.

    Tables that no run has created yet are empty. The connection reads the current version of each
    table, and writes none. Times are in UTC.

    Args:
        settings: Settings that name the lake and the workload. None: read the environment.
        any_text: Allow every comparison of texts if rows were deleted manually with delta-rs.
            Queries are slower then.

    Raises:
        DataError: The lake has no data yet, or the log of a table is damaged.
        QueryError: The workload has an error.
        SchemaError: The stream's schema is invalid.
        SetupError: The settings name no lake.
    """
    import duckdb  # not needed for other engines

    settings = (settings or Settings.load()).require_current()
    lake = Lake.open(settings)
    workload = load_own_workload(settings, lake.stream)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    there = {name: DeltaTable.is_deltatable(str(lake.path(name))) for name in lake.tables}
    if not any(there.values()):
        raise no_table(lake.root, RESULTS)
    for name, is_there in there.items():
        with read_failures(name):
            rows = arrow_dataset(lake.log(name), any_text=any_text) if is_there else None
        connection.register(name, lake.schema(name).arrow().empty_table() if rows is None else rows)
    for statement in _old_views(settings, Engine.DUCKDB):
        connection.execute(statement)
    for statement in view_statements(workload, Engine.DUCKDB, lake.tables):
        connection.execute(statement)
    return connection


def view_statements(
    workload: Workload, engine: Engine, tables: Iterable[str], published: str = RESULTS
) -> Iterator[str]:
    """Yield a SQL statement per query that defines its view over the table of results.

    A view has one row per group and window, and per step, with these columns:

    - The grouping attributes, in the order of GROUP-BY and with the types of the schema.
    - `window_start` and `window_end`, and `step` if the query returns steps.
    - A value with AS has its name, and one column. An integer that can exceed 64 bits is a decimal
      of 38 digits, which is NULL if it has more digits.
    - `trends` for `COUNT(*)` without AS. Other values have their texts in RETURN as names, in lower
      case and with `_` for other characters: `max_d_dep_delay`. An integer that can exceed 64 bits
      has three columns: a decimal of 38 digits, a string with all digits (`trends_digits`), and its
      size as a double (`trends_log2`).

    The view of a query with values of lists, such as `q[10]`, is `q__10`.

    If names differ only by case, or a view would have the name of a table, `_` is appended. Views
    do not contain results of earlier versions of the query.

    Args:
        workload: The queries.
        engine: The engine.
        tables: Names of the lake's tables.
        published: SQL of the table of results.
    """
    names = view_names(workload, tables)
    for query in workload.queries:
        yield _view(query, names[query.name], _DIALECTS[engine], published)


def view_names(workload: Workload, tables: Iterable[str] = TABLES) -> dict[str, str]:
    """Return the name of each query's view; see `view_statements`.

    It has letters, digits and `_` only, also for a query with values of lists.
    """
    names = map(_plain_name, workload.queries)
    distinct = _distinct(names, [*tables, *OLD_NAMES])
    return dict(zip((query.name for query in workload.queries), distinct, strict=True))


def _plain_name(query: BoundQuery) -> str:
    """Return the name of a query with letters, digits and `_` only: `q__10` for `q[10]`."""
    values = (_OTHER.sub("_", text.strip("'")) for text in query.source.listed)
    return "__".join([query.source.written_name, *values])


def _view(query: BoundQuery, name: str, dialect: Dialect, published: str) -> str:
    of_query = f"r.query = {dialect.string(query.name)}"
    groups = {str(key.group_label): key.type for key in query.group_keys}
    values = [
        (label.replace(".", "_"), dialect.value(label, dialect.type(kind)))
        for label, kind in groups.items()
    ]
    values += [column for one in query.outputs for column in _columns(query, one, dialect)]
    names = _distinct((name for name, _ in values), _row_columns(query))
    columns = [(name, sql) for name, (_, sql) in zip(names, values, strict=True)]
    of_row = _row_columns(query)
    columns[len(groups) : len(groups)] = [(name, f"r.{name}") for name in of_row]
    return "\n".join(
        [
            f"CREATE OR REPLACE VIEW {dialect.name(name)} AS SELECT",
            ",\n".join(f"  {sql} AS {dialect.name(name)}" for name, sql in columns),
            f"FROM {published} r",
            f"WHERE {of_query} AND r.query_fingerprint = '{query.fingerprint}'",
            f"GROUP BY r.group_key, {', '.join(f'r.{name}' for name in _row_columns(query))}",
        ]
    )


def _row_columns(query: BoundQuery) -> tuple[str, ...]:
    """Return the columns that identify a row of a group."""
    return (*_BOUNDS, "step") if query.steps else _BOUNDS


def _columns(query: BoundQuery, output: BoundOutput, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yield the name and the SQL of each column of a value of RETURN."""
    name = output.name
    if not output.named:
        is_count = name == query.count_name
        name = "trends" if is_count else re.sub(r"\W+", "_", name).strip("_").lower()
    value, text, size = (
        f"MAX(r.{column}) FILTER (WHERE r.aggregate = {dialect.string(output.name)})"
        for column in ("value", "exact", "log2")
    )
    match output.type:
        case AttributeType.DOUBLE:
            yield name, value
        case AttributeType.TIMESTAMP:
            yield name, dialect.from_micros(text)
        case AttributeType.STRING:
            yield name, text
        case AttributeType.BOOLEAN:
            yield name, f"CAST({text} AS BOOLEAN)"
        case _ if _is_of_64_bits(query, output):
            yield name, f"CAST({text} AS BIGINT)"
        case _:
            yield name, f"TRY_CAST({text} AS DECIMAL(38, 0))"
            if not output.named:
                yield f"{name}_digits", text
                yield f"{name}_log2", size


def _is_of_64_bits(query: BoundQuery, output: BoundOutput) -> bool:
    """Return whether an integer cannot exceed 64 bits.

    So it is MIN, MAX, a grouping attribute or a length of time.
    """
    if output.is_duration:
        return True
    match output.expression:
        case GroupValue():
            return True
        case Slot(number):
            return not is_exact(query.aggregates[number])
    return False


def _distinct(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return names that differ from each other and from taken names, also if case is ignored.

    >>> _distinct(["a", "A", "window_end"], ["window_end"])
    ['a', 'A_', 'window_end_']
    """
    used, found = {name.lower() for name in taken}, []
    for name in names:
        while name.lower() in used:
            name += "_"
        used.add(name.lower())
        found.append(name)
    return found
