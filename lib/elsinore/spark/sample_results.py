"""Draws from the staged results, by query and by size."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

#: Sizes are told apart by how many times 4 bits their count of trends takes.
_BITS = 4

#: A trend takes a step for each of its events and for each event tried.
_STEPS_PER_TREND_LOG2 = 3

_UNKNOWN, _BEYOND = -1, 1_000


@dataclass(frozen=True, slots=True)
class StagedResult:
    """One result as it is staged; `window_start` in microseconds.

    `beyond` says that its count shows more trends than the reference may enumerate.
    """

    query: str
    group_key: str
    window_start: int
    events_version: int
    beyond: bool


@dataclass(frozen=True, slots=True)
class Population:
    """All results that could be drawn, and those among them with too many trends."""

    results: int
    beyond: int


def sample_results(staged: DataFrame, seed: str, count: int, steps: int) -> list[StagedResult]:
    """At most `count` results, in an order that only the seed decides.

    Queries take turns, and in each query the sizes of its results do. Of results that cannot be
    enumerated each query has one, so that a query of which nothing can be checked is seen to be so.
    """
    row_hash = F.sha2(
        F.concat_ws(" ", F.lit(seed), "query_fingerprint", "group_key", "window_start"), 256
    )
    sized = _sized(staged, steps).withColumn("hash", row_hash)
    in_size = F.row_number().over(Window.partitionBy("query", "stratum").orderBy("hash"))
    in_query = F.row_number().over(Window.partitionBy("query").orderBy("in_size", "hash"))
    drawn = (
        sized.withColumn("in_size", in_size)
        .where((F.col("stratum") != _BEYOND) | (F.col("in_size") == 1))
        .withColumn("in_query", in_query)
        .orderBy("in_query", "hash")
        .limit(count)
        .withColumn("at", F.unix_micros("window_start"))
    )
    return [
        StagedResult(
            row["query"], row["group_key"], row["at"], row["events_version"],
            row["stratum"] == _BEYOND,
        )
        for row in drawn.collect()
    ]  # fmt: skip


def population(staged: DataFrame, steps: int) -> Population:
    """How many results there are to draw from."""
    beyond = (F.col("stratum") == _BEYOND).cast("long")
    row = (
        _sized(staged, steps)
        .agg(F.count("*").alias("results"), F.coalesce(F.sum(beyond), F.lit(0)).alias("beyond"))
        .first()
    )
    assert row is not None
    return Population(int(row["results"]), int(row["beyond"]))


def _sized(staged: DataFrame, steps: int) -> DataFrame:
    """One row for each result, with its stratum."""
    key = ["query", "query_fingerprint", "group_key", "window_start", "events_version"]
    trends = F.when(F.col("aggregate") == "COUNT(*)", F.col("log2"))
    counts = F.when(F.col("aggregate").startswith("COUNT("), F.col("log2"))
    sizes = staged.groupBy(*key).agg(F.coalesce(F.max(trends), F.max(counts)).alias("size"))
    return sizes.withColumn("stratum", _stratum(F.col("size"), steps))


def _stratum(size: Column, steps: int) -> Column:
    largest = F.lit(log2(steps) - _STEPS_PER_TREND_LOG2)
    return (
        F.when(size.isNull(), F.lit(_UNKNOWN))
        .when(size > largest, F.lit(_BEYOND))
        .otherwise(F.floor(size / F.lit(_BITS)).cast("int"))
    )
