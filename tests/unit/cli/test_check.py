"""`elsinore check`: what a query is, for people and for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from elsinore.cli.main import run_command

ROOT = Path(__file__).parents[3]
SCHEMAS = ROOT / "schemas"
FLIGHTS = [str(SCHEMAS / "workloads" / "flights.sase"), "--schema",
           str(SCHEMAS / "events" / "flights.yaml")]  # fmt: skip
QUERIES = re.findall(r"^QUERY (\w+)$", Path(FLIGHTS[0]).read_text(encoding="utf-8"), re.MULTILINE)
SCHEMA = """
stream: letters
time: {field: time, unit: TIME}
type: {field: type}
types: {A: {k: string, v: long}, B: {k: string, v: long}, C: {}, N: {v: long}}
"""


def check(folder: Path, query: str, *more: str, time: str = "iso") -> int:
    (folder / "w.sase").write_text(f"QUERY q RETURN {query};", encoding="utf-8")
    (folder / "s.yaml").write_text(SCHEMA.replace("TIME", time), encoding="utf-8")
    arguments = ["check", str(folder / "w.sase"), "--schema", str(folder / "s.yaml"), *more]
    return run_command(arguments)


@pytest.fixture
def as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def checked(query: str, **options: str) -> dict[str, Any]:
        assert check(tmp_path, query, "--json", **options) == 0
        (found,) = json.loads(capsys.readouterr().out)
        return dict(found)

    return checked


WHOLE = (
    "k, COUNT(*), SUM(A.v) PATTERN SEQ(A+, NOT N, C, B) "
    "WHERE [B.v] AND A.v > 1 AND N.v < 3 AND A.v < NEXT(A).v GROUP-BY k "
    "WITHIN 1 hour SLIDE 45 minutes SEMANTICS skip-till-next-match"
)


def test_a_query_as_json(as_json: Any) -> None:
    found = as_json(WHOLE)
    assert len(found.pop("fingerprint")) == 64
    assert found.pop("parameters") == {}
    assert found == {
        "query": "q",
        "pattern": "SEQ(A+, NOT N, C, B)",
        "nots": [{"number": 1, "pattern": "N", "inside": None}],
        "templates": [
            {
                "of": "pattern",
                "keys": ["k", "v"],
                "text": [
                    "A  starts a trend; comes after A if A.v < NEXT(A).v and nothing in between "
                    "could extend it",
                    "C  comes after A if no match of NOT 1 is in between and nothing in between "
                    "could extend it",
                    "B  ends a trend; comes after C if nothing in between could extend it",
                    "NOT 1: N",
                    "  N  is a match of one event",
                ],
            }
        ],
        "local_predicates": [
            {"alias": "A", "condition": "A.v > 1"},
            {"alias": "N", "condition": "N.v < 3"},
        ],
        "edge_predicates": [
            {"earlier": "A", "later": "A", "condition": "A.v < NEXT(A).v", "by_order": False}
        ],
        "keys": [
            {
                "attribute": "k",
                "aliases": ["A", "B"],
                "not_carried_by": ["N", "C"],
                "equivalence": False,
                "group": "k",
            },
            {
                "attribute": "v",
                "aliases": ["B"],
                "not_carried_by": ["A", "N", "C"],
                "equivalence": True,
                "group": None,
            },
        ],
        "steps": [],
        "aggregates": ["COUNT(*)", "SUM(A.v)"],
        "having": None,
        "additive": ["COUNT(*)", "SUM(A.v)"],
        "adds_up_over": ["groups"],
        "within": 3_600_000_000,
        "slide": 2_700_000_000,
        "pane": 900_000_000,
        "window": "within 1 hour, slide 45 minutes, pane 15 minutes",
        "window_notes": [
            "slots of the UTC clock: one starts every 45 minutes from 1970-01-01 on",
            "windows overlap: they count all matches of up to 15 minutes, some repeatedly",
        ],
        "semantics": "skip-till-next-match",
        "notes": [],
        "executors": ["greta", "hamlet", "hamlet-static", "twostep"],
        "measures_by": {},
        "refused": {},
        "warnings": [],
        "hints": [
            "A can repeat, so counts of matches can be very large: COUNT(EACH B) counts each event "
            "once"
        ],
    }


def test_ticks_have_no_unit(as_json: Any) -> None:
    found = as_json("COUNT(*) PATTERN A WITHIN 60 SLIDE 24", time="integer")
    assert found["window"] == "within 60, slide 24, pane 12"
    assert found["window_notes"] == [
        "windows start at the multiples of 24",
        "windows overlap: they count all matches of up to 36, some repeatedly",
    ]


@pytest.mark.parametrize(
    ("pattern", "within", "notes"),
    [
        ("A+", "10", ["SPAN 10 PER 10 would count all matches of up to 10, each once"]),
        ("A+ AND C+", "7", []),
        ("A AND C", "60", ["SLIDE 15 would count all matches of up to 45, some repeatedly"]),
        ("A", "60", None),
    ],
)
def test_windows_without_slide_miss_matches_across_borders(
    pattern: str, within: str, notes: list[str] | None, as_json: Any
) -> None:
    found = as_json(f"COUNT(*) PATTERN {pattern} WITHIN {within}", time="integer")
    border = "matches across a window border are not counted"
    expected = [] if notes is None else [border, *notes]
    assert found["window_notes"] == [f"windows start at the multiples of {within}", *expected]


@pytest.mark.parametrize(
    ("by", "end"), [("", "last"), (" BY LAST", "last"), (" BY FIRST", "first")]
)
def test_a_span_is_described(by: str, end: str, as_json: Any) -> None:
    found = as_json(f"COUNT(*) PATTERN SEQ(A, C) SPAN 5 PER 60{by}", time="integer")
    assert found["window"] == "span 5, period 60"
    assert found["window_notes"] == [
        "periods start at the multiples of 60",
        f"each match counts once, in the period of its {end} event",
    ]
    assert (found["span"], found["within"], found["adds_up_over"]) == (5, 60, ["periods"])
    assert found["executors"] == ["greta", "hamlet", "hamlet-static", "twostep"]


def test_values_that_do_not_add_up_over_periods_are_named(as_json: Any) -> None:
    values = "COUNT(*) AS n, COUNT(EACH A) AS a, COUNT(DISTINCT k) AS keys, AVG(A.v) AS v"
    found = as_json(f"{values} PATTERN SEQ(A, B) SPAN 1 hour PER 1 day")
    assert (found["additive"], found["adds_up_over"]) == (["n"], ["periods"])
    assert found["window_notes"][2:] == [
        "a, keys do not add up over periods: an event or a value can count in several"
    ]


def test_what_greta_refuses_is_for_twostep(
    as_json: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "COUNT(x) PATTERN SEQ(A x+, A y+) WITHIN 1 hour"
    reason = "one event of a trend can match x or y, but COUNT(x) counts only x"
    found = as_json(query)
    assert (found["executors"], found["refused"]) == (["twostep"], {"greta": [reason]})
    assert found["templates"] == []
    assert check(tmp_path, query) == 0
    assert f"  not greta    {reason}\n" in capsys.readouterr().out


def test_a_query_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`[B.v]` stays as it is, which a library for coloured text would read as a mark."""
    assert check(tmp_path, "COUNT(*) PATTERN SEQ(A, C?) WHERE [k] AND A.v > 1 WITHIN 1 day") == 0
    assert capsys.readouterr().out.splitlines() == [
        "q",
        "  pattern      SEQ(A, C?)",
        "  template     A  starts or ends a trend",
        "               C  ends a trend; comes after A",
        "  local        A: A.v > 1",
        "  edge         -",
        "  keys         k: equal in all events that have it; attribute of A, not of C",
        "  returns      COUNT(*)",
        "  adds up      COUNT(*) (over windows)",
        "  window       within 1 day, slide 1 day, pane 1 day",
        "               slots of the UTC clock: one starts every day from 1970-01-01 on",
        "               matches across a window border are not counted",
        "               SPAN 1 day PER 1 day would count all matches of up to 1 day, each once",
        "  semantics    skip-till-any-match",
        "  executors    greta, hamlet, hamlet-static, sweep, twostep",
        "",
        "1 query is valid.",
    ]


