"""The only package that knows Spark and Delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elsinore.errors import pipeline_packages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from elsinore.library.workload import Workload


def run(
    workload: Workload, df: DataFrame, *, max_bad_share: float = 0.05, parts: int | None = None
) -> DataFrame:
    """The results of a workload over a DataFrame of raw events, one row for each aggregate.

    Classic Spark and Spark Connect will do; their Python workers must have elsinore installed.
    Events are distributed by the keys of the queries; those of a query without keys that all of its
    types carry go to one task. `df` has a column for each field of the schema. It is read once for
    each set of keys, and once more for `max_bad_share` below 1: persist it where it is costly.

    Args:
        workload: the queries.
        df: the events; of those with one id the last by partition and row counts.
        max_bad_share: share of bad rows above which to refuse; the others are left out.
        parts: tasks to distribute over, at most; None: as many as Spark shuffles into.

    Returns:
        Columns `query`, `group` (a JSON object), `window_start`, `window_end` (timestamps, or
        integers of a stream of integer times), `aggregate`, `value` (the nearest double) and
        `exact` (an integer's digits in full, else NULL).

    Raises:
        UnsupportedQueryError: only twostep can run one of the queries.
        DataError: too many rows are bad, or a column is missing.
        SetupError: PySpark is not installed.
    """
    with pipeline_packages("elsinore.spark"):
        from elsinore.spark.run_frame import run_frame
    parts = parts or int(str(df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    return run_frame(workload.bound, df, max_bad_share=max_bad_share, parts=parts)
