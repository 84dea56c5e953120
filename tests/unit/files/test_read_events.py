"""Whole inputs: formats by name, folders, duplicates, the account of every line, refusals."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.catalog.load_schema import read_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError, EngineError, ParameterError
from elsinore.events import EventTable, arrow_schema
from elsinore.files import read_events as read_events_module
from elsinore.files.read_events import ReadReport, read_events
from elsinore.files.read_lines import DEFAULT_LIMITS
from elsinore.files.rejection import REJECTED_SCHEMA, UnreadableFile, write_rejected
from elsinore.files.type_records import Decoded
from elsinore.files.versions import decode_versioned
from elsinore.timeline import DAY, HOUR
from tests.unit.files.rides import TEN, raw, rides, travel, write


def read(
    *paths: Path, share: float = 1.0, id_field: str | None = "id"
) -> tuple[EventTable, ReadReport]:
    return read_events(list(paths), rides(id_field=id_field), max_error_rate=share)


def test_every_format_by_name(tmp_path: Path) -> None:
    record = travel()
    line = raw(record) + "\n"
    table = "\n".join([",".join(record), ",".join(str(v).lower() if v is True else str(v)
                                                  for v in record.values())])  # fmt: skip
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([record]), buffer)
    contents = {
        "a.jsonl": line.encode(), "b.ndjson": line.encode(), "c.json": line.encode(),
        "d.csv": table.encode(), "e.parquet": buffer.getvalue(), "F.JSONL": line.encode(),
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / f"packed-{name}.gz").write_bytes(gzip.compress(content))
    events, report = read(*(tmp_path / name for name in sorted(p.name for p in tmp_path.iterdir())))
    assert report.by_reason == {}
    assert (report.files, report.lines, report.accepted, report.duplicates) == (12, 12, 1, 11)
    assert events.table.schema == arrow_schema(rides())
    assert events.table.to_pylist() == [
        {"_time": TEN, "_type": 1, "driver": "d1", "kind": None, "speed": 7.5, "stops": 2,
         "shared": True, "booked": TEN - 3_600_000_000},
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["a.jsonl", "slow.jsonl", "b.csv", "c.parquet"])
def test_events_of_one_type_need_not_say_so(tmp_path: Path, name: str) -> None:
    schema = read_schema("""
        {stream: s, time: {field: at, unit: s}, id: {field: id}, types: {Sale: {price: double}}}""")
    rows = [{"id": n, "at": 1_400_000_000 + n // 2, "price": n / 2} for n in (4, 2, 3)]
    rows.append(rows[0] | {"price": 5.0})
    frame = pd.DataFrame(rows)
    if name.endswith("parquet"):
        frame.to_parquet(tmp_path / name)
    elif name.endswith("csv"):
        frame.to_csv(tmp_path / name, index=False)
    else:  # a field beside those of the schema takes the careful way
        text = "\n".join(json.dumps(row) for row in rows)
        write(tmp_path / name, text if name == "a.jsonl" else text.replace("{", '{"note": [], '))
    events, report = read_events([tmp_path / name], schema, max_error_rate=1)
    assert (report.lines, report.accepted, report.by_reason) == (4, 3, {"superseded": 1})
    assert events.table["price"].to_pylist() == [1.0, 1.5, 5.0]
    (old,) = report.rejected.to_pylist()
    assert json.loads(old["record"])["price"] == 2.0


def test_folders_stand_for_the_files_below_in_order(tmp_path: Path) -> None:
    for name, event in [("b/2.jsonl", 3), ("a.jsonl", 1), ("b/1.jsonl", 2)]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, raw(travel(id=event, stops=event)))
    for name in ("b/.1.jsonl.crc", "_SUCCESS", "_tmp.jsonl", "b/3.jsonl.part", "notes.txt"):
        write(tmp_path / name, "no events")
    (tmp_path / ".hidden").mkdir()
    write(tmp_path / ".hidden" / "x.jsonl", "no events")
    seen: list[tuple[str, int]] = []
    events, _ = read_events(
        [tmp_path], rides(), max_error_rate=0, progress=lambda path, n: seen.append((path.name, n))
    )
    assert events.table["stops"].to_pylist() == [1, 2, 3]
    assert seen == [("2.jsonl", 3)]


def test_small_files_are_decoded_together_and_stay_in_order(tmp_path: Path) -> None:
    csv = "id,time,type,driver,speed\n" + "\n".join(f"c{i},2013-01-01,Travel,d,1" for i in range(9))
    for name in ("1.jsonl", "3.jsonl", "4.jsonl"):
        write(tmp_path / name, *(raw(travel(id=f"{name}{i}")) for i in range(5_000)), "bad")
    write(tmp_path / "2.csv", csv, "bad")
    seen: list[tuple[str, int]] = []
    events, report = read_events(
        [tmp_path], rides(), max_error_rate=1, progress=lambda path, n: seen.append((path.name, n))
    )
    assert (len(events), report.lines) == (15_009, 15_013)
    rejected = report.rejected.to_pylist()
    assert sorted((Path(row["file"]).name, row["record_number"]) for row in rejected) == [
        ("1.jsonl", 5_001), ("2.csv", 11), ("3.jsonl", 5_001), ("4.jsonl", 5_001),
    ]  # fmt: skip
    assert [count for _, count in seen] == sorted(count for _, count in seen)
    assert seen[-1] == ("4.jsonl", 15_013)


def test_no_lines_are_no_fault(tmp_path: Path) -> None:
    events, report = read(write(tmp_path / "e.jsonl"), write(tmp_path / "e.csv"), share=0.0)
    assert len(events) == 0
    assert events.table.schema == arrow_schema(rides())
    assert (report.files, report.lines, report.error_rate) == (2, 0, 0.0)


def test_duplicates_are_counted_and_corrected_events_rejected(tmp_path: Path) -> None:
    one = write(
        tmp_path / "1.jsonl",
        raw(travel(id="a", stops=1)),
        raw(travel(id="b", stops=None)),
        raw(travel(id="a", stops=1)),
        raw(travel(id="a", stops=2)),
        "bad",
    )
    two = write(
        tmp_path / "2.jsonl",
        raw(travel(id="b", stops=0)),
        raw(travel(id="b", stops=None)),
        raw(travel(id="c", stops=3)),
        raw({"id": "c", "time": travel()["time"], "type": "Request", "driver": "d1"}),
        raw(travel(id="a", stops=1, time="2013-01-01T11:00:00+01:00")),
    )
    events, report = read(two, one)  # the order of the arguments does not matter for who wins
    assert sorted(zip(events.table["stops"].to_pylist(), strict=True), key=str) == [
        (1,), (None,), (None,),
    ]  # fmt: skip
    assert (report.lines, report.accepted, report.duplicates) == (10, 3, 3)
    assert report.by_reason == {"bad_json": 1, "superseded": 3}
    # What was corrected is not bad.
    assert report.error_rate == 0.1
    superseded = [
        (row["file"], row["record_number"], json.loads(row["record"])["id"], row["reason"])
        for row in report.rejected.to_pylist()
        if row["reason_code"] == "superseded"
    ]
    assert superseded == [
        (str(two), 1, "b", f"id 'b' was corrected by {two}:2"),
        (str(two), 3, "c", f"id 'c' was corrected by {two}:4"),
        (str(one), 4, "a", f"id 'a' was corrected by {two}:5"),
    ]


@pytest.mark.parametrize(
    ("span", "kept", "duplicates"), [(None, [4], 1), (DAY, [1, 4], 1), (HOUR, [1, 2, 4], 1)]
)
def test_ids_may_be_unique_within_a_span_of_time(
    tmp_path: Path, span: int | None, kept: list[int], duplicates: int
) -> None:
    at = ("2012-12-31T23:59:59Z", "2013-01-01T00:00:00Z", "2013-01-01T01:00:00Z")
    path = write(
        tmp_path / "e.jsonl",
        *(raw(travel(time=time, stops=stops)) for stops, time in enumerate(at, start=1)),
        *(raw(travel(time=at[2], stops=4)) for _ in range(2)),
    )
    schema = replace(rides(), id_span=span)
    events, report = read_events([path], schema, max_error_rate=1.0)
    assert sorted(events.table["stops"].to_pylist()) == kept
    assert (report.duplicates, report.by_reason) == (duplicates, {"superseded": 4 - len(kept)})


def test_a_corrected_event_is_kept_as_it_was_read(tmp_path: Path) -> None:
    other = travel(time="2013-01-01T10:00:00.000000Z", booked="2013-01-01T09:00:00.000000Z",
                   speed=8.5)  # fmt: skip
    _, report = read(write(tmp_path / "e.jsonl", raw(other), raw(travel())))
    [row] = report.rejected.to_pylist()
    assert json.loads(row["record"]) == other


def test_without_ids_every_line_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "e.jsonl", raw(travel(id=...)), raw(travel(id=...)))
    events, report = read(path, id_field=None)
    assert (len(events), report.duplicates) == (2, 0)


def test_too_many_bad_lines(tmp_path: Path) -> None:
    lines = [raw(travel(id=i)) for i in range(6)] + ["bad", "{}", "[]", "bad"]
    path = write(tmp_path / "e.jsonl", *lines)
    _, report = read(path, share=0.4)
    assert report.error_rate == 0.4
    with pytest.raises(DataError) as caught:
        read(path, share=0.39)
    text = str(caught.value)
    assert "4 of 10 records are invalid, more than the allowed share of 0.39: " in text
    assert f"{path}:7: bad_json: " in text
    assert f"; {path}:8: missing_time: time is missing; {path}:9: not_an_object: " in text
    assert f"{path}:10" not in text
    assert "\n" not in text
    kept = pickle.loads(pickle.dumps(caught.value)).fields["report"]
    assert kept.rejected.num_rows == 4


def test_inputs_that_cannot_be_used(tmp_path: Path) -> None:
    good = write(tmp_path / "e.jsonl", raw(travel()))
    with pytest.raises(ParameterError, match=r"no such file: .*none\.jsonl \(check the path\)"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(
        ParameterError, match=r"unknown format: .* \(use a name that ends in \.jsonl"
    ):
        read(write(tmp_path / "e.xml", "<e/>"))
    with pytest.raises(ParameterError, match=r"e\.jsonl is given twice"):
        read(good, tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="contains no event files"):
        read(tmp_path / "empty")
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(gzip.compress(b"{}\n" * 100)[:-5])
    with pytest.raises(UnreadableFile, match="is damaged"):
        read(good, broken)


def test_a_report_that_does_not_add_up_is_refused() -> None:
    with pytest.raises(EngineError, match="1 accepted, 1 duplicates, 0 rejected and 2 ignored"):
        ReadReport(1, 3, 1, 1, REJECTED_SCHEMA.empty_table(), 2)


def test_rejected_lines_as_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(b'{"a":"\xff"}\n\xe2\x80\xa8=cmd()<script>\x1b[31m\n')
    _, report = read(path)
    out = io.StringIO()
    assert write_rejected(report.rejected, out) == 2
    assert out.getvalue().isascii()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines == report.rejected.to_pylist()
    assert [line["reason_code"] for line in lines] == ["bad_encoding", "bad_json"]
    assert lines[1]["record"] == "\u2028=cmd()<script>\x1b[31m"


@pytest.mark.slow
def test_few_long_lines_do_not_wait_in_memory_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However large a file is, about two batches of it are in memory."""
    sizes = []

    def decode(lines: pa.Table, schema: StreamSchema) -> Decoded:
        sizes.append(lines.nbytes)
        return decode_versioned(lines, schema)

    monkeypatch.setattr(read_events_module, "decode_versioned", decode)
    lines = (raw(travel(id=f"a{n}", note="x" * 4_000_000)) for n in range(16))
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert read(tmp_path / "a.jsonl")[1].accepted == 16
    assert len(sizes) > 1
    assert max(sizes) < 2.5 * DEFAULT_LIMITS.batch_bytes


