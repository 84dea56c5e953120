"""Arguments of the library that cannot be: each is refused in a line that says what can be."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import elsinore
from elsinore.errors import pipeline_packages
from elsinore.library.results import answer

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
            with pytest.raises(elsinore.ParameterError, match=r"max_bad_share is .*from 0 to 1"):
                run(EVENTS, max_bad_share=share)
    for number in ("2", 0, -1, 2.5):
        with pytest.raises(elsinore.ParameterError, match=r"threads is .*number of at least 1"):
            work().run(EVENTS, threads=number)  # type: ignore[arg-type]
        with pytest.raises(elsinore.ParameterError, match=r"parts is .*number of at least 1"):
            elsinore.spark.run(work(), EVENTS, parts=number)  # type: ignore[arg-type]
    assert work().run(EVENTS, max_bad_share=True, threads=1).events == 2
    for queries in ("a\0b", None, 7):
        with pytest.raises(elsinore.ParameterError, match=r"queries: .* not a path \(pass a str"):
            elsinore.workload(queries, schema=SCHEMA)  # type: ignore[arg-type]
    for schema in ("a\0b", None, {"stream": "s"}):
        with pytest.raises(elsinore.ParameterError, match=r"schema: .* is not a path \(pass YAML"):
            elsinore.workload("none.sase", schema=schema)  # type: ignore[arg-type]


def test_hints_name_the_parameters_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(elsinore.DataError, match=r"with max_bad_share=0.5") as caught:
        work().run([EVENTS, EVENTS.assign(time="soon")])
    assert caught.value.fields["report"].lines == 4
    (tmp_path / "events.txt").touch()
    with pytest.raises(elsinore.ParameterError, match=r"use a name that ends in [^;]*\)$"):
        work().run(tmp_path / "events.txt")
    with pytest.raises(elsinore.SchemaError, match=r"none.yaml.*\(pass schema= as a path"):
        elsinore.workload("none.sase", schema="none.yaml")
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
