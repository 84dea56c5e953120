"""Raw lines of JSON-lines files: positions, encodings, limits, gzip sound and damaged."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from elsinore.errors import DataError
from elsinore.files.decode import decode_lines
from elsinore.files.read_lines import LINES_SCHEMA, ReadLimits, read_lines
from elsinore.files.rejection import UnreadableFile
from tests.unit.files.rides import decode, faults, raw, rides, travel

GOOD = raw(travel())


def read(path: Path, **limits: int) -> pa.Table:
    return pa.Table.from_batches(read_lines(path, limits=ReadLimits(**limits)), LINES_SCHEMA)


def put(tmp_path: Path, content: bytes, name: str = "events.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def texts(table: pa.Table) -> list[tuple[int, str]]:
    return list(zip(table["record_number"].to_pylist(), table["record"].to_pylist(), strict=True))


def unreadable(path: Path, **limits: int) -> str:
    """The reason code; nothing may have been given out before."""
    with pytest.raises(UnreadableFile) as caught:
        next(read_lines(path, limits=ReadLimits(**limits)))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).reason_code == caught.value.reason_code
    return caught.value.reason_code


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("packed", [False, True])
def test_blank_lines_are_left_out_but_counted(
    tmp_path: Path, ending: bytes, bom: bytes, packed: bool
) -> None:
    content = bom + ending.join([b'{"a":1}', b"", b" \t ", b'{"b":"\xc3\xa9"}', b""])
    path = tmp_path / ("e.jsonl.gz" if packed else "e.jsonl")
    path.write_bytes(gzip.compress(content) if packed else content)
    table = read(path)
    assert texts(table) == [(1, '{"a":1}'), (4, '{"b":"é"}')]
    assert set(table["file"].to_pylist()) == {str(path)}


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    assert texts(read(put(tmp_path, b"a\nb"))) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b" \r\n"])
def test_files_without_lines(tmp_path: Path, content: bytes) -> None:
    assert list(read_lines(put(tmp_path, content))) == []
    assert list(read_lines(put(tmp_path, gzip.compress(content), "e.jsonl.gz"))) == []


def test_a_gzip_file_of_no_bytes_is_empty(tmp_path: Path) -> None:
    assert list(read_lines(put(tmp_path, b"", "e.jsonl.gz"))) == []


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    content = "a\u2028b\x0bc\x85d\re\n".encode()
    assert texts(read(put(tmp_path, content))) == [(1, "a\u2028b\x0bc\x85d\re")]


@pytest.mark.parametrize(
    ("title", "line", "kept"),
    [
        ("in a string", b'{"a":"\xff"}', '{"a":"\ufffd\\xff"}'),
        ("after a backslash", b'{"a":"\\\xff"}', '{"a":"\\\ufffd\\xff"}'),
        ("two backslashes", b'{"a":"\\\\\xfe"}', '{"a":"\\\\\ufffd\\xfe"}'),
        ("cut short", b'{"a":"\xc3"}', '{"a":"\ufffd\\xc3"}'),
        ("a surrogate", b'"\xed\xa0\x80"', '"\ufffd\\xed\ufffd\\xa0\ufffd\\x80"'),
        ("outside", b"{}\xff", "{}\ufffd\\xff"),
    ],
)
def test_bytes_that_are_no_utf8_stay_visible_and_are_refused(
    tmp_path: Path, title: str, line: bytes, kept: str
) -> None:
    table = read(put(tmp_path, GOOD.encode() + b"\n" + line + b"\n" + GOOD.encode()))
    assert texts(table)[1] == (2, kept), title
    decoded = decode_lines(table, rides())
    assert faults(decoded) == [(2, "bad_encoding")]
    assert decoded.events.num_rows == 2


def test_marks_that_an_author_wrote_are_text() -> None:
    assert decode(raw(travel(driver="\ufffd\\xff")), raw(travel(driver="… …[cut, 3 bytes]"))
                  ).rejected.num_rows == 0  # fmt: skip


@pytest.mark.parametrize("text", ["\ufeffa", "a"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_is_refused_whole(tmp_path: Path, text: str, encoding: str) -> None:
    content = text.encode(encoding)
    path = put(tmp_path, content)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert unreadable(path) == "bad_encoding"
    else:  # nothing says what it is, and its lines are no JSON
        assert faults(decode_lines(read(path), rides())) == [(1, "bad_json")]


@pytest.mark.parametrize(
    "long",
    [GOOD + " " * 200, raw(travel(driver="x" * 400)), "[" * 300, "é" * 150, '{"a":"' + "\\" * 300],
)
@pytest.mark.parametrize("end", ["\n", ""])
def test_long_lines_are_cut_and_refused(tmp_path: Path, long: str, end: str) -> None:
    path = put(tmp_path, f"{GOOD}\n{GOOD}\n{long}{end}".encode())
    table = read(path, line_bytes=len(GOOD), kept_bytes=160)
    assert len(long.encode()) > len(GOOD)
    position, kept = texts(table)[2]
    assert position == 3
    size = len((long + end).encode())
    assert kept.endswith(f" …[cut, {size} bytes]")
    assert len(kept) <= 200
    decoded = decode_lines(table, rides())
    assert faults(decoded) == [(3, "line_too_long")]
    assert decoded.events.num_rows == 2


def test_lines_after_a_long_one_keep_their_positions(tmp_path: Path) -> None:
    path = put(tmp_path, b"a" * 10 + b"\n" + b"b" * 5_000_000 + b"\n" + b"c\n")
    assert [position for position, _ in texts(read(path, line_bytes=10))] == [1, 2, 3]
    assert texts(read(path, line_bytes=10))[2] == (3, "c")


def test_batches_are_bounded_by_lines_and_by_bytes(tmp_path: Path) -> None:
    path = put(tmp_path, b"12345678\n" * 10)
    sizes = [batch.num_rows for batch in read_lines(path, limits=ReadLimits(batch_lines=4))]
    assert sizes == [4, 4, 2]
    sizes = [batch.num_rows for batch in read_lines(path, limits=ReadLimits(batch_bytes=17))]
    assert sizes == [2, 2, 2, 2, 2]


def test_the_file_can_be_named_otherwise(tmp_path: Path) -> None:
    [batch] = read_lines(put(tmp_path, b"a\n"), name="2013/01/01/\udcff.jsonl")
    assert batch["file"].to_pylist() == ["2013/01/01/\\udcff.jsonl"]


@pytest.mark.parametrize("keep", [1, 5, 100, -9, -8, -1])
def test_a_truncated_gzip_gives_nothing(tmp_path: Path, keep: int) -> None:
    packed = gzip.compress("".join(raw(travel(id=i)) + "\n" for i in range(5_000)).encode())
    assert unreadable(put(tmp_path, packed[:keep], "e.jsonl.gz")) == "corrupt_file"


@pytest.mark.parametrize("at", [0, 3, 200, -3])
def test_a_damaged_gzip_gives_nothing(tmp_path: Path, at: int) -> None:
    packed = bytearray(
        gzip.compress("".join(raw(travel(id=i)) + "\n" for i in range(5_000)).encode(), mtime=0)
    )
    packed[at] ^= 0xFF
    assert unreadable(put(tmp_path, bytes(packed), "e.jsonl.gz")) == "corrupt_file"


def test_what_follows_the_gzip_stream_must_be_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(b"a\n")
    assert texts(read(put(tmp_path, packed + gzip.compress(b"b\n"), "e.jsonl.gz"))) == [
        (1, "a"), (2, "b"),
    ]  # fmt: skip
    assert unreadable(put(tmp_path, packed + b"garbage", "e.jsonl.gz")) == "corrupt_file"
    assert unreadable(put(tmp_path, b"plain text\n", "e.jsonl.gz")) == "corrupt_file"


def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, gzip.compress(bytes(5_000_000)), "e.jsonl.gz")
    assert unreadable(path, ratio_from=1_000_000) == "too_large"
    assert unreadable(path, file_bytes=4_999_999) == "too_large"
    small = put(tmp_path, gzip.compress(b"{}\n" * 10_000), "small.jsonl.gz")
    assert read(small).num_rows == 10_000  # repetitive, but small


def test_a_bomb_is_refused_by_default(tmp_path: Path) -> None:
    """Even packed as badly as gzip can, zeros shrink more than 200 times."""
    zeros = bytes(1 << 20)
    path = tmp_path / "e.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as out:
        for _ in range(66):
            out.write(zeros)
    assert unreadable(path) == "too_large"


def test_a_plain_file_that_is_too_large(tmp_path: Path) -> None:
    assert unreadable(put(tmp_path, b"12345"), file_bytes=4) == "too_large"
    assert read(put(tmp_path, b"12345"), file_bytes=5).num_rows == 1


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        next(read_lines(tmp_path / "none.jsonl"))
    with pytest.raises(DataError, match="Is a directory"):
        next(read_lines(tmp_path))


@pytest.mark.parametrize("added", [b"{}\n" * 2_000, b"x" * 6_000])
def test_a_file_that_grows_while_it_is_read(tmp_path: Path, added: bytes) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"{}\n" * 300)
    limits = ReadLimits(line_bytes=100, kept_bytes=10, file_bytes=3_000, batch_bytes=300)
    lines = read_lines(path, limits=limits)
    next(lines)
    with path.open("ab") as file:
        file.write(added)
    with pytest.raises(UnreadableFile, match="exceeds 3000 bytes"):
        list(lines)


@pytest.mark.parametrize("left", [0, 300_000, 300_001])
def test_a_file_that_is_truncated_while_it_is_read(tmp_path: Path, left: int) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"{}\n" * 200_000)
    lines = read_lines(path, limits=ReadLimits(batch_bytes=3_000))
    next(lines)
    os.truncate(path, left)
    with pytest.raises(DataError, match=r"e\.jsonl was truncated while it was read") as found:
        list(lines)
    assert not isinstance(found.value, UnreadableFile), "it is tried again, not quarantined"
