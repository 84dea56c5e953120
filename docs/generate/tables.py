"""The page of the lake's tables, from their declarations in schemas/tables."""

from __future__ import annotations

from docs.generate.markdown import blocks, code, plain, table
from docs.generate.site_pages import ROOT
from elsinore.catalog.load_schema import load_schema
from elsinore.store.tables import TableSchema, load_tables

_INTRO = """\
The pipeline stores its data in these Delta tables, in the directory `lake` of `ELSINORE_HOME`. Read
`results` for results and `hours` for their lineage and completeness. All other tables are for
operation and audit. A column accepts NULL only if its type says so."""

_RESULTS = """\
To query results without joins, use the views that [`elsinore sql`](cli.md#elsinore-sql) offers:
one view per query, one column per group attribute and aggregate."""


def page() -> str:
    """Return the page."""
    stream = load_schema(ROOT / "schemas" / "events" / "flights.yaml")
    declared = load_tables(ROOT / "schemas" / "tables", stream)
    attributes = set(stream.attributes)
    index = [(f"[`{name}`](#{name})", plain(one.description)) for name, one in declared.items()]
    parts = ["# Tables", _INTRO, table(["table", "content"], index), _RESULTS]
    for name, schema in declared.items():
        parts += [f"## {name}", plain(schema.description), *_layout(schema)]
        parts.append(table(["column", "type", "meaning"], _columns(schema, attributes)))
    return blocks(parts)


def _layout(schema: TableSchema) -> list[str]:
    notes = []
    if schema.partition_by:
        notes.append(f"Partitioned by {', '.join(map(code, schema.partition_by))}.")
    if after := schema.stream_attributes_after:
        notes.append(
            f"The attributes of the stream's schema are further columns, after {code(after)}; "
            "each is NULL for event types without the attribute."
        )
    return [" ".join(notes)] if notes else []


def _columns(schema: TableSchema, attributes: set[str]) -> list[tuple[str, str, str]]:
    """Return a row for each column that every stream has."""
    is_own = bool(schema.stream_attributes_after)
    return [
        (
            code(name),
            f"{column.type}, nullable" if column.nullable else column.type,
            plain(column.description),
        )
        for name, column in schema.columns.items()
        if not (is_own and name in attributes)
    ]
