"""Parquet to columns: types that fit, types that do not, rows that do not, damage."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from elsinore.catalog.load_schema import read_schema
from elsinore.files import records
from elsinore.files.read_lines import ReadLimits
from elsinore.files.read_parquet import Frame, read_frame, read_parquet
from elsinore.files.records import ArrowRecords
from elsinore.files.rejection import UnreadableFile
from elsinore.files.type_records import Decoded, concat_decoded
from elsinore.timeline import HOUR, TimeUnit, instant_of
from tests.unit.files.rides import TEN, decode, faults, raw, rides, travel

NOON = datetime(2013, 1, 1, 10, tzinfo=UTC)


def read(path: Path, unit: TimeUnit = TimeUnit.ISO, **limits: int) -> Decoded:
    schema = rides(unit)
    return concat_decoded(read_parquet(path, schema, limits=ReadLimits(**limits)), schema)


def write(tmp_path: Path, **changed: pa.Array) -> Path:
    """Trips in natural types, with some columns replaced; a length as that of the replacements."""
    length = len(next(iter(changed.values()))) if changed else 1
    columns: dict[str, Any] = {name: [value] * length for name, value in travel().items()}
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table(columns | changed), path)
    return path


def test_rows_become_what_json_lines_become(tmp_path: Path) -> None:
    expected = decode(raw(travel())).events
    unplaced = expected.column_names[:-2]
    instant = pa.array([NOON], pa.timestamp("ms"))
    for path in (write(tmp_path), write(tmp_path, time=instant)):
        decoded = read(path)
        assert decoded.events.select(unplaced) == expected.select(unplaced)
        assert decoded.events["record_number"].to_pylist() == [1]
        assert decoded.events["file"].to_pylist() == [str(path)]


def test_a_packed_file_and_an_empty_one(tmp_path: Path) -> None:
    path = write(tmp_path)
    packed = tmp_path / "e.parquet.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed).events.num_rows == 1
    tracemalloc.start()
    try:
        assert read(packed).events.num_rows == 1
        assert tracemalloc.get_traced_memory()[1] < 64 << 20, "not the largest size of a file"
    finally:
        tracemalloc.stop()
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    assert read(path).lines == 0


@pytest.mark.parametrize(
    ("of", "value"),
    [
        (pa.timestamp("s"), NOON),
        (pa.timestamp("ms"), NOON),
        (pa.timestamp("us"), NOON),
        (pa.timestamp("ns"), NOON),
        (pa.timestamp("us", "America/New_York"), NOON),
        (pa.string(), "2013-01-01T10:00Z"),
        (pa.large_string(), "2013-01-01T10:00Z"),
        (pa.dictionary(pa.int8(), pa.string()), "2013-01-01T10:00Z"),
    ],
    ids=str,
)
def test_instants_of_any_unit(tmp_path: Path, of: pa.DataType, value: Any) -> None:
    column = pa.array([value, None], of)
    decoded = read(write(tmp_path, time=column, booked=column))
    assert decoded.events["_time"].to_pylist() == [TEN]
    assert decoded.events["booked"].to_pylist() == [TEN]
    assert faults(decoded) == [(2, "missing_time")]


@pytest.mark.parametrize("of", [pa.date32(), pa.date64()], ids=str)
def test_dates_are_their_midnight(tmp_path: Path, of: pa.DataType) -> None:
    decoded = read(write(tmp_path, booked=pa.array([date(2013, 1, 1)], of)))
    assert decoded.events["booked"].to_pylist() == [TEN - 10 * HOUR]


def test_nanoseconds_are_cut_off(tmp_path: Path) -> None:
    column = pa.array([TEN * 1_000 + 1_999, -1], pa.timestamp("ns"))
    decoded = read(write(tmp_path, booked=column))
    assert decoded.events["booked"].to_pylist() == [TEN + 1, -1]


def test_instants_beyond_all_years(tmp_path: Path) -> None:
    column = pa.array([2**62, -(2**62), 0], pa.timestamp("ms"))
    assert faults(read(write(tmp_path, booked=column))) == [(1, "wrong_type"), (2, "wrong_type")]
    assert faults(read(write(tmp_path, time=column))) == [(1, "bad_time"), (2, "bad_time")]


@pytest.mark.parametrize(
    ("column", "array", "expected"),
    [
        ("driver", pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        ("driver", pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        ("driver", pa.array([5, 2**64 - 1], pa.uint64()), ["5", str(2**64 - 1)]),
        ("driver", pa.array([5.0, -7.0]), ["5", "-7"]),
        ("driver", pa.array([True, False]), ["true", "false"]),
        ("stops", pa.array([1, None], pa.int8()), [1, None]),
        ("stops", pa.array([1, 2**63 - 1], pa.uint64()), [1, 2**63 - 1]),
        ("stops", pa.array([1.0, None]), [1, None]),
        ("stops", pa.array([Decimal("7.00")], pa.decimal128(10, 2)), [7]),
        ("stops", pa.nulls(2), [None, None]),
        ("speed", pa.array([1, 2], pa.uint8()), [1.0, 2.0]),
        ("speed", pa.array([1.5], pa.float32()), [1.5]),
        ("speed", pa.array([2.5], pa.float16()), [2.5]),
        ("stops", pa.array([2.0**24 - 1, None], pa.float32()), [2**24 - 1, None]),
        ("id", pa.array([2.0**11 - 1], pa.float16()), ["2047"]),
        ("speed", pa.array([Decimal("1.25")], pa.decimal128(10, 2)), [1.25]),
        # Arrow's own cast gives 0.6900000000000001 and 0.09999999999999999.
        ("speed", pa.array([Decimal("0.69")], pa.decimal128(10, 2)), [0.69]),
        ("speed", pa.array([Decimal("0.1")], pa.decimal128(38, 20)), [0.1]),
        ("speed", pa.array([-0.0]), [0.0]),
        ("shared", pa.array([True, None]), [True, None]),
        ("id", pa.array([7, 8], pa.int32()), ["7", "8"]),
        ("id", pa.array([7.0, 2.0**53 - 1]), ["7", "9007199254740991"]),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_types_that_fit(tmp_path: Path, column: str, array: pa.Array, expected: list[Any]) -> None:
    decoded = read(write(tmp_path, **{column: array}))
    assert faults(decoded) == []
    name = "event_id" if column == "id" else column
    assert decoded.events[name].to_pylist() == expected


@pytest.mark.parametrize(
    ("column", "array", "codes"),
    [
        ("driver", pa.array([5.5, None]), ["wrong_type", "missing_attribute"]),
        ("driver", pa.array([b"x"]), ["wrong_type"]),
        ("driver", pa.array([["x"]]), ["wrong_type"]),
        ("driver", pa.array([b"\xff"]).view(pa.string()), ["bad_encoding"]),
        ("id", pa.array([b"\xff"]).view(pa.string()), ["bad_encoding"]),
        ("type", pa.array([b"\xff"]).view(pa.string()), ["unknown_type"]),
        ("stops", pa.array([2**63], pa.uint64()), ["wrong_type"]),
        ("stops", pa.array(["5"]), ["wrong_type"]),
        ("stops", pa.array([NOON]), ["wrong_type"]),
        ("stops", pa.array([0.5]), ["wrong_type"]),
        ("stops", pa.array([2.0**24], pa.float32()), ["wrong_type"]),  # may have been 2^24 + 1
        ("driver", pa.array([2.0**24], pa.float32()), ["wrong_type"]),
        ("id", pa.array([2.0**11], pa.float16()), ["wrong_type"]),
        ("stops", pa.array([float("nan")]), ["not_finite"]),
        ("stops", pa.array([Decimal("7.50")], pa.decimal128(10, 2)), ["wrong_type"]),
        ("stops", pa.array([-1], pa.int8()), ["out_of_range"]),
        ("speed", pa.array([True]), ["wrong_type"]),
        ("speed", pa.array([float("nan"), float("inf")]), ["not_finite", "not_finite"]),
        ("shared", pa.array([1]), ["wrong_type"]),
        ("booked", pa.array([1357034400]), ["wrong_type"]),
        ("id", pa.array(["", None]), ["missing_id", "missing_id"]),
        ("id", pa.array([1.5]), ["wrong_type"]),
        ("id", pa.array([NOON]), ["wrong_type"]),
        ("type", pa.array(["Taxi", None]), ["unknown_type", "missing_type"]),
        ("type", pa.array([1]), ["unknown_type"]),
        ("time", pa.array([1357034400]), ["bad_time"]),
        ("time", pa.array([b"2013-01-01"]), ["bad_time"]),
        ("time", pa.nulls(1), ["missing_time"]),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_types_and_values_that_do_not(
    tmp_path: Path, column: str, array: pa.Array, codes: list[str]
) -> None:
    decoded = read(write(tmp_path, **{column: array}))
    assert faults(decoded) == [(i + 1, code) for i, code in enumerate(codes)]
    assert decoded.events.num_rows == 0


def test_a_rejected_row_is_kept_as_json_with_the_columns_that_the_schema_names(
    tmp_path: Path,
) -> None:
    booked = pa.array([NOON], pa.timestamp("us"))
    unread = {"blob": pa.array([b"\xff"]), "tags": pa.array([["a"]])}
    decoded = read(
        write(tmp_path, speed=pa.array([-1.0]), driver=[b"\xff"], booked=booked, **unread)
    )
    [line] = decoded.rejected["record"].to_pylist()
    at = "2013-01-01 10:00:00.000000"
    assert json.loads(line) == travel(speed=-1.0, driver="b'\\xff'", booked=at)


@pytest.mark.parametrize(
    ("unit", "array", "expected"),
    [
        (TimeUnit.SECONDS, pa.array([1_357_034_400], pa.int32()), TEN),
        (TimeUnit.SECONDS, pa.array([1_357_034_400.5]), TEN + 500_000),
        (TimeUnit.SECONDS, pa.array([NOON], pa.timestamp("ns")), TEN),
        (TimeUnit.INTEGER, pa.array([-5], pa.int8()), -5),
        (TimeUnit.INTEGER, pa.array([-(2**62)]), -(2**62)),
        (TimeUnit.INTEGER, pa.array([NOON]), "bad_time"),
        (TimeUnit.INTEGER, pa.array([2**62]), "time_out_of_range"),
        (TimeUnit.INTEGER, pa.array([-(2**63)]), "time_out_of_range"),
        (TimeUnit.INTEGER, pa.array([2**64 - 1], pa.uint64()), "time_out_of_range"),
    ],
    ids=str,
)
def test_units_of_time(
    tmp_path: Path, unit: TimeUnit, array: pa.Array, expected: int | str
) -> None:
    decoded = read(write(tmp_path, time=array), unit)
    if isinstance(expected, str):
        assert faults(decoded) == [(1, expected)]
    else:
        assert decoded.events["_time"].to_pylist() == [expected]


def test_positions_run_through_all_row_groups(tmp_path: Path) -> None:
    path = write(
        tmp_path, speed=pa.array([-1.0 if i % 100_000 == 5 else 1.0 for i in range(150_000)])
    )
    decoded = read(path)
    assert faults(decoded) == [(6, "out_of_range"), (100_006, "out_of_range")]
    assert decoded.events["record_number"].to_pylist()[-1] == 150_000


def code_of(path: Path, file_bytes: int = 1 << 30) -> str:
    with pytest.raises(UnreadableFile) as caught:
        read(path, file_bytes=file_bytes)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value.reason_code


def test_files_that_are_unreadable(tmp_path: Path) -> None:
    path = write(tmp_path, stops=pa.array(range(10_000)))
    sound = path.read_bytes()
    for damaged in (b"", b"PAR1", sound[:-1], sound[: len(sound) // 2], sound[:4] + sound[8:]):
        path.write_bytes(damaged)
        assert code_of(path) == "corrupt_file"
    path.write_bytes(sound)
    assert code_of(path, file_bytes=len(sound) - 1) == "too_large"
    pq.write_table(pq.read_table(path).drop_columns("type"), path)
    assert code_of(path) == "bad_header"


def test_a_bomb_of_a_parquet_file(tmp_path: Path) -> None:
    """Small on disk, large in its own account of itself."""
    path = tmp_path / "e.parquet"
    zeros = pa.array(["x" * 100_000] * 50)
    table = pa.table({"id": zeros, "time": zeros, "type": zeros})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 100_000
    assert code_of(path, file_bytes=1_000_000) == "too_large"


def test_timestamps_of_older_spark_reach_beyond_nanoseconds(tmp_path: Path) -> None:
    path = write(tmp_path, booked=pa.array([datetime(2999, 12, 31, tzinfo=UTC)]))
    pq.write_table(pq.read_table(path), path, use_deprecated_int96_timestamps=True)
    (booked,) = read(path).events["booked"].to_pylist()
    assert booked == instant_of(datetime(2999, 12, 31, tzinfo=UTC))


def test_columns_of_frames_that_arrow_selects_no_rows_of() -> None:
    views = pa.array(["a", "b"], pa.string_view())
    driver = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), views)  # as polars'
    stops = pc.run_end_encode(pa.array([1, 1, 2]))
    rest = {name: [value] * 3 for name, value in travel(speed=-1).items()}
    rest["speed"] = [1, -1, 2]
    frame = Frame("frame", pa.table(rest | {"driver": driver, "stops": stops}))
    decoded = concat_decoded(read_frame(frame, rides()), rides())
    assert decoded.events.select(["driver", "stops"]).to_pylist() == [
        {"driver": "a", "stops": 1}, {"driver": "a", "stops": 2}
    ]  # fmt: skip
    (line,) = decoded.rejected["record"].to_pylist()
    assert json.loads(line).items() >= {"driver": "b", "stops": 1}.items()


@pytest.mark.slow
def test_rejected_rows_with_long_names_take_bounded_memory(tmp_path: Path) -> None:
    """A field inside of a column makes all fields of that column part of a rejected row."""
    schema = read_schema("""\
