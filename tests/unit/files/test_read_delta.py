"""Delta tables as events: the rows of one version, however the table came to have them."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.cli.main import run_command
from elsinore.errors import DataError, ElsinoreError, ParameterError, SetupError
from elsinore.files import delta_log_snapshot, read_delta
from elsinore.files.lake_tables import LakeTable
from elsinore.files.read_events import read_events
from elsinore.files.read_lines import ReadLimits
from elsinore.files.rejection import UnreadableFile
from elsinore.library.infer_schema import infer_schema
from elsinore.places import local_copy

SCHEMA = """\
stream: u
time: {field: t, unit: iso}
type: {field: e}
types: {A: {uid: long}}
"""
QUERY = "QUERY n RETURN uid, COUNT(*) PATTERN A x GROUP-BY uid WITHIN 1 day;"
BASE = 1_700_000_000_000_000


def rows(count: int, first: int = 0, uid: int = 1, **more: Any) -> pa.Table:
    times = [BASE + (first + number) * 1_000_000 for number in range(count)]
    instants = pa.array(times, pa.timestamp("us", "UTC"))
    return pa.table({"t": instants, "e": ["A"] * count, "uid": [uid] * count, **more})


def put(path: Path, table: pa.Table, **options: Any) -> Path:
    write_deltalake(str(path), table, **{"mode": "append", **options})
    return path


def counts(*paths: Path, schema: str = SCHEMA) -> dict[Any, int]:
    found = elsinore.workload(QUERY, schema=schema).run([*paths])
    return {row["uid"]: row["COUNT(*)"] for row in found["n"].to_pylist()}


def test_deleted_updated_and_compacted_rows_do_not_count(tmp_path: Path) -> None:
    put(put(tmp_path / "d", rows(4)), rows(3, 4, 2))
    DeltaTable(str(tmp_path / "d")).delete("uid = 1")
    assert counts(tmp_path / "d") == {2: 3}
    put(put(tmp_path / "o", rows(4)), rows(4), mode="overwrite")
    assert counts(tmp_path / "o") == {1: 4}
    for at in range(3):
        put(tmp_path / "c", rows(2, 2 * at))
    DeltaTable(str(tmp_path / "c")).optimize.compact()
    assert counts(tmp_path / "c") == {1: 6}
    put(tmp_path / "u", rows(4))
    DeltaTable(str(tmp_path / "u")).update(
        updates={"uid": "2"}, predicate="t > '2023-11-14T22:13:21Z'"
    )
    assert counts(tmp_path / "u") == {1: 2, 2: 2}
    assert "uid: long" in infer_schema(tmp_path / "u")


def test_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(put(tmp_path / "d", rows(4)), rows(3, 4, 2))
    assert counts(tmp_path / "d@0") == {1: 4}
    monkeypatch.chdir(tmp_path)
    assert counts(Path("d@v1")) == counts(Path("d")) == {1: 4, 2: 3}
    with pytest.raises(DataError, match=r"table d has no version 2 \(use a version up to d@1\)"):
        counts(Path("d@2"))
    with pytest.raises(ParameterError, match=r"'latest' is not a version of the table d"):
        counts(Path("d@latest"))
    with pytest.raises(ParameterError, match=r"no such file: gone@1"):
        counts(Path("gone@1"))
    with pytest.raises(ParameterError, match="is given twice"):
        counts(Path("d"), Path("d@0"))
    put(tmp_path / "d@0", rows(1, uid=9))  # a directory that is called so
    assert counts(Path("d@0")) == {9: 1}
    pq.write_table(rows(1, uid=8), "x@1.parquet")
    assert counts(Path("x@1.parquet")) == {8: 1}


def test_the_oldest_versions_of_a_log_that_was_cleaned(tmp_path: Path) -> None:
    for at in range(3):
        put(tmp_path / "d", rows(1, at))
    DeltaTable(str(tmp_path / "d")).create_checkpoint()
    (tmp_path / "d/_delta_log/00000000000000000000.json").unlink()
    assert counts(tmp_path / "d") == {1: 3}
    with pytest.raises(
        DataError, match=r"cannot read the Delta table .*d@0: its log no longer has this version"
    ):
        counts(tmp_path / "d@0")


def test_tables_below_a_directory_and_files_beside_them(tmp_path: Path) -> None:
    put(tmp_path / "all/a/one", rows(2))
    put(tmp_path / "all/a/one", rows(2), mode="overwrite")
    put(tmp_path / "all/b", rows(1, uid=2))
    pq.write_table(rows(3, uid=3), tmp_path / "all/x.parquet")
    (tmp_path / "all/b/notes.jsonl").write_text("{}\n")
    # Of a name that hides the files of its partitions.
    put(tmp_path / "all/c", rows(1, uid=4, _p=["x"]), partition_by=["_p"])
    shutil.copytree(tmp_path / "all/b", tmp_path / "all/_old/b")
    assert counts(tmp_path / "all") == {1: 2, 2: 1, 3: 3, 4: 1}
    assert counts(tmp_path / "all/c") == {4: 1}
    empty = put(tmp_path / "empty", rows(0))
    assert counts(empty) == {}


def test_parts_of_a_table_are_refused(tmp_path: Path) -> None:
    table = put(tmp_path / "d", rows(2, uid=1), partition_by=["uid"])
    [part] = table.rglob("*.parquet")
    (tmp_path / "link.parquet").symlink_to(part)
    log = table / "_delta_log"
    for path in (part, part.parent, log, log / f"{0:020}.json", tmp_path / "link.parquet"):
        with pytest.raises(
            ParameterError, match=r"is a part of the Delta table .*name the whole table"
        ):
            counts(path)
    (table / "events.jsonl").write_text('{"t": "2024-01-01", "e": "A", "uid": 5}\n')
    assert counts(table / "events.jsonl") == {5: 1}, "no data file of a table"


def test_a_command_line_with_the_files_of_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(table := tmp_path / "d", rows(2))
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "q.sase").write_text(QUERY)
    told = ["run", str(tmp_path / "q.sase"), "--schema", str(tmp_path / "s.yaml"), "--input"]
    assert run_command([*told, str(table)]) == 0
    assert json.loads(capsys.readouterr().out)["values"] == {"COUNT(*)": 2}
    assert run_command([*told, *map(str, table.glob("*.parquet"))]) == 2
    assert "is a part of the Delta table" in capsys.readouterr().err


def test_partition_columns_have_their_types(tmp_path: Path) -> None:
    schema = """\
