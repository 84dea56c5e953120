"""Arguments of the library that cannot be: each is refused in a line that says what can be."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import yaml

import elsinore
from elsinore.errors import pipeline_packages
from elsinore.library.results import answer
from elsinore.renamed import RenamedWarning

SCHEMA = "stream: s\ntime: {field: time, unit: integer}\ntypes: {A: {}}"
EVENTS = pd.DataFrame({"time": [1, 2]})


def work() -> elsinore.Workload:
    return elsinore.workload("QUERY q RETURN COUNT(*) PATTERN A WITHIN 9;", schema=SCHEMA)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (pl.LazyFrame({"time": [1]}), "the type LazyFrame .*collect"),
        (ds.dataset(pa.table({"time": [1]})), "from the type InMemoryDataset .*to_table"),
        (ds.dataset(pa.table({"time": [1]})).scanner(), "the type Scanner"),
        ({"a": EVENTS}, "the type dict"),
        (None, "events from None"), (7, "the type int"),
        (pd.Series([pd.Timestamp(0)]), "from the type Series .pass a path, a pandas"),
        (pl.Series("ts", ["x"]), "the type Series"), (pd.Series(["a"]), "the type Series"),
        ("s3://b/x.csv", "s3://b/x.csv is an address, not a path"),
        (b"x", "cannot read events from the type int in a bytes"),
        ("a\0b.csv", r"events: 'a\\x00b.csv' is not a path"),
    ],
)  # fmt: skip
def test_what_holds_no_events_is_said(given: Any, error: str) -> None:
    with pytest.raises(elsinore.ParameterError, match=error):
        work().run(given)


def test_arguments_of_a_wrong_kind_are_said() -> None:
    for share in (None, float("nan"), -1, 1.5, "0.5"):
        runs: tuple[Any, ...] = (work().run, partial(elsinore.spark.run, work()))
        for run in runs:
            with pytest.raises(elsinore.ParameterError, match=r"max_error_rate is .*from 0 to 1"):
                run(EVENTS, max_error_rate=share)
    for number in ("2", 0, -1, 2.5):
        with pytest.raises(elsinore.ParameterError, match=r"threads is .*number of at least 1"):
            work().run(EVENTS, threads=number)  # type: ignore[arg-type]
        with pytest.raises(elsinore.ParameterError, match=r"parts is .*number of at least 1"):
            elsinore.spark.run(work(), EVENTS, parts=number)  # type: ignore[arg-type]
    assert work().run(EVENTS, max_error_rate=True, threads=1).events == 2


def test_an_old_name_of_a_parameter_works_with_a_warning() -> None:
    bad = pd.DataFrame({"time": [1, None]})
    run: Any = work().run
    with pytest.warns(RenamedWarning, match="max_bad_share is now called max_error_rate"):
        assert run(bad, max_bad_share=0.5).events == 1
    with pytest.raises(elsinore.ParameterError, match="have different values"):
        run(bad, max_bad_share=0.5, max_error_rate=0.4)
    for queries in ("a\0b", None, 7):
        with pytest.raises(elsinore.ParameterError, match=r"queries: .* not a path \(pass a str"):
            elsinore.workload(queries, schema=SCHEMA)  # type: ignore[arg-type]
    for schema in ("a\0b", None, ["stream"]):
        with pytest.raises(
            elsinore.ParameterError, match=r"schema: .* is not a path \(pass YAML text"
        ):
            elsinore.workload("none.sase", schema=schema)  # type: ignore[arg-type]


def dict_schema(**settings: object) -> dict[str, Any]:
    """The schema of the events as a dict, with some settings of type A."""
    time, kind = {"field": "time", "unit": "integer"}, {"field": "type"}
    return {"stream": "s", "time": time, "type": kind, "types": {"A": {"v": settings}}}


def test_a_schema_can_be_a_dict() -> None:
    query = "QUERY q RETURN SUM(A.v) PATTERN A WITHIN 9;"
    schema = dict_schema(type="long", nullable=True)
    as_text = elsinore.workload(query, schema=yaml.safe_dump(schema))
    found = elsinore.workload(query, schema=schema)
    assert found.schema == as_text.schema
    events = pd.DataFrame({"time": [1, 2], "type": ["A", "A"], "v": [3, 4]})
    assert found.run(events)["q"]["SUM(A.v)"].to_pylist() == [7]


@pytest.mark.parametrize(
    ("schema", "messages"),
    [
        (dict_schema(type="lung"), ["types.A.v.type: 'lung' is not one of .*did you mean long"]),
        (
            dict_schema(type="long", nullabel=True),
            ["types.A.v.nullabel: unknown setting nullabel .*did you mean nullable"],
        ),
        (
            {"stream": "s", "time": {"field": 5}, "types": {"A": None}},
            ["time.field: 5 is not text", "time.unit: it is missing"],
        ),
        (
            dict_schema(type="long") | {"types": {"not a name": {}}},
            ["types.not a name: .* is not a valid name"],
        ),
        (dict_schema(type="long") | {"sources": [{"file": "*"}]}, ["sources.0.file: .*"]),
        ({}, ["stream: it is missing", "time: it is missing", "types: it is missing"]),
    ],
)
def test_errors_of_a_dict_name_the_path_of_the_key(
    schema: dict[str, Any], messages: list[str]
) -> None:
    with pytest.raises(elsinore.SchemaError) as caught:
        elsinore.workload("QUERY q RETURN COUNT(*) PATTERN A WITHIN 9;", schema=schema)
    found = [str(each) for each in caught.value.diagnostics]
    for message in messages:
        assert any(re.match(f"<schema>: {message}", text) for text in found), found


def test_hints_name_the_parameters_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(elsinore.DataError, match=r"with max_error_rate=0.5") as caught:
        work().run([EVENTS, EVENTS.assign(time="soon")])
    assert caught.value.fields["report"].lines == 4
    (tmp_path / "events.txt").touch()
    with pytest.raises(elsinore.ParameterError, match=r"use a name that ends in [^;]*\)$"):
        work().run(tmp_path / "events.txt")
    with pytest.raises(elsinore.SchemaError, match=r"none.yaml.*\(pass schema= as a path"):
        elsinore.workload("none.sase", schema="none.yaml")
    with pytest.raises(elsinore.ParameterError, match=r"use a name that ends in [^;]*\)$"):
        elsinore.infer_schema(tmp_path / "events.txt")
    pairs = "QUERY q RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 9;"
    schema = SCHEMA.replace("{A: {}}", "{A: {x: long}}")
    with pytest.raises(elsinore.UnsupportedQueryError, match=r"\(use executor='greta'\)$") as one:
        elsinore.workload(pairs, schema=schema).run(EVENTS, executor="sweep")
    assert str(one.value.diagnostics[0]).endswith("(use executor='greta')")
    assert one.value.fields["queries"] == ("q",)
    with pytest.raises(elsinore.DataError, match=r"\(pass at least one event\)$"):
        work().plan(EVENTS[:0])
    monkeypatch.setattr("elsinore.library.workload.answer", partial(answer, budget=1))
    with pytest.raises(elsinore.BudgetError, match=r"\(shorten WITHIN\)$"):
        work().run(EVENTS, executor="twostep")


def test_texts_that_begin_as_queries_or_hold_nothing_are_no_paths() -> None:
    query = " query q RETURN COUNT(*) PATTERN A WITHIN 9"
    assert elsinore.workload(query, schema=SCHEMA).queries == ("q",)
    for text in ("", " "):
        with pytest.raises(elsinore.QueryError, match=r"<text>.*the workload has no query"):
            elsinore.workload(text, schema=SCHEMA)
        with pytest.raises(elsinore.SchemaError, match=r"<schema>.*a schema must be a mapping"):
            elsinore.workload("none.sase", schema=text)
    for path in ("query.sase", "return count(*) pattern A"):
        with pytest.raises(
            elsinore.QueryError, match=r"cannot read .*no such file .*begin a string of"
        ):
            elsinore.workload(path, schema=SCHEMA)


def test_what_is_asked_of_the_wrong_thing_is_led_to_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'runs'$"):
        _ = elsinore.runs  # type: ignore[attr-defined]
    with pytest.raises(KeyError, match="unknown query p; use one of q"):
        work().run(EVENTS)["p"]
    with pytest.raises(elsinore.DataError, match="column time has values of several types"):
        work().run(pd.DataFrame({"time": pd.Series([1, "x"], dtype=object)}))
    with pytest.raises(elsinore.DataError, match="column 'time' occurs twice"):
        work().run(pd.DataFrame([[1, 2]], columns=["time", "time"]))
    days = pd.DataFrame({"time": pd.PeriodIndex(["2025-03-03"], freq="D")})
    with pytest.raises(
        elsinore.DataError, match=r"a period is not a time; .* with .dt.to_timestamp"
    ):
        work().run(days)
    (tmp_path / "e.csv").touch()
    with pytest.raises(elsinore.DataError, match=r"e\.csv is empty .pass a file with events"):
        elsinore.infer_schema(tmp_path / "e.csv")
    (tmp_path / "e.csv").write_text('time,price\n2025-03-03,"1,5"\n')
    said = elsinore.infer_schema(tmp_path / "e.csv")
    assert "price: string  # ? numbers need a decimal point" in said
    schema = SCHEMA.replace("{A: {}}", "{A: {x: {type: long, nullable: true, field: y}}}")
    found = elsinore.workload("QUERY q RETURN COUNT(*) PATTERN A WITHIN 9;", schema=schema)
    said = "1 query over 2 events (no event has a value in the field y)"
    assert repr(found.run(EVENTS)).startswith(said)
    jobs = ModuleNotFoundError(name="jobs")
    with pytest.raises(elsinore.SetupError, match="no directory jobs"), pipeline_packages("this"):
        raise jobs


@pytest.mark.parametrize("wrap", [lambda inner: {"a": inner}, lambda inner: [inner]])
@pytest.mark.parametrize("key", ["stream", "types", "sources", "other"])
def test_a_schema_that_is_nested_too_deeply(key: str, wrap: Callable[[Any], Any]) -> None:
    deep: Any = "long"
    for _ in range(5_000):
        deep = wrap(deep)
    schema = {"stream": "s", "time": {"field": "t", "unit": "s"}, "types": {"A": {}}} | {key: deep}
    with pytest.raises(elsinore.SchemaError, match="is nested deeper than 50 levels"):
        elsinore.workload("QUERY q RETURN COUNT(*) PATTERN A WITHIN 9;", schema=schema)


def test_a_schema_that_contains_itself() -> None:
    schema: dict[str, Any] = {"stream": "s", "time": {"field": "t", "unit": "s"}}
    schema["types"] = {"A": schema}
    with pytest.raises(elsinore.SchemaError, match="is nested deeper than 50 levels"):
        elsinore.workload("QUERY q RETURN COUNT(*) PATTERN A WITHIN 9;", schema=schema)
