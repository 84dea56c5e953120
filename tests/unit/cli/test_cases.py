"""`elsinore test`: cases of a user's own queries, told one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.cli.main import run_command

ROOT = Path(__file__).parents[3]

SCHEMA = """
stream: shop
time: {field: ts, unit: iso}
type: {field: event}
types: {View: {user: string, price: double}, Buy: {user: string, price: {type: double, min: 0}}}
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


def test_the_golden_cases_of_the_papers_are_such_cases(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["test", str(ROOT / "tests" / "golden" / "trends" / "papers.yaml")]) == 0
    assert "14 cases: 14 ok, 0 failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("query: funnel", "query: funel", "no query funel (did you mean funnel?)"),
        ("    query: funnel\n", "", "two views, one purchase: query is missing"),
        ("why:", "whi:", "there is no whi (did you mean why?)"),
        ("view0min", "look0min", "no event: 'look0min(user=ann)"),
        ("price: 2}", "price: -2}", "event 2: price: -2.0 is below 0"),
        ("event: Buy, ", "", "event 2: event is missing"),
        ("w.sase", "none.sase", "cannot read in/none.sase"),
        ("a1(v=1)", "a1(v 1)", "written here: "),
        ('["2025-03-03T08:00"', '["noon"', "not an ISO 8601 instant: 'noon'"),
        ("cases:\n", "cases: 5\nx:\n", "holds no list of cases"),
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
