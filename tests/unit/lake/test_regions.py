"""Rows of some hours of a table by day: those that its condition says, a day at a time."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa

from elsinore.lake.regions import Hours
from elsinore.timeline import DAY, HOUR, Interval, hour_label


def test_rows_by_day_are_those_of_the_hours_in_the_order_of_days(tmp_path: Path) -> None:
    labels = [hour_label(hour * HOUR) for hour in range(96)]
    rows = pa.table({"owned_hour": labels, "number": range(96)})
    days = pa.array([label[:10] for label in labels]).cast(pa.date32())
    # Two commits, so that each day has two files; the fourth day is beyond the hours.
    for part in (rows.append_column("owned_day", days).slice(*cut) for cut in ((0, 40), (40, 56))):
        deltalake.write_deltalake(tmp_path, part, mode="append", partition_by=["owned_day"])
    dataset = deltalake.DeltaTable(tmp_path).to_pyarrow_dataset()
    hours = Hours(Interval(30 * HOUR, 50 * HOUR), (Interval(5 * HOUR, 7 * HOUR),))
    found = [sorted(part["number"].to_pylist()) for part in hours.rows_by_day(dataset, ["number"])]
    assert found == [[5, 6], list(range(30, 48)), [48, 49]]
    assert list(Hours(Interval(9 * DAY, 10 * DAY)).rows_by_day(dataset)) == []
