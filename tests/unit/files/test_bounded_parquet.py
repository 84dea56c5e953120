"""Parquet files that decode to far more than they hold are refused before they are decoded."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.choices import InputFormat
from elsinore.errors import DataError, OutOfMemoryError
from elsinore.files import bounded_parquet
from elsinore.files.as_lines import as_lines
from elsinore.files.bounded_parquet import Columns, parquet_batches
from elsinore.files.parquet_pages import Pages, longest_text, read_pages
from elsinore.files.read_lines import DEFAULT_LIMITS, ReadLimits
from elsinore.files.read_parquet import read_parquet
from elsinore.files.rejection import UnreadableFile
from elsinore.files.type_records import Decoded, concat_decoded
from elsinore.library.infer_schema import infer_schema

SCHEMA = read_schema("""\
stream: s
time: {field: t, unit: us}
type: {field: k}
types: {A: {x: long, s: string}}
""")
BY_S = "QUERY q RETURN s, COUNT(*) PATTERN A GROUP-BY s WITHIN 1 minute;"
WITHOUT_S = "QUERY q RETURN COUNT(*) PATTERN A WITHIN 1 minute;"
#: Small enough for files of some rows, and that each file of a test is refused by another bound.
LIMITS = ReadLimits(ratio_from=1 << 20, decoded_batch_bytes=1 << 20, line_bytes=500_000)
ROWS = 3_000
MOST = 1_500 << 20


def coded(value: pa.Array, rows: int = ROWS) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), value)


def rows_with(s: Any, rows: int = ROWS, **more: Any) -> pa.Table:
    times = np.full(rows, 1_700_000_000_000_000)
    return pa.table({"t": times, "k": ["A"] * rows, "x": np.ones(rows, np.int64), "s": s, **more})


def write(path: Path, table: pa.Table, **options: Any) -> Path:
    options = {"compression": "zstd", "store_schema": False, **options}
    pq.write_table(table, path, dictionary_pagesize_limit=1 << 30, **options)
    return path


def read(path: Path, limits: ReadLimits = LIMITS, **options: Any) -> Decoded:
    return concat_decoded(read_parquet(path, SCHEMA, limits=limits, **options), SCHEMA)


def bombs(folder: Path) -> Iterator[tuple[str, Path]]:
    long = pa.array(["a" * 10_000])
    yield "dictionary", write(folder / "a.parquet", rows_with(coded(long)))
    yield "groups", write(folder / "b.parquet", rows_with(coded(long)), row_group_size=100)
    plain = pa.array(["b" * 2_000] * ROWS)
    yield "plain", write(folder / "c.parquet", rows_with(plain), use_dictionary=False)
    encoding = {"column_encoding": {"s": "DELTA_BYTE_ARRAY"}, "use_dictionary": False}
    yield "prefixes", write(folder / "d.parquet", rows_with(plain), **encoding)
    fixed = coded(pa.array([b"x" * 2_000], pa.binary(2_000)))
    yield "fixed", write(folder / "e.parquet", rows_with(fixed))
    (packed := folder / "f.parquet.gz").write_bytes(
        gzip.compress((folder / "a.parquet").read_bytes())
    )
    yield "packed", packed


def test_a_bomb_in_a_column_that_is_read(tmp_path: Path) -> None:
    for name, path in bombs(tmp_path):
        with pytest.raises(
            UnreadableFile, match=r"column s decodes to [\d,]+ bytes or more"
        ) as told:
            read(path)
        assert told.value.reason_code == "too_large", name
        assert "are allowed for its size" in str(told.value)


def test_a_bomb_in_a_column_that_no_query_reads(tmp_path: Path) -> None:
    for name, path in bombs(tmp_path):
        decoded = read(path, read=["x"])
        assert (decoded.events.num_rows, decoded.left_out) == (ROWS, ("s",)), name
        assert decoded.events["s"].null_count == ROWS
        assert decoded.events["x"].to_pylist() == [1] * ROWS
    plain = write(tmp_path / "plain.parquet", rows_with(["a"] * ROWS))
    assert read(plain, read=["x"]).events["s"].to_pylist() == ["a"] * ROWS


def test_queries_that_read_the_column_and_that_do_not(tmp_path: Path) -> None:
    """The file of 1 MB times 60,000 rows, by the limits that runs have."""
    path = write(tmp_path / "e.parquet", rows_with(coded(pa.array(["a" * 1_000_000]))))
    before = pa.total_allocated_bytes()
    with pytest.raises(UnreadableFile, match="column s decodes to 3,"):
        elsinore.workload(BY_S, schema=SCHEMA).run(path)
    assert pa.default_memory_pool().max_memory() - before < MOST
    found = elsinore.workload(WITHOUT_S, schema=SCHEMA).run(path)
    assert [row["COUNT(*)"] for row in found["q"].to_pylist()] == [ROWS]


def test_rows_that_cost_no_bytes(tmp_path: Path) -> None:
    table = rows_with(["a"] * 200_000, 200_000)
    path = write(tmp_path / "e.parquet", table)
    with pytest.raises(UnreadableFile, match=r"column [tx] decodes to 1,6"):
        read(path, read=["x"])


def test_columns_that_the_schema_does_not_name_are_not_decoded(tmp_path: Path) -> None:
    unread = coded(pa.array(["a" * 100_000]))
    path = write(tmp_path / "e.parquet", rows_with(["a"] * ROWS, unread=unread))
    assert read(path).events.num_rows == ROWS
    with pytest.raises(UnreadableFile, match="column unread decodes to"):
        [*as_lines(write(path, rows_with(["a"] * ROWS, unread=coded(pa.array(["a" * 10**6])))),
                   InputFormat.PARQUET, SCHEMA)]  # fmt: skip
    with pytest.raises(UnreadableFile, match="column unread decodes to"):
        infer_schema(path)


@pytest.mark.parametrize("nested", ["list", "struct"])
def test_bombs_inside_of_lists_and_structs(tmp_path: Path, nested: str) -> None:
    value = coded(pa.array(["a" * 100_000]))
    if nested == "list":
        inside = pa.ListArray.from_arrays(
            pa.array(np.append(0, np.full(ROWS, ROWS)), pa.int32()), value
        )
    else:
        inside = pa.StructArray.from_arrays([value, pa.array(range(ROWS))], ["a", "b"])
    path = write(tmp_path / "e.parquet", rows_with(["a"] * ROWS, deep=inside))
    with pytest.raises(UnreadableFile, match="column deep decodes to"):
        [*as_lines(path, InputFormat.PARQUET, SCHEMA)]


def test_values_longer_than_a_line_may_be(tmp_path: Path) -> None:
    limits = ReadLimits(line_bytes=1_000)
    for name, options in (("a", {}), ("b", {"use_dictionary": False})):
        path = write(
            tmp_path / f"{name}.parquet", rows_with(["c" * 1_001] + ["c"] * (ROWS - 1)), **options
        )
        with pytest.raises(UnreadableFile, match="value of 1,001 bytes in the column s, more than"):
            read(path, limits)


def test_a_footer_that_understates_its_sizes(tmp_path: Path) -> None:
    """Decoders allocate what page headers say, whatever the footer says."""
    table = rows_with(pa.array(["b" * 2_000] * ROWS))
    path = write(tmp_path / "e.parquet", table, use_dictionary=False, write_statistics=False)
    column = pq.ParquetFile(path).metadata.row_group(0).column(3)
    stated, data = column.total_uncompressed_size, path.read_bytes()
    number = _varint(2 * stated)
    assert data.count(number) >= 1
    at = data.rindex(number)
    path.write_bytes(data[:at] + _padded(2 * 100, len(number)) + data[at + len(number) :])
    assert pq.ParquetFile(path).metadata.row_group(0).column(3).total_uncompressed_size == 100
    with pytest.raises(UnreadableFile, match="column s decodes to 6,"):
        read(path)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _padded(number: int, length: int) -> bytes:
    """A varint of so many bytes, with zeros in front."""
    groups = [(number >> 7 * at) & 127 for at in range(length)]
    return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])


def test_many_rows_in_small_batches_are_all_read(tmp_path: Path) -> None:
    values = [f"{number:08}" * 100 for number in range(ROWS)]
    path = write(
        tmp_path / "e.parquet", rows_with(values), data_page_size=4_096, row_group_size=700
    )
    limits = ReadLimits(decoded_batch_bytes=64 << 10)
    parts = [*read_parquet(path, SCHEMA, limits=limits)]
    assert max(part.events.num_rows for part in parts) < 200
    events = concat_decoded(parts, SCHEMA).events
    assert events["s"].to_pylist() == values
    assert events["record_number"].to_pylist() == [*range(1, ROWS + 1)]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"write_page_index": True}])
def test_page_headers_agree_with_the_footer(tmp_path: Path, version: str, options: Any) -> None:
    values = pa.array([None if n % 7 == 0 else f"value {n % 100}" for n in range(ROWS)])
    lists = pa.array([[n] * (n % 3) for n in range(ROWS)])
    path = tmp_path / "e.parquet"
    table = pa.table({"s": values, "l": lists, "n": range(ROWS)})
    pq.write_table(table, path, data_page_version=version, data_page_size=1_000, **options)
    file = pq.ParquetFile(path)
    with pa.OSFile(str(path)) as source:
        for index in range(3):
            chunk = file.metadata.row_group(0).column(index)
            pages = read_pages(source, chunk)
            assert pages.values == chunk.num_values
            assert 0 < pages.size <= chunk.total_uncompressed_size
            assert bool(pages.dictionary) == chunk.has_dictionary_page


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip", "brotli"])
def test_the_longest_text_of_a_dictionary(tmp_path: Path, codec: str) -> None:
    texts = [f"{n:x}" * (n % 13 + 1) for n in range(1, 2_000)]
    assert longest(tmp_path, texts, compression=codec) == max(map(len, texts))


@pytest.mark.parametrize(
    ("texts", "known"),
    [
        (["é" * 127, "a"], 254),
        (["a" * 255, "b" * 255], 255),
        (["a" * 256, "b"], None),
        (["a" * 65_537, "b"], None),
        (["", "a"], 1),
        # Arrow has to read these: NULs look like the lengths of texts.
        (["a", "", "b"], None),
        (["a\x09\0\0\0b", "c"], None),
        (["a\0", "b"], 2),
        (["a\0\0\0", "b"], None),
        (["a" * 250] * 20_000 + [f"{n:0250}" for n in range(20_000)], None),
    ],
)
def test_a_length_is_never_understated(tmp_path: Path, texts: list[str], known: int | None) -> None:
    assert longest(tmp_path, texts) == known


def longest(folder: Path, texts: list[str], **options: Any) -> int | None:
    """Return what `longest_text` finds in a file of one column."""
    path = write(folder / "e.parquet", pa.table({"s": texts}), **options)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    with pa.OSFile(str(path)) as source:
        pages = read_pages(source, chunk)
        assert longest_text(source, chunk, Pages(dictionary=pages.dictionary)) is None
        return longest_text(source, chunk, pages)


def test_short_memory_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "e.parquet", rows_with(["a"] * ROWS))

    def short(*_: Any) -> Any:
        raise pa.ArrowMemoryError("malloc of size 99 failed")

    monkeypatch.setattr(bounded_parquet, "read_pages", short)
    with pytest.raises(OutOfMemoryError, match=r"out of memory while reading .*: malloc") as told:
        read(path)
    assert not isinstance(told.value, DataError)
    frame = rows_with(["a"] * ROWS)
    monkeypatch.setattr("elsinore.files.read_parquet.frame_table", short)
    with pytest.raises(OutOfMemoryError, match="out of memory while reading frame 1"):
        elsinore.workload(BY_S, schema=SCHEMA).run(frame)


def test_row_groups_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them takes time, however small it is."""
    monkeypatch.setattr(bounded_parquet, "MAX_ROW_GROUPS", 3)
    table = rows_with(["a"] * 4, 4)
    assert read(write(tmp_path / "three.parquet", table[:3], row_group_size=1)).events.num_rows == 3
    with pytest.raises(UnreadableFile, match=r"has 4 row groups, more than 3") as found:
        read(write(tmp_path / "four.parquet", table, row_group_size=1))
    assert found.value.hint == "write it with larger row groups, for example of 100,000 rows"


