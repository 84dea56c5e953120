"""Names what results say, so that what is published is known to be what was validated.

Without Spark, whose jobs would take longer than all the rest for a small slice; a day at a time, so
that memory is bounded by a day's results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from elsinore.spark.regions import Hours
from elsinore.spark.tables import Lake


@dataclass(frozen=True, slots=True)
class HourContent:
    """What a table of results holds of an hour.

    Attributes:
        digest: sha256 of its rows in ascending order of all columns, as lines of CSV.
        rows: how many they are.
    """

    digest: str
    rows: int


#: Of an hour without results.
NOTHING = HourContent(sha256(b"").hexdigest(), 0)


def hour_contents(
    lake: Lake, table: str, hours: Hours, version: int | None = None
) -> dict[str, HourContent]:
    """By hour, what a table of results holds; hours without results are left out.

    Args:
        lake: the tables.
        table: its name.
        hours: which.
        version: of the table; None: the latest.
    """
    results = lake.dataset(table, version)
    found: dict[str, HourContent] = {}
    for rows in hours.rows_by_day(results):
        found |= _contents(rows, hours.column)
    return found


def _contents(rows: pa.Table, column: str) -> dict[str, HourContent]:
    """Each hour's part of the rows, which are put in order once for all hours."""
    names = sorted(rows.column_names)
    keys = [column, *(name for name in names if name != column)]
    ordered = rows.select(names).sort_by([(name, "ascending") for name in keys]).combine_chunks()
    found, start = {}, 0
    for count in pc.value_counts(ordered[column]).to_pylist():  # in the order of their first rows
        rows_of_hour = ordered.slice(start, count["counts"])
        found[count["values"]] = HourContent(_digest(rows_of_hour), count["counts"])
        start += count["counts"]
    return found


def combine(hours: Mapping[str, HourContent]) -> str:
    """One digest of the results of several hours."""
    lines = sorted(f"{hour} {content.digest}\n" for hour, content in hours.items())
    return sha256("".join(lines).encode()).hexdigest()


def _digest(ordered: pa.Table) -> str:
    text = pa.BufferOutputStream()
    csv.write_csv(ordered, text, csv.WriteOptions(include_header=False))
    return sha256(text.getvalue()).hexdigest()
