"""Keys of events, and the order of the records of one key, as expressions of Spark.

The key of an event is its id. If ids are unique only within a day or an hour of event time, the key
begins with it, so that statistics of keys skip the files of other days. Events without an id have
the position of their record as the key.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.catalog.stream import StreamSchema
from elsinore.files.file_names import EXTENSIONS
from elsinore.timeline import DAY, HOUR

#: The order of the records of one key, the winner first, in SQL that Spark and DuckDB read alike.
WINNERS_FIRST = (
    "event_version DESC NULLS LAST, file_hour DESC, "
    f"regexp_replace(file, '{EXTENSIONS}', '') DESC, file DESC, record_number DESC"
)

#: Characters of a key that can be a literal of a statement. A record can have an id of 10 MB, and
#: the statements that Spark Connect accepts are limited to 128 MiB.
LONGEST_LITERAL = 200

#: How keys spell the day or hour of event time, by the length of the span.
_SPELLED = {DAY: "yyyy-MM-dd ", HOUR: "yyyy-MM-dd'T'HH "}


def event_key(stream: StreamSchema) -> Column:
    """Return the key of rows with `event_id`, `event_time`, `file` and `record_number`."""
    if stream.id_field is None:
        return F.concat_ws(":", "file", "record_number")
    if stream.id_span is None:
        return F.col("event_id")
    span = F.date_format("event_time", _SPELLED[stream.id_span])
    return F.concat(span, F.col("event_id"))


def keys_between(column: Column, first: str, last: str) -> Column:
    """Return a condition that holds for keys from `first` to `last`, without long literals.

    Args:
        column: The keys.
        first: The smallest key, or its first `LONGEST_LITERAL + 1` characters.
        last: The largest key, or its first `LONGEST_LITERAL + 1` characters.
    """
    condition = column >= F.lit(first)
    # Longer keys can follow the beginning of a key.
    return condition if len(last) > LONGEST_LITERAL else condition & (column <= F.lit(last))


def events_between(stream: StreamSchema, first: str, last: str) -> Column:
    """Return a condition that holds for all events with keys from `first` to `last`.

    It compares a column of `events` that has statistics with literals, so that files are skipped.
    """
    if stream.id_field is None:
        return F.lit(True)
    if stream.id_span is None:
        return keys_between(F.col("event_id"), first, last)
    days = [F.to_date(F.lit(key[:10])) for key in (first, last)]
    return F.col("event_day").between(*days)
