"""Register the lake's tables and queries as views in a Spark session."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from elsinore.choices import Engine
from elsinore.errors import DataError
from elsinore.lake.views import statements
from elsinore.settings import Settings
from elsinore.store.spark_tables import MISSING


def register(spark: SparkSession, settings: Settings | None = None) -> None:
    """Create views of the lake's tables and queries in the current database of a Spark session.

    Views with the same names are replaced. If one of the names is a table, Spark raises an error
    and keeps the table.

    Args:
        spark: A session, classic or Connect, that has Delta's extension and can read the lake.
        settings: Settings that name the lake and the workload. None: read the environment.

    Raises:
        DataError: The lake has no tables yet.
        QueryError: The workload has an error.
        SchemaError: The stream's schema is invalid.
        SetupError: The settings name no lake.
    """
    settings = settings or Settings.load()
    for statement in statements(settings, Engine.SPARK):
        try:
            spark.sql(statement)
        except PySparkException as error:
            if error.getCondition() not in MISSING:
                raise
            raise DataError(
                f"the lake in {settings.home} lacks tables",
                hint="create them: `elsinore ingest --start HOUR --end HOUR`",
            ) from error
