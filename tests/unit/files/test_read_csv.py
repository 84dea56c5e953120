"""CSV to columns: values from text, positions of records, each reason."""

from __future__ import annotations

import gzip
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.files import read_csv as read_csv_module
from elsinore.files.read_csv import read_csv
from elsinore.files.read_lines import RawLine, ReadLimits
from elsinore.files.rejection import Reason, UnreadableFile
from elsinore.files.type_records import Decoded, concat_decoded
from elsinore.files.typed import iso_instants
from elsinore.timeline import HOUR, TimeUnit, parse_instant
from tests.draws import draws
from tests.unit.files.rides import TEN, decode, faults, raw, rides, travel

HEADER = "id,time,type,driver,kind,speed,stops,shared,booked"
COLUMNS = HEADER.split(",")
GOOD = "t1,2013-01-01T10:00:00Z,Travel,d1,,7.5,2,true,2013-01-01T09:00:00Z"


def read(path: Path, unit: TimeUnit = TimeUnit.ISO, **limits: int) -> Decoded:
    schema = rides(unit)
    return concat_decoded(read_csv(path, schema, limits=ReadLimits(**limits)), schema)


def rows(tmp_path: Path, *lines: str, header: str = HEADER, **options: Any) -> Decoded:
    path = tmp_path / "e.csv"
    path.write_bytes("\n".join([header, *lines]).encode())
    return read(path, **options)


def row(**changed: str) -> str:
    """The good row with other texts in some columns."""
    cells = dict(zip(COLUMNS, GOOD.split(","), strict=True)) | changed
    return ",".join(cells.values())


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("packed", [False, True])
def test_rows_become_what_json_lines_become(
    tmp_path: Path, ending: str, bom: str, packed: bool
) -> None:
    lines = [HEADER, GOOD, "", row(id="r", type="Request", kind="Pool", speed="", stops="x"), ""]
    content = (bom + ending.join(lines)).encode()
    path = tmp_path / ("e.csv.gz" if packed else "e.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    decoded = read(path)
    assert faults(decoded) == []
    expected = decode(
        raw(travel()),
        raw({"id": "r", "time": "2013-01-01T10:00Z", "type": "Request", "driver": "d1",
             "kind": "Pool"}),
    ).events  # fmt: skip
    unplaced = expected.column_names[:-2]
    assert decoded.events.select(unplaced) == expected.select(unplaced)
    assert decoded.events["record_number"].to_pylist() == [2, 4]
    assert set(decoded.events["file"].to_pylist()) == {str(path)}


def test_a_bom_after_the_header_is_a_part_of_its_value_in_every_line(tmp_path: Path) -> None:
    lines = [row(id="\ufeffa"), row(id="\ufeffb"), row(id="c")]
    assert rows(tmp_path, *lines).events["event_id"].to_pylist() == ["\ufeffa", "\ufeffb", "c"]


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        ("stops", "", None),
        ("stops", '""', None),
        ("stops", "-0", 0),
        ("stops", "+7", 7),
        ("stops", "007", 7),
        ("stops", "9223372036854775807", 2**63 - 1),
        ("stops", "5.0", 5),
        ("speed", "7", 7.0),
        ("speed", "1e2", 100.0),
        ("speed", ".5", 0.5),
        ("speed", "5.", 5.0),
        ("speed", "-0.0", 0.0),
        ("speed", "0.1", 0.1),
        ("shared", "TRUE", True),
        ("shared", "False", False),
        ("driver", " d ", " d "),
        ("driver", "null", "null"),
        ("driver", '"a,""b"""', 'a,"b"'),
        ("driver", "\u2028é", "\u2028é"),
        ("booked", "2013-01-01", TEN - 10 * HOUR),
    ],
)
def test_values_of_texts(tmp_path: Path, column: str, text: str, expected: Any) -> None:
    decoded = rows(tmp_path, GOOD, row(**{column: text}))
    assert faults(decoded) == []
    value = decoded.events[column].to_pylist()[1]
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("missing_time", row(time="")),
        ("bad_time", row(time="10:00")),
        ("bad_time", row(time="２０１３-01-01")),
        ("bad_time", row(time="0000-01-01")),
        ("missing_type", row(type="")),
        ("unknown_type", row(type="Taxi")),
        ("missing_id", row(id="")),
        ("missing_attribute", row(driver="")),
        ("missing_attribute", row(speed='""')),
        ("wrong_type", row(speed="fast")),
        ("wrong_type", row(speed=" 7.5")),
        ("wrong_type", row(speed="0x10")),
        ("wrong_type", row(stops="0x10")),
        ("wrong_type", row(stops="1_0")),
        ("wrong_type", row(stops="٣")),
        ("wrong_type", row(stops="2.5")),
        ("wrong_type", row(stops="9223372036854775808")),
        ("wrong_type", row(shared="yes")),
        ("wrong_type", row(shared="1")),
        ("wrong_type", row(booked="never")),
        ("not_finite", row(speed="nan")),
        ("not_finite", row(speed="-Inf")),
        ("not_finite", row(speed="1e999")),
        ("not_finite", row(speed="9" * 500)),
        ("not_finite", row(stops="NaN")),
        ("out_of_range", row(speed="-1")),
        ("not_allowed", row(type="Request", kind="pool")),
        ("bad_csv", "a,b,c"),
        ("bad_csv", GOOD + ",more"),
        ("bad_csv", row(driver='"a"b')),
        ("bad_csv", "x" * 140_000),
        ("bad_csv", row(driver="a\rb")),
    ],
    ids=lambda value: str(value)[:40],
)
def test_each_reason(tmp_path: Path, code: str, line: str) -> None:
    decoded = rows(tmp_path, GOOD, line, GOOD)
    assert faults(decoded) == [(3, code)]
    assert decoded.events["record_number"].to_pylist() == [2, 4]
    assert decoded.rejected["record"].to_pylist() == [line]