stream: s
time: {field: t, unit: s}
type: {field: k}
types: {A: {x: {type: long, field: a.b}}}
""")
    names = ["b", *(f"{'n' * 1_000}{number}" for number in range(50))]
    inside = [pa.repeat(pa.scalar("no"), 2_000), *[pa.nulls(2_000, pa.int32())] * 50]
    column = pa.StructArray.from_arrays(inside, names)
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table({"t": [1] * 2_000, "k": ["A"] * 2_000, "a": column}), path)
    tracemalloc.start()
    [decoded] = read_parquet(path, schema)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    lines = decoded.rejected["record"].to_pylist()
    assert len(lines) == 2_000
    assert all(len(line) < 10_050 and " …[cut, 5" in line for line in lines)
    assert peak < 100 << 20


def test_rejected_rows_with_long_lists_take_bounded_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A list of a bit per value becomes ten times as many bytes of Python objects and text."""
    values, sizes = pa.array([[True] * 1_000] * 1_000 + [[True] * 2_000_000]), list[int]()
    texts_of = records._texts

    def texts(column: pa.ChunkedArray) -> list[object]:
        sizes.append(len(column))
        return texts_of(column)

    monkeypatch.setattr(records, "_texts", texts)
    monkeypatch.setattr(records, "_TEXT_KEPT", 1_000_000)
    lines = records.ArrowRecords(pa.table({"x": values})).texts()
    assert max(sizes) <= 500
    assert len(lines) == 1_001
    assert "a list" in lines[-1]
    assert len(lines[0]) > 6_000
    assert len(lines[-2]) < 1_050


@pytest.mark.parametrize("is_map", [False, True])
def test_lists_of_views_become_objects_a_part_at_a_time(is_map: bool) -> None:
    count = 20_000
    texts, ends = pa.array(["text"] * count, pa.string_view()), pa.array(range(count + 1))
    column = (
        pa.MapArray.from_arrays(ends, texts, pa.array([1] * count))
        if is_map
        else pa.ListArray.from_arrays(ends, texts)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_VALUES_AT_ONCE", 100)
        tracemalloc.start()
        try:
            found = ArrowRecords(pa.table({"stops": column})).column("stops")
            assert tracemalloc.get_traced_memory()[1] < 500_000
        finally:
            tracemalloc.stop()
    expected = b"[('text', 1)]" if is_map else ["text"]
    assert (len(found), found[0].as_py(), found[-1].as_py()) == (count, expected, expected)
    assert found.equals(ArrowRecords(pa.table({"stops": column})).column("stops"))
