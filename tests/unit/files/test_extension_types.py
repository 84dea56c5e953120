"""UUIDs, JSON and other extension types of Arrow are read as the plain values that they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.choices import InputFormat
from elsinore.files.as_lines import as_lines
from elsinore.files.extension_types import without_extensions
from elsinore.files.read_events import read_events
from elsinore.library.infer_schema import infer_schema

SCHEMA = read_schema("""\
stream: s
time: {field: t, unit: us}
type: {field: kind}
id: {field: id}
types: {A: {session: string, doc: {type: string, field: inner.doc, nullable: true}, ok: boolean}}
""")
IDS = [UUID(int=number * 2**64 + 0xABCDEF) for number in range(3)]
QUERY = "QUERY q RETURN session, COUNT(*) PATTERN A GROUP-BY session WITHIN 1 day;"


def uuids(values: Sequence[UUID | None]) -> pa.Array:
    return pa.array([value and value.bytes for value in values], pa.uuid())


def documents() -> pa.Array:
    return pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', None, "[]"]))


def rows() -> pa.Table:
    inner = pa.StructArray.from_arrays([documents(), uuids([*IDS])], ["doc", "trace"])
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, 1], pa.int8()))
    return pa.table(
        {
            "t": pa.array([1_700_000_000_000_000 + number for number in range(3)]),
            "kind": ["A"] * 3,
            "id": uuids([*IDS]),
            "session": uuids([IDS[2], IDS[2], IDS[0]]),
            "inner": inner,
            "ok": flags,
        }
    )


def test_a_parquet_file_and_a_frame_of_extension_types(tmp_path: Path) -> None:
    pq.write_table(rows(), path := tmp_path / "e.parquet")
    for source in (path, rows()):
        found = elsinore.workload(QUERY, schema=SCHEMA).run(source)
        counts = {row["session"]: row["COUNT(*)"] for row in found["q"].to_pylist()}
        assert counts == {str(IDS[2]): 2, str(IDS[0]): 1}
    events, report = read_events([path], SCHEMA, max_error_rate=0)
    assert report.accepted == 3
    assert events.table["doc"].to_pylist() == ['{"a": 1}', None, "[]"]
    assert events.table["ok"].to_pylist() == [True, False, True]


def test_objects_of_pandas() -> None:
    frame = pd.DataFrame(
        {
            "t": [1_700_000_000_000_000] * 2,
            "kind": "A",
            "id": IDS[:2],
            "session": IDS[:2],
            "ok": True,
        }
    )
    found = elsinore.workload(QUERY, schema=SCHEMA).run(frame)
    assert [row["session"] for row in found["q"].to_pylist()] == [str(IDS[0]), str(IDS[1])]


def test_lines_of_json_hold_their_texts(tmp_path: Path) -> None:
    pq.write_table(rows(), path := tmp_path / "e.parquet")
    [batch] = as_lines(path, InputFormat.PARQUET, SCHEMA)
    line = json.loads(batch["record"][0].as_py())
    assert (line["id"], line["session"], line["ok"]) == (str(IDS[0]), str(IDS[2]), True)
    assert line["inner"] == {"doc": '{"a": 1}', "trace": str(IDS[0])}


def test_a_guessed_schema_offers_them(tmp_path: Path) -> None:
    pq.write_table(rows(), path := tmp_path / "e.parquet")
    text = infer_schema(path)
    assert "    session: string\n" in text
    assert 'doc: {type: string, field: "inner.doc", nullable: true}' in text
    assert "is not read" not in text


@pytest.mark.parametrize("part", [slice(0, 3), slice(1, 3), slice(2, 2)], ids=str)
def test_slices_nulls_and_containers(part: slice) -> None:
    values = uuids([IDS[0], None, IDS[2]])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3]), uuids([*IDS]))
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), uuids(IDS[:2]))
    inner = pa.StructArray.from_arrays([values], ["u"], mask=pa.array([False, False, True]))
    table = pa.table({"u": values, "l": lists, "d": coded, "s": inner})
    plain = without_extensions(table.slice(part.start, part.stop - part.start))
    plain.validate(full=True)
    texts = [str(each) for each in IDS]
    assert plain["u"].to_pylist() == [texts[0], None, texts[2]][part]
    assert plain["l"].to_pylist() == [[text] for text in texts][part]
    assert plain["d"].to_pylist() == [texts[0], texts[1], texts[0]][part]
    assert plain["s"].to_pylist() == [{"u": texts[0]}, {"u": None}, None][part]