def test_the_executors_of_measures_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: Any
) -> None:
    """The query itself computes SUM(LENGTH); the times of a trend's ends give MAX(DURATION)."""
    query = (
        "COUNT(*), MAX(DURATION) AS longest, STDDEV(LENGTH), SUM(LENGTH), MAX(TOTAL(A.v)) "
        "PATTERN SEQ(A+, B) WITHIN 1 day"
    )
    assert as_json(query)["measures_by"] == {
        "greta": ["STDDEV(LENGTH)", "MAX(TOTAL(A.v))"], "sweep": ["MAX(DURATION)"],
    }  # fmt: skip
    assert check(tmp_path, query) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  executors    greta, hamlet, hamlet-static, sweep, twostep")
    assert lines[at + 1 : at + 3] == [
        f"{'':15}greta computes STDDEV(LENGTH), MAX(TOTAL(A.v)), unless twostep runs the query",
        f"{'':15}sweep computes MAX(DURATION), unless greta or twostep runs the query",
    ]
    edge = query.replace("WITHIN", "WHERE A.v < NEXT(A).v WITHIN")
    assert as_json(edge)["measures_by"] == {
        "greta": ["MAX(DURATION)", "STDDEV(LENGTH)", "MAX(TOTAL(A.v))"]
    }


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("COUNT(*) PATTERN SEQ(A+, B) WHERE [k]", "A can repeat, so counts of matches can be very "
         "large: COUNT(EACH B) counts each event once, COUNT(DISTINCT k) each k"),
        ("SUM(A.v) PATTERN (SEQ(A x, B))+ WHERE [x.k]",
         "x can repeat, so counts of matches can be very large: COUNT(EACH B) counts each event "
         "once"),
        ("COUNT(*) PATTERN SEQ(A, B)", None),
        ("COUNT(*) PATTERN SEQ(A, NOT B+, C)", None),
        ("MAX(A.v) PATTERN A+", None),
        ("COUNT(*), COUNT(EACH A) PATTERN A+", None),
        ("COUNT(*) PATTERN A+ HAVING COUNT(DISTINCT k) > 1", None),
        ("COUNT(*) PATTERN A+ AND B+", None),
    ],
)  # fmt: skip
def test_hints_point_to_each_if_a_part_repeats(query: str, hint: str | None, as_json: Any) -> None:
    assert as_json(f"{query} WITHIN 1 day")["hints"] == ([hint] if hint else [])