@pytest.mark.parametrize(
    ("name", "text"), [("r.jsonl", "1\n" * 9), ("r.csv", "t,k,i\n" + "x,,\n" * 9)]
)
def test_too_many_rejected_records_stop_the_read(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = (
        "stream: x\ntime: {field: t, unit: ms}\ntype: {field: k}\nid: {field: i}\ntypes: {A: {}}"
    )
    path = tmp_path / name
    path.write_text(text)
    schema = read_schema(document)
    assert read_events([path], schema, max_error_rate=1.0)[1].rejected.num_rows == 9
    monkeypatch.setattr(read_events_module, "MOST_REJECTED", 8)
    with pytest.raises(DataError, match=f"more than 8 records are invalid: .*{name}:") as raised:
        read_events([path], schema, max_error_rate=1.0)
    assert raised.value.hint


def test_the_cost_of_many_tiny_files_grows_with_their_number(tmp_path: Path) -> None:
    """The totals of waiting lines are not added up again for each file."""
    seconds = []
    for number in (250, 2_000):
        directory = tmp_path / str(number)
        directory.mkdir()
        for file in range(number):
            (directory / f"{file}.jsonl").write_text(raw(travel(id=f"a{file}")))
        begin = time.process_time()
        assert read(directory)[1].accepted == number
        seconds.append(time.process_time() - begin)
    assert seconds[1] < 20 * seconds[0], "quadratic: more than 30 times"
