"""Events of the lake as the engine's columns: read at a version, pruned by day, cut to a slice."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.query.bound import BoundQuery
from elsinore.spark.tables import Lake
from elsinore.timeline import EPOCH, Interval


def events_between(
    lake: Lake, version: int, interval: Interval, types: Collection[str]
) -> DataFrame:
    """Rows of the table `events` of some types in an interval, as they stood at a version."""
    first, last = (
        (EPOCH + timedelta(microseconds=instant)).date()
        for instant in (interval.start, interval.end - 1)
    )
    return lake.read("events", version).where(
        F.col("event_day").between(F.lit(first), F.lit(last))
        & within(interval)
        & F.col("event_type").isin(sorted(types))
    )


def within(interval: Interval) -> Column:
    """Whether `event_time` lies in an interval."""
    start, end = (F.timestamp_micros(F.lit(i)) for i in (interval.start, interval.end))
    return (F.col("event_time") >= start) & (F.col("event_time") < end)


def reach_of(queries: Iterable[BoundQuery], owned: Interval) -> Interval:
    """Everything that the windows ending in an interval can hold, over all queries."""
    return Interval(min(query.window.reach(owned).start for query in queries), owned.end)


def engine_columns(schema: StreamSchema, attributes: Iterable[str]) -> list[Column]:
    """`_time` in microseconds, `_type` as a code, and attributes with timestamps as integers."""
    names = F.array(*(F.lit(event_type.name) for event_type in schema.types))
    code = F.array_position(names, F.col("event_type")) - F.lit(1)
    return [
        F.unix_micros("event_time").alias(TIME_COLUMN),
        code.cast("int").alias(TYPE_COLUMN),
        *(_plain(name, schema.attributes[name]) for name in attributes),
    ]


def partition_keys(schema: StreamSchema, attributes: Iterable[str]) -> list[Column]:
    """Attributes as Spark is to hash them: values that the engine takes for equal look equal.

    NULLs share a task, as do NaNs of all bit patterns, and -0.0 goes where 0.0 goes.
    """
    return [
        _normal(name) if schema.attributes[name] is AttributeType.DOUBLE else F.col(name)
        for name in attributes
    ]


def _plain(name: str, kind: AttributeType) -> Column:
    if kind is AttributeType.TIMESTAMP:
        return F.unix_micros(name).alias(name)
    return F.col(name)


def _normal(name: str) -> Column:
    nan = F.lit(float("nan"))
    return F.when(F.isnan(name), nan).otherwise(F.col(name) + F.lit(0.0))
