"""The lake under its names in the catalog of a Spark session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from elsinore.lake.tables import Lake
from elsinore.lake.views import SPARK, table_statements, view_statements
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings


def register(spark: SparkSession, settings: Settings | None = None) -> None:
    """Name the lake's tables, and make each query's view, in the current database of a session.

    Names that are views are replaced; where one is a table, Spark says so and nothing is lost.

    Args:
        spark: a session, classic or Connect, with Delta's extension, that sees the lake's folder.
        settings: where the lake and the workload are; by default what the environment says.

    Raises:
        QueryError: the workload does not parse or bind.
        SchemaError: the stream's schema is not valid.
        SetupError: it is not known where the lake is.
    """
    settings = settings or Settings.load()
    lake = Lake.open(settings)
    workload = load_workload(settings.workload_file, lake.stream)
    for statement in table_statements(lake, SPARK):
        spark.sql(statement)
    for statement in view_statements(workload, SPARK, lake.tables):
        spark.sql(statement)
