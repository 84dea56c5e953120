"""Counts the events and partitions that a run's plan is found from."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.query.bound import Workload
from elsinore.sharing.statistics import Statistics
from elsinore.sharing.weigh import partition_keys
from elsinore.spark.failures import spark_failures
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval


def collect_statistics(
    lake: Lake, workload: Workload, interval: Interval, *, version: int | None = None
) -> Statistics:
    """Statistics of the events that a run reads: from `start - longest WITHIN` to `end`.

    Counted are the events of each type of the workload, and the distinct values of the key
    attributes that plans ask for. NULL is no value; sets of keys that no event carries whole are
    left out.

    Args:
        lake: where `events` lies.
        workload: the queries.
        interval: the run's.
        version: of the table `events`; None is the latest.
    """
    observed = Interval(interval.start - workload.longest_window, interval.end)
    types = sorted({name for query in workload.queries for name in query.event_types})
    keys = partition_keys(workload)
    counts = [
        F.count_if(F.col("event_type") == name).alias(f"type_{index}")
        for index, name in enumerate(types)
    ]
    distinct = [
        F.count_distinct(*(F.col(f"`{name}`") for name in names)).alias(f"keys_{index}")
        for index, names in enumerate(keys)
    ]
    with spark_failures():
        row = (
            lake.read("events", version)
            .where(in_interval(observed))
            .where(F.col("event_type").isin(types))
            .agg(*counts, *distinct)
            .collect()[0]
        )
    partitions = {names: row[f"keys_{index}"] for index, names in enumerate(keys)}
    return Statistics.counted(
        observed,
        {name: row[f"type_{index}"] for index, name in enumerate(types)},
        {names: count for names, count in partitions.items() if count},
    )


def in_interval(interval: Interval) -> Column:
    """Events of an interval; by day as well, so that other days' files are not opened."""
    time, day = F.col("event_time"), F.col("event_day")
    return (
        (time >= F.timestamp_micros(F.lit(interval.start)))
        & (time < F.timestamp_micros(F.lit(interval.end)))
        & day.between(_day(interval.start), _day(interval.end - 1))
    )


def _day(instant: int) -> Column:
    return F.to_date(F.timestamp_micros(F.lit(instant)))
