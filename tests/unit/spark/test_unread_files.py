"""Which names in a landing zone are told as read by nobody."""

from __future__ import annotations

from pathlib import Path

from elsinore.lake.landing_zone import landing_files, unread_files
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
    "2013/02/09/clicks\n.jsonl",
)  # fmt: skip


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
