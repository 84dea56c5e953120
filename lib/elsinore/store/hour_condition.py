"""The condition on the day and hour columns of a table that chooses some hours, with literals."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.timeline import DAY, HOUR, hour_label, hours_of, stretches


def of_hours(day: str, hour: str, hours: Iterable[int]) -> Column:
    """Return the condition that a row is of one of some hours.

    Args:
        day: Column of dates, by which the table is partitioned.
        hour: Column of hours, YYYY-MM-DDTHH.
        hours: First instants of hours, at least one, in microseconds since 1970.
    """
    intervals = stretches(hours)
    if len(intervals) > MOST_RANGES:
        labels = [hour_label(start) for each in intervals for start in hours_of(each)]
        days = [F.to_date(F.lit(label)) for label in sorted({label[:10] for label in labels})]
        return F.col(day).isin(days) & F.col(hour).isin([F.lit(label) for label in labels])
    condition: Column | None = None
    for interval in intervals:
        first, last = hour_label(interval.start), hour_label(interval.end - HOUR)
        chosen = F.col(day).between(*(F.to_date(F.lit(label[:10])) for label in (first, last)))
        if interval.start % DAY or interval.end % DAY:
            chosen = chosen & F.col(hour).between(F.lit(first), F.lit(last))
        condition = chosen if condition is None else condition | chosen
    if condition is None:
        raise ValueError("no hours")
    return condition


#: Maximum number of time ranges in a condition. For more ranges, it lists all hours.
MOST_RANGES = 20
