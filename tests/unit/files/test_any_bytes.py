"""Whatever bytes a file holds: no crash, and every line is accounted for."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.errors import DataError
from elsinore.files.advice import odd_file
from elsinore.files.read_events import read_events
from elsinore.files.rejection import UnreadableFile
from tests.draws import draws
from tests.unit.files.rides import raw, rides, travel

HEADER = b"id,time,type,driver,speed,stops,shared,booked\n"
ROW = b"t1,2013-01-01T10:00:00Z,Travel,d1,7.5,2,true,\n"
LINE = raw(travel()).encode() + b"\n"

pieces = st.one_of(
    st.binary(max_size=20),
    st.sampled_from([
        LINE, ROW, HEADER, b"\n", b"\r\n", b'"', b"\xef\xbb\xbf", b"\xff", b"\\", b"{", b"}", b"[",
        b",", b'"x', b"\x00", b"NaN", LINE[:-9], ROW[5:], b'{"id":1,"id":2}\n',
    ]),
)  # fmt: skip
contents = st.lists(pieces, max_size=12).map(b"".join)
relaxed = settings(
    max_examples=draws(100, 300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def account(path: Path) -> tuple[int, int]:
    """Lines, and events in the table; the report checks by itself that it adds up."""
    events, report = read_events([path], rides(), max_error_rate=1.0)
    assert len(events) == report.accepted
    positions = report.rejected["record_number"].to_pylist()
    assert positions == sorted(set(positions))
    assert all(report.rejected["reason"].to_pylist())
    assert sum(report.by_reason.values()) == len(positions)
    return report.lines, len(events)


@pytest.mark.slow
@relaxed
@given(content=contents)
def test_json_lines(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(content)
    if odd_file(content[:8]):
        with pytest.raises(DataError):
            account(path)
        return
    text = content.removeprefix(b"\xef\xbb\xbf")
    assert account(path)[0] == sum(bool(line.strip(b" \t\r")) for line in text.split(b"\n"))


@pytest.mark.slow
@relaxed
@given(content=contents, headed=st.booleans())
def test_csv(tmp_path: Path, content: bytes, headed: bool) -> None:
    path = tmp_path / "e.csv"
    path.write_bytes(HEADER + ROW + content if headed else content)
    if headed:
        assert account(path)[0] >= 1
        return
    with suppress(UnreadableFile):  # most have no header
        account(path)


@pytest.mark.slow
@relaxed
@given(content=contents, cut=st.integers(0, 60), name=st.sampled_from(["e.jsonl", "e.csv"]))
def test_gzip_cut_anywhere_gives_all_or_nothing(
    tmp_path: Path, content: bytes, cut: int, name: str
) -> None:
    whole = gzip.compress(HEADER + ROW + content, mtime=0)
    path = tmp_path / f"{name}.gz"
    path.write_bytes(whole[: len(whole) - cut])
    if cut:
        if cut < len(whole):
            with pytest.raises(DataError, match="is damaged"):
                account(path)
        return
    assert account(path)[0] >= 1


@pytest.mark.slow
@relaxed
@given(content=st.binary(max_size=200))
def test_parquet_and_gzip_of_anything(tmp_path: Path, content: bytes) -> None:
    for name in ("e.parquet", "e.jsonl.gz", "e.parquet.gz"):
        path = tmp_path / name
        path.write_bytes(content)
        if content or "parquet" in name:
            with pytest.raises(DataError) as caught:
                account(path)
            assert "\n" not in str(caught.value)