stream: u
time: {field: t, unit: iso}
type: {field: e}
types: {A: {uid: {type: string, nullable: true}, day: timestamp, n: {type: long, nullable: true}}}
"""
    days = pa.array([date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 2)])
    texts, numbers = pa.array(["a b/ü=1", None, "x"]), pa.array([1, None, 3], pa.int32())
    table = rows(3).drop_columns(["uid"]).append_column("uid", texts)
    table = table.append_column("day", days).append_column("n", numbers)
    put(path := tmp_path / "p q ü#?", table, partition_by=["day", "uid", "n", "e"])
    events, report = read_events([path], read_schema(schema), max_error_rate=0)
    assert report.accepted == 3
    found = {row["uid"]: (row["day"], row["n"]) for row in events.table.to_pylist()}
    first = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
    second = first + 86_400_000_000
    assert found == {"a b/ü=1": (first, 1), None: (second, None), "x": (second, 3)}


def test_partitions_before_and_after_the_years_of_python(tmp_path: Path) -> None:
    schema = SCHEMA.replace("{uid: long}", "{uid: long, at: {type: timestamp, nullable: true}}")
    for kind, far in ((pa.date32(), "+20000-01-01"), (pa.timestamp("us"), "0000-01-01 00:00:00")):
        table = put(
            tmp_path / str(kind.bit_width), rows(2, at=pa.array([0, 0], kind)), partition_by=["at"]
        )
        put(table, rows(1, uid=2, at=pa.array([1], kind)), partition_by=["at"])
        commit = table / "_delta_log" / f"{0:020}.json"
        lines = [json.loads(line) for line in commit.read_text().splitlines()]
        for line in lines:
            if "add" in line:
                line["add"]["partitionValues"]["at"] = far
        commit.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        events, report = read_events([table], read_schema(schema), max_error_rate=0.7)
        assert events.table["uid"].to_pylist() == [2]
        reasons = report.rejected["reason"].to_pylist()
        assert reasons == ["at: the time is not in the years 1 to 9999"] * 2


@pytest.mark.parametrize("inside", [False, True])
def test_times_that_are_too_large_in_microseconds_are_rejected(
    tmp_path: Path, inside: bool
) -> None:
    name, kind = "s.at" if inside else "at", pa.timestamp("us", "UTC")

    def told(of: pa.DataType, values: list[int]) -> dict[str, pa.Array]:
        column = pa.array(values, of)
        return {"s": pa.StructArray.from_arrays([column], ["at"])} if inside else {"at": column}

    table = put(tmp_path / "d", rows(3, **told(kind, [0, 0, 0])))
    [file] = table.glob("*.parquet")
    # In microseconds, the first two would wrap around to times around 1970.
    far = told(pa.timestamp("ms", "UTC"), [2**63 - 1, -(2**63), 1_700_000_000_000])
    pq.write_table(rows(3, **far), file)
    declared = f"{{uid: long, at: {{type: timestamp, field: {name}}}}}"
    schema = read_schema(SCHEMA.replace("{uid: long}", declared))
    events, report = read_events([table], schema, max_error_rate=0.7)
    assert events.table["at"].cast(pa.int64()).to_pylist() == [BASE]
    reasons = report.rejected["reason"].to_pylist()
    assert reasons == ["at: the time is not in the years 1 to 9999"] * 2


def test_columns_that_files_are_older_than(tmp_path: Path) -> None:
    path = put(tmp_path / "d", rows(1))
    extra = pa.array(["x", "y"])
    put(path, rows(2, 1, extra=extra), schema_mode="merge")
    schema = SCHEMA.replace("uid: long", "uid: long, extra: {type: string, nullable: true}")
    events, _ = read_events([path], read_schema(schema), max_error_rate=0)
    assert sorted(map(str, events.table["extra"].to_pylist())) == ["None", "x", "y"]


def test_the_last_row_of_an_id_is_the_one_added_last(tmp_path: Path) -> None:
    schema = read_schema(SCHEMA.replace("types:", "id: {field: id}\ntypes:"))
    for uid in range(12):
        put(tmp_path / "d", rows(1, uid=uid, id=["same"]))
    events, report = read_events([tmp_path / "d"], schema, max_error_rate=1)
    assert events.table["uid"].to_pylist() == [11]
    rejected = report.rejected.to_pylist()
    assert rejected[0]["file"] == f"{tmp_path}/d@11"
    assert [row["record_number"] for row in rejected] == [*range(1, 12)]


def test_rejected_rows_name_the_table_and_its_version(tmp_path: Path) -> None:
    put(tmp_path / "d", rows(2))
    put(tmp_path / "d", rows(1).set_column(1, "e", pa.array(["B"])))
    with pytest.raises(DataError, match=r"d@1:3: unknown_type"):
        read_events([tmp_path / "d"], read_schema(SCHEMA), max_error_rate=0)


def _z85(data: bytes) -> str:
    signs = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    text = ""
    for (number,) in struct.iter_unpack(">I", data):
        text += "".join(signs[number // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text


def _mark(path: Path, **changes: Any) -> None:
    """Write a commit that replaces actions of the first one."""
    first = path / f"_delta_log/{0:020}.json"
    actions = [json.loads(line) for line in first.read_text().splitlines()]
    for action in actions:
        for kind, change in changes.items():
            if kind in action:
                action[kind] = {**action[kind], **change}
    first.write_text("".join(json.dumps(action) + "\n" for action in actions))


def delete_rows(path: Path, vector: bytes, count: int, **stored: Any) -> None:
    """Add a deletion vector to the data file of the first commit."""
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    deleted = {"storageType": "i", "pathOrInlineDv": _z85(vector), "sizeInBytes": len(vector)}
    deleted |= stored
    _mark(path, protocol={"minReaderVersion": 3, "minWriterVersion": 7, **features},
          add={"deletionVector": {**deleted, "cardinality": count}})  # fmt: skip


def test_rows_of_deletion_vectors(tmp_path: Path) -> None:
    path = put(tmp_path / "d", rows(5))
    numbers = [1, 3]
    bitmap = struct.pack("<IIHHI2H", 12346, 1, 0, len(numbers) - 1, 16, *numbers)
    vector = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    delete_rows(path, vector, len(numbers))
    events, _ = read_events([path], read_schema(SCHEMA), max_error_rate=0)
    assert [(t - BASE) // 1_000_000 for t in events.table["_time"].to_pylist()] == [0, 2, 4]


#: A vector that deletes the second and the third row, and the file that contains it.
_VECTOR = struct.pack("<IQIIIHHI2H", 1681511377, 1, 0, 12346, 1, 0, 1, 16, 1, 2)
_UUID = UUID(int=7)
_FILE = f"deletion_vector_{_UUID}.bin"


def write_vector(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    content = struct.pack(">BI", 1, len(_VECTOR)) + _VECTOR + struct.pack(">I", crc32(_VECTOR))
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("prefix", ["", "ab"])
def test_deletion_vectors_in_files(tmp_path: Path, prefix: str) -> None:
    path = put(tmp_path / "d", rows(4))
    where = {"storageType": "u", "pathOrInlineDv": prefix + _z85(_UUID.bytes), "offset": 1}
    delete_rows(path, _VECTOR, 2, **where)
    write_vector(path / prefix / _FILE)
    assert counts(path) == {1: 2}
    DeltaTable(str(path)).create_checkpoint()
    (path / f"_delta_log/{0:020}.json").unlink()
    assert counts(path) == {1: 2}


@pytest.mark.parametrize("kind", ["u", "p"])
@pytest.mark.parametrize("in_checkpoint", [False, True])
def test_deletion_vectors_outside_of_the_table_are_not_read(
    tmp_path: Path, kind: str, in_checkpoint: bool
) -> None:
    path = put(tmp_path / "d", rows(4))
    file = write_vector(tmp_path / "other" / _FILE)
    location = file.as_uri() if kind == "p" else f"../other/{_z85(_UUID.bytes)}"
    delete_rows(path, _VECTOR, 2, storageType=kind, pathOrInlineDv=location, offset=1)
    if in_checkpoint:
        DeltaTable(str(path)).create_checkpoint()
        (path / f"_delta_log/{0:020}.json").unlink()
    with pytest.raises(UnreadableFile, match="has a deletion vector outside of its directory"):
        counts(path)


def test_a_link_to_a_deletion_vector_is_not_followed(tmp_path: Path) -> None:
    path = put(tmp_path / "d", rows(4))
    where = {"storageType": "u", "pathOrInlineDv": _z85(_UUID.bytes), "offset": 1}
    delete_rows(path, _VECTOR, 2, **where)
    (path / _FILE).symlink_to(write_vector(tmp_path / "other" / _FILE))
    with pytest.raises(DataError, match="is a symbolic link"):
        counts(path)


@pytest.mark.parametrize("version", [1, 3])
def test_deletion_vectors_without_their_feature(tmp_path: Path, version: int) -> None:
    path = put(tmp_path / "d", rows(5))
    delete_rows(path, _VECTOR, 2)
    features: dict[str, Any] = {"readerFeatures": [], "writerFeatures": []}
    if version < 3:
        features = {**dict.fromkeys(features), "minWriterVersion": 2}
    _mark(path, protocol={"minReaderVersion": version, **features})
    with pytest.raises(DataError, match="its protocol does not list deletionVectors"):
        counts(path)
    DeltaTable(str(path)).delete()  # the vector is in the log, but no data file has it
    assert counts(path) == {}


def _write_commit(path: Path, version: int, *actions: dict[str, Any]) -> None:
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (path / f"_delta_log/{version:020}.json").write_text(text)


def _added(path: Path) -> dict[str, Any]:
    """Return the data file that the first commit adds."""
    lines = (path / f"_delta_log/{0:020}.json").read_text().splitlines()
    [added] = [action["add"] for line in lines if "add" in (action := json.loads(line))]
    return dict(added)


@pytest.mark.parametrize("alias", ["%70art-é.parquet", "./part-%C3%A9.parquet", "part-é.parquet"])
def test_a_data_file_that_is_listed_twice(tmp_path: Path, alias: str) -> None:
    path = put(tmp_path / "d", rows(5))
    [file] = path.glob("*.parquet")
    file.rename(path / "part-é.parquet")
    delete_rows(path, _VECTOR, 2)
    _mark(path, add={"path": "part-é.parquet"})
    assert counts(path) == {1: 3}
    _write_commit(path, 1, {"add": {**_added(path), "path": alias, "deletionVector": None}})
    with pytest.raises(DataError, match=r"lists a data file twice, as .*part-é\.parquet"):
        counts(path)
    assert counts(tmp_path / "d@0") == {1: 3}


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_data_file_that_is_removed_under_another_path(tmp_path: Path, checkpoint: bool) -> None:
    """Spark does not encode `é`, and delta-rs does."""
    path = put(tmp_path / "d", rows(3))
    put(path, rows(2, 3, uid=2))
    file = path / _added(path)["path"]
    file.rename(path / "part-é.parquet")
    _mark(path, add={"path": "part-é.parquet"})
    assert counts(path) == {1: 3, 2: 2}
    DeltaTable(str(path)).delete("uid = 1")
    if checkpoint:
        DeltaTable(str(path)).create_checkpoint()
    with pytest.raises(DataError, match=r"as part-é.parquet and part-%C3%A9.parquet"):
        counts(path)
    assert counts(tmp_path / "d@1") == {1: 3, 2: 2}


def test_columns_that_data_files_call_otherwise(tmp_path: Path) -> None:
    inner = pa.StructArray.from_arrays([pa.array([7, 8])], ["col-9"])
    table = rows(2).rename_columns(["col-1", "col-2", "col-3"]).append_column("col-4", inner)
    path = put(tmp_path / "d", table, partition_by=["col-2"])
    declared = json.loads(DeltaTable(str(path)).schema().to_json())
    names = {"col-1": "t", "col-2": "e", "col-3": "uid", "col-4": "in", "col-9": "v"}

    def rename(fields: list[dict[str, Any]]) -> None:
        for field in fields:
            mapping = {"id": int(field["name"][-1]), "physicalName": field["name"]}
            field["metadata"] = {
                f"delta.columnMapping.{key}": each for key, each in mapping.items()
            }
            field["name"] = names[field["name"]]
            if isinstance(field["type"], dict):
                rename(field["type"]["fields"])

    rename(declared["fields"])
    meta = {"schemaString": json.dumps(declared), "partitionColumns": ["e"]}
    named = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
    _mark(path, protocol={"minReaderVersion": 2, "minWriterVersion": 5},
          metaData={**meta, "configuration": named})  # fmt: skip
    schema = SCHEMA.replace("uid: long", "uid: long, v: {type: long, field: in.v}")
    events, _ = read_events([path], read_schema(schema), max_error_rate=0)
    assert events.table["v"].to_pylist() == [7, 8]
    assert counts(path) == {1: 2}
    by_id = {**named, "delta.columnMapping.mode": "id"}
    _mark(path, metaData={**meta, "configuration": by_id})
    with pytest.raises(DataError, match="uses columnMapping by id, which is not supported"):
        counts(path)


def test_what_delta_rs_cannot_read_is_refused_by_name(tmp_path: Path) -> None:
    path = put(tmp_path / "d", rows(1))
    features = {"readerFeatures": ["timestampNtz", "catalogOwned-preview"],
                "writerFeatures": ["timestampNtz", "catalogOwned-preview"]}  # fmt: skip
    _mark(path, protocol={"minReaderVersion": 3, "minWriterVersion": 7, **features})
    with pytest.raises(DataError, match="catalog"):
        counts(path)
    (tmp_path / "e/_delta_log").mkdir(parents=True)
    pq.write_table(rows(1), tmp_path / "e/x.parquet")
    with pytest.raises(DataError, match="its directory _delta_log has no commit"):
        counts(tmp_path / "e")
    (path / f"_delta_log/{0:020}.json").write_text("no json")
    with pytest.raises(DataError, match="cannot read the Delta table"):
        counts(path)


@pytest.mark.parametrize(
    "outside", ["../x.parquet", "/etc/x.parquet", "file:///tmp/x.parquet", "link", ".", ""]
)
def test_data_files_outside_of_the_table_are_not_read(tmp_path: Path, outside: str) -> None:
    path = put(tmp_path / "d", rows(1))
    pq.write_table(rows(1, uid=7), tmp_path / "x.parquet")
    if outside == "link":
        (path / "link").symlink_to(tmp_path / "x.parquet")
    _mark(path, add={"path": outside})
    with pytest.raises(DataError, match=r"has a data file outside of its directory|is a symbolic"):
        counts(path)


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_data_file_that_is_swapped_after_the_log_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = put(tmp_path / "d", rows(1))
    [file] = path.glob("*.parquet")
    pq.write_table(rows(1, uid=7), tmp_path / "private.parquet")

    def swap(*args: Any, **options: Any) -> AbstractContextManager[Path]:
        file.unlink()
        os.mkfifo(file) if kind == "pipe" else file.symlink_to(tmp_path / "private.parquet")
        return local_copy(*args, **options)

    monkeypatch.setattr(read_delta, "local_copy", swap)
    with pytest.raises(DataError, match=f"{file} is a symbolic|{file}: not a regular file"):
        counts(path)


def name_sidecar(path: Path, name: str) -> None:
    """Write a checkpoint of version 0 with a sidecar."""
    sidecar = {"path": name, "sizeInBytes": 9, "modificationTime": 1}
    checkpoint = path / f"_delta_log/{0:020}.checkpoint.{UUID(int=1)}.json"
    checkpoint.write_text(json.dumps({"sidecar": sidecar}) + "\n")


@pytest.mark.parametrize("kind", ["link", "pipe"])
@pytest.mark.parametrize(
    "name",
    [f"{0:020}.json", f"{0:020}.checkpoint.parquet", "_last_checkpoint", "_sidecars/a.parquet"],
)
def test_a_log_with_links_or_pipes(tmp_path: Path, name: str, kind: str) -> None:
    put(path := tmp_path / "d", rows(1))
    DeltaTable(str(path)).create_checkpoint()
    file = path / "_delta_log" / name
    file.parent.mkdir(exist_ok=True)
    if file.parent.name == "_sidecars":
        os.mkfifo(file)
        assert counts(path) == {1: 1}  # no checkpoint names it
        name_sidecar(path, file.name)
        file.unlink()
    if file.exists():
        file.rename(tmp_path / "private")
    else:
        shutil.copy(next(path.glob("*.parquet")), tmp_path / "private")
    os.mkfifo(file) if kind == "pipe" else file.symlink_to(tmp_path / "private")
    with pytest.raises(DataError, match=f"{file} is a symbolic|{file}: not a regular file"):
        counts(path)


def test_a_checkpoint_at_which_delta_panics(tmp_path: Path) -> None:
    path = put(tmp_path / "d", rows(1))
    DeltaTable(str(path)).create_checkpoint()
    file = path / f"_delta_log/{0:020}.checkpoint.parquet"
    content = file.read_bytes()
    # The position 4 of the first dictionary becomes -4.
    at = content.index(b"\x26\x08", len(content) - 8 - int.from_bytes(content[-8:-4], "little"))
    file.write_bytes(content[:at] + b"\x26\x07" + content[at + 2 :])
    with pytest.raises(DataError, match=r"cannot read the Delta table .*d: .*crashed"):
        counts(path)


@pytest.mark.parametrize("in_checkpoint", [False, True])
def test_a_log_that_ends_the_process_of_delta_rs(tmp_path: Path, in_checkpoint: bool) -> None:
    """Statistics of many levels overflow its stack."""
    path = put(tmp_path / "d", rows(1))
    deep = "[" * 100_000 + "]" * 100_000
    _mark(path, add={"stats": f'{{"numRecords": 1, "minValues": {{"uid": {deep}}}}}'})
    if in_checkpoint:
        [commit] = path.glob("_delta_log/*.json")
        added = json.loads(next(line for line in commit.open() if '"add"' in line))
        _mark(path, add={"stats": None})
        DeltaTable(str(path)).create_checkpoint()
        commit.unlink()
        [checkpoint] = path.glob("_delta_log/*.parquet")
        table = pq.read_table(checkpoint)
        actions = table.to_pylist()
        for action in actions:
            if action["add"]:
                action["add"]["stats"] = added["add"]["stats"]
        pq.write_table(pa.Table.from_pylist(actions, table.schema), checkpoint)
    with pytest.raises(DataError, match=r"d: its log is damaged, or takes too much memory \(write"):
        counts(path)


@pytest.mark.parametrize("content", ["9" * 5_000, "[" * 5_000 + "]" * 5_000])
def test_removed_files_with_fields_of_many_levels_or_digits(tmp_path: Path, content: str) -> None:
    """delta-rs does not read unknown fields."""
    path = put(tmp_path / "d", rows(1))
    removed = f'{{"remove": {{"path": "a", "dataChange": true, "more": {content}}}}}'
    (path / f"_delta_log/{1:020}.json").write_text(removed)
    with pytest.raises(DataError, match=r"d: line 1 of 0+1.json has too many levels or digits"):
        counts(path)


def test_a_log_that_takes_too_much_memory(tmp_path: Path) -> None:
    """delta-rs reserves memory for each commit, and aborts if there is too little."""
    path = put(tmp_path / "d", rows(1))
    for version in range(1, 3_000):
        _write_commit(path, version, {"commitInfo": {}})
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "q.sase").write_text(QUERY)
    files = [str(tmp_path / "q.sase"), "--schema", str(tmp_path / "s.yaml"), "--input", str(path)]
    command = [sys.executable, "-m", "elsinore", "run", *files]
    limited = {**os.environ, "ELSINORE_MEMORY_LIMIT": "1g"}
    ended = subprocess.run(command, env=limited, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert "its log is damaged, or takes too much memory" in line
    del limited["ELSINORE_MEMORY_LIMIT"]
    assert '"COUNT(*)": 1' in subprocess.check_output(command, env=limited, text=True)


def test_a_log_that_is_a_link(tmp_path: Path) -> None:
    put(tmp_path / "private", rows(1))
    (tmp_path / "d").mkdir()
    (tmp_path / "d/_delta_log").symlink_to(tmp_path / "private/_delta_log")
    with pytest.raises(DataError, match="is below '_delta_log', a symbolic link"):
        counts(tmp_path / "d")


@pytest.mark.parametrize(
    ("name", "most"), [("_last_checkpoint", 1 << 20), (f"{9:020}.json", 4 << 30)]
)
def test_a_log_with_a_file_that_is_too_large(tmp_path: Path, name: str, most: int) -> None:
    put(path := tmp_path / "d", rows(1))
    with (path / "_delta_log" / name).open("wb") as file:
        file.truncate(most + 1)
    with pytest.raises(UnreadableFile, match=r"has more than [0-9,]+ bytes"):
        counts(path)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
@pytest.mark.parametrize("name", ["{}/x.parquet", "file://{}/x.parquet", "../../../x.parquet"])
def test_sidecars_outside_of_the_log(tmp_path: Path, suffix: str, name: str) -> None:
    put(path := tmp_path / "d", rows(1))
    sidecar = {"path": name.format(tmp_path), "sizeInBytes": 9, "modificationTime": 1}
    file = path / f"_delta_log/{0:020}.checkpoint.{UUID(int=7)}.{suffix}"
    if suffix == "json":
        file.write_text(json.dumps({"sidecar": sidecar}) + "\n")
    else:
        pq.write_table(pa.table({"sidecar": [None, sidecar]}), file)
    with pytest.raises(UnreadableFile, match=r"names a sidecar outside of _sidecars: .*x\.parquet"):
        counts(path)
    if suffix == "json":
        file.write_text(json.dumps({}) + json.dumps({"sidecar": sidecar}) + "\n")
        with pytest.raises(UnreadableFile, match="a line is not a JSON object"):
            counts(path)


def test_a_log_with_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(put(path := tmp_path / "d", rows(1)), rows(1))
    monkeypatch.setattr(delta_log_snapshot, "MOST_ENTRIES", 1)
    with pytest.raises(UnreadableFile, match="_delta_log has more than 1 files"):
        counts(path)


def test_versions_before_and_after_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "d"
    for at in range(5):
        put(path, rows(1, at))
        if at in (1, 3):
            DeltaTable(str(path)).create_checkpoint()
    assert [counts(tmp_path / f"d@{at}") for at in range(5)] == [{1: at + 1} for at in range(5)]
    part = f"_delta_log/{4:020}.checkpoint.{1:010}.{2:010}.parquet"  # the other part is missing
    shutil.copy(path / f"_delta_log/{3:020}.checkpoint.parquet", path / part)
    assert counts(path) == {1: 5}
    other = f"_delta_log/{4:020}.checkpoint.{3:010}.{2:010}.parquet"
    shutil.copy(path / part, path / other)
    assert counts(path) == {1: 5}, "two files, but not part 2"


@pytest.mark.parametrize(
    ("row", "why"),
    [(68_719_476_736, "its deletion vectors are damaged, or take too much memory"),
     (4, r"parquet: its deletion vector has 9 rows, but the file has 5")],
)  # fmt: skip
def test_deletion_vectors_of_rows_that_are_not_there(tmp_path: Path, row: int, why: str) -> None:
    path = put(tmp_path / "d", rows(5))
    low = row & 0xFFFF_FFFF
    bitmap = struct.pack("<IIHHI2H", 12346, 1, 0, 1, 16, low, low + 1)
    delete_rows(path, struct.pack("<IQI", 1681511377, 1, row >> 32) + bitmap, 2)
    _mark(path, add={"stats": json.dumps({"numRecords": 9})})  # delta-rs believes it
    with pytest.raises(DataError, match=why):
        counts(path)


def test_a_data_file_whose_name_no_file_can_have(tmp_path: Path) -> None:
    path = put(tmp_path / "d", rows(1))
    _mark(path, add={"path": "a%00b.parquet"})
    with pytest.raises(DataError, match=r"a data file outside of its directory: a.x00b"):
        counts(path)


def test_a_data_file_that_is_gone(tmp_path: Path) -> None:
    path = put(tmp_path / "d", rows(1))
    next(path.glob("*.parquet")).unlink()
    with pytest.raises(DataError, match=r"cannot read .*parquet: No such file"):
        counts(path)


def test_data_files_are_read_within_the_bounds_of_parquet(tmp_path: Path) -> None:
    path = put(tmp_path / "d", rows(1))
    [file] = path.glob("*.parquet")
    bomb = pa.DictionaryArray.from_arrays(pa.array([0] * 3_000), pa.array(["a" * 1_000_000]))
    table = rows(3_000, s=bomb)
    pq.write_table(
        table, file, compression="zstd", store_schema=False, dictionary_pagesize_limit=1 << 30
    )
    schema = DeltaTable(str(path)).schema().to_json()
    declared = json.loads(schema)
    declared["fields"].append({"name": "s", "type": "string", "nullable": True, "metadata": {}})
    _mark(path, metaData={"schemaString": json.dumps(declared)})
    by_s = SCHEMA.replace("uid: long", "uid: long, s: string")
    assert counts(path, schema=by_s) == {1: 3_000}, "no query reads it"
    with pytest.raises(UnreadableFile, match="column s decodes to 3,"):
        read_events([path], read_schema(by_s), max_error_rate=0)


def test_a_checkpoint_that_takes_too_much_memory(tmp_path: Path) -> None:
    put(path := tmp_path / "d", rows(1))
    DeltaTable(str(path)).create_checkpoint()
    assert counts(path) == {1: 1}
    [checkpoint] = path.glob("_delta_log/*.parquet")
    bomb = pa.DictionaryArray.from_arrays(pa.array([0] * 3_000), pa.array(["a" * 1_000_000]))
    pq.write_table(
        pa.table({"add": bomb}), checkpoint, store_schema=False, dictionary_pagesize_limit=1 << 30
    )
    with pytest.raises(UnreadableFile, match="column add decodes to 3,"):
        counts(path)


def test_tables_of_other_formats_are_refused_by_name(tmp_path: Path) -> None:
    for name, marker in (
        ("ice", "metadata/v1.metadata.json"),
        ("ice", "metadata/v1.metadata.json.zst"),
        ("ice", "metadata/snap-1-1-a.avro"),  # a catalog has the other metadata
        ("ice", "metadata/version-hint.text"),
        ("hudi", ".hoodie/hoodie.properties"),
    ):
        (file := tmp_path / name / marker).parent.mkdir(parents=True)
        file.write_text("{}")
        data = tmp_path / name / "data/x.parquet"
        data.parent.mkdir()
        pq.write_table(rows(1), data)
        form = {"ice": "Iceberg", "hudi": "Hudi"}[name]
        with pytest.raises(
            DataError, match=f"is a table in the format {form}, which is not supported"
        ):
            counts(tmp_path / name)
        for part in (data, data.parent):
            with pytest.raises(ParameterError, match=f"is a part of the {form} table"):
                counts(part)
        with pytest.raises(ElsinoreError, match=f"in the format {form}"):
            counts(tmp_path)
        shutil.rmtree(tmp_path / name)


def test_without_delta_rs_a_table_is_no_directory_of_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / "d", rows(1))
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(SetupError, match=r"needs deltalake, .*pip install '.\[pipeline\]'"):
        counts(path)


def test_columns_that_a_file_lacks_take_bounded_memory(tmp_path: Path) -> None:
    """Their NULLs are stored in no file."""
    table = put(tmp_path / "t", rows(5_000))
    fields = json.loads(DeltaTable(str(table)).schema().to_json())["fields"]
    more = [{**fields[-1], "name": f"c{number}"} for number in range(500)]
    _mark(table, metaData={"schemaString": json.dumps({"type": "struct", "fields": fields + more})})
    limits = ReadLimits(decoded_batch_bytes=1 << 20)
    sizes = [part.nbytes for part in read_delta.delta_rows(LakeTable(table), None, limits=limits)]
    assert sum(sizes) > 5_000 * 500 * 8
    assert max(sizes) < 2 << 20


def test_partition_values_count_for_each_row(tmp_path: Path) -> None:
    table = put(tmp_path / "t", rows(5_000, city=["a" * 200] * 5_000), partition_by=["city"])
    source, limits = LakeTable(table), ReadLimits(ratio_from=1 << 19, ratio=1)
    assert sum(len(part) for part in read_delta.delta_rows(source, None)) == 5_000
    with pytest.raises(UnreadableFile, match="more than 524,288 bytes of partition values"):
        [*read_delta.delta_rows(source, None, limits=limits)]


def test_a_table_with_too_many_columns(tmp_path: Path) -> None:
    table = put(tmp_path / "t", rows(1))
    fields = json.loads(DeltaTable(str(table)).schema().to_json())["fields"]
    more = [{**fields[-1], "name": f"c{number}"} for number in range(10_000)]
    _mark(table, metaData={"schemaString": json.dumps({"type": "struct", "fields": fields + more})})
    with pytest.raises(UnreadableFile, match="has 10,003 columns, more than 10,000"):
        counts(table)


def test_a_table_with_too_many_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of a megabyte can have billions of values: every data file has all columns."""
    table = put(tmp_path / "t", rows(2, a=[1, 2], b=[1, 2]), partition_by=["a", "b"])
    assert counts(table) == {1: 2}
    monkeypatch.setattr(read_delta, "_MOST_PARTITION_VALUES", 3)
    with pytest.raises(UnreadableFile, match="has 4 values of partition columns in its log, more"):
        counts(table)
    names = [f"c{number}" for number in range(21)]
    other = put(tmp_path / "u", rows(1))
    fields = json.loads(DeltaTable(str(other)).schema().to_json())["fields"]
    fields += [{**fields[-1], "name": name} for name in names]
    text = json.dumps({"type": "struct", "fields": fields})
    _mark(other, metaData={"schemaString": text, "partitionColumns": names})
    with pytest.raises(UnreadableFile, match="has 21 partition columns, more than 20"):
        counts(other)
    DeltaTable(str(other)).create_checkpoint()
    with pytest.raises(UnreadableFile, match=r"parquet has 21 partition columns, more than 20"):
        counts(other)
    first = table / f"_delta_log/{0:020}.json"
    first.write_text(first.read_text().replace('"partitionColumns"', '\n"partitionColumns"'))
    with pytest.raises(UnreadableFile, match="a line is not a short JSON object"):
        counts(table)


