"""A typed view for each query over the long table of published results, in the SQL of an engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from elsinore.catalog.stream import AttributeType
from elsinore.lake.provenance import PUBLISHED
from elsinore.lake.tables import Lake
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery, Workload

_BOUNDS = ("window_start", "window_end")
#: Aggregates that may be of any size.
_WIDE = (AggregateFunction.COUNT, AggregateFunction.SUM)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What engines write each in their own way; names in braces stand for what is filled in.

    Attributes:
        quote: stands around a name.
        table: a table by its folder; empty where only the engine's catalog can name one.
        table_quote: stands around that folder.
        member: a value of the group as its type; of a `timestamp` there is `member_instant`.
        from_micros: an instant from the digits of its microseconds since 1970.
        text: the type of texts.
    """

    quote: str
    table: str
    table_quote: str
    member: str
    member_instant: str
    from_micros: str
    text: str = "VARCHAR"

    def name(self, name: str) -> str:
        """A name, quoted, so that no word is a keyword."""
        return f"{self.quote}{name}{self.quote}"

    def group_value(self, label: str, kind: AttributeType) -> str:
        """The value that the group has under a label; labels are letters, digits, `_` and `.`."""
        template = self.member_instant if kind is AttributeType.TIMESTAMP else self.member
        return template.format(label=label, type=_TYPES.get(kind, self.text))


_TYPES = {
    AttributeType.LONG: "BIGINT",
    AttributeType.DOUBLE: "DOUBLE",
    AttributeType.BOOLEAN: "BOOLEAN",
}

_DUCKDB_VALUE = "json_extract_string(r.group_key, '$.\"{label}\"')"
_TRINO_VALUE = "json_extract_scalar(r.group_key, '$[\"{label}\"]')"

DUCKDB = Dialect(
    quote='"',
    table="delta_scan({})",
    table_quote="'",
    member=f"CAST({_DUCKDB_VALUE} AS {{type}})",
    member_instant=f"CAST({_DUCKDB_VALUE} AS TIMESTAMP WITH TIME ZONE)",
    from_micros="make_timestamptz(CAST({} AS BIGINT))",
)
SPARK = Dialect(
    quote="`",
    table="delta.{}",
    table_quote="`",
    member="from_json(r.group_key, '`{label}` {type}').`{label}`",
    member_instant="CAST(from_json(r.group_key, '`{label}` STRING').`{label}` AS TIMESTAMP)",
    from_micros="timestamp_micros(CAST({} AS BIGINT))",
    text="STRING",
)
TRINO = Dialect(
    quote='"',
    table="",
    table_quote="",
    member=f"CAST({_TRINO_VALUE} AS {{type}})",
    member_instant=f"CAST(from_iso8601_timestamp_nanos({_TRINO_VALUE}) "
    "AS TIMESTAMP(6) WITH TIME ZONE)",
    # Nanoseconds of the last centuries that have a name are beyond 64 bits.
    from_micros="CAST(from_unixtime_nanos(1000 * CAST({} AS DECIMAL(22, 0))) "
    "AS TIMESTAMP(6) WITH TIME ZONE)",
)
DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {"duckdb": DUCKDB, "spark": SPARK, "trino": TRINO}
)


def table_statements(lake: Lake, dialect: Dialect) -> Iterator[str]:
    """Statements that give the tables of a lake their names in an engine.

    As views: a name that is another lake's is replaced, one that is a table is refused, and nothing
    can be written by them.
    """
    quote = dialect.table_quote
    for name in lake.tables if dialect.table else ():
        path = str(lake.path(name).absolute()).replace(quote, 2 * quote)
        table = dialect.table.format(f"{quote}{path}{quote}")
        yield f"CREATE OR REPLACE VIEW {dialect.name(name)} AS SELECT * FROM {table}"


def view_statements(workload: Workload, dialect: Dialect, tables: Iterable[str]) -> Iterator[str]:
    """A statement for each query that makes its view over the table of published results.

    A view has a row for each group and window, with these columns:

    - those of GROUP-BY, in its order, of the attributes' types; `window_start`, `window_end`;
    - `trends` for `COUNT(*)`; the other aggregates as RETURN spells them in small letters, what is
      no letter or digit as `_`: `max_d_dep_delay`. Doubles, longs and instants are of these types.
      A count or sum of longs is a decimal of 38 digits, NULL where it has more; beside it all of
      its digits (`trends_digits`, a text) and its size (`trends_log2`, a double).

    Of two names that engines do not tell apart the later one has a `_` at its end. Results that an
    earlier wording of a query has left are not in the view, for they answer another question.

    Args:
        workload: the queries.
        dialect: of the engine.
        tables: names of the lake, which no view may take.
    """
    names = _distinct((query.name for query in workload.queries), tables)
    for query, name in zip(workload.queries, names, strict=True):
        yield _view(query, name, dialect)


def _view(query: BoundQuery, name: str, dialect: Dialect) -> str:
    groups = {str(key.group_label): key.type for key in query.group_keys}
    values = [(re.sub(r"\W", "_", text), dialect.group_value(text, groups[text])) for text in groups]
    values += [column for item in query.aggregates for column in _columns(item, dialect)]
    names = _distinct((name for name, _ in values), _BOUNDS)
    columns = [(name, sql) for name, (_, sql) in zip(names, values, strict=True)]
    columns[len(groups) : len(groups)] = [(bound, f"r.{bound}") for bound in _BOUNDS]
    return "\n".join(
        [
            f"CREATE OR REPLACE VIEW {dialect.name(name)} AS SELECT",
            ",\n".join(f"  {sql} AS {dialect.name(name)}" for name, sql in columns),
            f"FROM {PUBLISHED} r",
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
        yield name, dialect.from_micros.format(digits)
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
