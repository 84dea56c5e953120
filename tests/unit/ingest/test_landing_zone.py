"""The landing zone: which names are read, how lines are decoded, how a long landing is cut."""

from __future__ import annotations

import os
import stat
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from elsinore.catalog.load_schema import read_schema
from elsinore.errors import DataError
from elsinore.files.read_lines import DEFAULT_LIMITS, read_lines
from elsinore.ingest.landing_zone import (
    _decode,
    blank_lines,
    describe,
    landing_files,
    scan_files,
    unread_files,
)
from elsinore.timeline import Interval

HOURS = Interval.parse("2013-02-08T22:00", "2013-02-09T02:00")
READ = ("2013/02/08/events-2013-02-08T22.jsonl", "2013/02/09/events-2013-02-09T00-b.jsonl.gz")
NOT_NOW = (
    "2013/02/08/events-2013-02-08T03.jsonl",  # another hour
    "2013/02/10/clicks.csv",  # another day
    "2013/02/08/events-2013-02-08T23.jsonl.part",  # still being written
    "2013/02/08/.events-2013-02-08T23.jsonl.x7",
    "_making/x",
)
UNREAD = (
    "clicks.csv", "events-2013-02-08T22.jsonl", "2013-02-08", "2013/02/08/events-2013-02-08T22.csv",
    "2013/02/09/clicks\n.jsonl", "2013/02/08/events-2013-02-08T22.jsonl.GZ",
    "2013/02/08/events-2013-02-08T22.jsonl.bz2", "2013/02/events-2013-02-08T22.jsonl",
    "2013/02/09/events-2013-02-08T22.jsonl",  # of the day before
)  # fmt: skip


def test_what_is_wrong_with_a_file_can_be_told_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "events-2013-01-01T08-caf\udce9.jsonl"  # a byte that is no UTF-8
    with pytest.raises(DataError, match=r"cannot read .*caf") as found:
        describe(tmp_path, path, "2013-01-01T08")
    assert str(found.value).encode()


def test_what_no_landing_reads_is_named(tmp_path: Path) -> None:
    for name in (*READ, *NOT_NOW):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert unread_files(tmp_path, HOURS) == []
    for name in UNREAD:
        (tmp_path / name).touch()
    found = unread_files(tmp_path, HOURS)
    assert [name.replace("\\n", "\n") for name in found] == sorted(UNREAD)
    assert {file.name for file in landing_files(tmp_path, HOURS)} == set(READ)


SCHEMA = read_schema("""\
stream: s
time: {field: p.ts, unit: ms}
type: {field: p.type}
unknown_types: skip
quoted_numbers: true
types: {A: {n: {type: long, field: p.count}}}
""")


def test_ignored_types_are_quarantined_as_such_and_envelopes_are_read() -> None:
    lines = [
        '{"p": {"ts": "1740996000000", "type": "A", "count": "7"}}',
        '{"p": {"type": "B"}}',
        '{"p": {"ts": 1740996000000}}',
        "nothing",
    ]
    columns = {"file": ["f"] * 4, "record_number": [3, 5, 7, 9], "record": lines}
    batch = _decode(pa.table(columns), pa.array(["2025-03-03T10"] * 4), SCHEMA)
    assert batch["record_number"].to_pylist() == [3, 5, 7, 9]
    assert batch["_record"].to_pylist() == lines
    assert batch["n"].to_pylist() == [7, None, None, None]
    codes = [None, "ignored_type", "missing_type", "bad_json"]
    assert batch["_reason_code"].to_pylist() == codes
    assert batch["_reason"][1].as_py() == "the schema does not list its event type"


