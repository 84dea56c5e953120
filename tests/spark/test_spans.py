"""Queries with spans or OFFSET in the pipeline: rows across hours, late events, any order."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from elsinore.cli.why import WhyOptions, explain_result
from elsinore.events import EventTable
from elsinore.lake.answered import answered_by
from elsinore.lake.own_workload import load_own_workload
from elsinore.ledger.results import publications, stale
from elsinore.ledger.table import state_of
from elsinore.orchestration.run_step import Arguments
from elsinore.quality.validate import VALIDATIONS
from elsinore.reference.two_step import two_step
from elsinore.results.published import numbers_of
from elsinore.settings import Settings
from elsinore.store.tables import RESULTS, Lake
from elsinore.timeline import Interval, instant_of
from jobs import aggregate_trends, find_plan, ingest_events, publish_results, validate_results
from tests.draws import draws
from tests.homes import NewHome
from tests.landing_zone import departure, hours, put

pytestmark = pytest.mark.spark

QUERIES = """
QUERY chains RETURN COUNT(*), SUM(D.dep_delay) PATTERN Departure D+
WHERE [tailnum] SPAN 90 minutes PER 1 hour;
QUERY rising RETURN tailnum, COUNT(*), MAX(LENGTH) PATTERN Departure D{2,}
WHERE D.dep_delay < NEXT(D).dep_delay GROUP-BY D.tailnum SPAN 2 hours PER 30 minutes;
QUERY planes RETURN COUNT(DISTINCT tailnum), COUNT(EACH D) PATTERN SEQ(Departure C, Departure D)
WHERE [tailnum] AND C.dep_delay > 5 SPAN 40 minutes PER 1 hour;
QUERY halves RETURN COUNT(*), SUM(D.dep_delay) PATTERN Departure D+
WHERE [tailnum] WITHIN 1 hour OFFSET 30 minutes;
QUERY thirds RETURN tailnum, COUNT(*), MAX(DURATION) PATTERN Departure D+
WHERE D.dep_delay < NEXT(D).dep_delay GROUP-BY D.tailnum
WITHIN 80 minutes SLIDE 40 minutes OFFSET 25 minutes;
QUERY shifted RETURN COUNT(*) PATTERN SEQ(Departure C, Departure D)
WHERE [tailnum] SPAN 40 minutes PER 1 hour OFFSET 15 minutes;
"""

FLIGHTS = [
    (hour, minute, f"N{(hour + minute) % 3}", (7 * hour + 11 * minute) % 13)
    for hour in range(8, 12)
    for minute in (2, 17, 31, 44, 58)
]
LATE = (9, 50, "N2", 12)

#: Hour, minute, aircraft, delay.
Flight = tuple[int, int, str, int]

#: Queries whose periods are complete one span after their end.
LATER = """
QUERY next RETURN COUNT(*), SUM(D.dep_delay) PATTERN Departure D+
WHERE [tailnum] SPAN 75 minutes PER 1 hour BY FIRST;
QUERY alone RETURN tailnum, COUNT(*) PATTERN SEQ(Departure D, NOT Departure E)
WHERE E.dep_delay > 4 GROUP-BY tailnum SPAN 50 minutes PER 1 hour;
QUERY around RETURN COUNT(*) PATTERN SEQ(NOT Departure A, Departure D{2,}, NOT Departure E)
WHERE [tailnum] AND A.dep_delay > 8 AND E.dep_delay > 8 SPAN 40 minutes PER 30 minutes BY FIRST;
QUERY pairs RETURN COUNT(EACH D), COUNT(DISTINCT tailnum) PATTERN SEQ(Departure C, Departure D)
WHERE [tailnum] AND C.dep_delay < NEXT(D).dep_delay SPAN 2 hours PER 30 minutes BY FIRST;
"""


@pytest.fixture
def settings(new_spark_home: NewHome, tmp_path: Path) -> Settings:
    main = tmp_path / "spans.sase"
    main.write_text(QUERIES)
    made = new_spark_home().model_copy(update={"workload_file": main, "late_arrival_days": 1})
    for hour in range(8, 12):
        own = [flight for flight in FLIGHTS if flight[0] == hour]
        put(made, hour, *(_line(n, *flight) for n, flight in enumerate(own)))
    return made


def _line(number: int, hour: int, minute: int, tailnum: str, delay: int) -> dict[str, object]:
    return departure(100 * hour + number, minute, hour, tailnum=tailnum, dep_delay=delay)


def run(settings: Settings, interval: Interval, name: str) -> None:
    """A run of some hours, and of the hours that it recomputes."""
    own = Arguments(interval, name)
    recomputed = ingest_events.main(own, settings)["recomputed"]
    find_plan.main(own, settings)
    parts = [Arguments(Interval.parse(p["start"], p["end"]), name, ingested=False)
             for p in recomputed]  # fmt: skip
    for part in (own, *parts):
        for job in (aggregate_trends, validate_results, publish_results):
            job.main(part, settings)


def expected(settings: Settings, flights: list[Flight], end: int) -> set[tuple[str, ...]]:
    """The results of the reference over all events, of windows that are complete by an hour."""
    lake = Lake.open(settings)
    start = hours(0, 1).start
    rows = [
        ("Departure", start + (hour * 60 + minute) * 60_000_000,
         {"tailnum": tailnum, "dep_delay": delay})
        for hour, minute, tailnum, delay in flights
    ]  # fmt: skip
    events = EventTable.of(lake.stream, rows)
    found: set[tuple[str, ...]] = set()
    for query in load_own_workload(settings, lake.stream).queries:
        for row in two_step(query, events):
            if int(row.window_end) + query.window.ahead > hours(0, end).end:
                continue
            group = ",".join(str(value) for _, value in row.group)
            for name, value in row.values:
                exact = str(numbers_of(value)[1])
                found.add((query.name, group, str(int(row.window_start)), name, exact))
    return found


def published(settings: Settings) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for row in Lake.open(settings).rows(RESULTS).to_pylist():
        group = row["group_key"].strip("{}").rpartition(":")[2].strip(' "')
        start = str(instant_of(row["window_start"]))
        found.add((row["query"], group, start, row["aggregate"], str(row["exact"])))
    return found


def test_hours_and_late_events_give_the_rows_of_all_events(settings: Settings) -> None:
    for part in (hours(8, 10), hours(10, 12)):
        run(settings, part, f"hours from {part.start}")
    assert published(settings) == expected(settings, FLIGHTS, 12)
    put(settings, 9, _line(77, *LATE), name="-late")
    run(settings, hours(12, 13), "late")
    [answered] = answered_by(settings)
    assert answered.reach == 2
    assert published(settings) == expected(settings, [*FLIGHTS, LATE], 13)
    assert not len(stale(state_of(settings), answered.reach))
    assert len(publications(state_of(settings))) == 5
    checked = Lake.open(settings).rows(VALIDATIONS).to_pylist()
    assert checked
    assert not [row for row in checked if row["mismatch"]]
    assert {row["query"] for row in checked} == {
        "chains", "rising", "planes", "halves", "thirds", "shifted"
    }  # fmt: skip


def _history(seed: int) -> list[tuple[Interval, dict[int, list[Flight]]]]:
    """Runs of some hours in any order, each with the files that arrive before it.

    A file can come again with other flights. In the end each hour has its last file and a run.
    """
    dice = random.Random(seed)

    def flights(hour: int) -> list[Flight]:
        minutes = sorted(dice.sample(range(60), 5))
        return [(hour, minute, f"N{dice.randrange(2)}", dice.randrange(13)) for minute in minutes]

    runs = []
    for hour in dice.sample(range(8, 12), 2):  # these files are corrected later
        runs.append((hours(hour, hour + 1), {hour: flights(hour)}))
    first, second = sorted(dice.sample(range(9, 14), 2))
    pieces = [range(8, first), range(first, second), range(second, 15)]
    dice.shuffle(pieces)
    late = dice.choice((9, 10))  # its file comes in a run of other hours, and is found as changed
    for number, piece in enumerate(pieces):
        files = {hour: flights(hour) for hour in piece if hour < 12}
        if late in piece and number < 2:
            files[late] = files[late][:2]
        runs.append((hours(piece.start, piece.stop), files))
    return [*runs, (hours(late, late + 1), {late: flights(late)})]


@pytest.mark.parametrize("seed", range(draws(2, 12)))
def test_any_order_of_hours_gives_the_rows_of_all_events(settings: Settings, seed: int) -> None:
    settings.workload_file.write_text(LATER)
    for file in settings.landing.rglob("*.jsonl"):
        file.unlink()
    stored: dict[int, list[Flight]] = {}
    for number, (part, files) in enumerate(_history(seed)):
        for hour, own in files.items():
            put(settings, hour, *(_line(n, *flight) for n, flight in enumerate(own)))
        stored |= files
        run(settings, part, f"run {number}")
    flights = [flight for own in stored.values() for flight in own]
    found = published(settings)
    assert found == expected(settings, flights, 15)
    assert {query for query, *_ in found} == {"next", "alone", "around", "pairs"}
    [answered] = answered_by(settings)
    assert not len(stale(state_of(settings), answered.reach))
    checked = Lake.open(settings).rows(VALIDATIONS).to_pylist()
    assert not [row for row in checked if row["mismatch"]]
    assert {row["query"] for row in checked if row["status"] == "checked"} >= {"next", "alone"}


def test_why_lists_the_trends_of_a_period_by_first_event(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.workload_file.write_text(LATER)
    run(settings, hours(8, 15), "all")
    lake = Lake.open(settings)
    rows = [row for row in lake.rows(RESULTS).to_pylist() if row["query"] == "next"]
    assert {row["window_end_hour"][-2:] for row in rows} == {"10", "11", "12", "13"}
    capsys.readouterr()
    files = settings.workload_file, settings.schema_file
    explain_result(
        WhyOptions("next", "", "2013-01-01T08:00", lake.root, *files, (), 10_000, None, True)
    )
    told = json.loads(capsys.readouterr().out)
    assert told["window_end_hour"].endswith("T10")
    assert told["trends"]["count"] == len(told["trends"]["listed"]) == told["values"]["COUNT(*)"]