def test_a_sparse_commit(tmp_path: Path) -> None:
    table = put(tmp_path / "t", rows(1))
    commit = table / "_delta_log" / f"{1:020}.json"
    with commit.open("wb") as out:
        out.truncate(1 << 30)
    with pytest.raises(DataError, match="is a sparse file, and would fill the disk"):
        counts(table)


@pytest.mark.parametrize(
    ("name", "value"),
    [("NumIndexedCols", "-1"), ("NumIndexedCols", "40"), ("StatsColumns", "c0,c1,c2,c3")],
)
def test_statistics_of_many_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """delta-rs makes three values of each column for each data file, given or not."""
    monkeypatch.setattr(delta_log_snapshot, "MOST_STATISTICS", 70)
    rows = pa.table({"time": [1], "type": ["A"], **{f"c{number}": [1] for number in range(50)}})
    setting = {f"delta.dataSkipping{name}": value}
    for _ in range(2):
        write_deltalake(tmp_path, rows, mode="append", configuration=setting)
    table = LakeTable(tmp_path)
    with pytest.raises(UnreadableFile, match=r"may have statistics of \d+ columns of data files"):
        list(read_delta.delta_rows(table, None))
    DeltaTable(tmp_path).create_checkpoint()
    with pytest.raises(UnreadableFile, match=r"may have statistics of \d+ columns of data files"):
        list(read_delta.delta_rows(table, None))
    monkeypatch.setattr(delta_log_snapshot, "MOST_STATISTICS", 300)
    assert sum(rows.num_rows for rows in read_delta.delta_rows(table, None)) == 2
