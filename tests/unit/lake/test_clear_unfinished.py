"""What a killed creation of a table has left is cleared away; a table never is."""

from __future__ import annotations

import os
import time
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from elsinore.errors import ConflictError
from elsinore.lake.delta_log import clear_unfinished

LONG_AGO = 60.0


def create(table: Path) -> deltalake.DeltaTable:
    return deltalake.DeltaTable.create(str(table), pa.schema([pa.field("n", pa.int64())]))


def age(folder: Path) -> None:
    then = time.time() - LONG_AGO
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (then, then))


def test_what_is_no_table_is_cleared_and_can_be_created(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / ".00000000000000000000.json.tmp").touch()
    age(log)
    clear_unfinished(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert create(tmp_path).version() == 0


@pytest.mark.parametrize("creators", [1, 2])
def test_a_creator_that_paused_and_goes_on_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, creators: int
) -> None:
    """It commits right after it has been found that there is no table and nobody at work."""
    real = deltalake.DeltaTable.is_deltatable

    def then_it_commits(path: str) -> bool:
        found = real(path)
        monkeypatch.setattr(deltalake.DeltaTable, "is_deltatable", real)
        create(tmp_path)
        age(tmp_path / "_delta_log")
        if creators == 2:
            rename = Path.rename

            def and_another(self: Path, target: Path) -> Path:
                monkeypatch.setattr(Path, "rename", rename)
                moved = rename(self, target)
                create(tmp_path)
                return moved

            monkeypatch.setattr(Path, "rename", and_another)
        return found

    (tmp_path / "_delta_log").mkdir()
    monkeypatch.setattr(deltalake.DeltaTable, "is_deltatable", then_it_commits)
    if creators == 1:
        clear_unfinished(tmp_path)
    else:
        with pytest.raises(ConflictError, match="others are creating") as caught:
            clear_unfinished(tmp_path)
        assert caught.value.transient
    assert deltalake.DeltaTable(str(tmp_path)).version() == 0
