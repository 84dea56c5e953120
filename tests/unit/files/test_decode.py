"""JSON lines to columns: each reason, what is no fault, and both ways of reading held together."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.catalog.stream import StreamSchema
from elsinore.files import decode as decode_module
from elsinore.files.decode import MAX_DEPTH, MAX_KEYS, parse_clean_block, parse_json
from elsinore.files.rejection import REJECTED_SCHEMA, Fault
from elsinore.files.type_records import Decoded, decoded_schema
from elsinore.timeline import HOUR, TimeUnit
from tests.draws import draws
from tests.unit.files.rides import TEN, decode, faults, raw, rides, travel

GOOD = raw(travel())
#: The same hour in each unit.
TIMES = {
    TimeUnit.ISO: "2013-01-01T10:00:00Z",
    TimeUnit.SECONDS: TEN // 1_000_000,
    TimeUnit.MILLISECONDS: TEN // 1_000,
    TimeUnit.MICROSECONDS: TEN,
    TimeUnit.INTEGER: 0,
}


def reason(line: str, unit: TimeUnit = TimeUnit.ISO) -> str:
    """The code for one bad line among good ones, which must all come through."""
    good = raw(travel(time=TIMES[unit]))
    decoded = decode(good, line, good, schema=rides(unit))
    assert decoded.events["record_number"].to_pylist() == [1, 3], decoded.rejected.to_pylist()
    [(position, code)] = faults(decoded)
    assert position == 2
    [kept] = decoded.rejected.to_pylist()
    assert (kept["file"], kept["record"]) == ("f", line)
    assert kept["reason"]
    return code


def test_a_good_line_in_every_column() -> None:
    decoded = decode(
        raw({"id": "r1", "time": "2013-01-01", "type": "Request", "driver": "é"}), GOOD
    )
    assert decoded.events.schema == decoded_schema(rides())
    request, trip = decoded.events.to_pylist()
    nothing = {"speed": None, "stops": None, "shared": None, "booked": None}
    assert request == {
        "event_id": "r1", "_time": TEN - 10 * HOUR, "_type": 0, "driver": "é", "kind": None,
        **nothing, "file": "f", "record_number": 1,
    }  # fmt: skip
    assert trip == {
        "event_id": "t1", "_time": TEN, "_type": 1, "driver": "d1", "kind": None, "speed": 7.5,
        "stops": 2, "shared": True, "booked": TEN - HOUR, "file": "f", "record_number": 2,
    }  # fmt: skip
    assert decoded.rejected.num_rows == 0
    assert decoded.rejected.schema == REJECTED_SCHEMA


BAD_LINES = [
    ("bad_json", "no json at all"),
    ("bad_json", GOOD[:-1]),
    ("bad_json", GOOD + "}"),
    ("bad_json", GOOD + GOOD),
    ("bad_json", GOOD.replace('"d1"', "'d1'")),
    ("bad_json", GOOD.replace("7.5", "07.5")),
    ("bad_json", GOOD.replace('"d1"', '"d1\x01"')),
    ("bad_json", '{"id": "a", ' + GOOD[1:]),
    ("bad_json", '{"speed" :1, ' + GOOD[1:]),
    ("bad_json", '{"speed"\t:1, ' + GOOD[1:]),
    ("bad_json", '{"x": {"a": 1, "a": 1}, ' + GOOD[1:]),
    ("not_an_object", "[]"),
    ("not_an_object", "null"),
    ("not_an_object", '"text"'),
    ("not_an_object", "17"),
    ("too_deep", "[" * 10_000),
    ("too_many_keys", raw(travel(x=dict.fromkeys(map(str, range(10_001)))))),
    ("too_deep", raw(travel(driver=...))[:-1] + ', "driver": ' + "[" * 10_000 + "]" * 10_000 + "}"),
    ("missing_time", raw(travel(time=...))),
    ("missing_time", raw(travel(time=None))),
    ("bad_time", raw(travel(time="soon"))),
    ("bad_time", raw(travel(time=""))),
    ("bad_time", raw(travel(time="2013-02-30T00:00:00Z"))),
    ("bad_time", raw(travel(time="2013-06-30T23:59:60Z"))),
    ("bad_time", raw(travel(time="2013-01-01T10:00:00Zé"))),
    ("bad_time", raw(travel(time="\ud800"))),
    ("bad_time", raw(travel(time=1357034400))),
    ("bad_time", raw(travel(time=True))),
    ("bad_time", raw(travel(time="0000-12-31T23:59:59Z"))),
    ("bad_time", raw(travel(time="9999-12-31T23:59:59-01:00"))),
    ("bad_time", raw(travel(time="9999-12-31T24:00:00Z"))),
    ("missing_type", raw(travel(type=...))),
    ("missing_type", raw(travel(type=None))),
    ("unknown_type", raw(travel(type="travel"))),
    ("unknown_type", raw(travel(type=""))),
    ("unknown_type", raw(travel(type=5))),
    ("unknown_type", raw(travel(type=5.5))),
    ("unknown_type", raw(travel(type=True))),
    ("unknown_type", raw(travel(type="\ud800"))),
    ("missing_id", raw(travel(id=...))),
    ("missing_id", raw(travel(id=None))),
    ("missing_id", raw(travel(id=""))),
    ("wrong_type", raw(travel(id=1.5))),
    ("wrong_type", raw(travel(id=True))),
    ("bad_encoding", raw(travel(id="\udfff"))),
    ("missing_attribute", raw(travel(driver=...))),
    ("missing_attribute", raw(travel(speed=None))),
    ("wrong_type", raw(travel(driver=5.5))),
    ("wrong_type", GOOD.replace('"d1"', "1.23457E+15")),
    ("wrong_type", GOOD.replace('"d1"', "9007199254740993.0")),
    ("wrong_type", GOOD.replace('"d1"', "9" * 5_000)),
    ("wrong_type", GOOD.replace('"stops": 2', '"stops": 1.23457E+15')),
    ("wrong_type", GOOD.replace('"stops": 2', '"stops": 1e3')),
    ("wrong_type", raw(travel(driver=["d1"]))),
    ("wrong_type", raw(travel(driver={"name": "d1"}))),
    ("bad_encoding", raw(travel(driver="\ud800x"))),
    ("wrong_type", raw(travel(speed="7.5"))),
    ("wrong_type", raw(travel(speed=True))),
    ("wrong_type", raw(travel(stops="5"))),
    ("wrong_type", raw(travel(stops=5.5))),
    ("wrong_type", raw(travel(stops=False))),
    ("wrong_type", raw(travel(stops=2**63))),
    ("wrong_type", raw(travel(stops=-(2**63) - 1))),
    ("wrong_type", raw(travel(stops=1e19))),
    ("wrong_type", raw(travel(stops=9007199254740994.0))),
    ("wrong_type", GOOD.replace('"stops": 2', '"stops": 9007199254740993.0')),
    ("wrong_type", raw(travel(shared="true"))),
    ("wrong_type", raw(travel(shared=1))),
    ("wrong_type", raw(travel(booked=5))),
    ("wrong_type", raw(travel(booked="yesterday"))),
    ("wrong_type", raw(travel(booked="9999-12-31T23:59:59-01:00"))),
    ("not_finite", raw(travel(speed=float("nan")))),
    ("not_finite", raw(travel(speed=float("inf")))),
    ("not_finite", raw(travel(stops=float("-inf")))),
    ("not_finite", GOOD.replace("7.5", "1e999")),
    ("not_finite", GOOD.replace("7.5", "9" * 310)),
    ("not_finite", GOOD.replace("7.5", "9" * 5_000)),
    ("out_of_range", raw(travel(speed=-0.1))),
    ("out_of_range", raw(travel(speed=300.5))),
    ("out_of_range", raw(travel(stops=-1))),
    ("not_allowed", raw(travel(type="Request", kind="pool"))),
]  # fmt: skip


@pytest.mark.parametrize(("code", "line"), BAD_LINES, ids=lambda value: str(value)[:50])
def test_each_reason(code: str, line: str) -> None:
    assert reason(line) == code


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({"time": None, "type": "Taxi", "driver": 5}, "missing_time"),
        ({"type": "Taxi", "id": None}, "unknown_type"),
        ({"id": None, "driver": 5}, "missing_id"),
        ({"driver": 5.5, "speed": -1}, "wrong_type"),
        ({"speed": -1, "stops": "x"}, "out_of_range"),
        ({"speed": float("nan"), "stops": "x"}, "not_finite"),
    ],
)
def test_the_first_fault_names_the_line(record: dict[str, Any], code: str) -> None:
    assert reason(raw(travel(**record))) == code


@pytest.mark.parametrize(
    ("field", "value", "column", "expected"),
    [
        ("speed", 7, "speed", 7.0),
        ("speed", 2**53 + 1, None, None),
        ("speed", 0, "speed", 0.0),
        ("stops", 5.0, "stops", 5),
        ("stops", 9007199254740991.0, "stops", 2**53 - 1),
        ("stops", 2**63 - 1, "stops", 2**63 - 1),
        ("id", 17, "event_id", "17"),
        ("id", 17.0, "event_id", "17"),
        ("driver", 5, "driver", "5"),
        ("driver", 5.0, "driver", "5"),
        ("driver", -(2**70), "driver", str(-(2**70))),
        ("driver", True, "driver", "true"),
        ("time", "0001-01-01", "_time", -719_162 * 24 * HOUR),
        ("time", "9999-12-31T23:59:59.999999Z", "_time", 253_402_300_799_999_999),
        ("time", "2013-01-01 11:00:00+01", "_time", TEN),
        ("time", "20130101T100000Z", "_time", TEN),
        ("driver", "", "driver", ""),
        ("driver", "\x00", "driver", "\x00"),
        ("driver", "\ufffd\\x41", "driver", "\ufffd\\x41"),
        ("driver", " e\u0301 ", "driver", " e\u0301 "),
        ("time", "2013-01-01 11:00:00.000001+01:00", "_time", TEN + 1),
        ("time", "2013-01-01T10:00:00.0000019Z", "_time", TEN + 1),
        ("booked", "0001-01-01", "booked", -719_162 * 24 * HOUR),
    ],
)
def test_what_is_no_fault(field: str, value: Any, column: str | None, expected: Any) -> None:
    decoded = decode(GOOD, raw(travel(**{field: value})))
    if column is None:  # beyond the attribute's maximum, but read as a number
        assert faults(decoded) == [(2, "out_of_range")]
    else:
        assert faults(decoded) == []
        assert decoded.events[column].to_pylist()[1] == expected


def test_minus_zero_is_zero() -> None:
    for spelling in ("-0.0", "-0", "-1e-999"):
        [speed] = decode(GOOD.replace("7.5", spelling)).events["speed"].to_pylist()
        assert str(speed) == "0.0"


@pytest.mark.parametrize(
    ("unit", "time", "expected"),
    [
        (TimeUnit.SECONDS, 1_357_034_400, TEN),
        (TimeUnit.SECONDS, 1_357_034_400.000001, TEN + 1),
        (TimeUnit.MILLISECONDS, 1_357_034_400_001, TEN + 1_000),
        (TimeUnit.MICROSECONDS, 1_357_034_400_000_001, TEN + 1),
        (TimeUnit.MICROSECONDS, 1_357_034_400_000_001.0, TEN + 1),
        (TimeUnit.SECONDS, 1_357_034_400_000, "time_out_of_range"),
        (TimeUnit.SECONDS, 1_357_034_400_000_000, "time_out_of_range"),
        (TimeUnit.SECONDS, 1_357_034_400_000_000_000, "time_out_of_range"),
        (TimeUnit.MILLISECONDS, 1_357_034_400, "time_out_of_range"),
        (TimeUnit.MILLISECONDS, 1_357_034_400_000_000, "time_out_of_range"),
        (TimeUnit.MICROSECONDS, 1_357_034_400, "time_out_of_range"),
        (TimeUnit.MICROSECONDS, 1_357_034_400_000, "time_out_of_range"),
        (TimeUnit.MICROSECONDS, 1_357_034_400_000_000_000, "time_out_of_range"),
        (TimeUnit.SECONDS, 0, 0),
        (TimeUnit.SECONDS, 36, 36_000_000),
        (TimeUnit.SECONDS, -62_135_596_800, -719_162 * 24 * HOUR),
        (TimeUnit.SECONDS, -62_135_596_801, "time_out_of_range"),
        (TimeUnit.SECONDS, 253_402_300_799, 253_402_300_799_000_000),
        (TimeUnit.SECONDS, 253_402_300_800, "time_out_of_range"),
        (TimeUnit.MILLISECONDS, 7_290_000_000_000, 7_290_000_000_000_000),
        (TimeUnit.MILLISECONDS, 1_000, 1_000_000),
        (TimeUnit.MICROSECONDS, -1, -1),
        (TimeUnit.SECONDS, 1e300, "time_out_of_range"),
        (TimeUnit.SECONDS, 1.7e308, "time_out_of_range"),
        (TimeUnit.SECONDS, float("nan"), "bad_time"),
        (TimeUnit.SECONDS, "1357034400", "bad_time"),
        (TimeUnit.SECONDS, True, "bad_time"),
        (TimeUnit.INTEGER, -3, -3),
        (TimeUnit.INTEGER, 2**62 - 1, 2**62 - 1),
        (TimeUnit.INTEGER, -(2**62), -(2**62)),
        (TimeUnit.INTEGER, 2**62, "time_out_of_range"),
        (TimeUnit.INTEGER, -(2**62) - 1, "time_out_of_range"),
        (TimeUnit.INTEGER, 2**63 - 1, "time_out_of_range"),
        (TimeUnit.INTEGER, -(2**63), "time_out_of_range"),
        (TimeUnit.INTEGER, 5.0, 5),
        (TimeUnit.INTEGER, 5.5, "bad_time"),
        (TimeUnit.INTEGER, 2**63, "time_out_of_range"),
        (TimeUnit.INTEGER, "5", "bad_time"),
    ],
)
def test_units_of_time(unit: TimeUnit, time: Any, expected: int | str) -> None:
    if isinstance(expected, str):
        assert reason(raw(travel(time=time)), unit) == expected
    else:
        decoded = decode(raw(travel(time=time)), schema=rides(unit))
        assert decoded.events["_time"].to_pylist() == [expected]


def test_a_stream_without_ids() -> None:
    decoded = decode(raw(travel(id=...)), raw(travel(id="x")), schema=rides(id_field=None))
    assert decoded.events["event_id"].to_pylist() == [None, None]


def test_fields_that_a_type_does_not_have_are_no_fault() -> None:
    lines = [GOOD, raw(travel(color="red", kind="Pool")), raw(travel(**{"\ud800": 1}))]
    assert decode(*lines).events.num_rows == 3


def test_nesting_is_bounded_by_depth_not_by_number() -> None:
    shallow, deep = "[" * (MAX_DEPTH - 1), "[" * MAX_DEPTH
    many = json.dumps([[]] * 1_000)
    text = "[[[" * 1_000 + '\\"[[['
    assert reason(GOOD[:-1] + f', "x": {deep}{deep.replace("[", "]")}}}') == "too_deep"
    for value in (many, shallow + shallow.replace("[", "]"), f'"{text}"'):
        assert decode(GOOD[:-1] + f', "x": {value}}}').events.num_rows == 1


def test_keys_are_bounded_and_colons_in_texts_are_no_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A record with too many keys is not parsed: each takes memory, although nobody reads it."""
    own = len(travel())
    most = {f"k{number}": 1 for number in range(MAX_KEYS - own)}
    text = {"x": ':",' * 2 * MAX_KEYS}
    assert decode(raw(travel(**most)), raw(travel(**text))).events.num_rows == 2
    many = raw(travel(**most, more=1))
    inside = raw(travel(x=[{"a": 1}] * MAX_KEYS))
    monkeypatch.setattr(decode_module, "_DECODER", None)
    monkeypatch.setattr(decode_module, "_lines_with_doubtful_keys", None)
    monkeypatch.setattr(decode_module, "_parsed", None)
    rejected = decode(many, inside).rejected
    assert rejected["reason_code"].to_pylist() == ["too_many_keys"] * 2
    assert rejected["reason"].to_pylist() == ["more than 10,000 keys"] * 2


