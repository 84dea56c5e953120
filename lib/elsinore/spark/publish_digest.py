"""Names what results say, so that what is published is known to be what was validated.

Without Spark, whose jobs would take longer than all the rest for a small slice; an hour at a time,
so that memory is bounded by an hour's results.
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
from elsinore.timeline import hour_label, hours_of


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
    column, found = pc.field(hours.column), {}
    for hour in (hour for stretch in hours.intervals for hour in hours_of(stretch)):
        rows = results.to_table(filter=column == hour_label(hour))
        if rows.num_rows:
            found[hour_label(hour)] = HourContent(_digest(rows), rows.num_rows)
    return found


def combine(hours: Mapping[str, HourContent]) -> str:
    """One digest of the results of several hours."""
    lines = sorted(f"{hour} {content.digest}\n" for hour, content in hours.items())
    return sha256("".join(lines).encode()).hexdigest()


def _digest(rows: pa.Table) -> str:
    names = sorted(rows.column_names)
    ordered = rows.select(names).sort_by([(name, "ascending") for name in names])
    text = pa.BufferOutputStream()
    csv.write_csv(ordered, text, csv.WriteOptions(include_header=False))
    return sha256(text.getvalue()).hexdigest()
