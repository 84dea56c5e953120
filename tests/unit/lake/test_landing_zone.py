"""The landing zone: which names are read, how lines are decoded, how a long landing is cut."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from elsinore.catalog.load_schema import read_schema
from elsinore.errors import DataError
from elsinore.lake.land import FoundLanding
from elsinore.lake.landing_zone import (
    LandingFile,
    _decode,
    describe,
    landing_files,
    unread_files,
)
from elsinore.lake.regions import Landings
from elsinore.timeline import Interval, hour_label, hours_of

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
other_types: ignore
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
    columns = {"file": ["f"] * 4, "position": [3, 5, 7, 9], "line": lines}
    batch = _decode(pa.table(columns), pa.array(["2025-03-03T10"] * 4), SCHEMA)
    assert batch["position"].to_pylist() == [3, 5, 7, 9]
    assert batch["_line"].to_pylist() == lines
    assert batch["n"].to_pylist() == [7, None, None, None]
    codes = [None, "ignored_type", "missing_type", "bad_json"]
    assert batch["_reason_code"].to_pylist() == codes
    assert batch["_reason"][1].as_py() == "the schema does not list its type"


LATE = Interval.parse("2013-01-01T04:00Z", "2013-01-01T06:00Z")
OWN = Interval.parse("2013-01-01T10:00Z", "2013-01-01T14:00Z")


def file(hour: int, size: int, name: str = "x.jsonl") -> LandingFile:
    return LandingFile(hour_label(hour), name, f"/zone/{name}", size, 0)


@pytest.mark.parametrize(
    ("most", "cuts"),
    [
        (10**9, ["04 05 10 11 12 13"]),
        (60, ["10 11 12", "13", "04 05"]),
        (50, ["10 11", "12", "13", "04", "05"]),
        (1, ["10", "11", "12", "13", "04", "05"]),
    ],
)
def test_every_hour_and_file_is_in_one_part(most: int, cuts: list[str]) -> None:
    """Of 10, 20, 30 and 50 bytes, the third packed; two earlier hours of 30 and 25 land last."""
    late, (ten, eleven, twelve, last) = [*hours_of(LATE)], hours_of(OWN)
    sizes = {late[0]: 30, late[1]: 25, ten: 10, eleven: 20, last: 50}
    files = [file(hour, size) for hour, size in sizes.items()] + [file(twelve, 6, "x.jsonl.gz")]
    found = FoundLanding(
        Landings(LATE, (OWN,)),
        tuple(sorted(files)),
        {"2013-01-01T03": "bad"},
        0,
        tuple(map(hour_label, late)),
    )
    parts = found.parts(most)
    assert [" ".join(label[-2:] for label in part.own.labels) for part in parts] == cuts
    assert sorted(each for part in parts for each in part.files) == sorted(files)
    assert [label for part in parts for label in part.late] == list(found.late)
    assert sum(map(len, (part.asked for part in parts))) == 4
    again = [label for part in found.parts(most, [found.late[0]]) for label in part.late]
    assert again == [*(found.late if most > 50 else found.late[::-1])]