def raw_file(zone: Path, text: str = '{"kind": "A", "at": 1, "n": 7}\nssh-ed25519 key\n') -> Path:
    path = zone / READ[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def swap_for_a_link(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to(secret)


def swap_the_directory(path: Path, secret: Path) -> None:
    path.parent.rename(path.parent.with_name("old"))
    path.parent.symlink_to(secret.parent)


def swap_for_a_pipe(path: Path, secret: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("swap", [swap_for_a_link, swap_the_directory, swap_for_a_pipe])
def test_a_file_that_is_swapped_after_it_was_listed_is_not_read(
    tmp_path: Path, swap: Callable[[Path, Path], None]
) -> None:
    """A producer has all the time between the listing of an hour and its reading."""
    path, secret = raw_file(tmp_path / "zone"), tmp_path / "private" / Path(READ[0]).name
    secret.parent.mkdir()
    secret.write_text('{"kind": "A", "at": 1, "n": 42}\n')
    files = landing_files(tmp_path / "zone", HOURS)
    assert len([*scan_files(files, SCHEMA)]) == 1
    swap(path, secret)
    with pytest.raises(DataError, match=r"symbolic link|not a regular file"):
        list(scan_files(files, SCHEMA))
    with pytest.raises(DataError, match=r"symbolic link|not a regular file"):
        blank_lines(files[0], {1})
    with pytest.raises(DataError, match=r"symbolic link|not a regular file"):
        landing_files(tmp_path / "zone", HOURS)
    assert "42" in secret.read_text()


def test_nothing_lands_of_a_file_that_grows_too_large_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = '{"kind": "A", "at": 1, "n": 42}\n'
    path = raw_file(tmp_path)
    path.write_text(line * 10_000)
    size = path.stat().st_size
    limits = replace(DEFAULT_LIMITS, batch_bytes=size - 1, file_bytes=size + 1)
    monkeypatch.setattr(
        "elsinore.ingest.landing_zone.read_lines", partial(read_lines, limits=limits)
    )
    rows = scan_files(landing_files(tmp_path, HOURS), SCHEMA)
    assert next(rows).num_rows == 10_000
    with path.open("a") as file:
        file.write(line)
    with pytest.raises(DataError, match="exceeds"):
        next(rows)


def test_a_link_within_the_zone_is_refused_too(tmp_path: Path) -> None:
    path = raw_file(tmp_path)
    path.with_name("events-2013-02-08T22-copy.jsonl").symlink_to(path)
    with pytest.raises(DataError, match="is a symbolic link"):
        landing_files(tmp_path, HOURS)


def test_blank_lines_of_any_length(tmp_path: Path) -> None:
    """One line may be as long as a file, which takes no space if it is sparse."""
    path = raw_file(tmp_path / "zone")
    with path.open("wb") as out:
        out.write(b"a\nb\nc\n")
        out.truncate(100 << 20)
    (file,) = landing_files(tmp_path / "zone", HOURS)
    tracemalloc.start()
    blank_lines(file, {2})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20
    assert path.stat().st_size == (100 << 20) - 1
    with path.open("rb") as opened:
        assert opened.read(7) == b"a\n\nc\n\0\0"
    (file,) = landing_files(tmp_path / "zone", HOURS)
    blank_lines(file, {1, 4})
    assert path.read_bytes() == b"\n\nc\n\n"


def test_blank_lines_write_no_other_file_of_their_user(tmp_path: Path) -> None:
    """Issue: a producer leaves a link where the new content is written on its way."""
    (victim := tmp_path / "authorized_keys").write_text("ssh-ed25519 owner\n")
    victim.chmod(0o600)
    path = raw_file(tmp_path / "zone")
    for name in (f"{path.name}.part", f".{path.name}.part"):
        path.with_name(name).symlink_to(victim)
    path.chmod(0o4755)
    (file,) = landing_files(tmp_path / "zone", HOURS)
    blanked = blank_lines(file, {1})
    assert path.read_text() == "\nssh-ed25519 key\n"
    assert not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644, "neither set-id nor execute bits"
    assert (blanked.changed, blanked.size) == (file.changed, path.stat().st_size)
    assert victim.read_text() == "ssh-ed25519 owner\n"
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600
