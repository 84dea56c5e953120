"""Draws from the staged results, by query, by size and by hour."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

#: Sizes are told apart by how many times 4 bits their count of trends takes.
_BITS = 4

#: Beyond these, results are of one class: the engine adds them up in machine words, in pairs of
#: them, and in rows of them.
_WORDS = (63, 127)

#: A trend takes a step for each of its events and for each event tried.
_STEPS_PER_TREND_LOG2 = 3

_UNKNOWN, _BEYOND = -1, 1_000

#: A result's place; it has one row for each of its aggregates.
_KEY = ("owned_hour", "query", "query_fingerprint", "group_key", "window_start")


@dataclass(frozen=True, slots=True)
class StagedResult:
    """One result as it is staged; `window_start` in microseconds.

    Attributes:
        stratum: its class of size.
        beyond: whether its count shows more trends than the reference may enumerate.
    """

    query: str
    group_key: str
    window_start: int
    stratum: int

    @property
    def beyond(self) -> bool:
        """Whether it has more trends than can be built one by one."""
        return self.stratum >= _BEYOND


@dataclass(frozen=True, slots=True)
class Population:
    """The results that can be drawn: how many by query and class of size."""

    strata: dict[tuple[str, int], int]

    @property
    def results(self) -> int:
        """All results."""
        return sum(self.strata.values())

    @property
    def beyond(self) -> int:
        """Those with more trends than can be built one by one."""
        return sum(number for (_, size), number in self.strata.items() if size >= _BEYOND)

    def by_query(self) -> dict[str, int]:
        """Results by query."""
        found: dict[str, int] = {}
        for (query, _), number in sorted(self.strata.items()):
            found[query] = found.get(query, 0) + number
        return found


def sample_results(staged: DataFrame, seed: str, count: int, steps: int) -> list[StagedResult]:
    """At most `count` results, in an order that only the seed decides.

    Queries take turns; in each query the sizes of its results do; in each size the hours. Where
    there are no more than `count` results, these are all of them.
    """
    row_hash = F.sha2(
        F.concat_ws(" ", F.lit(seed), "query_fingerprint", "group_key", "window_start"), 256
    )
    sized = _sized(staged, steps).withColumn("hash", row_hash)
    in_hour = _rank(["query", "stratum", "owned_hour"], ["hash"])
    in_size = _rank(["query", "stratum"], ["in_hour", "hash"])
    in_query = _rank(["query"], ["in_size", "hash"])
    drawn = (
        sized.withColumn("in_hour", in_hour)
        .withColumn("in_size", in_size)
        .withColumn("in_query", in_query)
        .orderBy("in_query", "hash")
        .limit(count)
        .withColumn("at", F.unix_micros("window_start"))
    )
    return [
        StagedResult(row["query"], row["group_key"], row["at"], row["stratum"])
        for row in drawn.collect()
    ]


def population(staged: DataFrame, steps: int) -> Population:
    """What there is to draw from."""
    rows = _sized(staged, steps).groupBy("query", "stratum").count().collect()
    return Population({(row["query"], row["stratum"]): row["count"] for row in rows})


def _rank(within: list[str], order: list[str]) -> Column:
    return F.row_number().over(Window.partitionBy(*within).orderBy(*order))


def _sized(staged: DataFrame, steps: int) -> DataFrame:
    """One row for each result, with its stratum."""
    trends = F.when(F.col("aggregate") == "COUNT(*)", F.col("log2"))
    counts = F.when(F.col("aggregate").startswith("COUNT("), F.col("log2"))
    sizes = staged.groupBy(*_KEY).agg(F.coalesce(F.max(trends), F.max(counts)).alias("size"))
    return sizes.withColumn("stratum", _stratum(F.col("size"), steps))


def _stratum(size: Column, steps: int) -> Column:
    largest = F.lit(log2(steps) - _STEPS_PER_TREND_LOG2)
    wider = [F.when(size >= F.lit(bits), F.lit(1)).otherwise(F.lit(0)) for bits in _WORDS]
    return (
        F.when(size.isNull(), F.lit(_UNKNOWN))
        .when(size > largest, F.lit(_BEYOND) + wider[0] + wider[1])
        .otherwise(F.floor(size / F.lit(_BITS)).cast("int"))
    )
