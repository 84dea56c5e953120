"""Files and columns of formats that are not read are named, with what to do."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zstandard
from pyarrow import feather, orc

import elsinore

SCHEMA = "stream: s\ntime: {field: t, unit: us}\ntype: {field: k}\ntypes: {A: {s: string}}\n"
WORK = elsinore.workload("QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 1 hour;", schema=SCHEMA)
EVENTS = {"t": [1_700_000_000_000_000], "k": ["A"]}


def said_of(events: object) -> str:
    with pytest.raises(elsinore.ElsinoreError) as caught:
        WORK.run(events, max_error_rate=0)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize("name", ["e.arrow", "e.feather", "e.csv", "e.jsonl", "e.parquet"])
def test_a_file_of_arrow_under_any_name(name: str, tmp_path: Path) -> None:
    feather.write_feather(pa.table({**EVENTS, "s": ["x"]}), path := tmp_path / name)
    said = said_of(path)
    assert f"{name} is an Arrow (Feather) file" in said
    assert "convert it to Parquet" in said


def test_an_orc_file(tmp_path: Path) -> None:
    orc.write_table(pa.table({**EVENTS, "s": ["x"]}), str(tmp_path / "e.orc"))
    assert "convert it to Parquet" in said_of(tmp_path / "e.orc")


def test_tabs_and_sheets(tmp_path: Path) -> None:
    for name, hint in (("e.tsv", r"`tr '\t' ,`"), ("e.xlsx", "save it as CSV")):
        (tmp_path / name).write_text("t\tk\n1\tA\n")
        assert hint in said_of(tmp_path / name)


def test_zstd_with_a_long_window_is_not_damaged(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=31)
    packer = zstandard.ZstdCompressor(compression_params=parameters)
    stream = packer.compressobj()  # without a size, as of a pipe
    path = tmp_path / "e.jsonl.zst"
    path.write_bytes(stream.compress(b'{"t": 1, "k": "A"}\n') + stream.flush())
    said = said_of(path)
    assert "window of more than 128 MiB" in said
    assert "compress it again with the default window" in said
    assert "damaged" not in said


@pytest.mark.parametrize("values", [[["a", "b"]], [[1, 2]], [[]], [[["a"]]]])
def test_a_list_is_called_a_list(values: list[object]) -> None:
    assert "s: a list is not a string" in said_of(pl.DataFrame({**EVENTS, "s": values}))


def test_types_that_arrow_lacks_are_named() -> None:
    said = said_of(pd.DataFrame({**EVENTS, "s": [1j]}))
    assert "column s is of the type complex128" in said
    assert "cast it" in said
    said = said_of(pl.DataFrame({**EVENTS, "s": pl.Series([1], dtype=pl.Int128)}))
    assert "a column is of the type Int128" in said
    assert "has values of several types" in said_of(pd.DataFrame({**EVENTS, "s": [1]}).assign(
        s=pd.Series([object()])
    ))  # fmt: skip
