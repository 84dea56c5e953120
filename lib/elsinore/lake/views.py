"""A typed view for each query over the long table of published results, in the SQL of an engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalake import DeltaTable

from elsinore.catalog.stream import AttributeType
from elsinore.choices import Engine
from elsinore.lake.delta_log import arrow_dataset, no_table, read_failures
from elsinore.lake.old_names import OLD_NAMES, old_views
from elsinore.lake.tables import RESULTS, Lake
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery, Workload
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings

if TYPE_CHECKING:
    import duckdb

_BOUNDS = ("window_start", "window_end")
#: The tables that `schemas/tables` declares; no view of a query takes their names, or old ones.
TABLES = (
    "events", "hours", "plans", "quarantine", "raw_events", "results", "results_staged",
    "run_metrics", "validations",
)  # fmt: skip
#: Aggregates that may be of any size.
_WIDE = (AggregateFunction.COUNT, AggregateFunction.SUM)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What engines write each in their own way."""

    quote: str  #: stands around a name
    #: the types of texts and of instants.
    text: str
    instant: str
    #: what the group has under a label, as a type. Labels, like all names that queries and schemas
    #: give, are ASCII letters, digits and `_`, beside them a `.`.
    value: Callable[[str, str], str]
    from_micros: Callable[[str], str]  #: an instant from the digits of its microseconds since 1970
    #: a table by its folder; None where only the engine's catalog can name one.
    table: Callable[[str], str] | None = None

    def name(self, name: str) -> str:
        """A name, quoted, so that no word is a keyword."""
        return _quoted(name, self.quote)

    def type(self, kind: AttributeType) -> str:
        """The type of an attribute's values."""
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
    if kind.startswith("TIMESTAMP"):  # whose texts have a blank in the middle there
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
        # Typed, for NaN and Infinity are no JSON to its other functions.
        value=lambda label, kind: f"from_json(r.group_key, '`{label}` {kind}').`{label}`",
        from_micros=lambda digits: f"timestamp_micros(CAST({digits} AS BIGINT))",
        table=lambda path: f"delta.{_quoted(path, '`')}",
    ),
    Engine.TRINO: Dialect(
        quote='"',
        text="VARCHAR",
        instant="TIMESTAMP(6) WITH TIME ZONE",
        value=_value_in_trino,
        # As nanoseconds, some of which are beyond 64 bits.
        from_micros=lambda digits: (
            f"CAST(from_unixtime_nanos(1000 * CAST({digits} AS DECIMAL(22, 0))) "
            "AS TIMESTAMP(6) WITH TIME ZONE)"
        ),
    ),
}


def statements(settings: Settings, engine: Engine) -> Iterator[str]:
    """Return SQL that names the lake's tables in an engine, if it can, and defines the views.

    Tables become views, too: the name of another lake's view is replaced, the engine refuses the
    name of a table, and nothing can be written through them. There is a view per query, and one per
    old table name (`old_views`).

    Raises:
        QueryError: the workload does not parse or bind.
        SchemaError: the stream's schema is not valid.
    """
    lake, dialect = Lake.open(settings), _DIALECTS[engine]
    workload = load_workload(settings.queries, lake.stream)
    published = RESULTS
    if table := dialect.table:
        folders = {name: table(str(lake.path(name).absolute())) for name in lake.tables}
        for name, folder in folders.items():
            yield f"CREATE OR REPLACE VIEW {dialect.name(name)} AS SELECT * FROM {folder}"  # noqa: S608 - a declared name, a quoted path
        # By its folder: another workload's statements may give the name to their own results.
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
    import duckdb  # not where it is another engine that is asked

    settings = (settings or Settings.load()).require_current()
    lake = Lake.open(settings)
    workload = load_workload(settings.queries, lake.stream)
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
    """A statement for each query that makes its view over the table of `published` results.

    A view has a row for each group and window, with these columns:

    - those of GROUP-BY, in its order, of the attributes' types; `window_start`, `window_end`;
    - `trends` for `COUNT(*)`; the other aggregates as RETURN spells them in small letters, what is
      no letter or digit as `_`: `max_d_dep_delay`. Doubles, longs and instants are of these types.
      A count or sum of longs is a decimal of 38 digits, NULL where it has more; beside it all of
      its digits (`trends_digits`, a text) and its size (`trends_log2`, a double).

    Of two names that engines do not tell apart the later one has a `_` at its end; no view takes
    the name of one of the lake's `tables`. Results that an earlier wording of a query has left are
    not in the view, for they answer another question.
    """
    names = view_names(workload, tables)
    for query in workload.queries:
        yield _view(query, names[query.name], _DIALECTS[engine], published)


def view_names(workload: Workload, tables: Iterable[str] = TABLES) -> dict[str, str]:
    """Return the name of each query's view; see `view_statements`."""
    queries = [query.name for query in workload.queries]
    return dict(zip(queries, _distinct(queries, [*tables, *OLD_NAMES]), strict=True))


def _view(query: BoundQuery, name: str, dialect: Dialect, published: str) -> str:
    groups = {str(key.group_label): key.type for key in query.group_keys}
    values = [
        (label.replace(".", "_"), dialect.value(label, dialect.type(kind)))
        for label, kind in groups.items()
    ]
    values += [column for item in query.aggregates for column in _columns(item, dialect)]
    names = _distinct((name for name, _ in values), _BOUNDS)
    columns = [(name, sql) for name, (_, sql) in zip(names, values, strict=True)]
    columns[len(groups) : len(groups)] = [(bound, f"r.{bound}") for bound in _BOUNDS]
    return "\n".join(
        [
            f"CREATE OR REPLACE VIEW {dialect.name(name)} AS SELECT",
            ",\n".join(f"  {sql} AS {dialect.name(name)}" for name, sql in columns),
            f"FROM {published} r",
            f"WHERE r.query = '{query.name}' AND r.query_fingerprint = '{query.fingerprint}'",
            "GROUP BY r.group_key, r.window_start, r.window_end",
        ]
    )


def _columns(item: BoundAggregate, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """The columns of an aggregate, each with its name."""
    name = "trends" if item.counts_trends else re.sub(r"\W+", "_", item.label).strip("_").lower()
    value, digits, size = (
        f"MAX(r.{column}) FILTER (WHERE r.aggregate = '{item.label}')"
        for column in ("value", "exact", "log2")
    )
    if item.function is AggregateFunction.AVG or item.type is AttributeType.DOUBLE:
        yield name, value
    elif item.type is AttributeType.TIMESTAMP:
        yield name, dialect.from_micros(digits)
    elif item.function not in _WIDE:
        yield name, f"CAST({digits} AS BIGINT)"
    else:
        yield name, f"TRY_CAST({digits} AS DECIMAL(38, 0))"
        yield f"{name}_digits", digits
        yield f"{name}_log2", size


def _distinct(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names that differ by more than case, from each other and from those that are taken.

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
