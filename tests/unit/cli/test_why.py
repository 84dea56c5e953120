"""`elsinore why` against a small lake written without a JVM."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.main import run_command
from elsinore.integers import digits_of, from_json
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.load_workload import read_workload
from elsinore.store.tables import load_tables
from tests.unit.quality.lake import at, hour_row, published
from tests.written_tables import DECLARATIONS, write_hours, write_table

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "schemas/events/flights.yaml"
QUERIES = """
QUERY chains
RETURN carrier, COUNT(*), AVG(D.dep_delay), MAX(D.time)
PATTERN Departure D+
WHERE [tailnum]
GROUP-BY carrier
WITHIN 1 hour;
"""
WORKLOAD = read_workload(QUERIES, load_schema(SCHEMA))
HOUR = "2013-01-01T10"
WINDOW = "2013-01-01T10:00"
Why = Callable[..., str]


TABLES = load_tables(DECLARATIONS, load_schema(SCHEMA))


def write(lake: Path, table: str, rows: list[dict[str, Any]], note: object = None) -> None:
    write_table(lake, TABLES[table], rows, note=note)


def write_ledger(lake: Path, *more: dict[str, Any]) -> None:
    """Write the publication of the hour, and further rows of the ledger."""
    own = {
        "workload": "w", "workload_fingerprint": workload_fingerprint(WORKLOAD),
        "plan_fingerprint": "p" * 64, "events_version": 0, "run": "scheduled 11:00",
        "time": at(11, 5),
    }  # fmt: skip
    write_hours(lake, [published(HOUR) | own], more)


def departure(number: int, carrier: str, minute: int, delay: int) -> dict[str, Any]:
    return {
        "event_day": date(2013, 1, 1), "event_id": f"d{number}", "event_type": "Departure",
        "event_time": at(10, minute), "file_hour": HOUR, "file": "f", "record_number": number,
        "tailnum": "N1", "carrier": carrier, "flight": 7, "origin": "EWR", "dest": "IAH",
        "dep_delay": delay, "distance": 1400,
    }  # fmt: skip


def result(carrier: str, aggregate: str, value: float, exact: str | None) -> dict[str, Any]:
    (query,) = WORKLOAD.queries
    return {
        "window_end_day": date(2013, 1, 1), "window_end_hour": HOUR, "query": "chains",
        "query_fingerprint": query.fingerprint,
        "group_key": json.dumps({"carrier": carrier}), "window_start": at(10),
        "window_end": at(11), "aggregate": aggregate, "value": value, "exact": exact,
        "log2": None,
    }  # fmt: skip


def check(carrier: str, status: str = "checked") -> dict[str, Any]:
    return {
        "window_end_hour": HOUR, "workload_fingerprint": workload_fingerprint(WORKLOAD),
        "query": "chains", "group_key": json.dumps({"carrier": carrier}), "window_start": at(10),
        "window_end": at(11), "aggregate": "COUNT(*)", "mismatch": False, "status": status,
    }  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """UA has the departures d1, d2 and d3, hence 2^3 - 1 trends; AA has 40, hence 2^40 - 1."""
    lake = tmp_path / "lake"
    of_ua = [departure(n, "UA", 10 * n, n) for n in (1, 2, 3)]
    of_aa = [departure(n, "AA", n - 10, 5) for n in range(10, 50)]
    # Of a type that has left the schema since.
    old = departure(60, "UA", 55, 9) | {"event_type": "Boarding"}
    write(lake, "events", [old, *of_ua, *of_aa])
    # A version later UA has another departure, which the results do not know of.
    write(lake, "events", [departure(4, "UA", 50, 4)])
    results = [
        result("UA", "COUNT(*)", 7.0, "7"), result("UA", "AVG(D.dep_delay)", 2.0, None),
        result("UA", "MAX(D.time)", 1.357036200e15, "1357036200000000"),
        result("AA", "COUNT(*)", 2.0**40, str(2**40 - 1)),
        result("AA", "AVG(D.dep_delay)", math.nan, None),
    ]  # fmt: skip
    write(lake, "results", results, {"hours": [HOUR]})
    write_ledger(lake)
    plan = {
        "kind": "plan", "fingerprint": "p" * 64, "workload_fingerprint": "", "body": "",
        "statistics_fingerprint": "", "finder": "optimal",
    }  # fmt: skip
    write(lake, "plans", [plan])
    of_others = check("UA") | {"workload_fingerprint": "0" * 64, "mismatch": True}
    checks = [check("UA"), check("DL"), check("AA", "skipped"), of_others]
    write(lake, "validations", checks)
    return lake


@pytest.fixture
def why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Why:
    def told(*arguments: str, code: int = 0, queries: str = QUERIES) -> str:
        """What the command writes: on standard output, or on the other one if it fails."""
        workload = tmp_path / "w.sase"
        workload.write_text(queries, encoding="utf-8")
        paths = ("--lake", str(tmp_path / "lake"), "--workload", str(workload))
        assert run_command(["why", *arguments, *paths, "--schema", str(SCHEMA)]) == code
        return capsys.readouterr()[code > 0]

    return told


def test_it_says_where_a_result_comes_from_and_lists_its_trends(lake: Path, why: Why) -> None:
    lines = why("chains", "carrier=UA", WINDOW).splitlines()
    told = {line[:11].strip(): line[11:] for line in lines if line[:11].strip()}
    assert told["group"] == '{"carrier": "UA"}'
    assert told["window"] == "2013-01-01T10:00:00.000000Z to 2013-01-01T11:00:00.000000Z"
    assert told["workload"] == f"w  ({workload_fingerprint(WORKLOAD)[:12]})"
    assert told["plan"] == "pppppppppppp, found by optimal"
    assert told["events"] == "version 0 of the table events"
    assert told["run"] == "scheduled 11:00"
    assert told["published"] == (
        "2013-01-01T11:05:00Z, hour 2013-01-01T10, 4 rows, version 0 of the table results"
    )
    assert told["checked"] == "2 values of the hour, 0 mismatches; 1 of this result; 1 skipped"
    assert "values     AVG(D.dep_delay) = 2.0" in lines
    assert "           COUNT(*) = 7" in lines
    trends = lines[lines.index(next(line for line in lines if line.startswith("trends"))) :]
    steps = [[step.split()[1] for step in line[11:].split(" -> ")] for line in trends]
    assert sorted(steps) == [
        ["d1"], ["d1", "d2"], ["d1", "d2", "d3"], ["d1", "d3"], ["d2"], ["d2", "d3"], ["d3"],
    ]  # fmt: skip


def test_what_is_left_out_is_counted(lake: Path, why: Why) -> None:
    told = json.loads(why("chains", '{"carrier": "UA"}', WINDOW, "--limit", "2", "--json"))
    latest = "2013-01-01T10:30:00.000000Z"
    assert told["values"] == {"COUNT(*)": 7, "AVG(D.dep_delay)": 2.0, "MAX(D.time)": latest}
    assert told["publication"]["settled"] is True
    assert (told["trends"]["count"], told["trends"]["left_out"]) == (7, 5)
    first: dict[str, Any] = {"type": "Departure", "id": "d1", "time": "2013-01-01T10:10:00.000000Z"}
    first |= {"carrier": "UA", "tailnum": "N1", "dep_delay": 1}
    assert told["trends"]["listed"][0] == [first]
    assert len(told["trends"]["listed"]) == 2


EACH = """
QUERY chains
RETURN carrier, COUNT(EACH D) AS flights, MAX(EACH D.dep_delay),
  COUNT(DISTINCT tailnum) AS aircraft, COUNT(DISTINCT D.dep_delay + 1) * 2
