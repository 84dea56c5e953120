"""Tables that stay open: they say what is there now, whoever has written it, and whatever was."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import TableNotFoundError

from elsinore.errors import DataError
from elsinore.store.delta_log import changed_partitions, commits, open_table, read_failures


def write(path: Path, *numbers: int) -> None:
    write_deltalake(str(path), pa.table({"n": numbers}), mode="append")


def numbers(path: Path, version: int | None = None) -> list[int]:
    return sorted(open_table(path, version).dataset().to_table()["n"].to_pylist())


def test_a_table_is_opened_once_and_sees_what_others_write(tmp_path: Path) -> None:
    write(tmp_path, 1)
    table = open_table(tmp_path)
    assert numbers(tmp_path) == [1]
    write(tmp_path, 2)
    assert numbers(tmp_path) == [1, 2]
    assert open_table(tmp_path) is table is open_table(tmp_path, 1)
    assert table.dataset() is table.dataset()
    assert numbers(tmp_path, 0) == [1]
    assert numbers(tmp_path) == [1, 2]


def test_what_the_open_table_has_written_itself_is_seen(tmp_path: Path) -> None:
    write(tmp_path, 1)
    write_deltalake(open_table(tmp_path), pa.table({"n": [2]}), mode="append")
    assert numbers(tmp_path) == [1, 2]


def test_another_table_in_its_place_is_opened_anew(tmp_path: Path) -> None:
    for n in range(3):
        write(tmp_path / "table", n)
    assert numbers(tmp_path / "table") == [0, 1, 2]
    shutil.rmtree(tmp_path / "table")
    with pytest.raises(TableNotFoundError):
        open_table(tmp_path / "table")
    for n in range(3, 8):
        write(tmp_path / "table", n)
    assert numbers(tmp_path / "table") == [3, 4, 5, 6, 7]
    os.rename(tmp_path / "table", tmp_path / "old")
    for n in range(5):
        write(tmp_path / "table", 10 + n)
    assert numbers(tmp_path / "table") == [10, 11, 12, 13, 14]


def test_a_commit_that_is_torn_or_gone_is_noticed(tmp_path: Path) -> None:
    for n in range(3):
        write(tmp_path, n)
    newest = tmp_path / "_delta_log" / f"{DeltaTable(tmp_path).version():020}.json"
    assert numbers(tmp_path) == [0, 1, 2]
    text = newest.read_bytes()
    newest.write_bytes(text[:-9])
    with pytest.raises(DataError, match=r"cannot read the table .*: .*Json error") as raised:
        open_table(tmp_path)
    assert "unknown" not in str(raised.value)  # the stack trace of delta-rs
    newest.unlink()
    assert numbers(tmp_path) == [0, 1]


def test_a_panic_of_delta_names_the_table() -> None:
    panic = type("PanicException", (BaseException,), {})
    with (
        pytest.raises(DataError, match="cannot read the table events at version 3: it broke"),
        read_failures("events", 3),
    ):
        raise panic("it broke\n0: frame")
    with pytest.raises(KeyboardInterrupt), read_failures("events"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("line", ["[]", '{"add": ', '{"add": 1}'])
def test_damaged_changes_are_named(tmp_path: Path, line: str) -> None:
    write(tmp_path, 1)
    (tmp_path / f"_delta_log/{0:020}.json").write_text(line)
    with pytest.raises(DataError, match="damaged at version 0: "):
        changed_partitions(tmp_path, 0, "day")


@pytest.mark.parametrize("info", ['{"timestamp": null}', '{"timestamp": 1e999}', "[]", "1"])
def test_damaged_commit_info_is_named(tmp_path: Path, info: str) -> None:
    write(tmp_path, 1)
    (tmp_path / f"_delta_log/{0:020}.json").write_text(f'{{"commitInfo": {info}}}')
    with pytest.raises(DataError, match="damaged at version 0: "):
        list(commits(tmp_path))
