"""`elsinore explain`: who shares what; `plan`: the stream that it was found from."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from elsinore.cli.main import run_command

SCHEMA = """
stream: letters
time: {field: time, unit: s}
type: {field: type}
types:
  A: {k: string, g: string, v: long}
  B: {k: string, g: string, v: long}
  C: {k: string, g: string}
  K: {k: string, g: string, v: long}
"""
WORKLOAD = """
QUERY one RETURN COUNT(*) PATTERN SEQ(A, B, C) WHERE [k] WITHIN 10 seconds;
QUERY two RETURN COUNT(*) PATTERN SEQ(A, B, K+) WHERE [k] WITHIN 10 seconds;
QUERY three RETURN SUM(K.v) PATTERN SEQ(C, K+) WHERE [k] WITHIN 30 seconds SLIDE 15 seconds;
QUERY four RETURN g, COUNT(*) PATTERN K+ WHERE [k] GROUP-BY g WITHIN 10 seconds;
QUERY five RETURN COUNT(*) PATTERN SEQ(K+, NOT A, B) WHERE [k] WITHIN 10 seconds;
"""
RATES = "per: 10\nrates: {A: 10, B: 2, C: 4, K: 3}\n"


@pytest.fixture(name="files")
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("s.yaml").write_text(SCHEMA)
    Path("w.sase").write_text(WORKLOAD)
    Path("r.yaml").write_text(RATES)
    return tmp_path


def explain(*more: str) -> int:
    return run_command(["explain", "w.sase", "--schema", "s.yaml", *more])


@pytest.fixture(name="as_json")
def _as_json(files: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def explained(*more: str) -> Any:
        assert explain("--json", *more) == 0
        return json.loads(capsys.readouterr().out)

    return explained


@pytest.fixture(name="plan")
def _plan(files: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert run_command(["plan", "w.sase", "--schema", "s.yaml", "--rates", "r.yaml", "--json"]) == 0
    (files / "p.json").write_text(capsys.readouterr().out)
    return "p.json"


# By hand, per window of 10 seconds: (A, B) costs 10 * 12 once. One: 10 * 16 alone, beside it
# 4 * 4 + 10 * 4 = 56: gains 104. Two: 10 * 15 alone, beside it 3 * 3 + 10 * 3 = 39: gains 111.
# Net 95. The longest window, 30 seconds, holds three of them.
def test_the_shared_segment(as_json: Any) -> None:
    found = as_json("--rates", "r.yaml")
    assert found["shared"] == [
        {
            "id": "p1",
            "pattern": ["A", "B"],
            "shared_by": ["one", "two"],
            "gains": {"one": 312, "two": 333},
            "once": 360,
            "net": 285,
            "left_out": {},
        }
    ]
    assert found["plan"]["score"] == 285
    assert [query["cut"] for query in found["queries"]] == [
        "SEQ(shared p1: A, B | C)", "SEQ(shared p1: A, B | K+)", "SEQ(C, K+)", "K+",
        "SEQ(K+, NOT A, B)",
    ]  # fmt: skip
    assert found["queries"][1]["parts"] == [
        {"shared": "p1", "start": 0, "stop": 2, "pattern": ["A", "B"]},
        {"shared": None, "start": 2, "stop": 3, "pattern": ["K+"]},
    ]
    keys = [(query["keys"], query["window"]) for query in found["queries"][2:4]]
    assert keys == [
        ("[k]", "WITHIN 30 seconds SLIDE 15 seconds"),
        ("[k] GROUP-BY g", "WITHIN 10 seconds"),
    ]


def test_the_kleene_part(as_json: Any) -> None:
    found = as_json("--rates", "r.yaml")
    (kleene,) = found["kleene"]
    assert (kleene["type"], kleene["sets"], kleene["apart"]) == (
        "K", {"s1": ["three", "two"]}, None,
    )  # fmt: skip
    alone = {each["query"]: (each["keys"], each["why"]) for each in kleene["alone"]}
    assert alone == {
        "four": ("[k] GROUP-BY g", "no other query has its Kleene types and keys"),
        "five": ("[k]", "NOT depends on events in between"),
    }
    (one,) = found["sets"]
    assert (one["id"], one["types"], one["queries"]) == ("s1", ["K"], ["three", "two"])
    assert (one["pane"], one["pane_text"]) == (5_000_000, "5 seconds")  # gcd of 10, 30 and 15
    loops = [t["queries"] for t in one["transitions"] if t["earlier"] == t["later"]]
    assert loops == [["three", "two"]]
    # Nothing is asked of pairs: three and two are swept together, four by itself; five has NOT.
    executors = {query["query"]: query["executor"] for query in found["queries"]}
    assert executors == {
        "one": "sweep", "two": "sweep", "three": "sweep", "four": "sweep", "five": "greta",
    }  # fmt: skip
    assert one["run_by"] == {"sweep": ["two", "three"]}
    reasons = {query["query"]: query["why"] for query in found["queries"]}
    assert reasons["one"].startswith("of fixed length; the sweep is faster")
    assert reasons["two"] == reasons["three"]
    assert reasons["two"] == "has no edge predicate; with 2 others"
    assert reasons["four"] == "has no edge predicate"
    assert reasons["five"] == "NOT depends on events in between"


def test_two_sets_of_one_type(as_json: Any, files: Path) -> None:
    more = "QUERY six RETURN g, COUNT(*) PATTERN SEQ(A, K+) WHERE [k] GROUP-BY g WITHIN 20 seconds;"
    (files / "w.sase").write_text(WORKLOAD + more)
    (kleene,) = as_json("--rates", "r.yaml")["kleene"]
    assert kleene["sets"] == {"s1": ["four", "six"], "s2": ["three", "two"]}
    assert kleene["apart"] == "partitioned differently: s1 by [k] GROUP-BY g; s2 by [k]"


def test_a_stored_plan_is_the_same_story(as_json: Any, plan: str) -> None:
    found, stored = as_json("--rates", "r.yaml"), as_json("--plan", plan)
    assert as_json("--plan", plan, "--rates", "r.yaml") == found
    (shared,) = stored["shared"]
    assert (shared["gains"], shared["once"], shared["net"]) == (None, None, 285)
    # What pays on this engine is not known without rates; all else is in the plan.
    assert stored["queries"][0]["why"] == "of fixed length; shares no segment"
    assert stored["queries"][1]["why"] == "has no edge predicate; with 1 other"
    runs = {"executor": None, "why": None}
    without = [[{**query, **runs} for query in each["queries"]] for each in (stored, found)]
    assert without[0] == without[1]
    executors = [[query["executor"] for query in each["queries"]] for each in (stored, found)]
    assert (executors[0][0], executors[1][0]) == ("segments", "sweep")
    assert executors[0][1:] == executors[1][1:]
    assert (stored["sets"], stored["kleene"]) == (found["sets"], found["kleene"])


def test_a_stored_plan_shows_whose_panes_hourly_runs_cache(as_json: Any, files: Path) -> None:
    more = "QUERY day RETURN COUNT(*) PATTERN SEQ(A, K+) WITHIN 1 day SLIDE 1 hour;"
    (files / "w.sase").write_text(WORKLOAD + more)
    # 2 * 86,400 / 10 * 120 events in a day.
    (files / "r.yaml").write_text("per: 10\nrates: {A: 100, B: 20, C: 40, K: 80}\n")
    planning = ["plan", "w.sase", "--schema", "s.yaml", "--rates", "r.yaml", "--json"]
    with redirect_stdout(StringIO()) as printed:
        assert run_command(planning) == 0
    (files / "p.json").write_text(printed.getvalue())
    whys = [
        {query["query"]: (query["executor"], query["why"]) for query in as_json(*given)["queries"]}
        for given in (("--plan", "p.json", "--rates", "r.yaml"), ("--rates", "r.yaml"))
    ]
    why = "panes are cached: windows reach back over about 2,073,600 events"
    assert whys[0]["day"] == ("sweep", why)
    assert whys[1]["day"] == ("sweep", "has no edge predicate"), "as `elsinore run`"


def test_text_for_people(plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("--plan", plan, "--rates", "r.yaml", "--plot", "x.svg") == 0
    text = capsys.readouterr().out
    for told in (
        "by optimal: sharing saves 285 count updates per longest window, proven optimal",
        "  two    SEQ(shared p1: A, B | K+)  [k] WITHIN 10 seconds\n",
        "one: 312", "two: 333", "K+ in 4 queries", "s1 shares it: three, two",
        "not five ([k]): NOT depends on events in between",
        "s1: 2 queries, [k]; panes of 5 seconds",
        "    C -> K: three\n", "    K -> K: all\n", "    B -> K: two\n",
        "  greta: five: NOT depends on events in between\n",
        "  sweep: one: of fixed length; the sweep is faster if windows hardly overlap;"
        " with 2 others\n",
        "drawn in x.svg",
    ):  # fmt: skip
        assert told in text, told
    assert Path("x.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_from_events(files: Path, as_json: Any, capsys: pytest.CaptureFixture[str]) -> None:
    events = [
        {"time": 10**9 + second, "type": name, "k": "p", "g": "q", "v": 1}
        for second, name in enumerate("AABBCK")
    ]
    (files / "e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    whole = as_json("--events", "e.jsonl")
    (found,) = whole["shared"]
    # In 10 seconds, twice the 5 that were seen: A 4, B 4, C 2, K 2. Each query gains
    # 4 * 10 - 2 * 2 - 4 * 2 = 28 over a cost of 4 * 8, in three windows.
    assert found["net"] == pytest.approx(3 * (28 + 28 - 32), rel=1e-5)
    # `plan` counts the same
    command = ["plan", "w.sase", "--schema", "s.yaml", "--events", "e.jsonl", "--json"]
    assert run_command(command) == 0
    (files / "p.json").write_text(capsys.readouterr().out)
    assert as_json("--plan", "p.json", "--events", "e.jsonl") == whole


def test_a_plan_for_another_workload_or_from_other_rates_is_refused(
    plan: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("r.yaml").write_text(RATES.replace("10,", "11,"))
    assert explain("--plan", plan, "--rates", "r.yaml") == 1
    assert "for other statistics" in capsys.readouterr().err
    Path("w.sase").write_text(WORKLOAD.replace("SEQ(C, K+)", "SEQ(B, K+)"))
    assert explain("--plan", plan) == 1
    error = capsys.readouterr().err
    assert error == (
        "elsinore: the static plan was found for another workload (print a plan with "
        "`elsinore plan WORKLOAD --schema SCHEMA --events FILE --json`; in the pipeline, run "
        "`elsinore aggregate`)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--plan", "none.json"], 2, "cannot read none.json"),
        (["--plan", "w.sase"], 1, "is not JSON"),
        (
            ["--rates", "r.yaml", "--events", "e.jsonl"],
            2,
            "--rates and --events exclude each other",
        ),
        (["--rates", "r.yaml", "--plot", "x.pdf"], 2, "is not a picture"),
    ],
)
@pytest.mark.usefixtures("files")
def test_bad_usage_is_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(*arguments) == code
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


# ---- `elsinore plan --events`: what the stream looked like, beside the plan
RIDES = """
stream: rides
time: {field: time, unit: integer}
type: {field: type}
types: {A: {k: string, x: long}, B: {k: string, x: long}}
"""
KLEENE = """
QUERY q1 RETURN COUNT(*) PATTERN SEQ(B, A a+)
WHERE [k] AND a.x > 1 AND a.x < NEXT(a).x WITHIN 10;
QUERY q2 RETURN COUNT(*) PATTERN A a+ WHERE [k] AND a.x < NEXT(a).x WITHIN 10 SLIDE 5;
"""
#: Time, type, k, x: two panes of five ticks.
EVENTS = [(0, "B", "p", 0), (1, "A", "p", 1), (2, "A", "p", 2), (3, "A", "p", 3), (5, "A", "q", 1)]


def test_the_stream_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yaml").write_text(RIDES)
    (tmp_path / "w.sase").write_text(KLEENE)
    lines = [json.dumps(dict(zip(("time", "type", "k", "x"), e, strict=True))) for e in EVENTS]
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    files = [str(tmp_path / name) for name in ("w.sase", "s.yaml", "e.jsonl")]
    arguments = ["plan", files[0], "--schema", files[1], "--events", files[2]]
    assert run_command(arguments) == 0
    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines()]
    assert "Events per pane of 5 ticks" in printed
    assert "Nothing to share: no two queries have a segment in common" in printed
    # Three of A in the first pane, one in the second; least, mean, median, most.
    assert ["A", "1", "2", "2", "3"] in rows
    # Bursts of A: 1, 2, 3 of p, 1 of q.
    assert ["A", "k", "5 ticks", "q1, q2", "2", "2", "2", "3"] in rows
    assert ["A.x > 1", "q1", "4", "50.0%"] in rows
    # q1: (2, 3); q2: all three pairs of 1, 2, 3.
    assert ["A.x < NEXT(A).x", "q1", "1 pair", "100.0%"] in rows
    assert ["A.x < NEXT(A).x", "q2", "3 pairs", "100.0%"] in rows
    assert ["k", "2", "2.5", "2.5", "4", "80.0%"] in rows
    assert run_command([*arguments, "--json"]) == 0
    assert "candidates" in json.loads(capsys.readouterr().out)