PATTERN Departure D+
WHERE [tailnum]
GROUP-BY carrier
WITHIN 1 hour;
"""


def of_each(lake: Path) -> None:
    """Publish results of `EACH`: as many trends as before, which its values do not count."""
    (query,) = read_workload(EACH, load_schema(SCHEMA)).queries
    names = ("flights", "aircraft")
    rows = [result(carrier, name, 3.0, "3") | {"query_fingerprint": query.fingerprint}
            for carrier in ("UA", "AA") for name in names]  # fmt: skip
    write(lake, "results", rows)


def test_events_and_values_that_count_once_are_listed(lake: Path, why: Why) -> None:
    of_each(lake)
    lines = why("chains", "carrier=UA", WINDOW, "--limit", "2", queries=EACH).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("each"))
    assert lines[at].removeprefix("each       ") == (
        "3 events of D, as in flights, MAX(EACH D.dep_delay)"
    )
    assert [line.split()[:2] for line in lines[at + 1 : at + 4]] == [
        ["Departure", "d1"], ["Departure", "d2"], ["and", "1"],
    ]  # fmt: skip
    assert lines[at + 4 :] == [
        "distinct   1 distinct value, as in aircraft", "           N1",
        "distinct   3 distinct values, as in COUNT(DISTINCT D.dep_delay + 1)",
        "           2", "           3", "           and 1 more",
    ]  # fmt: skip


def test_events_that_count_once_are_listed_if_trends_are_too_many(lake: Path, why: Why) -> None:
    of_each(lake)
    told = json.loads(why("chains", "carrier=AA", WINDOW, "--json", "--limit", "3", queries=EACH))
    flights, aircraft, _ = told["participants"]
    assert told["trends"]["count"] is None
    assert [event["id"] for event in flights["listed"]] == ["d10", "d11", "d12"]
    assert (flights["kind"], flights["aliases"], flights["count"]) == ("events", ["D"], 40)
    assert (flights["left_out"], flights["reason"]) == (37, None)
    assert (aircraft["kind"], aircraft["listed"]) == ("values", ["N1"])


@pytest.mark.slow
def test_trends_that_are_too_many_to_build_are_counted_by_the_result(lake: Path, why: Why) -> None:
    told = json.loads(why("chains", "carrier=AA", WINDOW, "--json", "--limit", "3"))["trends"]
    assert len(told["listed"]) == 3
    assert told["left_out"] == 2**40 - 1 - 3
    assert "more trends than" in told["reason"]


@pytest.mark.slow
def test_a_count_of_30000_digits_is_written_in_full(lake: Path, why: Why) -> None:
    count = 2**100_000
    digits = digits_of(count)
    table = DeltaTable(str(lake / "results"))
    table.update(predicate="exact = '1099511627775'", updates={"exact": f"'{digits}'"})
    told = from_json(why("chains", "carrier=AA", WINDOW, "--json", "--limit", "3"))
    assert told["values"]["COUNT(*)"] == count
    assert told["trends"]["left_out"] == count - 3
    lines = why("chains", "carrier=AA", WINDOW, "--limit", "0").splitlines()
    assert f"           COUNT(*) = {digits}" in lines
    assert f"trends     {digits}, none listed" in lines


def test_a_half_published_hour_is_said_to_be(lake: Path, why: Why) -> None:
    write(lake, "results", [], {"hours": [HOUR]})
    assert "publish the hour again" in why("chains", "carrier=UA", WINDOW)
    shutil.rmtree(lake / "hours")
    assert "no publication is recorded" in why("chains", "carrier=UA", WINDOW)


def test_missing_inputs_are_listed(lake: Path, why: Why) -> None:
    assert "provisional" not in why("chains", "carrier=UA", WINDOW)
    own = {"workload": "w", "missing_inputs": ["2013-01-01T09"], "results_version": 1}
    write_ledger(lake, published(HOUR) | own)
    assert "provisionalno file of these hours had arrived: 2013-01-01T09" in why(
        "chains", "carrier=UA", WINDOW
    )


def test_without_the_very_events_no_trends_are_shown(lake: Path, why: Why) -> None:
    out = why("chains", "carrier=UA", WINDOW, queries=QUERIES.replace("1 hour", "2 hours"))
    assert "7, none listed" in out
    assert "no query with this name and text" in out
    for part in (lake / "events").glob("event_day=*"):
        shutil.rmtree(part)
    write_ledger(lake, hour_row("refreshed", HOUR, events_version=1))
    told = why("chains", "carrier=UA", WINDOW).splitlines()
    assert told[-2:] == [f"trends     {'7, none listed'}", f"           {_GONE}"]


def test_trends_whose_events_were_removed_are_counted(lake: Path, why: Why) -> None:
    shutil.rmtree(lake / "events")
    write(lake, "events", [departure(1, "UA", 10, 1)])
    told = why("chains", "carrier=UA", WINDOW).splitlines()
    assert told[-2] == "           and 6 more"
    assert told[-1] == "           the events that are still stored have no more trends"


def test_a_window_of_another_text_that_starts_there_too_is_told_apart(lake: Path, why: Why) -> None:
    """The query at hand counts; where it is neither, what was published last."""
    of_both = {
        "query_fingerprint": "f" * 64,
        "window_end": at(12),
        "window_end_hour": "2013-01-01T11",
    }
    rows = [result("UA", name, 127.0, "127") | of_both for name in ("COUNT(*)", "SUM(D.flight)")]
    write(lake, "results", rows)
    told = json.loads(why("chains", "carrier=UA", WINDOW, "--json"))
    assert told["values"]["COUNT(*)"] == 7
    assert "SUM(D.flight)" not in told["values"]
    assert told["window_end"] == "2013-01-01T11:00:00.000000Z"
    other = QUERIES.replace("1 hour", "30 minutes")
    told = json.loads(why("chains", "carrier=UA", WINDOW, "--json", queries=other))
    assert told["values"] == {"COUNT(*)": 127, "SUM(D.flight)": 127}
    assert told["window_end"] == "2013-01-01T12:00:00.000000Z"


_GONE = "version 0 of the events was deleted, and events of the window may have changed since"


@pytest.mark.parametrize(
    ("state", "hour", "listed"),
    [("refreshed", "2013-01-01T09", 7), ("refreshed", HOUR, 0), ("removed", HOUR, 0)],
)
def test_a_year_later_trends_come_from_events_that_have_not_changed_since(
    lake: Path, why: Why, state: str, hour: str, listed: int
) -> None:
    """The version that was read is vacuumed and its log cleaned; the ledger has the changes."""
    table = lake / "events"
    shutil.rmtree(table)
    for number in range(3):
        events = [departure(n, "UA", 10 * n, n) for n in (1, 2, 3)]
        write(lake, "events", events if number == 2 else [])
    DeltaTable(str(table)).create_checkpoint()
    for number in (0, 1):
        (table / "_delta_log" / f"{number:020}.json").unlink()
    write_ledger(lake, hour_row(state, hour, events_version=1) | {"workload": ""})
    told = json.loads(why("chains", "carrier=UA", WINDOW, "--json"))
    assert told["publication"]["run"] == "scheduled 11:00"
    assert told["finder"] == "optimal"
    assert (told["trends"]["count"], len(told["trends"]["listed"])) == (7, listed)
    assert told["trends"]["reason"] == (None if listed else _GONE)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("chains", "carrier=DL", WINDOW), 1, 'published in this window: {"carrier": "AA"}, {"'),
        (("nothing", "{}", WINDOW), 1, "queries are chains"),
        (("chain", "{}", WINDOW), 1, "did you mean chains?"),
        (("chains", "{}", "2013-02-08T00:07:01"), 1, "a window starts every"),
        (("chains", "carier=UA", WINDOW), 1, "its groups have carrier, not carier"),
        (("chains", "carrier=UA", "2025-03-03"), 1, "none; windows are from 2013-01-01T10:00 to"),
        (("chains", "carrier", WINDOW), 2, "not a group: 'carrier'"),
        (("chains", "{carrier", WINDOW), 2, "not a JSON object"),
        (("chains", "carrier=UA", "yesterday"), 2, "'yesterday' is not an ISO 8601 timestamp"),
        (("chains", "carrier=UA"), 2, "Missing argument"),
        (("chains\udcff", "carrier=UA", WINDOW), 2, "query chains\\udcff does not exist"),
    ],
)
def test_what_cannot_be_told_is_one_line(
    lake: Path, why: Why, arguments: tuple[str, ...], code: int, text: str
) -> None:
    error = why(*arguments, code=code)
    assert text in error
    assert error.count("\n") == 1


def test_without_a_lake_that_is_said(why: Why) -> None:
    assert "results" in why("chains", "carrier=UA", WINDOW, code=1)
