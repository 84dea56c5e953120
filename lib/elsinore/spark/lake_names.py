"""The lake under its names in the catalog of a Spark session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from elsinore.choices import Engine
from elsinore.lake.views import statements
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
    for statement in statements(settings or Settings.load(), Engine.SPARK):
        spark.sql(statement)