def test_a_line_that_is_too_deep_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Steps(dict[str, int]):
        def get(self, key: str, default: Any = None) -> Any:
            seen.append(key)
            return super().get(key, default)

    monkeypatch.setattr(decode_module, "_STEPS", Steps({"[": 1, "{": 1, "]": -1, "}": -1}))
    assert reason('{"z": ' + "[" * 100_000) == "too_deep"
    assert len(seen) < 2 * (MAX_DEPTH + 3)


def test_many_lines_keep_their_order() -> None:
    """More than one block, types mixed, bad lines in between."""
    request = raw({"id": "r", "time": "2013-01-01", "type": "Request", "driver": "d"})
    lines = [(GOOD, request, "bad")[i % 3] if i > 10_000 else (GOOD, request)[i % 2]
             for i in range(20_000)]  # fmt: skip
    decoded = decode(*lines)
    good = [i + 1 for i, line in enumerate(lines) if line != "bad"]
    assert decoded.events["record_number"].to_pylist() == good
    assert decoded.rejected["record_number"].to_pylist() == [
        i + 1 for i, line in enumerate(lines) if line == "bad"
    ]
    assert decoded.events["_type"].to_pylist() == [
        1 if line == GOOD else 0 for line in lines if line != "bad"
    ]


def test_no_lines() -> None:
    decoded = decode()
    assert decoded.lines == 0
    assert decoded.events.schema == decoded_schema(rides())


