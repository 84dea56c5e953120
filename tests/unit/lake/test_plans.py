"""Statistics and plans of runs: counted from the events, kept once, in force within a band."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import deltalake
import pytest

from elsinore.cli.plan import read_statistics
from elsinore.errors import DataError, ParameterError, PlanError
from elsinore.executors.profile import measure
from elsinore.lake.plans import FoundPlan, load_plan, plan_run
from elsinore.lake.stored_events import StoredEvents
from elsinore.ledger.run_metrics import find_text, note_metrics
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.parse import parse_workload
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.observe import EventCounts
from elsinore.sharing.replan import Band, Replan, replan
from elsinore.sharing.statistics import Statistics
from elsinore.store.tables import Lake
from elsinore.timeline import MINUTE, Interval
from tests import profile_case as case
from tests.ingest.landing_zone import departure
from tests.stored_lake import add_records, changes, new_lake, settings_of

QUERIES = """
QUERY one RETURN COUNT(*) PATTERN SEQ(Departure D, Arrival A, Departure E)
WHERE [tailnum] WITHIN 2 hours;
QUERY two RETURN COUNT(*) PATTERN SEQ(Departure D, Arrival A, Cancellation C)
WHERE [tailnum] WITHIN 1 hour;
"""


def hours(first: int, end: int) -> Interval:
    """Hours of 1 January 2013."""
    return Interval.parse(f"2013-01-01T{first:02}:00Z", f"2013-01-01T{end:02}:00Z")


def rows(lake: Lake, *columns: str) -> list[tuple[Any, ...]]:
    """Rows of `plans` in order."""
    found = lake.rows("plans", columns=list(columns)).to_pylist()
    return sorted(tuple(row.values()) for row in found)


def bound(lake: Lake, text: str = QUERIES) -> Workload:
    return bind_workload(parse_workload(text, "test"), lake.stream)


def arrival(number: int, **changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = {
        "id": f"a{number}",
        "type": "Arrival",
        "dep_delay": ...,
        "arr_delay": 3,
        "air_time": 9,
    }
    return departure(number, **(event | changes))


def morning() -> list[dict[str, Any]]:
    """Events at 08:59:59, 09:00, 10:00, 10:30 and 12:00, of aircraft with and without a number."""
    return [
        departure(1, time="2013-01-01T08:59:59.999999Z", tailnum="N9"),
        departure(2, hour=9), departure(3, hour=9, tailnum="N2"),
        arrival(1, minute=30, arr_delay=None),
        arrival(2, tailnum="n1"),
        departure(4, type="Cancellation", dep_delay=..., tailnum=None),
        {"id": "w", "type": "Weather", "time": "2013-01-01T10:00:00Z", "origin": "JFK",
         "precip": 0.0, "visib": 10.0},
        departure(6, hour=12, minute=0, tailnum="N8"),
    ]  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake without events."""
    return new_lake(settings_of(tmp_path))


@pytest.fixture
def landed(lake: Lake, tmp_path: Path) -> Lake:
    """A lake with these events."""
    add_records(lake, tmp_path, *morning())
    return lake


def stored(lake: Lake, workload: Workload, interval: Interval) -> StoredEvents:
    return StoredEvents.of(lake.path("events"), workload, interval)


def reason(lake: Lake, workload: Workload, interval: Interval) -> str | None:
    return find_text(lake, workload_fingerprint(workload), interval, "plan", "reason")


def plan(lake: Lake, workload: Workload, interval: Interval, *changed: int) -> FoundPlan:
    """As the job does it, with a ledger in which the last commit changed some hours."""
    recorded = changes(lake.version("events"), *changed)
    return plan_run(lake, workload, interval, changes=recorded, run="test")


def test_counted_is_what_a_run_reads(landed: Lake) -> None:
    assert stored(landed, bound(landed), hours(9, 12)).statistics() == Statistics.counted(
        hours(9, 12),
        {"Departure": 2, "Arrival": 2, "Cancellation": 1},
        # N1, N2 and n1; no number is no value.
        {("tailnum",): 3},
    )
    # A run over [11:00, 12:00) with windows of two hours reads from 09:00 to 12:00.
    figures = plan(landed, bound(landed), hours(11, 12)).figures
    counts = {name: number for name, number in figures.items() if name.startswith("events_")}
    assert counts == {
        "events_Departure": 2, "events_Arrival": 2, "events_Cancellation": 1,
        "events_version": str(landed.version("events")),
    }  # fmt: skip


