"""Footers with column chunks for which pyarrow aborts the process are errors."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.files.bounded_parquet import Columns, parquet_batches
from elsinore.files.parquet_footer import require_sound_chunks
from elsinore.files.parquet_pages import read_pages
from elsinore.files.read_lines import DEFAULT_LIMITS
from elsinore.files.rejection import UnreadableFile

#: The column `a` as a string that can be NULL, and its histogram of two levels of definition.
_NULLABLE = b"\x15\x0c\x25\x02\x18\x01a"
#: The start of the only column chunk of the only row group.
_CHUNK = b"\x19\x1c\x26"
#: An encrypted chunk: a union with the key of the column `a`. The next field has the number 2.
_ENCRYPTED = b"\x19\x1c\x8c\x2c\x19\x18\x01a\x00\x00\x06\x04"
#: The path of the column in its chunk, and the number of Snappy.
_CODEC = b"\x19\x18\x01a\x15\x02"


def changed(folder: Path, before: bytes, after: bytes) -> Path:
    """Write a file with a string, and replace bytes of its footer."""
    out = io.BytesIO()
    pq.write_table(pa.table({"a": ["x"]}), out)
    content = out.getvalue()
    length = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - length : -8]
    assert footer.count(before) == 1
    footer = footer.replace(before, after)
    path = folder / "changed.parquet"
    tail = len(footer).to_bytes(4, "little") + b"PAR1"
    path.write_bytes(content[: -8 - length] + footer + tail)
    return path


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (_NULLABLE, _NULLABLE.replace(b"\x25\x02", b"\x25\x00"), "size statistics of a column are"),
        (_NULLABLE, b"\x15\x02" + _NULLABLE[2:], "the size statistics of a column are damaged"),
        (_CHUNK, _ENCRYPTED, "a column is encrypted"),
        (_CODEC, _CODEC[:-1] + b"\x7f", "a column has the unknown compression -64"),
    ],
    ids=["levels", "bytes of texts", "encrypted", "compression"],
)
def test_a_chunk_that_pyarrow_cannot_describe(
    before: bytes, after: bytes, why: str, tmp_path: Path
) -> None:
    path = changed(tmp_path, before, after)
    with pytest.raises(UnreadableFile, match=f"is not a valid Parquet file: .*{why}"):
        list(parquet_batches(path, DEFAULT_LIMITS, Columns))


def test_sound_footers_are_accepted(tmp_path: Path) -> None:
    nested = pa.array([[{"s": "a", "n": 1}], None, []])
    tables = {
        "empty": pa.table({"a": pa.array([], pa.string())}),
        "none": pa.table({}),
        "nested": pa.table({"a": nested, "b": [b"x", None, b""], "c": [1.0, None, 2.0]}),
    }
    for name, table in tables.items():
        for version in ("1.0", "2.0"):
            path = tmp_path / f"{name}.parquet"
            pq.write_table(table, path, data_page_version=version, row_group_size=1)
            found = [each.rows for each in parquet_batches(path, DEFAULT_LIMITS, Columns)]
            assert sum(map(len, found)) == (table.num_rows if table.num_columns else 0)


@pytest.mark.parametrize("length", [0, 1, 20])
def test_a_footer_that_is_cut_off(length: int) -> None:
    footer = bytes([0x49, 0x1C, 0x18, *[0x7F] * 17])[:length]
    source = pa.BufferReader(footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="its footer is cut off"):
        require_sound_chunks(source, [])


def test_a_list_is_not_longer_than_its_page_header() -> None:
    # A list of 2^62 doubles.
    source = pa.BufferReader(bytes([0x99, 0xF7, *[0xFF] * 8, 0x3F]) + bytes(300))
    chunk = SimpleNamespace(
        data_page_offset=0, dictionary_page_offset=None, total_compressed_size=300, num_values=1
    )
    with pytest.raises(ValueError, match="a page header is cut off at byte 0"):
        read_pages(source, chunk)
