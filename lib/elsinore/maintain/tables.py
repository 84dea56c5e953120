"""The tables of a stream, or of one of its further workloads, that maintenance works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pyspark.sql import SparkSession

from elsinore.ingest.tables import EVENTS, QUARANTINE, RAW, IngestTables
from elsinore.ledger.table import Ledger
from elsinore.publish.tables import RESULTS, STAGED, ResultTables
from elsinore.settings import Settings
from elsinore.store.spark_tables import SparkTables
from elsinore.store.tables import RECORDS, Lake

#: Tables of records: checks of groups of results, and metrics.
VALIDATIONS, METRICS = "validations", "run_metrics"


@dataclass(frozen=True)
class OwnTables:
    """The tables of a stream and its main workload, or only the tables of a further workload.

    Attributes:
        settings: The settings of the workload.
        ingest: The tables of the stream.
        results: The tables of results.
        lake: The records.
        ledger: The ledger of the stream.
    """

    settings: Settings
    ingest: IngestTables
    results: ResultTables
    lake: Lake
    ledger: Ledger

    @classmethod
    def open(cls, spark: SparkSession, settings: Settings) -> Self:
        """Return the tables of the settings' workload, and create missing ones.

        Raises:
            SchemaError: the schema of the stream or of a table is invalid, or retention_days names
                an unknown table.
            SetupError: a table does not fit its declaration.
        """
        own = cls(
            settings, IngestTables.open(spark, settings), ResultTables.open(spark, settings),
            Lake.open(settings), Ledger.open(settings),
        )  # fmt: skip
        if own.is_of_stream:
            own.ingest.create()
            own.ledger.create()
        own.results.create()
        own.lake.create_records()
        own.results.store.plan_for(0, own.results.cores)
        return own

    @property
    def is_of_stream(self) -> bool:
        """Return whether it includes the tables of the stream."""
        return not self.settings.workload

    @property
    def data(self) -> dict[str, SparkTables]:
        """The tables that Spark writes, by name, with their store."""
        of_stream = dict.fromkeys((RAW, QUARANTINE, EVENTS), self.ingest.store)
        of_workload = dict.fromkeys((STAGED, RESULTS), self.results.store)
        return of_stream | of_workload if self.is_of_stream else of_workload

    @property
    def records(self) -> tuple[str, ...]:
        """The tables of records, which delta-rs writes."""
        return tuple(name for name in RECORDS if name in self.lake.own)

    def shown_as(self, table: str) -> str:
        """Return the name of a table in reports, with a further workload."""
        return f"{self.settings.workload}/{table}" if self.settings.workload else table
