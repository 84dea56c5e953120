"""Tables that stay open: they say what is there now, whoever has written it, and whatever was."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError, TableNotFoundError

from elsinore.lake.delta_log import open_table


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
    with pytest.raises(DeltaError):
        open_table(tmp_path)
    newest.unlink()
    assert numbers(tmp_path) == [0, 1]
