"""`import elsinore`: results and their types, what is set aside, views, errors."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import elsinore

ROOT = Path(__file__).parents[3]
RIDES = ROOT / "docs" / "example"
SCHEMA = """
stream: clicks
time: {field: at, unit: s}
type: {field: kind}
id: {field: id}
types:
  A: {user: string, v: {type: long, nullable: true, min: 0}, x: {type: double, nullable: true}}
  B: {user: {type: string, allowed: [ann, bob]}}
"""
START = 1_740_996_000  # 2025-03-03T10:00:00Z


def events(rows: list[tuple[int, str, str | None, int | None, float | None]]) -> pd.DataFrame:
    """Rows of (seconds after ten, type, user, v, x); their ids are e0, e1, ..."""
    return pd.DataFrame(
        [(f"e{n}", START + at, *rest) for n, (at, *rest) in enumerate(rows)],
        columns=["id", "at", "kind", "user", "v", "x"],
    )


def rises(number: int) -> pd.DataFrame:
    return events([(n, "A", "ann", n, 0.5) for n in range(number)])


def workload(*queries: str) -> elsinore.Workload:
    text = "".join(f"QUERY q{n} RETURN {query};\n" for n, query in enumerate(queries))
    return elsinore.workload(text, schema=SCHEMA)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (10, pa.int64()), (63, pa.int64()), (64, pa.decimal128(38)), (126, pa.decimal128(38)),
        (127, pa.decimal256(76)), (252, pa.decimal256(76)), (253, pa.string()),
    ],
)  # fmt: skip
def test_counts_have_the_narrowest_type_that_holds_them_all(number: int, kind: pa.DataType) -> None:
    """Of n events 2^n - 1 trends; the longest digits of 10^38 and 10^76 lie between 126 and 253."""
    query = "COUNT(*), AVG(A.v), MAX(A.v), SUM(A.x) PATTERN A+ WITHIN 1 hour"
    results = workload(query).run(rises(number))
    table = results["q0"]
    assert table.schema.types[2:4] == [kind, pa.float64()]
    (row,) = table.to_pylist()
    assert int(row["COUNT(*)"]) == 2**number - 1
    assert row["MAX(A.v)"] == number - 1
    expected = row["COUNT(*)"] if kind != pa.decimal256(76) else str(row["COUNT(*)"])
    assert results.to_polars()["q0"]["COUNT(*)"][0] == expected
    if kind == pa.decimal128(38):
        assert results.to_pandas()["q0"]["COUNT(*)"][0] == Decimal(2**number - 1)


def test_groups_bounds_and_empty_results_have_their_types() -> None:
    work = workload(
        "user, COUNT(*) PATTERN A+ GROUP-BY user WITHIN 1 hour",
        "MIN(A.time), MIN(A.v) PATTERN SEQ(B, A) WITHIN 1 hour",
    )
    results = work.run(
        events([(1, "A", "ann", None, None), (2, "A", None, 1, None)]), max_error_rate=1
    )
    instant = pa.timestamp("us", "UTC")
    ten = datetime(2025, 3, 3, 10, tzinfo=UTC)
    assert results["q0"].schema.types == [pa.string(), instant, instant, pa.int64()]
    assert results["q0"].to_pylist()[0]["window_start"] == ten
    assert results["q1"].schema.types == [instant, instant, instant, pa.int64()]
    assert (list(results), results["q1"].num_rows, len(results)) == (["q0", "q1"], 0, 2)


def test_rows_are_checked_as_lines_of_files_are() -> None:
    frame = events([
        (1, "A", "ann", -1, 0.5), (2, "B", "eve", None, None), (3, "A", None, 1, 0.5),
        (4, "C", "ann", 1, 0.5), (-40 * START, "A", "ann", 1, 0.5), (6, "B", "ann", 0, 0.0),
    ])  # fmt: skip
    both = pd.concat([frame, frame])
    work = workload("COUNT(*) PATTERN B WITHIN 1 hour")
    with pytest.raises(elsinore.DataError, match=r"10 of 12 records .* 1:1: out_of_range"):
        work.run(both, max_error_rate=0.5)
    results = work.run(both, max_error_rate=1)
    codes = ["out_of_range", "not_allowed", "missing_attribute", "unknown_type"]
    assert results.rejected["reason_code"].to_pylist() == [*codes, "time_out_of_range"] * 2
    first = results.rejected.to_pylist()[0]
    assert (first["file"], first["record_number"]) == ("frame 1", 1)
    assert first["reason"] == "v: -1 is below 0"
    assert (results.duplicates, results.events) == (1, 1)
    assert results["q0"]["COUNT(*)"].to_pylist() == [1]
    assert repr(results).startswith("1 query over 1 event (10 records rejected, 1 duplicate rem")
    with pytest.raises(elsinore.DataError, match="bad_time: at: 'soon' is not a number"):
        work.run(frame.assign(at="soon"))


def test_of_several_frames_the_last_one_corrects_the_others() -> None:
    work = workload("SUM(A.v) PATTERN A WITHIN 1 hour")
    first = rises(1)
    frames = [first.assign(v=n) for n in range(1, 12)]
    results = work.run([*frames[:10], pl.from_pandas(frames[10])])
    assert results["q0"]["SUM(A.v)"].to_pylist() == [11]
    assert set(results.rejected["reason_code"].to_pylist()) == {"superseded"}
    assert results.rejected.num_rows == 10


def test_numbers_of_pandas_that_are_whole_are_longs() -> None:
    frame = rises(3)
    frame["v"] = [1.0, None, 2.0]  # as pandas has integers beside NULL
    results = workload("SUM(A.v), COUNT(A) PATTERN A WITHIN 1 hour").run(frame)
    assert list(results["q0"].to_pylist()[0].values())[2:] == [3, 3]


def test_longs_beside_null_are_exact_in_pandas_too() -> None:
    work = elsinore.workload(
        "QUERY q RETURN COUNT(*), MAX(A.v), AVG(A.v) PATTERN A GROUP-BY k WITHIN 10;",
        schema="stream: s\ntime: {field: t, unit: integer}\n"
        "types: {A: {k: {type: long, nullable: true}, v: {type: long, nullable: true}}}",
    )
    large = [2**53, 2**53 + 1, 2**63 - 1, None]
    table = pa.table({"t": [1, 2, 3, 4], "k": large, "v": [2**53 + 1, None, -(2**63), None]})
    results = work.run(table)
    frame = results.to_pandas()["q"]
    for name in ("k", "MAX(A.v)"):
        given = [None if value is pd.NA else value for value in frame[name]]
        assert given == results["q"][name].to_pylist()
    assert sorted(filter(pd.notna, frame["k"])) == large[:3]
    assert str(2**53 + 1) in repr(results)
    assert str(2**53 + 1) in results._repr_html_()
    for _, row in frame.iterrows():
        assert work.why(table, "q", {"k": row["k"]}, row["window_start"]).count == row["COUNT(*)"]
    with pytest.raises(elsinore.ParameterError, match="may have been rounded"):
        work.why(table, "q", {"k": float(2**53)}, 0)


def test_chunks_of_a_frame_may_be_empty_and_dictionaries_hold_null() -> None:
    work = elsinore.workload(
        "QUERY q RETURN COUNT(*) PATTERN A GROUP-BY k WITHIN 10;",
        schema="stream: s\ntime: {field: time, unit: integer}\n"
        "types: {A: {k: {type: string, nullable: true}}}",
    )
    plain = pa.table({"time": [1, 2, 3], "k": ["a", None, "a"]})
    (batch,) = plain.to_batches()
    parts = [batch[:2], batch.slice(2, 0), batch[2:]]
    coded = [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(["a", None], kind))
        for codes, kind in (([0, 1], pa.string()), ([0], pa.string()))
    ]
    views = [
        pa.DictionaryArray.from_arrays(each.indices, each.dictionary.cast(pa.string_view()))
        for each in coded
    ]
    schema = elsinore.infer_schema(plain)
    for frame in (
        pa.Table.from_batches(parts),
        pa.table({"time": plain["time"], "k": pa.chunked_array([["a", None], [], ["a"]])}),
        pa.table({"time": plain["time"], "k": pa.chunked_array(coded)}),
        pa.table({"time": plain["time"], "k": pa.chunked_array(views)}),
        pa.RecordBatchReader.from_batches(batch.schema, parts),
    ):
        if isinstance(frame, pa.Table):
            assert elsinore.infer_schema(frame) == schema
        assert work.run(frame)["q"].to_pylist() == work.run(plain)["q"].to_pylist()


def test_what_arrow_cannot_read_of_a_frame_is_in_the_way_only_where_it_is_read() -> None:
    frame, work = rises(2), workload("SUM(A.v) PATTERN A WITHIN 1 hour")
    twice = pd.concat([frame, frame[["user"]], frame[["user"]]], axis=1)
    twice.columns = names = [*frame.columns, "odd", "odd"]
    for odd in (
        frame.assign(odd=[1, "a"]),
        frame.assign(odd=1j),
        twice,
        pl.from_pandas(frame).with_columns(odd=pl.lit(1, dtype=pl.Int128)),
        pa.Table.from_pandas(frame).append_column("odd", [[1, 2]]).append_column("odd", [[1, 2]]),
    ):
        assert work.run(odd)["q0"]["SUM(A.v)"].to_pylist() == [1]
    bad = pa.Table.from_pandas(twice.assign(user=None).set_axis(range(len(names)), axis=1))
    assert work.run(bad.rename_columns(names), max_error_rate=1).rejected.num_rows == 2
    with pytest.raises(elsinore.DataError, match=r"column v .*give each column one type"):
        work.run(frame.assign(v=[1, "a"]))
    with pytest.raises(elsinore.DataError, match="more than 64 bits"):
        work.run(frame.assign(v=[1, 2**64]))
    with pytest.raises(elsinore.DataError, match="named columns"):
        work.run(pa.chunked_array([[1]]))
    with pytest.raises(elsinore.DataError, match="1: column 'v' occurs twice"):
        work.run(frame.rename(columns={"user": "v"}))


def test_files_frames_and_texts_are_taken_alike(tmp_path: Path) -> None:
    text = (RIDES / "rides.sase").read_text()
    schema = elsinore.load_schema(str(RIDES / "rides.yaml"))
    work = elsinore.workload(text, schema=schema)
    frame = pd.read_json(RIDES / "rides.jsonl", lines=True)
    frame[:4].to_csv(tmp_path / "half.csv", index=False)
    given: list[Any] = [str(RIDES / "rides.jsonl"), RIDES / "rides.jsonl", frame, pa.table(frame)]
    for one in [*given, [tmp_path / "half.csv", frame[4:]], pa.table(frame).to_batches()]:
        results = work.run(one)
        assert results["slow_cancelled"]["COUNT(*)"].to_pylist() == [11]
    assert work.queries == ("slow_cancelled",)
    assert repr(work) == "<Workload over rides: slow_cancelled>"


def test_views_are_the_texts_of_the_commands_and_pictures() -> None:
    work = elsinore.workload(RIDES / "rides.sase", schema=str(RIDES / "rides.yaml"))
    frame = pd.read_json(RIDES / "rides.jsonl", lines=True)
    for view, begins, holds in (
        (work.check(), "slow_cancelled\n  pattern      SEQ(Request R, ", "Travel"),
        (work.plan(frame), "Events per pane of 20 minutes", "Request"),
        (work.explain(frame), "Plan 551785c2046b by optimal", "slow_cancelled"),
    ):
        assert repr(view).startswith(begins)
        assert "<svg" in view._repr_svg_()
        html = view._repr_html_()
        assert html.startswith("<pre>")
        assert holds in html
        assert html.endswith("</svg>\n")
    results = work.run(frame)
    assert repr(results).splitlines()[:3] == ["1 query over 9 events", "", "slow_cancelled: 1 row"]
    assert "<td>d1</td>" in results._repr_html_()


@pytest.mark.slow
def test_why_lists_the_trends_of_a_result() -> None:
    work = elsinore.workload(RIDES / "rides.sase", schema=RIDES / "rides.yaml")
    start = datetime(2013, 1, 1, 10, tzinfo=UTC)
    told = work.why(RIDES / "rides.jsonl", "slow_cancelled", {"district": "d1"}, start, limit=2)
    assert (told.count, len(told.trends), told.reason) == (11, 2, None)
    assert told.trends[0][1] == {
        "type": "Travel", "time": "2013-01-01T10:04:00.000000Z", "district": "d1",
        "driver": "ann", "rider": "bob", "speed": 8.0,
    }  # fmt: skip
    lines = repr(told).splitlines()
    assert lines[0].endswith("11 trends")
    assert lines[1].startswith("  Request 2013-01-01T10:01:00.000000Z -> Travel")
    assert lines[-1] == "  and 9 more"
    assert work.why(RIDES / "rides.jsonl", "slow_cancelled", {"district": "d9"}, start).count == 0
    named = elsinore.workload(
        "QUERY q RETURN k, COUNT(*) PATTERN A GROUP-BY k WITHIN 9;",
        schema="stream: s\ntime: {field: time, unit: integer}\n"
        "types: {A: {k: {type: string, nullable: true}}}",
    )
    frame = pd.DataFrame({"time": [1, 2, 3], "k": [None, "null", "null"]})
    assert [named.why(frame, "q", {"k": k}, 0).count for k in (None, "null")] == [1, 2]
    pairs = workload("COUNT(*) PATTERN A AND B WITHIN 1 hour")
    assert pairs.why(rises(2), "q0", {}, "2025-03-03T10:00").count is None
    many = workload("COUNT(*) PATTERN A+ WITHIN 1 hour").why(rises(30), "q0", {}, 1740996000000000)
    assert (many.count, len(many.trends)) == (None, 10)
    assert "more trends than" in repr(many)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("slow", {}, "2013-01-01T10:00"), "unknown query 'slow'"),
        (("slow_cancelled", {}, "2013-01-01T10:00"), "is not a group of slow_cancelled"),
        (("slow_cancelled", {"district": "d1"}, "2013-01-01T10:07"), "no window .* starts at"),
        (("slow_cancelled", {"district": "d1"}, "ten"), "not an ISO 8601 timestamp"),
    ],
)
def test_what_has_no_why_is_said(arguments: Any, error: str) -> None:
    work = elsinore.workload(RIDES / "rides.sase", schema=RIDES / "rides.yaml")
    with pytest.raises(elsinore.ParameterError, match=error):
        work.why(RIDES / "rides.jsonl", *arguments)


def test_columns_have_different_names() -> None:
    schema = (
        "stream: s\ntime: {field: time, unit: integer}\n"
        "types: {A: {window_start: long, window_start_: long, window_end: long}}"
    )
    keys = "window_start, window_start_, window_end"
    query = f"QUERY q RETURN {keys}, COUNT(*) PATTERN A GROUP-BY {keys} WITHIN 9;"
    events = pd.DataFrame(
        {"time": [1], "window_start": [5], "window_start_": [6], "window_end": [-(2**63)]}
    )
    (row,) = elsinore.workload(query, schema=schema).run(events).to_polars()["q"].to_dicts()
    assert row == {
        "window_start__": 5, "window_start_": 6, "window_end_": -(2**63),
        "window_start": 0, "window_end": 9, "COUNT(*)": 1,
    }  # fmt: skip


def test_pictures_are_written_to_texts_and_show_every_sign(tmp_path: Path) -> None:
    where = "A.user = '\x07\x1f' OR A.v < NEXT(A).v"
    work = workload(*[f"COUNT(*) PATTERN SEQ(A+, B) WHERE {where} WITHIN 1 hour"] * 2)
    events = rises(2)
    for view in (work.check(), work.plan(events), work.explain(events)):
        for name in ("x.svg", "x.png"):
            view.draw(str(tmp_path / name))
            assert (tmp_path / name).stat().st_size
        assert ElementTree.parse(tmp_path / "x.svg").getroot().tag.endswith("svg")
        with pytest.raises(elsinore.ParameterError, match=r"x\.gif is not a picture"):
            view.draw("x.gif")
        with pytest.raises(elsinore.ParameterError, match="path: None is not a path"):
            view.draw(None)  # type: ignore[arg-type]
    assert r"A.user = '\x07\x1f'" in work.check()._repr_svg_()


def test_what_is_wrong_is_an_error_of_the_family() -> None:
    with pytest.raises(elsinore.QueryError, match="no event type Veiw") as caught:
        workload("COUNT(*) PATTERN Veiw WITHIN 1 hour")
    (fault,) = caught.value.diagnostics
    assert str(fault.location) == "<text>:1:34"
    with pytest.raises(elsinore.QueryError, match="cannot read none"):
        elsinore.workload("none.sase", schema=SCHEMA)
    with pytest.raises(elsinore.SchemaError, match="<schema>"):
        elsinore.workload("none.sase", schema="stream: x\n")
    work = workload("COUNT(*) PATTERN A WITHIN 1 hour")
    with pytest.raises(elsinore.DataError, match="frame 1: column 'kind' is missing"):
        work.run(rises(1).drop(columns="kind"))
    with pytest.raises(elsinore.ParameterError, match="events from the type int in a list"):
        work.run([3])  # type: ignore[list-item]
    with pytest.raises(elsinore.ParameterError, match="unknown executor fast"):
        work.run(rises(1), executor="fast")
    with pytest.raises(elsinore.DataError, match="a plan needs at least one event"):
        work.plan(rises(0))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        elsinore.nothing  # type: ignore[attr-defined]  # noqa: B018
    assert work.run(rises(0))["q0"].num_rows == 0


def test_all_public_names_are_there() -> None:
    assert {"workload", "spark", "QueryError"} <= set(dir(elsinore))
    assert all(getattr(elsinore, name) is not None for name in dir(elsinore))


def test_why_keeps_apart_what_an_event_is_and_attributes_of_such_names() -> None:
    schema = "stream: s\ntime: {field: t, unit: integer}\ntypes: {A: {type: string, x: long}}"
    query = "QUERY q RETURN COUNT(*) PATTERN A+ WHERE A.type = 'b' AND A.x > 0 WITHIN 10;"
    work = elsinore.workload(query, schema=schema)
    found = work.why(pd.DataFrame({"t": [1], "type": ["b"], "x": [2]}), "q", {}, 0)
    assert found.trends == [[{"type": "A", "time": 1, "x": 2}]]
    assert "A 1 x=2" in str(found)
