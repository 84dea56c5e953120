"""Files of events read straight into Arrow: all events of an interval, once each, by time."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.errors import ConflictError, DataError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.lake.event_files import (
    Bucket,
    EventFile,
    Share,
    bucket_numbers,
    events_in_order,
    shares,
)
from elsinore.timeline import Interval
from tests.golden_cases import stream_schema
from tests.property.random_cases.dice import Dice

SCHEMA = stream_schema(
    {
        "A": {"k": "long", "s": "string", "t": "timestamp"},
        "B": {"k": "long", "y": "double", "f": "boolean"},
        "C": {"k": "long"},
    },
    "us",
)
NAMES = ("k", "s", "t", "y", "f")
_INSTANT = pa.timestamp("us", tz="UTC")
_LAYOUT = pa.schema(
    [("event_type", pa.string()), ("event_time", _INSTANT), ("k", pa.int64()), ("s", pa.string()),
     ("t", _INSTANT), ("y", pa.float64()), ("f", pa.bool_()), ("file_hour", pa.string())]
)  # fmt: skip

Row = dict[str, Any]


def write(path: Path, rows: list[Row], *, older: bool = False, **how: Any) -> EventFile:
    """A file as Spark writes it, or in other ways; an older one lacks the attributes `y`, `f`."""
    table = pa.Table.from_pylist(rows, schema=_LAYOUT)
    if older:
        table = table.drop_columns(["y", "f"])
    pq.write_table(table, path, **how)
    times = [row["event_time"] for row in rows]
    return EventFile(str(path), path.stat().st_size, min(times), max(times) + 1000)


def draw(dice: Dice, start: int, size: int, older: bool) -> list[Row]:
    return [
        {
            "event_type": dice.pick("ABBC"),
            "event_time": start + dice.number(0, 500),
            "k": dice.pick((1, 2, None)),
            "s": dice.pick(("u", "v", "", None)),
            "t": dice.pick((0, 5, None)),
            "y": None if older else dice.pick((0.5, -1.0, None)),
            "f": None if older else dice.pick((True, None)),
        }
        for _ in range(size)
    ]


def wanted(rows: list[Row], interval: Interval, types: str) -> list[tuple[Any, ...]]:
    return sorted(
        (row["event_time"], SCHEMA.type_codes[row["event_type"]], *map(str, map(row.get, NAMES)))
        for row in rows
        if row["event_type"] in types and interval.contains(row["event_time"])
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_events_of_overlapping_files_come_by_time(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = Dice(f"files {seed}")
    monkeypatch.setattr("elsinore.lake.event_files._BATCH", dice.pick((1, 7, 30, 100_000)))
    files, rows = [], []
    for number in range(dice.number(1, 7)):
        older = dice.chance(0.3)
        drawn = draw(dice, -800 + 300 * number, dice.number(1, 40), older)
        path = tmp_path / f"{number} %3A ä.parquet"
        if dice.chance(0.5):
            drawn.sort(key=lambda row: row["event_time"])
        how = {
            "use_deprecated_int96_timestamps": dice.chance(0.3),
            "row_group_size": dice.pick((1, 5, 100)),
            "write_statistics": dice.chance(0.8),
        }
        files.append(write(path, drawn, older=older, **how))
        rows += drawn
    dice.shuffle(files)
    interval = Interval(dice.number(-900, 0), dice.number(1, 2000))
    batches = list(events_in_order(files, interval, SCHEMA, set("AB"), NAMES))
    times = [time for batch in batches for time in batch[TIME_COLUMN].to_pylist()]
    assert times == sorted(times)
    found = [
        (row[TIME_COLUMN], row[TYPE_COLUMN], *(str(row[name]) for name in NAMES))
        for batch in batches
        for row in batch.to_pylist()
    ]
    assert sorted(found) == wanted(rows, interval, "AB")


def test_later_files_are_read_only_when_earlier_events_are_done(tmp_path: Path) -> None:
    rows = [{"event_type": "A", "event_time": n, "k": 1} for n in range(120_000)]
    first = write(tmp_path / "first.parquet", rows)
    gone = EventFile(str(tmp_path / "gone.parquet"), 1, 200_000, 300_000)
    batches = events_in_order([gone, first], Interval(0, 10**6), SCHEMA, set("A"), ["k"])
    assert sum(next(batches).num_rows for _ in range(2)) == 120_000
    with pytest.raises(ConflictError, match=r"removed during the run.*gone\.parquet"):
        next(batches)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "cut.parquet").write_bytes(b"PAR1")
    cut = EventFile(str(tmp_path / "cut.parquet"), 1, 0, 1)
    with pytest.raises(DataError, match=r"cannot read the event file .*cut\.parquet"):
        next(events_in_order([cut], Interval(0, 10**6), SCHEMA, set("A"), ["k"]))


@pytest.mark.slow
def test_row_groups_are_read_only_where_they_are_asked_for_and_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = pq.ParquetFile.read_row_group

    def noting(file: pq.ParquetFile, number: int, *columns: Any, **how: Any) -> pa.Table:
        read.append(number)
        return real(file, number, *columns, **how)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noting)
    rows = [{"event_type": "A", "event_time": n, "k": 1} for n in range(600_000)]
    file = write(tmp_path / "file.parquet", rows, row_group_size=100_000)
    batches = events_in_order([file], Interval(150_000, 450_000), SCHEMA, set("A"), ["k"])
    first = next(batches)
    assert (first[TIME_COLUMN][0].as_py(), read) == (150_000, [1, 2])
    assert first.num_rows + sum(batch.num_rows for batch in batches) == 300_000
    assert read == [1, 2, 3, 4]


def test_no_files_and_empty_ones_make_no_events(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    pq.write_table(_LAYOUT.empty_table(), path)
    for files in ([], [EventFile(str(path), 1, 0, 1)]):
        batches = events_in_order(files, Interval(0, 1), SCHEMA, set("A"), ["k"])
        assert sum(batch.num_rows for batch in batches) == 0


def test_equal_values_lie_in_one_bucket_and_each_row_in_one_of_all() -> None:
    texts = [pa.array(part).dictionary_encode() for part in (["a", None, "b"], ["b", "a", None])]
    table = pa.table(
        {
            "text": pa.chunked_array(texts),
            "number": pa.array([0.0, nan, None, -0.0, nan, 1e300]),
            "flag": pa.array([True, None, False, True, False, None]),
            "whole": pa.array([2**62, -1, None, 2**62, -1, None]),
        }
    )
    for keys in ("text",), ("number",), ("flag",), ("whole",), ("text", "whole"):
        buckets = [Bucket(keys, number, 3) for number in range(3)]
        parts = [bucket.rows(table).select(list(keys)).to_pylist() for bucket in buckets]
        assert sum(map(len, parts)) == table.num_rows
        places = [{str(row).replace("-0.0", "0.0") for row in part} for part in parts]
        assert sum(map(len, places)) == len(set[str]().union(*places)), keys
    # Files are laid out by these: other numbers would part what belongs together.
    assert bucket_numbers(table, table.column_names, 4096).tolist() == [
        1054,
        3532,
        1331,
        449,
        1806,
        2920,
    ]
    instants = pa.table({"at": pa.array([0, 1, None], _INSTANT), "s": ["x", None, ""]})
    assert bucket_numbers(instants, ["at"], 4096).tolist() == [0, 1509, 0]
    assert bucket_numbers(instants, ["s"], 4096).tolist() == [189, 2630, 2630]


@pytest.mark.parametrize("seed", range(20))
def test_shares_of_files_that_are_laid_out_by_buckets(tmp_path: Path, seed: int) -> None:
    dice = Dice(f"shares {seed}")
    laid, rows, files = ("s",), list[Row](), list[EventFile]()
    for hour in range(dice.number(1, 4)):
        drawn = draw(dice, 400 * hour, dice.number(1, 60), older=False)
        numbers = bucket_numbers(pa.Table.from_pylist(drawn, schema=_LAYOUT), laid, 6)
        for number in sorted(set(numbers.tolist())):
            own = [row for row, of in zip(drawn, numbers.tolist(), strict=True) if of == number]
            file = write(tmp_path / f"{hour}-{number}.parquet", own)
            files.append(replace(file, bucket=Bucket(laid, number, 6)))
        rows += drawn
    interval, number_of = Interval(0, 10**4), dice.number(1, 8)
    found = shares(files, ("k", "s"), number_of)
    assert len(found) == min(number_of, 6)
    assert sum(len(share.files) for share in found) == len(files)
    assert {share.portion for share in found} == {1.0}
    texts, events = list[set[str]](), list[Any]()
    for files_of, bucket in found:
        parts = Share(files_of, bucket).in_turn()
        assert len(parts) == len({file.bucket for file in files_of})
        for part in parts:
            read = events_in_order(part, interval, SCHEMA, set("AB"), ["k"], bucket)
            events += [(row[TIME_COLUMN], row[TYPE_COLUMN]) for b in read for row in b.to_pylist()]
        table = pa.concat_tables([pa.table({"s": pa.array([], pa.string())})] + [
            pq.read_table(file.path, columns=["s"]) for file in files_of
        ])  # fmt: skip
        texts.append({str(row["s"]) for row in table.to_pylist()})
    assert sorted(events) == [row[:2] for row in wanted(rows, interval, "AB")]
    assert sum(map(len, texts)) == len(set[str]().union(*texts))
    # By other keys each share has all files.
    for keys, number in ((), 1), (("k",), number_of):
        others = shares(files, keys, number_of)
        assert [share.files for share in others] == [tuple(files)] * number
        assert all(share.in_turn() == [tuple(files)] for share in others)
