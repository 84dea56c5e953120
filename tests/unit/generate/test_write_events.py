"""Generated events as files: read back as they were, the same bytes each time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from elsinore.errors import ParameterError
from elsinore.files.read_events import read_events
from elsinore.generate import write_events as module
from elsinore.generate.streams import STREAMS
from elsinore.generate.write_events import write_events
from elsinore.timeline import format_instant

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_event_is_accepted_as_it_was(
    name: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a file is written in many parts."""
    monkeypatch.setattr(module, "_AT_ONCE", 700)
    stream = STREAMS[name]
    events = stream(events=5_000, seed=3).make()
    path = tmp_path / f"events{suffix}"
    told: list[int] = []
    write_events(events, path, told.append)
    found, report = read_events([path], stream.schema, max_bad_share=0)
    assert found.table.combine_chunks().equals(events.table.combine_chunks())
    assert (report.lines, report.accepted) == (5_000, 5_000)
    assert told == [*range(700, 5_000, 700), 5_000]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_events_give_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    options = STREAMS["stock"](events=2_000, seed=1)
    for name in ("a", "b"):
        write_events(options.make(), tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_line_is_a_record_of_its_type(tmp_path: Path) -> None:
    events = STREAMS["linear-road"](events=300).make()
    write_events(events, tmp_path / "e.jsonl.gz")
    lines = gzip.decompress((tmp_path / "e.jsonl.gz").read_bytes()).decode().splitlines()
    for number, (line, row) in enumerate(zip(lines, events.table.to_pylist(), strict=True)):
        kind = events.schema.types[row["_type"]]
        assert json.loads(line) == {
            "id": number + 1,
            "time": format_instant(row["_time"]),
            "type": kind.name,
            **{name: row[name] for name in kind.by_name},
        }


@pytest.mark.parametrize("name", ["events.csv", "events", ".parquet", "events.gz"])
def test_a_name_that_says_no_format_is_refused(name: str, tmp_path: Path) -> None:
    events = STREAMS["stock"](events=1).make()
    with pytest.raises(ParameterError, match=r"\.jsonl\.gz"):
        write_events(events, tmp_path / name)


def test_what_cannot_be_written_is_the_callers_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    events = STREAMS["stock"](events=1).make()
    with pytest.raises(ParameterError, match="cannot write"):
        write_events(events, tmp_path / "file" / "e.jsonl")
