"""The tables of results of a workload."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column, SparkSession

from elsinore.catalog.load_schema import load_schema
from elsinore.settings import Settings
from elsinore.store.hour_condition import of_hours
from elsinore.store.spark_tables import SparkTables
from elsinore.store.tables import load_tables

RESULTS, STAGED = "results", "results_staged"

DAY_COLUMN, HOUR_COLUMN = "window_end_day", "window_end_hour"

#: Columns that identify a row.
KEY = (
    DAY_COLUMN, HOUR_COLUMN, "query", "group_key", "step", "window_start", "window_end",
    "aggregate",
)  # fmt: skip


@dataclass(frozen=True)
class ResultTables:
    """The tables of results of a workload.

    Attributes:
        store: The tables, in a session of Spark.
        cores: Number of tasks that Spark runs at the same time.
        workload: Name of the workload; empty for the main one of the stream.
    """

    store: SparkTables
    cores: int = 1
    workload: str = ""

    @classmethod
    def open(cls, spark: SparkSession, settings: Settings) -> ResultTables:
        """Return the tables of the workload of the settings.

        Raises:
            SchemaError: the schema of the stream or of a table is invalid.
        """
        declared = load_tables(settings.tables_dir, load_schema(settings.schema_file))
        schemas = {name: declared[name] for name in (RESULTS, STAGED)}
        store = SparkTables.open(spark, str(settings.lake), schemas)
        return cls(store, settings.spark_cores, settings.workload)

    def create(self) -> None:
        """Create the tables that are missing."""
        for table in (STAGED, RESULTS):
            self.store.create(table)


def of_result_hours(hours: Iterable[int]) -> Column:
    """Return the condition that a window ends in one of some hours; see `of_hours`."""
    return of_hours(DAY_COLUMN, HOUR_COLUMN, hours)