def test_too_many_columns(tmp_path: Path) -> None:
    """Those inside of structs count."""
    inside = pa.StructArray.from_arrays([pa.nulls(1, pa.int32())] * 9_998, names(9_998))
    path = write(tmp_path / "e.parquet", rows_with(["a"], 1, inside=inside))
    with pytest.raises(UnreadableFile, match="has 10,002 columns, more than 10,000"):
        read(path)


def names(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


@pytest.mark.slow
def test_all_columns_of_a_wide_file_are_read_in_seconds(tmp_path: Path) -> None:
    others = dict.fromkeys(names(9_000), pa.nulls(1, pa.int32()))
    path = write(tmp_path / "e.parquet", rows_with(["a"], 1, **others))
    begin = time.process_time()
    [lines] = as_lines(path, InputFormat.PARQUET, SCHEMA)
    assert lines["record"][0].as_py().count("null") == 9_000
    assert time.process_time() - begin < 8


def test_a_packed_file_with_a_long_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_parquet, "_FOOTER", 1_000)
    others = dict.fromkeys(names(900), pa.nulls(1, pa.int32()))
    path = write(tmp_path / "e.parquet", rows_with(["a"], 1, **others))
    packed = tmp_path / "packed.parquet.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(path).events.num_rows == 1
    with pytest.raises(UnreadableFile, match=r"describes its columns in [0-9,]+ bytes, more"):
        read(packed)


def test_a_file_with_fewer_rows_than_its_footer_says_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table({"a": range(1_000)}), path, compression="none", use_dictionary=False)
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # Numbers of rows as thrift writes 1,000 and 8,000.
    footer = content[start:].replace(b"\xd0\x0f", b"\x80\x7d")
    path.write_bytes(content[:start] + footer)
    assert pq.read_metadata(path).num_rows == 8_000
    with pytest.raises(UnreadableFile, match="it has 1,000 rows, but its footer says 8,000"):
        list(parquet_batches(path, DEFAULT_LIMITS, Columns))