def test_records_of_several_lines_have_the_position_of_their_first(tmp_path: Path) -> None:
    long = row(driver='"d\n\n1"')
    bad = row(driver='"x\ny"', speed="-1")
    decoded = rows(tmp_path, long, GOOD, bad, GOOD)
    assert decoded.events["record_number"].to_pylist() == [2, 5, 8]
    assert decoded.events["driver"].to_pylist() == ["d\n\n1", "d1", "d1"]
    assert faults(decoded) == [(6, "out_of_range")]
    assert decoded.rejected["record"].to_pylist() == [bad]


OPEN = row(driver='"d1')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "bad", "why"),
    [
        ([OPEN, GOOD, GOOD], [2], "value spans several lines: unexpected end of data"),
        ([GOOD, OPEN], [3], "unexpected end of data"),
        ([OPEN, *[GOOD] * 3_000], [2], "value spans several lines: field larger than"),
        ([OPEN, GOOD, OPEN, GOOD], [2, 4], "value spans several lines: "),
        ([OPEN, GOOD, row(driver='"d"')], [2], "value spans several lines: ',' expected after"),
        ([OPEN, GOOD, row(driver='d"'), GOOD], [], ""),
        ([OPEN, GOOD, row(driver='d"', stops="2,3"), GOOD], [2, 4], "10 fields, but"),
        ([OPEN, "", row(driver='"a\nb"'), GOOD], [2], "value spans several lines: "),
        ([row(driver='"a\n"b'), GOOD], [2, 3], "value spans several lines: ',' expected after"),
    ],
)
@pytest.mark.parametrize("at_once", [1, 2, 8_192])
def test_a_quote_that_does_not_end_well_spoils_its_line_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    lines: list[str], bad: list[int], why: str, at_once: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(read_csv_module, "_AT_ONCE", at_once)
    decoded = rows(tmp_path, *lines)
    assert faults(decoded) == [(position, "bad_csv") for position in bad]
    assert why in next(iter(decoded.rejected["reason"].to_pylist()), "")
    texts = "\n".join(lines).split("\n")
    assert decoded.rejected["record"].to_pylist() == [texts[position - 2] for position in bad]
    events = decoded.events["driver"].to_pylist()
    held = bad + [n for n, text in enumerate(texts, 2) if not text]
    swallowed = sum(driver.count("\n") for driver in events)
    assert len(events) + len(held) + swallowed == len(texts)


def test_a_quote_into_a_line_that_is_too_long_spoils_these_two(tmp_path: Path) -> None:
    long = "x" * 200 + row(driver='d"')
    decoded = rows(tmp_path, OPEN, long, GOOD, row(driver='d"'), GOOD, line_bytes=150)
    assert faults(decoded) == [(2, "bad_csv"), (3, "line_too_long")]
    assert decoded.events["record_number"].to_pylist() == [4, 5, 6]