def test_an_hour_is_counted_once_while_it_stands(
    landed: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[Interval] = []
    real = StoredEvents.count

    def noting(events: StoredEvents, interval: Interval, counts: EventCounts) -> None:
        counted.append(interval)
        real(events, interval, counts)

    judged: list[Statistics] = []

    def judging(*known: Any, band: Band) -> Replan:
        judged.append(known[-1])
        return replan(*known, band=band)

    monkeypatch.setattr("elsinore.lake.plans.replan", judging)
    monkeypatch.setattr(StoredEvents, "count", noting)
    monkeypatch.setattr("elsinore.lake.plans.FEWEST_BYTES", 0)
    windows = QUERIES.replace("2 hours", "150 minutes").replace("1 hour", "40 minutes")
    workload = bound(landed, windows + GROUPED)

    changed = list[int]()

    def read(first: int) -> list[int]:
        """In minutes the stretches that a run reads; what it counts is what there is."""
        counted.clear()
        run = hours(first, first + 1)
        plan(landed, workload, run, *changed)
        # The half hour with which it begins is left out.
        reads, observed = counted[:], Interval(run.start - 120 * MINUTE, run.end)
        whole = stored(landed, workload, observed).statistics()
        assert judged.pop() == whole
        return [each.length // MINUTE for each in reads]

    assert read(10) == [60, 60, 60]
    assert read(11) == [60], "its own hour"
    assert read(11) == []
    late = departure(20, hour=9), departure(21, hour=12, tailnum="N21")
    add_records(landed, tmp_path, *late)
    changed += [hours(9, 10).start, hours(12, 13).start]
    assert read(11) == [60], "a late event costs its hour"
    assert read(10) == []
    assert read(12) == [60]


GROUPED = """
QUERY three RETURN carrier, COUNT(*), SUM(D.dep_delay) PATTERN SEQ(Departure D+, Arrival A)
WHERE [origin] GROUP-BY carrier WITHIN 50 minutes;
"""


def test_without_events_there_are_statistics_all_the_same(lake: Lake) -> None:
    counted = stored(lake, bound(lake), hours(11, 12)).statistics()
    assert counted.events == {"Departure": 0, "Arrival": 0, "Cancellation": 0}
    assert counted.by_keys == {}


def test_a_lakes_table_can_be_counted_by_a_command(landed: Lake) -> None:
    table = landed.path("events")
    statistics, events = read_statistics(None, [table], bound(landed))
    assert statistics is not None
    assert statistics.events == {"Departure": 4, "Arrival": 2, "Cancellation": 1}
    assert events is not None
    assert len(events) == 7
    with pytest.raises(
        ParameterError, match="a table of events cannot be combined with other events"
    ):
        read_statistics(None, [table, table], bound(landed))


def kept(lake: Lake) -> list[tuple[str, str]]:
    return [(kind, name) for kind, name in rows(lake, "kind", "fingerprint")]


def test_a_plan_is_found_once_and_found_again_by_the_run(landed: Lake) -> None:
    workload, interval = bound(landed), hours(10, 12)
    before = landed.version("plans")
    first = plan(landed, workload, interval)
    statistics = stored(landed, workload, hours(8, 12)).statistics()
    assert (first.reused, first.plan) == (False, find_plan(workload, statistics))
    assert kept(landed) == sorted(
        [
            ("plan", first.plan.fingerprint),
            ("statistics", statistics.fingerprint),
            ("profile", str(first.figures["profile_fingerprint"])),
        ]
    )
    assert landed.version("plans") == before + 1

    again = plan(landed, workload, interval)
    assert (again.reused, again.plan) == (True, first.plan)
    assert landed.version("plans") == before + 1
    # Again, so that a repeated run leaves the same.
    assert again.figures == first.figures
    assert reason(landed, workload, interval) == "no plan was stored"
    # The run's slices have the run's plan, and earlier, missed hours; later ones have none.
    assert load_plan(landed, workload, interval) == first.plan
    assert load_plan(landed, workload, hours(11, 12)) == first.plan
    assert load_plan(landed, workload, hours(9, 10)) == first.plan
    with pytest.raises(DataError, match="no plan was stored for"):
        load_plan(landed, workload, hours(11, 13))
    # Somebody has deleted what there was: the next run has a plan for the hours of that one, too.
    deltalake.DeltaTable(landed.path("plans")).delete()
    with pytest.raises(DataError, match="no plan was stored for"):
        load_plan(landed, workload, hours(9, 10))
    later = plan(landed, workload, hours(12, 13)).plan
    assert load_plan(landed, workload, hours(9, 10)) == later


def test_a_plan_that_takes_long_comes_after_a_greedy_one(
    landed: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elsinore.sharing.find_plan.PATIENCE", 1e-9)
    before = landed.version("plans")
    found = plan(landed, bound(landed), hours(10, 12)).plan
    assert rows(landed, "kind", "finder") == [
        ("plan", "gwmin"), ("plan", "optimal"), ("profile", "measured"), ("statistics", "counted"),
    ]  # fmt: skip
    assert (found.finder, landed.version("plans")) == ("optimal", before + 2)


def test_the_plan_in_force_stands_within_the_band(lake: Lake, tmp_path: Path) -> None:
    """Two hours by night, then single ones, of which one has more than twice as many events."""
    workload = bound(lake)
    numbers = count()

    sizes = ((8, 300), (9, 300), (10, 150), (11, 200), (12, 700), (13, 500))
    records = (departure(next(numbers), hour=hour) for hour, size in sizes for _ in range(size))
    add_records(lake, tmp_path, *records)
    night = plan(lake, workload, hours(8, 10))
    version = lake.version("plans")
    for hour in (10, 11):
        found = plan(lake, workload, hours(hour, hour + 1))
        assert (found.reused, found.plan) == (True, night.plan)
        assert found.figures["replanned"] is False
        assert found.figures["profile_fingerprint"] == night.figures["profile_fingerprint"]
    assert found.figures["reason"] == "no rate changed by more than a factor of 2"
    assert lake.version("plans") == version  # one commit a run: its figures
    # There were 600 in the four hours to 10, so 450 in three; here are 150, 200 and 700.
    beyond = plan(lake, workload, hours(12, 13))
    assert (beyond.reused, beyond.figures["replanned"]) == (False, True)
    assert beyond.figures["reason"] == "statistics changed: Departure from 450 to 1,050 events"
    assert lake.version("plans") == version + 1
    after = plan(lake, workload, hours(13, 14))
    assert (after.reused, after.plan) == (True, beyond.plan)
    assert load_plan(lake, workload, hours(11, 12)) == night.plan
    # A run of a day or more finds its own.
    day = Interval.parse("2013-01-01T14:00Z", "2013-01-02T14:00Z")
    assert plan(lake, workload, day).figures["replanned"] is True


def test_each_workload_has_its_own_plan_of_the_same_hours(landed: Lake) -> None:
    """A run over a stretch, after another workload's runs over single hours of it."""
    ours, theirs = bound(landed), bound(landed, QUERIES.replace("2 hours", "3 hours"))
    for interval in (hours(10, 11), hours(11, 12)):
        plan(landed, theirs, interval)
    found = plan(landed, ours, hours(10, 12)).plan
    assert load_plan(landed, ours, hours(11, 12)) == found
    assert load_plan(landed, theirs, hours(11, 12)) != found
    with pytest.raises(DataError, match="no plan"):
        load_plan(landed, bound(landed, QUERIES.replace("2 hours", "4 hours")), hours(11, 12))


def test_a_later_run_over_the_whole_day_does_not_change_what_a_repeated_run_says(
    landed: Lake,
) -> None:
    workload = bound(landed)
    reasons = []
    for interval in (hours(11, 12), hours(10, 13), hours(11, 12)):
        plan(landed, workload, interval)
        reasons.append(reason(landed, workload, interval))
    assert reasons[0] == reasons[2] == "no plan was stored"


@pytest.fixture
def flights(lake: Lake, tmp_path: Path) -> Lake:
    """The morning whose profile is worked out by hand, stored a quarter at a time."""
    absent = {"dep_delay": ..., "air_time": 9}
    lines = [
        departure(
            number, minute, hour, type=kind, carrier=carrier, tailnum=aircraft,
            **(absent | case.delays(kind, delay)),
        )
        for number, (hour, minute, kind, carrier, aircraft, delay) in enumerate(case.FLIGHTS)
    ]  # fmt: skip
    for quarter in range(4):
        add_records(lake, tmp_path, *lines[quarter::4])
    return lake


def test_the_profile_is_the_one_worked_out_by_hand(flights: Lake) -> None:
    workload = bound(flights, case.QUERIES)
    events, stretch = stored(flights, workload, case.OBSERVED).last()
    assert (stretch, measure(events, workload, stretch)) == (
        case.OBSERVED, case.expected(workload),
    )  # fmt: skip
    found = plan(flights, workload, case.RUN)
    assert found.figures["profile_fingerprint"] == case.expected(workload).fingerprint


def test_a_profile_is_measured_from_the_last_events_of_an_interval(flights: Lake) -> None:
    """The last three that are observed are of 10:25 on; the last six of 09:30 on."""
    events = stored(flights, bound(flights, case.QUERIES), case.OBSERVED)
    for number, start in ((3, (10, 15)), (6, (9, 20))):
        last, stretch = events.last(number)
        begins = case.OBSERVED.start + ((start[0] - 8) * 60 + start[1]) * MINUTE + 1
        assert (len(last), stretch) == (number, Interval(begins, case.OBSERVED.end))


def test_counts_are_of_one_version(flights: Lake, tmp_path: Path) -> None:
    workload, version = bound(flights, case.QUERIES), flights.version("events")
    before = stored(flights, workload, case.OBSERVED)
    add_records(flights, tmp_path, departure(99, hour=11))
    pinned = StoredEvents.of(flights.path("events"), workload, case.OBSERVED, version=version)
    assert pinned == before
    assert pinned.statistics().events["Departure"] == 9
    assert stored(flights, workload, case.OBSERVED).statistics().events["Departure"] == 10


def test_a_stream_without_events_has_a_profile(lake: Lake) -> None:
    workload = bound(lake, case.QUERIES)
    events, stretch = stored(lake, workload, case.OBSERVED).last()
    profile = measure(events, workload, stretch)
    assert [rate.events for rate in profile.rates] == [case.spread(4, 0, 0, 0, 0)] * 3
    assert (profile.bursts, profile.partitions) == ((), ())


def test_a_plan_of_an_older_build_is_found_anew(landed: Lake) -> None:
    workload, interval = bound(landed), hours(10, 12)
    statistics = stored(landed, workload, hours(7, 10)).statistics()
    found = find_plan(workload, statistics)
    older = json.dumps(json.loads(found.to_json()) | {"version": 2})
    names = {
        "workload_fingerprint": found.workload_fingerprint,
        "statistics_fingerprint": statistics.fingerprint,
    }
    landed.add(
        "plans",
        [
            {"kind": "plan", "fingerprint": "0" * 64, "body": older, "finder": "optimal", **names},
            {"kind": "statistics", "fingerprint": statistics.fingerprint, "finder": "counted",
             "body": statistics.to_json(), **names},
        ],
        key=["fingerprint"],
        run="test",
    )  # fmt: skip
    note_metrics(
        landed, workload_fingerprint(workload), hours(9, 10), "plan", {"plan_fingerprint": "0" * 64}
    )
    with pytest.raises(PlanError, match="version 2; this release reads version 4"):
        load_plan(landed, workload, hours(9, 10))
    anew = plan(landed, workload, interval)
    assert (anew.reused, anew.plan.version) == (False, 4)
    assert anew.figures["reason"] == "no plan was stored"
    assert load_plan(landed, workload, interval) == anew.plan


def test_the_plan_of_a_run_holds_its_kleene_sets(landed: Lake) -> None:
    kleene = (
        "QUERY a RETURN COUNT(*) PATTERN SEQ(Departure, Arrival+) WHERE [tailnum] WITHIN 2 hours;"
        "QUERY b RETURN COUNT(*) PATTERN SEQ(Cancellation, Arrival+) WHERE [tailnum]"
        " WITHIN 2 hours;"
    )
    workload, interval = bound(landed, kleene), hours(10, 12)
    sets = plan(landed, workload, interval).plan.sets
    (found,) = sets
    assert (found.kleene, found.queries, found.keys) == (("Arrival",), ("a", "b"), ("tailnum",))
    assert load_plan(landed, workload, interval).sets == sets
