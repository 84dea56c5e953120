"""Lands raw files: small landings in this process, large ones by Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.lake.judge_landing import (
    COUNTS_SCHEMA,
    HELD,
    PLACE,
    QUARANTINED,
    LandingCounts,
    add_up_counts,
    count_judged,
    judge_lines,
    judged_schema,
    to_judge_schema,
)
from elsinore.lake.land import (
    BAD,
    ArrowRows,
    Figures,
    LargeLandingError,
    find_landing,
    land,
)
from elsinore.lake.landing_zone import (
    LandingFile,
    balance,
    decode_again,
    scan_files,
    scanned_schema,
)
from elsinore.lake.regions import Landings
from elsinore.lake.tables import Lake
from elsinore.settings import Settings
from elsinore.spark.failures import spark_failures
from elsinore.spark.session import connected
from elsinore.spark.tables import SparkLake, arrow_tables
from elsinore.timeline import Interval

#: Bytes of a line, compressed, about; and lines that a worker judges at once.
_LINE, _AT_ONCE = 20, 250_000

#: Bytes of files whose ids each worker can hold, however well they are packed.
_FEW = 16 * 1024 * 1024


def land_events(
    lake: Lake, settings: Settings, interval: Interval, *, run: str, session: str = ""
) -> Figures:
    """Land the hours of an interval, and earlier ones whose files have changed; see `land`.

    Args:
        lake: the tables.
        settings: where the files are; which landings are small; how much may be bad.
        interval: the hours.
        run: the run, named in the tables' history.
        session: names the session of Spark where there is one.
    """
    found = find_landing(lake, settings, interval)
    allowed = settings.max_bad_share
    # How much packed files hold shows when they are scanned.
    if found.size <= settings.small_landing:
        with suppress(LargeLandingError):
            return land(ArrowRows(lake, settings.small_landing), found, allowed=allowed, run=run)
    with connected(lake, settings, session) as spark, spark_failures():
        return land(SparkRows(spark, found.size), found, allowed=allowed, run=run)


@dataclass(frozen=True)
class SparkRows:
    """Rows of a landing as frames of Spark, which its workers judge by parts of the ids.

    Attributes:
        lake: the tables.
        size: bytes of the files.
    """

    lake: SparkLake
    size: int

    def scan(self, files: Sequence[LandingFile]) -> DataFrame:
        """See `LandingRows`."""
        bins, stream = balance(files, 2 * self.lake.cores), self.lake.stream

        def scan(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    yield from scan_files(bins[number], stream)

        # The numbers of the bins, each in a partition of its own.
        numbers = self.lake.spark.range(0, len(bins), 1, numPartitions=max(len(bins), 1))
        scanned = numbers.mapInArrow(scan, from_arrow_schema(scanned_schema(stream)))
        return scanned.localCheckpoint(eager=False)

    def without(self, rows: DataFrame, labels: Collection[str]) -> DataFrame:
        """See `LandingRows`."""
        return rows.where(~F.col("landing").isin(list(labels)))

    def read(
        self,
        table: str,
        version: int | None,
        inside: Landings | None = None,
        *,
        outside: Sequence[Landings] = (),
        ids: DataFrame | None = None,
    ) -> DataFrame:
        """See `LandingRows`."""
        by_day = Landings.day in self.lake.schema(table).partition_by
        rows = self.lake.read(table, version).drop(Landings.day)
        if inside is not None:
            rows = rows.where(_inside(inside, by_day))
        for landings in outside:
            rows = rows.where(~_inside(landings, by_day))
        return rows if ids is None else rows.join(ids, "event_id", "left_semi")

    def ids(self, *rows: DataFrame) -> DataFrame:
        """See `LandingRows`."""
        first, *others = (part.select("event_id").dropna() for part in rows)
        for other in others:
            first = first.unionByName(other)
        return F.broadcast(first) if self.size <= _FEW else first

    def labels(self, rows: DataFrame) -> set[str]:
        """See `LandingRows`."""
        return {row["landing"] for row in rows.select("landing").distinct().collect()}

    def judge(self, lines: Sequence[DataFrame], held: Sequence[DataFrame]) -> DataFrame:
        """See `LandingRows`."""
        stream = self.lake.stream
        names = to_judge_schema(stream).names
        parts = [
            frame.select(*(quoted(name) for name in frame.columns if name in names)).withColumn(
                HELD, F.lit(is_held)
            )
            for is_held, frames in ((False, lines), (True, held))
            for frame in frames
        ]
        both = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)

        def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            schema = to_judge_schema(stream)
            rows = [schema.empty_table(), *(pa.table(batch).cast(schema) for batch in batches)]
            yield from judge_lines(pa.concat_tables(rows), stream).to_batches()

        # Rows of one key come together: of an event its id, of another line its place.
        place = F.concat_ws(":", "file", F.col("position").cast("string"))
        bins = max(self.lake.cores, self.size // _LINE // _AT_ONCE)
        together = both.repartition(bins, F.coalesce("event_id", place)).select(*map(quoted, names))
        judged = together.mapInArrow(judge, from_arrow_schema(judged_schema(stream)))
        return judged.localCheckpoint(eager=False)

    def decode(self, stored: DataFrame) -> DataFrame:
        """See `LandingRows`."""
        stream = self.lake.stream

        def again(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield from decode_again(pa.table(batch), stream).to_batches()

        lines = stored.where("position > 0").select(*PLACE, "line")
        return lines.mapInArrow(again, from_arrow_schema(scanned_schema(stream)))

    def whole_files(self, rows: DataFrame) -> DataFrame:
        """See `LandingRows`."""
        return rows.where("position = 0")

    def count(self, judged: DataFrame, whole: frozenset[str]) -> LandingCounts:
        """See `LandingRows`."""

        def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield from count_judged(pa.table(batch), whole).to_batches()

        counted = judged.mapInArrow(count, from_arrow_schema(COUNTS_SCHEMA))
        return add_up_counts(row.asDict() for row in counted.collect())

    def bad(self, judged: DataFrame, where: Landings) -> DataFrame:
        """See `LandingRows`."""
        bad = judged.where(_inside(where)).where(f"fate = '{QUARANTINED}'")
        return bad.select(*BAD)

    def changes(self, judged: DataFrame) -> DataFrame:
        """See `LandingRows`."""
        return judged.where(F.col("op").isNotNull())

    def parts(self, rows: DataFrame) -> Iterable[pa.Table]:
        """See `LandingRows`."""
        return arrow_tables(rows)


def _inside(landings: Landings, by_day: bool = False) -> Column:
    return F.expr(landings.predicate(by_day=by_day))


def quoted(name: str) -> Column:
    """A column whatever its name is made of."""
    return F.col(f"`{name}`")
