"""Rules of raw files: what they are about, what paths tell, and how wrong ones are told."""

from __future__ import annotations

import pytest

from elsinore.catalog.load_schema import read_schema
from elsinore.catalog.source_rule import SourceRule, format_of
from elsinore.choices import InputFormat
from elsinore.errors import SchemaError

SCHEMA = "stream: s\ntime: {field: t, unit: iso}\ntypes: {A: }\nsources: "


@pytest.mark.parametrize(
    ("files", "path", "told"),
    [
        ("{date}/{hour}/*.jsonl.gz", "2013-01-31/07/x.jsonl.gz", "2013-01-31T07"),
        ("{date}/{hour}/*.jsonl.gz", "2013-01-31/24/x.jsonl.gz", None),
        ("{date}/{hour}/*.jsonl.gz", "2013-02-31/07/x.jsonl.gz", None),
        ("{date}/{hour}/*.jsonl.gz", "2013-01-31/07/y/x.jsonl.gz", None),
        ("{date}/{hour}/*.jsonl.gz", "2013-01-31/07/xXjsonl.gz", None),
        ("{date}/{hour}/*.jsonl.gz", "٢٠١٣-01-31/07/x.jsonl.gz", None),
        ("dt={date}/e-{date}-{hour}.csv", "dt=2013-01-31/e-2013-01-31-00.csv", "2013-01-31T00"),
        ("dt={date}/e-{date}-{hour}.csv", "dt=2013-01-31/e-2013-01-30-00.csv", None),
        ("{year}/{month}/{day}.parquet", "2013/01/31.parquet", "2013-01-31"),
        ("dump-??.parquet", "dump-07.parquet", ""),
        ("dump-??.parquet", "dump-7.parquet", None),
        ("/data/a b/*/x{day}{month}{year}.csv", "/data/a b/c/x31012013.csv", "2013-01-31"),
        ("*-{date}-*.csv", "a-2013-01-30-2013-01-31-b.csv", "2013-01-31"),
        ("{date}/*{year}*.csv", "2013-01-31/2013-2014.csv", "2013-01-31"),
        ("{date}/*-?-*.csv", "2013-01-31/a-bc-d.csv", None),
        # A regular expression would need hours.
        ("{date}/*-*-*-*-*-*-*.csv", f"2013-01-31/{'-' * 250}csv", None),
        ("{date}/*-*/*-*/*-*/*-*.csv", f"2013-01-31{('/' + '-' * 200) * 4}", None),
    ],
)
def test_what_a_path_tells(files: str, path: str, told: str | None) -> None:
    assert SourceRule.parse(files, None).told(path) == told


def test_only_folders_of_a_day_are_looked_into() -> None:
    rule = SourceRule.parse("/data/x/{date}/{hour}/*.csv", None)
    assert (rule.base, rule.glob("2013-01-31")) == ("/data/x", "2013-01-31/[0-9][0-9]/*.csv")
    rule = SourceRule.parse("a/{year}/dump.csv.{month}{day}", InputFormat.CSV)
    assert (rule.base, rule.glob()) == ("", "a/[0-9][0-9][0-9][0-9]/dump.csv.[0-9][0-9][0-9][0-9]")
    assert rule.leads_to("a")
    assert rule.leads_to("a/2013")
    assert not rule.leads_to("a/x")


@pytest.mark.parametrize(
    ("name", "form"),
    [("x.JSON", "jsonl"), ("x.ndjson.gz", "jsonl"), ("x.csv.zst", "csv"), ("x.csv.gz.gz", None),
     ("x.parquet", "parquet"), ("x.txt", None)],
)  # fmt: skip
def test_a_name_says_its_format(name: str, form: str | None) -> None:
    assert format_of(name) == form


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "{files: '{hours}/*.csv'}",
            "{hours} is not one of {date}, {year}, {month}, {day} and {hour}",
        ),
        ("{files: '{}/*.csv'}", "{} is not one of {date}"),
        ("{files: '{date/*.csv'}", "is not one of {date}"),
        ("{files: '**/*.csv'}", "only * and ? are wildcards in a path"),
        ("{files: 'x[0-9].csv'}", "not **, [ or \\"),
        ("{files: '../x.csv'}", "../x.csv is neither a path below the landing zone"),
        ("{files: 'x/'}", "is neither a path below the landing zone nor an absolute path"),
        (
            "{files: 's3://bucket/x.csv'}",
            "is neither a path below the landing zone nor an absolute path",
        ),
        ("{files: '{year}/*.csv'}", "a path needs {year}, {month} and {day} together"),
        ("{files: '{hour}.csv'}", "and {hour} only with them"),
        ("{files: 'dump-*'}", "dump-* does not name a format (add format: jsonl, csv or parquet"),
        (
            "{files: 'dump-*.txt', format: text}",
            "'text' is not valid here (write jsonl, csv or parquet)",
        ),
        ("{file: 'x.csv'}", "unknown setting file (did you mean files?)"),
        ("{}", "files: it is missing (as in {date}/{hour}/*.jsonl.gz)"),
    ],
)
def test_wrong_rules_are_refused_with_what_is_right(entry: str, message: str) -> None:
    with pytest.raises(SchemaError) as error:
        read_schema(f"{SCHEMA}[{entry}]")
    told = "\n".join(str(fault) for fault in error.value.diagnostics)
    assert message in told
    if "in a name" in told or "path" in told:
        assert "as in {date}/{hour}/*.jsonl.gz, dump-*.parquet" in told


def test_rules_stand_in_their_order() -> None:
    schema = read_schema(f"{SCHEMA}[{{files: '{{date}}.csv'}}, {{files: x, format: parquet}}]")
    assert schema.sources == (
        SourceRule("{year}-{month}-{day}.csv", InputFormat.CSV),
        SourceRule("x", InputFormat.PARQUET),
    )
