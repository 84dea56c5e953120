"""Tables are read by Arrow, whoever wrote their files."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from elsinore.lake.delta_log import arrow_dataset


@pytest.mark.parametrize("column", ["landing", "owned_hour", "query", "group_key"])
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
