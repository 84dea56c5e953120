"""`elsinore test`: cases of a user's own queries, told one by one."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.cli import cases
from elsinore.cli.main import run_command
from elsinore.events import EventTable
from elsinore.library.results import answer
from elsinore.query.bound import Workload
from elsinore.results.row import encode_row
from tests.draws import draws
from tests.golden_cases import bound_query, stream_schema

ROOT = Path(__file__).parents[3]

SCHEMA = """
stream: shop
time: {field: ts, unit: iso}
type: {field: event}
types:
  View: {user: string, price: {type: double, nullable: true}}
  Buy: {user: string, price: {type: double, nullable: true, min: 0}}
"""
WORKLOAD = """
QUERY funnel RETURN user, COUNT(*), AVG(Buy.price) PATTERN SEQ(View+, Buy)
WHERE [user] GROUP-BY user WITHIN 1 hour;
"""
#: 2^2 - 1 trends end in the purchase.
CASES = """
schema: s.yaml
workload: w.sase
cases:
  - name: two views, one purchase
    why: the views alone and both together
    query: funnel
    events: view0min(user=ann) view90s(user=ann) buy5min(user=ann, price=0.1) buy1h(user=bob)
    rows:
      - [1970-01-01, 1970-01-01T01:00:00Z, {user: ann}, {COUNT(*): 3, AVG(Buy.price): 0.1}]
  - name: events as files have them
    query: funnel
    events:
      - {ts: 2025-03-03T08:30:00Z, event: View, user: ann, price: 1}
      - {ts: 2025-03-03T08:31:00Z, event: Buy, user: ann, price: 2}
    rows:
      - ["2025-03-03T08:00", "2025-03-03T09:00", {user: ann}, {COUNT(*): 1, AVG(Buy.price): 2}]
  - name: written here
    schema: {A: {v: long}}
    workload: null
    query: RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v WITHIN 20
    events: a1(v=1) a2..3(v=2)
    rows:
      - [0, 20, {COUNT(*): 5}]
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path)
    for name, text in (("s.yaml", SCHEMA), ("w.sase", WORKLOAD), ("cases.yaml", CASES)):
        Path("in", name).write_text(text)


@pytest.mark.parametrize("executor", ["auto", "greta", "twostep"])
def test_cases_are_told_one_by_one(executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["test", "in/cases.yaml", "--executor", executor]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok      two views, one purchase",
        "ok      events as files have them",
        "ok      written here",
        "3 cases: 3 ok, 0 failed",
    ]