@pytest.mark.parametrize("line", [OPEN, 'x",",', '"""', '"', 'a,"b""c', '","'])
def test_lines_are_read_anew_a_few_times_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """As many times as there are fields, however many quotes are broken."""
    taken = 0
    take = read_csv_module._Lines.__next__

    def counted(lines: read_csv_module._Lines) -> str:
        nonlocal taken
        taken += 1
        return take(lines)

    monkeypatch.setattr(read_csv_module._Lines, "__next__", counted)
    decoded = rows(tmp_path, *[line] * 2_000)
    assert decoded.rejected.num_rows == decoded.lines >= 1_000
    assert taken < 2_000 * (len(COLUMNS) + 2)


def test_lines_that_are_no_utf8_or_too_long(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    long = row(driver='"' + "x" * 200 + '"')
    bad = row(driver="\udcff").encode("utf-8", "surrogateescape")
    path.write_bytes(
        b"\n".join([HEADER.encode(), bad, GOOD.encode(), long.encode(), GOOD.encode()])
    )
    decoded = read(path, line_bytes=150)
    assert faults(decoded) == [(2, "bad_encoding"), (4, "line_too_long")]
    assert decoded.events["record_number"].to_pylist() == [3, 5]


def test_text_that_looks_like_a_mark_is_text(tmp_path: Path) -> None:
    decoded = rows(tmp_path, row(driver="\ufffd\\xff"))
    assert decoded.events["driver"].to_pylist() == ["\ufffd\\xff"]


@pytest.mark.parametrize(
    ("unit", "text", "expected"),
    [
        (TimeUnit.SECONDS, "1357034400.000001", TEN + 1),
        (TimeUnit.INTEGER, "-5", -5),
        (TimeUnit.SECONDS, "1357034400000", "time_out_of_range"),
        (TimeUnit.SECONDS, "9" * 500, "time_out_of_range"),
        (TimeUnit.SECONDS, "2013-01-01", "bad_time"),
        (TimeUnit.INTEGER, "5.5", "bad_time"),
        (TimeUnit.INTEGER, "9" * 500, "time_out_of_range"),
    ],
)
def test_units_of_time(tmp_path: Path, unit: TimeUnit, text: str, expected: int | str) -> None:
    decoded = rows(tmp_path, row(time=text), unit=unit)
    if isinstance(expected, str):
        assert faults(decoded) == [(2, expected)]
    else:
        assert decoded.events["_time"].to_pylist() == [expected]


def test_columns_may_be_lacking_or_unknown(tmp_path: Path) -> None:
    lines = ["1,2013-01-01,Request,d,red", "2,2013-01-01,Travel,d,", "3,2013-01-01,Request,d,"]
    decoded = rows(tmp_path, *lines, header="id,time,type,driver,color")
    assert decoded.events["event_id"].to_pylist() == ["1", "3"]
    assert faults(decoded) == [(3, "missing_attribute")]


@pytest.mark.parametrize("stops", ["2", "x"])
def test_columns_that_are_not_read_may_have_one_name(tmp_path: Path, stops: str) -> None:
    """Read in either way: a row without a fault, and with one."""
    decoded = rows(tmp_path, f"{row(stops=stops)},1,2,,", header=f"{HEADER},x,x,,")
    assert decoded.events["stops"].to_pylist() == [2] * (stops == "2")
    assert faults(decoded) == [(2, "wrong_type")] * (stops == "x")


@pytest.mark.parametrize("content", ["", "\n\n", HEADER, "\n" + HEADER + "\n\n"])
def test_files_without_rows(tmp_path: Path, content: str) -> None:
    path = tmp_path / "e.csv"
    path.write_text(content)
    assert read(path).lines == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,time,driver\n", "e.csv:1: column 'type' is missing"),
        (b"\ntime,type\n", "e.csv:2: column 'id' is missing"),
        (b"id,time,type,id\n", "column 'id' occurs twice"),
        (b"id,time,type,stops,stops\n", "column 'stops' occurs twice"),
        (b"id,time,type,\xff\n", "not UTF-8"),
        (b'id,"time"x,type\n', "expected after"),
    ],
)
def test_a_bad_header_makes_the_file_unreadable(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "e.csv"
    path.write_bytes(content + GOOD.encode())
    with pytest.raises(UnreadableFile) as caught:
        read(path)
    assert caught.value.reason_code == "bad_header"
    assert message in str(caught.value)


def test_more_rows_than_are_decoded_at_once(tmp_path: Path) -> None:
    lines = ["bad" if i % 1_000 == 7 else GOOD for i in range(20_000)]
    decoded = rows(tmp_path, *lines)
    assert decoded.rejected["record_number"].to_pylist() == [i * 1_000 + 9 for i in range(20)]
    assert decoded.events.num_rows == 20_000 - 20


# ---- the fast way and the way that names faults
CELLS = st.text('ab",\n\r\0 é\u2028ſ', max_size=4) | st.sampled_from(
    ["", "1", "-0", "1e3", "nan", "5.0", "TRUE", "falſe", "Pool", "2013-01-01", "9" * 30,
     "2013-01-01T10:00:00.25Z", "2013-01-01 10:00:00", "2013-02-30", "2013-01-01T24:00:00"]
)  # fmt: skip


@st.composite
def nearly_good_rows(draw: st.DrawFn) -> str:
    """A good row, mostly; sometimes with other cells, quoted or not, or text anywhere."""
    cells = GOOD.split(",")
    for at in draw(st.lists(st.integers(0, len(cells) - 1), max_size=2)):
        cells[at] = draw(CELLS)
        if draw(st.booleans()):
            cells[at] = '"' + cells[at].replace('"', '""') + '"'
    line = ",".join(cells)
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.text('",\n\r ', max_size=3)) + line[at:]
    return line + draw(st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n"]))


@pytest.mark.slow
@settings(max_examples=draws(40, 1_000), deadline=None)
@given(st.lists(nearly_good_rows(), min_size=1, max_size=8), st.sampled_from([1, 2, 3, 100]))
def test_the_fast_way_reads_as_the_careful_way(lines: list[str], at_once: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "e.csv"
        path.write_bytes((HEADER + "\n" + "".join(lines)).encode())
        patch.setattr(read_csv_module, "_AT_ONCE", at_once)
        fast = read(path)
        patch.setattr(read_csv_module, "_clean_block", lambda *_: None)
        careful = read(path)
    # The tables are printed whole: NaN is NaN.
    assert fast.events.to_pylist().__repr__() == careful.events.to_pylist().__repr__()
    assert fast.rejected.to_pylist() == careful.rejected.to_pylist()


@given(
    st.integers(1000, 9999), *(st.integers(0, n) for n in (13, 32, 25, 60, 60)),
    st.sampled_from(["", ".5", ".000001", ".123456"]), st.sampled_from("T "),
    st.sampled_from(["", "Z"]), st.booleans(),
)  # fmt: skip
def test_arrow_reads_plain_instants_as_we_do(
    year: int, month: int, day: int, hour: int, minute: int, second: int,
    fraction: str, between: str, zone: str, whole: bool,
) -> None:  # fmt: skip
    text = f"{year}-{month:02}-{day:02}"
    if not whole:
        text += f"{between}{hour:02}:{minute:02}:{second:02}{fraction}{zone}"
    read = iso_instants(pa.array([text, None]), Reason.BAD_TIME)
    try:
        assert read == (pa.array([parse_instant(text), None]), [])
    except ValueError:
        assert [index for index, _ in read.faults] == [0]


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        (GOOD, True),
        (row(driver='"d, ""1"""', booked='""'), True),
        (GOOD + "\r", True),
        (row(driver='d"1'), False),
        (row(driver='"d"1'), False),
        (row(driver='"d\n1"'), False),
        (GOOD + ",", False),
        ("", False),
        (row(driver="d\r1"), False),
        (row(driver="x" * 131_073), False),
    ],
)
def test_the_fast_way_is_taken_for_clean_lines_only(line: str, taken: bool) -> None:
    lines = [RawLine(n, text, None) for n, text in enumerate([GOOD, *line.split("\n"), GOOD])]
    assert (read_csv_module._clean_block(lines, COLUMNS, COLUMNS) is not None) is taken


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ([f"c{number}" for number in range(10_001)], "10,004 columns, more than 10,000"),
        (["c" * 125_000] * 8, "1,000,010 characters of column names, more than 1,000,000"),
    ],
)
def test_too_many_columns_or_too_long_names(tmp_path: Path, names: list[str], why: str) -> None:
    path = tmp_path / "e.csv"
    path.write_text(",".join(["id", "time", "type", *names]) + "\n")
    with pytest.raises(UnreadableFile, match=why):
        read(path)


def test_bad_rows_of_a_wide_file_take_no_memory_for_each_column(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    others = ",".join(f"c{number}" for number in range(5_000))
    path.write_text(f"{HEADER},{others}\n" + "x\n" * 5_000)
    tracemalloc.start()
    decoded = read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert decoded.rejected.num_rows == 5_000
    assert peak < 50 << 20
