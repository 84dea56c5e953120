"""Tables are read by Arrow, whoever wrote their files; those by day a day at a time."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from elsinore.store.delta_log import arrow_dataset, open_table
from elsinore.store.regions import Hours
from elsinore.store.tables import load_tables
from elsinore.timeline import DAY, HOUR, Interval, hour_label
from tests.golden_cases import stream_schema

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "column", ["file_hour", "window_end_hour", "query", "group_key", "event_type"]
)
def test_rows_are_chosen_by_texts_where_delta_rs_has_deleted_some(
    tmp_path: Path, column: str
) -> None:
    schema = pa.schema([pa.field(column, pa.string(), False), pa.field("other", pa.string())])
    rows = [{column: name, "other": None if name == "a" else name} for name in "abc"]
    deltalake.write_deltalake(tmp_path, pa.Table.from_pylist(rows, schema=schema))
    deltalake.DeltaTable(tmp_path).delete(f"{column} = 'b'")
    found = arrow_dataset(deltalake.DeltaTable(tmp_path))
    assert found.schema == schema
    is_a = pc.field(column) == "a"
    for where, left in ((is_a, rows[:1]), (~is_a, rows[2:]), (pc.field(column) >= "b", rows[2:])):
        assert found.to_table(filter=where).to_pylist() == left
        assert found.head(1, filter=where).to_pylist() == left
        for file in found.get_fragments(where):
            assert file.to_table(found.schema, None, where) == pa.Table.from_pylist(left, schema)


def test_plans_are_chosen_by_every_text_where_some_were_deleted(tmp_path: Path) -> None:
    schema = load_tables(ROOT / "schemas" / "tables", stream_schema({"A": {}}))["plans"].arrow()
    texts = [field.name for field in schema if field.type == pa.string()]
    rows = [dict.fromkeys(texts, name) for name in "abc"]
    columns = pa.schema([field for field in schema if field.name in texts])
    deltalake.write_deltalake(tmp_path, pa.Table.from_pylist(rows, schema=columns))
    deltalake.DeltaTable(tmp_path).delete("kind = 'b'")
    found = arrow_dataset(deltalake.DeltaTable(tmp_path))
    for name in texts:
        assert found.to_table(filter=pc.field(name).isin(["a"])).to_pylist() == rows[:1], name


def test_rows_by_day_are_those_of_the_hours_in_the_order_of_days(tmp_path: Path) -> None:
    labels = [hour_label(hour * HOUR) for hour in range(96)]
    rows = pa.table({"window_end_hour": labels, "number": range(96)})
    days = pa.array([label[:10] for label in labels]).cast(pa.date32())
    # Two commits, so that each day has two files; the fourth day is beyond the hours.
    for part in (
        rows.append_column("window_end_day", days).slice(*cut) for cut in ((0, 40), (40, 56))
    ):
        deltalake.write_deltalake(tmp_path, part, mode="append", partition_by=["window_end_day"])
    table = open_table(tmp_path)
    hours = Hours(Interval(30 * HOUR, 50 * HOUR), (Interval(5 * HOUR, 7 * HOUR),))
    found = [sorted(part["number"].to_pylist()) for part in table.by_day(hours, ["number"])]
    assert found == [[5, 6], list(range(30, 48)), [48, 49]]
    assert sorted(table.of(hours).to_table()["number"].to_pylist()) == [5, 6, *range(30, 50)]
    assert len(list(table.dataset(hours.conditions(by_day=True)).get_fragments())) == 4
    beyond = Hours(Interval(9 * DAY, 10 * DAY))
    assert list(table.by_day(beyond)) == []
    assert table.of(beyond).count_rows() == 0