@pytest.mark.parametrize(
    ("having", "warned"),
    [
        ("COUNT(*) = 0", True),
        ("1 > n AND COUNT(A) > 2", True),
        ("n <= 0 OR n = 0.5", True),
        ("n = 0 OR COUNT(A) > 2", False),
        ("n < 2", False),
        ("0 < n", False),
        ("COUNT(A) = 0", False),
    ],
)
def test_having_without_trends_is_warned_of(having: str, warned: bool, as_json: Any) -> None:
    found = as_json(f"COUNT(*) AS n PATTERN SEQ(A?, B) HAVING {having} WITHIN 1 day")
    assert found["warnings"] == [NEVER_TRUE] * warned


NEVER_TRUE = "HAVING keeps no row: a window without a match has no row, so COUNT(*) is never 0"


def test_warnings_and_hints_are_the_last_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        check(tmp_path, "COUNT(*), k PATTERN A+ GROUP-BY k HAVING COUNT(*) = 0 WITHIN 1 day") == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert "  adds up      COUNT(*) (over groups and windows)" in lines
    assert [line[:15] for line in lines[-4:-2]] == ["  warning      ", "  hint         "]
    assert lines[-4].endswith(NEVER_TRUE)


@pytest.mark.parametrize(
    ("query", "names", "over"),
    [
        ("COUNT(*), k, AVG(A.v) PATTERN A GROUP-BY k WITHIN 2 days SLIDE 1 day",
         ["COUNT(*)"], ["groups"]),
        ("COUNT(EACH A), MIN(A.v) PATTERN A WITHIN 1 day", [], ["windows"]),
        ("COUNT(*) PATTERN A WITHIN 2 days SLIDE 1 day", ["COUNT(*)"], []),
    ],
)  # fmt: skip
def test_values_that_add_up(
    query: str, names: list[str], over: list[str], as_json: Any,
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    found = as_json(query)
    assert (found["additive"], found["adds_up_over"]) == (names, over)
    assert check(tmp_path, query) == 0
    assert ("  adds up      -\n" in capsys.readouterr().out) == (not names or not over)


def test_long_lines_are_not_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    condition = " OR ".join(f"A.v = {n}" for n in range(10, 60))
    assert check(tmp_path, f"COUNT(*) PATTERN A WHERE {condition} WITHIN 1 day") == 0
    (line,) = (x for x in capsys.readouterr().out.splitlines() if x.startswith("  local"))
    assert line.endswith("58, 59)")


def test_each_set_of_keys_has_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(tmp_path, "COUNT(*) PATTERN SEQ(C, A?) GROUP-BY k WITHIN 1 day") == 0
    lines = capsys.readouterr().out.splitlines()[2:7]
    assert lines[0] == "  template     trends with no key:"
    assert lines[2] == "  template     trends with k:"
    assert lines[4] == "                 A  ends a trend; comes after C"


@pytest.mark.slow
def test_the_flights_workload_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "flights.svg"
    assert run_command(["check", *FLIGHTS, "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    count = len(QUERIES)
    assert out.endswith(f"\n{count} queries are valid; templates drawn in {picture}.\n")
    drawn = picture.read_text(encoding="utf-8")
    titles = [line for line in out.splitlines() if line and line[0] != " "][:-1]
    assert titles == QUERIES
    assert all(f"<!-- {title} -->" in drawn for title in titles)
    assert run_command(["check", *FLIGHTS, "--json", "--plot", str(picture)]) == 0
    assert [found["query"] for found in json.loads(capsys.readouterr().out)] == QUERIES


def test_edge_predicates_answered_by_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = "A.v < NEXT(A).v AND A.v != NEXT(B).v"
    assert check(tmp_path, f"COUNT(*) PATTERN SEQ(A+, B) WHERE {where} WITHIN 1 day") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  edge         A to A: A.v < NEXT(A).v  (by order)" in lines
    assert "               A to B: A.v != NEXT(B).v" in lines


def test_conditions_on_any_are_shown_once_and_its_types_by_name(as_json: Any) -> None:
    found = as_json(
        "COUNT(*) PATTERN ANY(A, B) x{2} WHERE x.v > 1 AND [k] WITHIN 60", time="integer"
    )
    assert found["local_predicates"] == [{"alias": "x", "condition": "x.v > 1"}]
    assert [key["aliases"] for key in found["keys"]] == [["x"]]
    assert found["templates"][0]["text"][0].startswith("A x (1)  starts a trend")


def test_a_headline_names_values_of_the_query(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def warnings(headline: str) -> list[str]:
        query = "QUERY q RETURN COUNT(EACH A) AS flights PATTERN A+ WITHIN 10 seconds;"
        (tmp_path / "w.sase").write_text(f"-- headline: {headline}\n{query}", encoding="utf-8")
        (tmp_path / "s.yaml").write_text(SCHEMA.replace("TIME", "iso"), encoding="utf-8")
        files = [str(tmp_path / "w.sase"), "--schema", str(tmp_path / "s.yaml")]
        assert run_command(["check", *files, "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)
        return list(found["warnings"])

    assert warnings("{flights:flight} left") == []
    assert warnings("{flihts} left, {mean}") == [
        "the headline names 'flihts', which RETURN lacks: did you mean flights?",
        "the headline names 'mean', which RETURN lacks: it returns flights",
    ]
