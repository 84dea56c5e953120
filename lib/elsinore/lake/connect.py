"""The lake under its names in DuckDB, which runs in this process: its tables, and the views."""

from __future__ import annotations

import duckdb

from elsinore.lake.tables import Lake
from elsinore.lake.views import Engine, view_statements
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings


def connect(settings: Settings | None = None) -> duckdb.DuckDBPyConnection:
    """A connection in which the lake's tables have their names, and each query its view.

    Tables are read as they are now, and none is written. Views are those of the workload that the
    settings name (`lake.views.view_statements` says what they hold), by default those of the
    environment. Times are shown in UTC.

    Raises:
        DataError: nothing was landed yet.
        QueryError: the workload does not parse or bind.
        SchemaError: the stream's schema is not valid.
        SetupError: it is not known where the lake is.
    """
    settings = settings or Settings.load()
    lake = Lake.open(settings)
    workload = load_workload(settings.queries, lake.stream)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name in lake.tables:
        connection.register(name, lake.dataset(name))
    for statement in view_statements(workload, Engine.DUCKDB, lake.tables):
        connection.execute(statement)
    return connection