def test_what_differs_is_shown_row_by_row(capsys: pytest.CaptureFixture[str]) -> None:
    changed = CASES.replace("{COUNT(*): 5}", "{COUNT(*): 6}").replace("08:00", "07:00")
    Path("in", "cases.yaml").write_text(changed)
    assert run_command(["test", "in/cases.yaml"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[-4:] == [
        "FAILED  written here",
        '     found [0, 20, {"COUNT(*)": 5}]',
        '  expected [0, 20, {"COUNT(*)": 6}]',
        "3 cases: 1 ok, 2 failed",
    ]
    assert '  expected ["2025-03-03T07:00:00.000000Z"' in out
    Path("in", "cases.yaml").write_text(CASES.replace("{COUNT(*): 5}", "{count(*): 5}"))
    assert run_command(["test", "in/cases.yaml"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[-2] == "  the query returns no count(*) (did you mean COUNT(*)?)"


@pytest.mark.parametrize(("option", "shown"), [([], 20), (["--verbose"], 41)])
def test_the_first_twenty_differing_rows_are_printed(
    option: list[str], shown: int, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("lone.yaml").write_text(
        "- {name: lone, schema: {A: {}}, query: RETURN COUNT(*) PATTERN A+ WITHIN 10 SLIDE 1,"
        " events: a19..50, rows: []}\n"
    )
    assert run_command(["test", "lone.yaml", *option]) == 1
    out = capsys.readouterr().out.splitlines()
    starts = [line.split("[")[1].split(",")[0] for line in out if line.startswith("     found")]
    assert starts == [str(start) for start in range(10, 51)][:shown]
    more = [line for line in out if "more" in line]
    assert more == ([] if option else ["  and 21 more rows: add --verbose to print all"])


TRAPS = """
schema: {A: {v: double}, a: {}}
cases:
  - name: types that differ by case alone
    query: |
      -- a comment: QUERY
      QUERY q RETURN COUNT(*), MAX(A.v), SUM(A.v) PATTERN A WITHIN 20
    events: A1(v=1234567890.25) a2
    rows: [[0, 20, {COUNT(*): 1, MAX(A.v): 1234567890.25, SUM(A.v): 1234567890.25001}]]
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "1 ok, 0 failed"),
        ("MAX(A.v): 1234567890.25", "MAX(A.v): 1234567890.5", "0 ok, 1 failed"),
        ("A1(v=1234567890.25) a2", "[{type: A, time: 1}]\n    out_of_range: 1", "expected 1"),
    ],
)
def test_what_is_nearly_right_is_told_apart(
    old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in", "cases.yaml").write_text(TRAPS.replace(old, new))
    run_command(["test", "in/cases.yaml"])
    assert said in "".join(capsys.readouterr())


def test_the_golden_cases_of_the_papers_are_such_cases(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["test", str(ROOT / "tests" / "golden" / "trends" / "papers.yaml")]) == 0
    assert "14 cases: 14 ok, 0 failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("query: funnel", "query: funel", "no query funel (did you mean funnel?)"),
        ("    query: funnel\n", "", "two views, one purchase: query: it is missing"),
        ("why:", "whi:", "unknown setting whi (did you mean why?)"),
        ("view0min", "look0min", "not an event: 'look0min(user=ann)"),
        ("price: 2}", "price: -2}", "event 2: price: -2.0 is below 0"),
        ("event: Buy, ", "", "event 2: event is missing"),
        ("view0min(user=ann)", "view0min", "event 1: user is missing; allow it with nullable"),
        ("buy1h(user=bob)", "buy1h(user=null)", "event 4: user is missing; allow it"),
        ("w.sase", "none.sase", "cannot read in/none.sase"),
        ("workload: w.sase", "workload: secret.txt", "not a file in .sase: 'secret.txt'"),
        ("schema: {A: {v: long}}", "schema: secret.txt", "not a file in .yaml or .yml: "),
        ("a1(v=1)", "a1(v 1)", "not an event: '(v 1) a2..3(v=2)'"),
        ("a1(v=1)", "a1(w=1)", "A has no attribute w (its attributes: v)"),
        ("a1(v=1)", "a1(v=1.5)", "event 1: v: 1.5 is not a whole number"),
        ("a1(v=1)", "a99999999999999999999", "is not in -4611686018427387904"),
        ("a2..3", "a2..1000002", "there are more than 1,000,000 events (write a shorter range)"),
        ("a2..3", f"a2..{'9' * 30}", "there are more than 1,000,000 events"),
        ("a2..3", "a3..2", "a3..2(v=2): 2 is before 3"),
        ("a2..3", "a3s", "a3s(v=2): integer times have no unit s"),
        (
            "view90s(user=ann",
            "view90s(user=ann, price=dear",
            "event 2: price: 'dear' is not a double",
        ),
        ("buy5min(user=ann, price=0.1", "buy5min(user=ann, price=-1", "price: -1.0 is below 0"),
        ("schema: {A: {v: long}}", "schema: {A: {v: int}}", "did you mean long?"),
        ("schema: {A: {v: long}}", "schema: {A: {_time: long}}", "written here: schema:"),
        ("schema: {A: {v: long}}", "schema: 5", "schema: 5 is not a mapping"),
        ("{COUNT(*): 5}]", "5]", "a row is [start, end, {values}] or"),
        (", {COUNT(*): 5}]", "]", "a row is [start, end, {values}] or"),
        ("[0, 20", "[0, x", "a window's bounds are integers, not 0 and x"),
        ("WITHIN 20", "WITHIN 20; QUERY r RETURN COUNT(*) PATTERN A WITHIN 5", "one query, not 2"),
        ("PATTERN A+", "PATTERN B+", "in/cases.yaml: written here:1:"),
        ("    query: RETURN", "    executors: [nosuch]\n    query: RETURN", "'nosuch' is not"),
        ("    events: a1(v=1) a2..3(v=2)", "    events:", "events: None is not a list"),
        ('["2025-03-03T08:00"', '["noon"', "'noon' is not an ISO 8601 timestamp"),
        ("cases:\n", "cases: 5\nx:\n", "has no list of cases"),
        ("cases:\n", "cases: []\nx:\n", "has no list of cases"),
    ],
)
def test_a_wrong_case_is_named(
    old: str, new: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in", "cases.yaml").write_text(CASES.replace(old, new))
    assert run_command(["test", "in/cases.yaml"]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert words in error


@pytest.mark.parametrize(
    "events",
    [
        " " * 90_000,
        f'A1(k="{"x" * 90_000}',
        "A" * 90_000,
        f"A1({'k=1 ' * 20_000}",
        f'A1(k="1"{" " * 90_000},k="2")',
    ],
    ids=["blanks", "open quote", "name", "pairs", "blanks after a value"],
)
def test_any_text_is_searched_for_events_in_linear_time(events: str) -> None:
    case = {"schema": {"A": {"k": "string"}}, "events": events, "rows": []}
    case["query"] = "RETURN COUNT(*) PATTERN A+ WITHIN 20"
    Path("long.yaml").write_text(json.dumps([case]))
    start = process_time()
    run_command(["test", "long.yaml"])
    assert process_time() - start < 5  # was minutes


def test_the_events_of_all_cases_of_a_file_are_bounded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = "schema: {A: {}}\nquery: RETURN COUNT(*) PATTERN A+ WITHIN 20\nevents: a1..9\nrows: []"
    Path("many.yaml").write_text(f"{shared}\ncases: [{', '.join(['{}'] * 4)}]\n")
    monkeypatch.setattr(cases, "MOST_EVENTS", 30)
    assert run_command(["test", "many.yaml"]) == 2
    assert "many.yaml: case 4: there are more than" in capsys.readouterr().err


@pytest.mark.parametrize("shared", ["events: a1", "events: a1..9(s=long-long-value)"])
@pytest.mark.parametrize("many", ["{}", "{}, {}, {}"])
def test_the_text_of_events_is_bounded(
    many: str, shared: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = "schema: {A: {s: string}}\nquery: RETURN COUNT(*) PATTERN A+ WITHIN 1\nrows: []\n"
    Path("many.yaml").write_text(f"{case}{shared}\ncases: [{many}]\n")
    monkeypatch.setattr(cases, "MOST_EVENT_TEXT", 50)
    is_too_long = "long" in shared or many != "{}"
    assert run_command(["test", "many.yaml"]) == (2 if is_too_long else 1)
    said = "many.yaml: case" in capsys.readouterr().err
    assert said == is_too_long


def test_the_text_of_cases_and_of_files_that_they_share_is_bounded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("w.sase").write_text("QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 20;" + " " * 1000)
    case = "schema: {A: {}}\nquery: q\nworkload: w.sase\nevents: a1\nrows: []\n"
    Path("many.yaml").write_text(f"{case}cases: [{{}}, {{}}, {{}}, {{}}]\n")
    monkeypatch.setattr(cases, "MOST_CASE_TEXT", 4000)
    assert run_command(["test", "many.yaml"]) == 2
    assert "many.yaml: case 4: the cases have more than" in capsys.readouterr().err


LONE = """
- name: lone
  schema: {{A: {{v: long, k: string, x: double, at: timestamp}}}}
  query: {query} WITHIN 20
  events: {events}
  rows: {rows}
"""
AT = "1970-01-01T00:00:01"


@pytest.mark.parametrize(
    ("query", "events", "rows", "is_ok"),
    [
        # Integers compare in full, whatever they are written as.
        ("RETURN SUM(A.v) PATTERN A", "a1(v=123456789012)", "{SUM(A.v): 123456789012.0}", True),
        ("RETURN SUM(A.v) PATTERN A", "a1(v=123456789012)", "{SUM(A.v): 123456789000}", False),
        ("RETURN SUM(A.v) PATTERN A", "a1(v=010)", "{SUM(A.v): 10}", True),
        # Doubles to ten digits, in groups in full.
        ("RETURN AVG(A.x) PATTERN A", "a1(x=1)", f"{{AVG(A.x): {10**400}}}", False),
        ("RETURN AVG(A.x) PATTERN A", "a1(x=1e-7)", "{AVG(A.x): 1.00000000001e-07}", True),
        ("RETURN x, COUNT(*) PATTERN A GROUP-BY x", "a1(x=1)", "{x: 1}, {COUNT(*): 1}", True),
        ("RETURN x, COUNT(*) PATTERN A GROUP-BY x", "a1(x=.nan)", "{x: .nan}, {COUNT(*): 1}", True),
        (
            "RETURN x, COUNT(*) PATTERN A GROUP-BY x", "a1(x=1.00000000001)",
            "{x: 1.00000000002}, {COUNT(*): 1}", False,
        ),
        # Instants, however they are written.
        *(
            ("RETURN MIN(A.at) PATTERN A", f"a1(at={AT}Z)", f"{{MIN(A.at): {written}}}", True)
            for written in (f"{AT}Z", f"'{AT}Z'", f'"{AT}.000000Z"', f"'{AT[:-8]}01:00:01+01:00'")
        ),
        (
            "RETURN at, COUNT(*) PATTERN A GROUP-BY at", f"a1(at={AT}Z)",
            f"{{at: {AT}}}, {{COUNT(*): 1}}", True,
        ),
        # Texts as they stand, in quotes too.
        *(
            ("RETURN k, COUNT(*) PATTERN A GROUP-BY k", f"'a1(k={written})'",
             f"{{k: {text}}}, {{COUNT(*): 1}}", True)
            for written, text in (("no", '"no"'), ("@x", '"@x"'), ('"a,b)"', '"a,b)"'),
                                  ("10", '"10"'), ('"null"', '"null"'), ("null", "null"),
                                  ("\U0001f600", r'"\ud83d\ude00"'))
        ),
        (
            "RETURN k, COUNT(*) PATTERN A GROUP-BY k", "a1(k=null)",
            '{k: "null"}, {COUNT(*): 1}', False,
        ),
        # A row counts once.
        ("RETURN COUNT(*) PATTERN A", "a1", "{COUNT(*): 1}], [0, 20, {COUNT(*): 1}", False),
        ("QUERY named RETURN COUNT(*) PATTERN A", "a1", "{COUNT(*): 1}", True),
    ],
)  # fmt: skip
def test_what_is_equal(
    query: str, events: str, rows: str, is_ok: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    text = LONE.format(query=query, events=events, rows=f"[[0, 20, {rows}]]")
    Path("lone.yaml").write_text(text)
    assert run_command(["test", "lone.yaml"]) == (0 if is_ok else 1), capsys.readouterr()


def test_of_raw_events_with_one_id_the_last_counts() -> None:
    Path("ids.yaml").write_text(
        "stream: s\ntime: {field: time, unit: integer}\ntype: {field: type}\nid: {field: id}\n"
        "types: {A: {v: long}}\n"
    )
    lines = "".join(
        f"\n    - {{type: A, time: {time}, id: {name}, v: {v}}}"
        for time, name, v in ((1, "a", 1), (1, "a", 1), (2, "b", 1), (2, "b", 5))
    )
    Path("lone.yaml").write_text(
        f"- schema: ids.yaml\n  query: RETURN COUNT(*), SUM(A.v) PATTERN A WITHIN 10\n"
        f"  events:{lines}\n  rows: [[0, 10, {{COUNT(*): 2, SUM(A.v): 6}}]]\n"
    )
    assert run_command(["test", "lone.yaml"]) == 0


def test_of_raw_events_with_versions_the_highest_counts(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ids.yaml").write_text(
        "stream: s\ntime: {field: time, unit: integer}\nid: {field: id, version: rev}\n"
        "types: {A: {v: long}}\n"
    )
    case = (
        "- schema: ids.yaml\n  query: RETURN COUNT(*), SUM(A.v) PATTERN A WITHIN 10\n  events:\n"
        "    - {time: 1, id: a, v: 5, rev: 2}\n    - {time: 1, id: a, v: 1, rev: 1}\n"
        "    - {time: 1, id: a, v: 3}\n  rows: [[0, 10, {COUNT(*): 1, SUM(A.v): 5}]]\n"
    )
    Path("lone.yaml").write_text(case)
    assert run_command(["test", "lone.yaml"]) == 0
    Path("lone.yaml").write_text(case.replace("rev: 2", "rev: soon"))
    assert run_command(["test", "lone.yaml"]) != 0
    assert "event 1: rev: 'soon' is not a number" in "".join(capsys.readouterr())


def test_cases_that_cannot_be_run_fail_or_are_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    ambiguous = CASES.replace(
        "RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v",
        "RETURN COUNT(A1) PATTERN SEQ(A A1+, A A2+)",
    )
    Path("in", "cases.yaml").write_text(ambiguous)
    assert run_command(["test", "in/cases.yaml", "--executor", "greta"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[2] == "FAILED  written here"
    assert "1:7: greta cannot run q" in out[3]
    assert out[-1] == "3 cases: 2 ok, 1 failed"
    only = ambiguous.replace("    query: RETURN", "    executors: [twostep]\n    query: RETURN")
    Path("in", "cases.yaml").write_text(only)
    assert run_command(["test", "in/cases.yaml", "--executor", "greta"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "skipped written here", "3 cases: 2 ok, 0 failed, 1 skipped"
    ]  # fmt: skip


@pytest.mark.slow
@settings(
    max_examples=draws(60, 2_000), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(
    st.integers(0, 40),
    st.none() | st.text(max_size=4) | st.sampled_from(["no", "1e3", "null", "2020-01-01"]),
    st.none() | st.floats(allow_infinity=False) | st.sampled_from([1e300, 1e-7, -0.0]),
    st.none() | st.integers(-(2**63), 2**63 - 1),
), min_size=1, max_size=5))  # fmt: skip
def test_what_run_prints_is_what_a_case_expects(
    events: list[tuple[int, str | None, float | None, int | None]],
) -> None:
    schema = stream_schema({"A": {"k": "string", "x": "double", "v": "long"}})
    text = (
        "RETURN k, v, x, COUNT(*), SUM(A.x), MAX(A.v), AVG(A.v) PATTERN A GROUP-BY k, v, x WITHIN 9"
    )
    table = EventTable.of(
        schema, [("A", time, {"k": k, "x": x, "v": v}) for time, k, x, v in events]
    )
    found = answer(Workload(schema, (bound_query(text, schema),)), table)
    rows = [json.loads(encode_row(row)) for row in found]
    case = {
        "name": "as printed", "schema": {"A": {"k": "string", "x": "double", "v": "long"}},
        "query": text, "events": [{"type": "A", "time": t, "k": k, "x": x, "v": v}
                                  for t, k, x, v in events],
        "rows": [[r["window_start"], r["window_end"], r["group"], r["values"]] for r in rows],
    }  # fmt: skip
    Path("case.yaml").write_text(json.dumps([case]), encoding="utf-8")
    assert run_command(["test", "case.yaml"]) == 0
    case["rows"][0][3]["COUNT(*)"] += 1  # type: ignore[index]
    Path("case.yaml").write_text(json.dumps([case]), encoding="utf-8")
    assert run_command(["test", "case.yaml"]) == 1