# ---- the fast way and the way that names faults
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["2013-01-01T10:00:00Z", "2013-01-01T10:00:00.25Z", "2013-01-01", "d1"])
)
FIELDS = st.sampled_from([*travel(), "kind", "x"])
#: Names of fields that no type has, and of those inside of them; some end up twice in one object.
OTHERS = st.sampled_from(["other", "twin", ":o", "", "a:", "\u00e9", '"', "id"])


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Lists and objects of some values."""
    return st.lists(inner, max_size=2) | st.dictionaries(OTHERS, inner, max_size=2)


@st.composite
def nearly_good_lines(draw: st.DrawFn) -> str:
    """A good trip, mostly; sometimes with other values, other fields, other text around it."""
    record = travel(speed=draw(st.floats(0, 300)), stops=draw(st.integers(0, 2**63 - 1)))
    record |= draw(st.dictionaries(FIELDS, SCALARS, max_size=2))
    record |= draw(st.dictionaries(OTHERS, st.recursive(SCALARS, nested, max_leaves=4), max_size=2))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", "\t: ")]))
    line = json.dumps(record, ensure_ascii=draw(st.booleans()), separators=separators)
    line = line.replace("NaN", draw(st.sampled_from(["NaN", "-NaN", "nan", '"NaN"'])))
    line = line.replace("Infinity", draw(st.sampled_from(["Infinity", "Inf", "inf"])))
    line = line.replace("twin", draw(st.sampled_from(["other", "twin", "speed"])))
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.text('{}[]",:\\ 0eE-.ntf/', max_size=3)) + line[at:]
    # What a file can hold: text that is UTF-8, on one line.
    return line.encode("utf-8", "replace").decode().replace("\n", " ")


def assert_same(one: Decoded, other: Decoded) -> None:
    """The same events and rejected lines, in whatever pieces; NaN is NaN."""
    for mine, theirs in ((one.events, other.events), (one.rejected, other.rejected)):
        assert repr(mine.combine_chunks()) == repr(theirs.combine_chunks())
        assert mine.num_rows == theirs.num_rows
    assert one.ignored == other.ignored


@pytest.mark.slow
@settings(max_examples=draws(40, 400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(nearly_good_lines(), min_size=1, max_size=8))
def test_the_fast_way_reads_as_the_careful_way(lines: list[str]) -> None:
    fast = decode(*lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode_module, "parse_clean_block", lambda *_: None)
        careful = decode(*lines)
    assert_same(fast, careful)
    assert fast.lines == len(lines)


def test_the_fast_way_is_taken_for_clean_lines_only() -> None:
    def taken(*lines: str, schema: StreamSchema | None = None) -> bool:
        return parse_clean_block(pa.array(lines), schema or rides()) is not None

    assert taken(GOOD, GOOD)
    assert taken(GOOD, raw(travel(x=1)))
    assert taken(GOOD, raw(travel(x={"y": [{"z": 1}, "{", ":"]}, w=":")))
    assert not taken(GOOD, raw(travel(x={})), schema=replace(rides(), time_field="x.time"))
    assert not taken(GOOD, GOOD[:-1] + ', "x": {"y": 1, "y": 1}}')
    assert not taken(GOOD, raw(travel(x=[[[]] * MAX_DEPTH])))
    assert not taken(GOOD, GOOD[:-1] + ', "x": [-Inf]}')
    assert not taken(GOOD + GOOD, " ")
    assert not taken('{"driver":', '"d"}')
    assert not taken('{"x":', '{"x": 1}} {"x": 2}')


def test_lines_in_doubt_are_few_where_the_fast_way_is_taken() -> None:
    odd = raw(travel(x={"id": 1}))  # `id` stands twice, in two objects
    for number, fast in ((1, True), (9, False)):
        lines = [odd] * number + [raw(travel(x=1))] * 8
        assert (parse_clean_block(pa.array(lines), rides()) is not None) == fast
        assert decode(*lines).events.num_rows == len(lines)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("<13>Nov 28 10:00:00 host app: ", "'<13>Nov 28 10:00:00 host app: ' precedes"),
        ("2024-01-01 10:00:00,123 INFO ", "'2024-01-01 10:00:00,123 INFO ' precedes"),
        ("\ufeff", "a byte order mark precedes"),
        ("\x1e", "a record separator (RFC 7464) precedes"),
        ("x" * 50 + " ", f"'{'x' * 40}...' precedes"),
    ],
)
def test_what_stands_before_an_object_is_named(before: str, said: str) -> None:
    fault = parse_json(before + '{"a": 1}')
    assert isinstance(fault, Fault)
    assert fault.text == f"{said} the object; write one JSON object per line"


@pytest.mark.parametrize("line", ['1,A,{"x":1}', '"a": {"b": 1}', "x{", '{"a": 1}x', "x"])
def test_other_faults_keep_their_words(line: str) -> None:
    fault = parse_json(line)
    assert isinstance(fault, Fault)
    assert "precedes" not in fault.text
