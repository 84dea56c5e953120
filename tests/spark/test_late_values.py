"""Late and corrected events change all kinds of published values, as one clean run gives them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from elsinore.orchestration.run_step import Arguments
from elsinore.quality.validate import VALIDATIONS
from elsinore.settings import Settings
from elsinore.store.tables import RESULTS, Lake
from elsinore.timeline import Interval
from jobs import aggregate_trends, find_plan, ingest_events, publish_results, validate_results
from tests.homes import NewHome
from tests.landing_zone import departure, hours, put

pytestmark = pytest.mark.spark

QUERIES = """
QUERY measures RETURN AVG(LENGTH) AS mean, MAX(DURATION) AS longest,
  MAX(TOTAL(D.dep_delay)) AS total, SUM(LAST(D.dep_delay) - FIRST(D.dep_delay)) AS gained,
  STDDEV(LENGTH) AS spread
PATTERN Departure D{2,} WHERE [tailnum] WITHIN 2 hours SLIDE 1 hour;

QUERY dispersion RETURN VARIANCE(D.dep_delay) AS variance, STDDEV_POP(EACH D.dep_delay) AS deviation
PATTERN SEQ(Departure C, Departure D) WHERE [tailnum] WITHIN 1 hour;

QUERY each RETURN COUNT(EACH D) AS flights, SUM(EACH D.dep_delay) AS delay,
  COUNT(DISTINCT D.dep_delay) AS delays, MEDIAN(EACH D.dep_delay) AS middle,
  PERCENTILE(EACH D.dep_delay, 0.9) AS high
PATTERN SEQ(Departure C, Departure D) WHERE [tailnum] AND C.dep_delay < NEXT(D).dep_delay
WITHIN 1 hour;

QUERY funnel RETURN STEPS PATTERN SEQ(Departure C, Departure D, Departure E)
WHERE [tailnum] AND D.dep_delay > 5 WITHIN 1 hour;

QUERY short RETURN tailnum, MAX(LENGTH) AS longest PATTERN Departure D+
WHERE [tailnum] GROUP-BY tailnum HAVING longest <= 2 AND MAX(D.dep_delay) < 50 WITHIN 1 hour;

QUERY late RETURN tailnum, COUNT(EACH D) AS flights PATTERN Departure D+
WHERE [tailnum] GROUP-BY tailnum HAVING flights >= 3 WITHIN 1 hour;
"""

#: Minute, aircraft and delay of the flights of an hour.
Flight = tuple[int, str, int]
FLIGHTS: dict[int, list[Flight]] = {
    8: [(5, "N1", 4), (20, "N1", 9), (40, "N2", 3)],
    9: [(10, "N1", 2), (15, "N2", 6), (30, "N1", 8), (45, "N2", 7), (50, "N3", 1), (55, "N2", 9)],
    10: [(1, "N3", 12), (31, "N3", 5)],
}
#: The first flight of hour 9 is corrected, N1 has a third one, and N3 is later than 50 minutes.
CORRECTED: list[tuple[int, Flight]] = [(0, (10, "N1", 20)), (4, (50, "N3", 60))]
LATE: list[tuple[int, Flight]] = [(70, (35, "N1", 30))]
#: N2 has two flights left after its last one is moved to another aircraft.
MOVED: list[tuple[int, Flight]] = [(5, (55, "N4", 9))]

#: Query, group, window, step and name of a value.
Place = tuple[str, str, str, int | None, str]


def _records(hour: int, flights: list[tuple[int, Flight]]) -> list[dict[str, object]]:
    return [
        departure(100 * hour + number, minute, hour, tailnum=tailnum, dep_delay=delay)
        for number, (minute, tailnum, delay) in flights
    ]


def _put_all(settings: Settings) -> None:
    for hour, flights in FLIGHTS.items():
        put(settings, hour, *_records(hour, [*enumerate(flights)]))


def _put_late(settings: Settings) -> None:
    put(settings, 9, *_records(9, [*CORRECTED, *LATE, *MOVED]), name="-late")


def _run(settings: Settings, interval: Interval, name: str) -> None:
    """A run of some hours, and of the hours that it recomputes."""
    own = Arguments(interval, name)
    recomputed = ingest_events.main(own, settings)["recomputed"]
    find_plan.main(own, settings)
    parts = [Arguments(Interval.parse(p["start"], p["end"]), name, ingested=False)
             for p in recomputed]  # fmt: skip
    for part in (own, *parts):
        for job in (aggregate_trends, validate_results, publish_results):
            job.main(part, settings)


def _published(settings: Settings) -> dict[Place, tuple[float | None, str | None]]:
    return {
        (row["query"], row["group_key"], row["window_start"].isoformat(), row["step"],
         row["aggregate"]): (row["value"], row["exact"])
        for row in Lake.open(settings).rows(RESULTS).to_pylist()
    }  # fmt: skip


@pytest.fixture
def home(new_spark_home: NewHome) -> Callable[[], Settings]:
    def made() -> Settings:
        settings = new_spark_home()
        queries = settings.home / "late.sase"
        queries.write_text(QUERIES)
        return settings.model_copy(update={"workload_file": queries, "late_arrival_days": 1})

    return made


def test_late_and_corrected_events_give_the_values_of_a_clean_run(
    home: Callable[[], Settings],
) -> None:
    settings, clean = home(), home()
    _put_all(settings)
    for hour in (8, 9, 10):
        _run(settings, hours(hour, hour + 1), f"hour {hour}")
    before = _published(settings)
    _put_late(settings)
    _run(settings, hours(11, 12), "late")
    after = _published(settings)

    _put_all(clean)
    _put_late(clean)
    _run(clean, hours(8, 12), "clean")
    assert after == _published(clean)

    changed = {
        (place[0], place[4]) for place in before.keys() & after.keys()
        if before[place] != after[place]
    }  # fmt: skip
    for query, names in {
        "measures": "mean longest total gained spread", "dispersion": "variance deviation",
        "each": "flights delay delays middle high", "funnel": "trends keys",
    }.items():  # fmt: skip
        assert {name for each, name in changed if each == query} == {*names.split()}
    assert _groups(before, "short") == {"N1", "N3"}
    assert _groups(after, "short") == {"N2", "N4"}
    assert _groups(before, "late") == {"N2"}
    assert _groups(after, "late") == {"N1"}

    checks = Lake.open(settings).rows(VALIDATIONS).to_pylist()
    assert not [row for row in checks if row["mismatch"]]
    checked = {row["query"] for row in checks if row["status"] == "checked"}
    assert checked == {"measures", "dispersion", "each", "funnel", "short", "late"}


def _groups(found: dict[Place, tuple[float | None, str | None]], query: str) -> set[str]:
    """The groups of a query in the hour that has late events."""
    return {
        json.loads(group)["tailnum"] for name, group, start, _, _ in found
        if name == query and "T09:" in start
    }  # fmt: skip
