"""Aggregation on Spark gives what the engine gives on one batch, however events are spread."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from elsinore.choices import Optimizer
from elsinore.errors import ConflictError, UnsupportedQueryError
from elsinore.events import TYPE_COLUMN, EventTable
from elsinore.executors.plan import RuntimePlan
from elsinore.executors.plan.choose_segments import shared_segments
from elsinore.lake.event_files import attributes_read, reach_of, types_read
from elsinore.lake.stored_events import files_of
from elsinore.publish.tables import STAGED, ResultTables
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.load_workload import load_workload
from elsinore.results.task_rows import EVENTS, ROWS, WINDOWS, Counts, add_up
from elsinore.settings import Settings
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.observe import observe
from elsinore.sharing.sharable import sets_of
from elsinore.spark.aggregate_hours import Aggregated, Asked, EventsTable, aggregate_hours
from elsinore.spark.aggregate_route import Route, bucket_keys, choose_routes, cut_into_parts
from elsinore.spark.compute import aggregated
from elsinore.spark.partitions import branches, common_keys
from elsinore.spark.tasks import split_rows
from elsinore.store.regions import Hours
from elsinore.store.spark_tables import SparkTables
from elsinore.store.tables import Lake
from elsinore.store.task_failures import spark_failures
from elsinore.template.support import aseq_refusals
from elsinore.timeline import HOUR, Interval
from tests.draws import first
from tests.homes import NewHome
from tests.results_lake import (
    QUERIES,
    computed,
    flights_lake,
    hours,
    put_events,
    sorted_results,
    staged,
    workload,
)

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Ground:
    """A lake of events, and the session that aggregates them."""

    spark: SparkSession
    lake: Lake

    def run(self, text: str, owned: Interval, *, parts: int = 2, **how: Any) -> Aggregated:
        """What the job does."""
        queries = workload(self.lake, text)
        how = {"static_plan": "p", "run": "test"} | how
        store = SparkTables.open(self.spark, str(self.lake.root), self.lake.tables)
        events, results = EventsTable(store, self.lake), ResultTables(store, self.lake.cores)
        return aggregate_hours(events, [Asked(queries, results)], owned, parts=parts, **how)

    def by_route(
        self, queries: Workload, route: Route, parts: int, plan: RuntimePlan | None = None
    ) -> tuple[list[dict], dict[str, int]]:
        """The rows of one route, and what its tasks counted."""
        plan = plan or RuntimePlan.of(queries.queries)
        rows = aggregated(self.spark, queries, route, plan=plan, parts=parts)
        reports: list[Counts] = []
        parts_of = [
            part.drop_columns(["query_fingerprint", "workload"])
            for part in split_rows(rows, reports)
        ]
        found = sorted_results([row for part in parts_of for row in part.to_pylist()])
        counts = add_up(reports)
        windows = {(row["query"], row["group_key"], row["window_start"]) for row in found}
        assert (counts[ROWS], counts[WINDOWS]) == (len(found), len(windows))
        return found, counts

    def cut(
        self, queries: Workload, owned: Interval, parts: int, keys: tuple[str, ...] = ()
    ) -> Route:
        """Files read in that many parts, whatever it costs; by keys, where there are any."""
        reached = reach_of(queries.queries, owned)
        files = files_of(self.lake.path("events"), None, reached)
        windows = {query.window for query in queries.queries}
        cores = parts if keys else 100 * parts
        cut = cut_into_parts(files, owned, windows, keys, most=parts, cores=cores)
        return Route(cut, merged=bool(set(keys) - {*bucket_keys(queries.queries)}))


@pytest.fixture
def lake(flights: tuple[Lake, EventTable]) -> Lake:
    return flights[0]


@pytest.fixture
def ground(spark: SparkSession, lake: Lake) -> Ground:
    return Ground(spark, lake)


@pytest.fixture
def ground_of_its_own(spark: SparkSession, new_home: NewHome) -> Ground:
    return Ground(spark, flights_lake(new_home())[0])


def test_the_whole_workload_gives_what_one_batch_gives_with_and_without_sharing(
    ground: Ground, events: EventTable
) -> None:
    file = Settings(home=Path("unused")).workload_file
    queries, owned = load_workload(file, ground.lake.stream), hours("15", "18")
    fixed = Workload(queries.schema, tuple(q for q in queries.queries if not aseq_refusals(q)))
    static = find_plan(fixed, observe(queries, events), optimizer=Optimizer.GWMIN)
    segments = shared_segments(static)
    assert len(segments) > 0
    shared = RuntimePlan.of(queries.queries, segments=segments, predicted=2.0, together=1.5)
    expected = computed(queries, events, owned)
    assert len({row["query"] for row in expected}) >= 10
    for plan in (None, shared):
        done = ground.run(file.read_text(), owned, parts=4, plan=plan)
        assert staged(ground.lake, owned) == expected
        assert done.rows == len(expected)
        assert done.windows == len(
            {(row["query"], row["group_key"], row["window_start"]) for row in expected}
        )
        assert done.events_version == ground.lake.version("events")
    assert done.sharing == shared.in_words()


def test_rows_name_the_query_and_the_commit_the_rest(ground: Ground) -> None:
    queries, owned = workload(ground.lake, QUERIES), hours("15", "18")
    done = ground.run(QUERIES, owned, static_plan="p17")
    rows = ground.lake.rows(STAGED, Hours(owned).expression(by_day=True)).to_pylist()
    named = {(row["query"], row["query_fingerprint"]) for row in rows}
    assert named == {(query.name, query.fingerprint) for query in queries.queries}
    assert done.versions == {"": ground.lake.version(STAGED)}
    commit = ground.lake.log(STAGED).history(1)[0]
    note = json.loads(commit["userMetadata"])
    assert {name: note[name] for name in ("run", "workload", "plan", "events", "hours")} == {
        "run": "test", "workload": workload_fingerprint(queries), "plan": "p17",
        "events": done.events_version, "hours": ["2013-02-08T15", "2013-02-08T18"],
    }  # fmt: skip


def test_slices_give_what_one_run_gives(ground: Ground, events: EventTable) -> None:
    for owned in (hours("09", "10"), hours("10", "12")):
        ground.run(QUERIES, owned, parts=1)
    queries, both = workload(ground.lake, QUERIES), hours("09", "12")
    assert staged(ground.lake, both) == computed(queries, events, both)


def test_staged_rows_are_a_file_a_day(ground: Ground) -> None:
    owned = Interval.parse("2013-02-07T19:00", "2013-02-08T08:00")
    before = set(ground.lake.log(STAGED).file_uris())
    done = ground.run(QUERIES, owned, parts=4)
    new = set(ground.lake.log(STAGED).file_uris()) - before
    assert len(new) == 2
    assert sum("window_end_day=2013-02-08" in file for file in new) == 1
    assert done.rows == len(staged(ground.lake, owned)) > 0
    assert done.events > 0


def test_a_rerun_leaves_the_same_rows_and_fewer_events_fewer(
    ground: Ground, events: EventTable
) -> None:
    lake, owned, neighbour = ground.lake, hours("18", "20"), hours("20", "21")
    for interval in (owned, neighbour, owned):
        ground.run(QUERIES, interval)
    assert staged(lake, owned) == computed(workload(lake, QUERIES), events, owned)
    beside = staged(lake, neighbour)
    put_events(lake, events.between(0, owned.start - 12 * HOUR), mode="overwrite")
    try:
        assert ground.run(QUERIES, owned).rows == 0
    finally:
        put_events(lake, events, mode="overwrite")
    assert staged(lake, owned) == []
    assert staged(lake, neighbour) == beside != []


def test_values_that_are_the_same_group_share_a_task(ground: Ground) -> None:
    day = Interval.parse("2013-03-01T00:00", "2013-03-01T01:00")
    humid = [0.0, -0.0, float("nan"), float("nan"), None, None, 50.0]
    common = {"origin": "JFK", "precip": 0.0, "visib": 1.0}
    weather = [("Weather", day.start + n, common | {"humid": v}) for n, v in enumerate(humid)]
    put_events(ground.lake, EventTable.of(ground.lake.stream, weather))
    text = """
        QUERY by_humidity RETURN humid, COUNT(*) PATTERN Weather W+
        GROUP-BY humid WITHIN 1 hour;
        QUERY same_humidity RETURN COUNT(*) PATTERN Weather W+ WHERE [humid] WITHIN 1 hour;
    """
    ground.run(text, day, parts=7)
    # Two events make three trends, one makes one; as an equivalence key NULL and NaN join none.
    rows = staged(ground.lake, day)
    assert [(row["query"], row["group_key"], row["exact"]) for row in rows] == [
        ("by_humidity", '{"humid": 0.0}', "3"),
        ("by_humidity", '{"humid": 50.0}', "1"),
        ("by_humidity", '{"humid": NaN}', "3"),
        ("by_humidity", '{"humid": null}', "3"),
        ("same_humidity", "{}", "4"),
    ]


def test_a_query_that_the_engine_lacks_is_refused_before_anything_is_written(
    ground: Ground,
) -> None:
    version = ground.lake.version(STAGED)
    text = "QUERY odd RETURN COUNT(x) PATTERN SEQ(Weather x+, Weather y+) WITHIN 1 hour;"
    with pytest.raises(UnsupportedQueryError, match="odd"):
        ground.run(text, hours("15", "16"))
    assert ground.lake.version(STAGED) == version


def test_branches_distribute_by_the_keys_that_every_position_carries(lake: Lake) -> None:
    queries = workload(lake, QUERIES)
    (chains, _), (chances, found), (storms, _) = branches(queries)
    assert chains == ("carrier", "tailnum")
    assert chances == ("origin",)  # Weather has no carrier
    assert storms == ()
    assert types_read(queries, found) == {"Weather", "Cancellation", "Departure"}
    assert (*attributes_read(found),) == ("carrier", "dep_delay", "origin")


def test_any_number_of_parts_gives_what_one_table_gives(ground: Ground, events: EventTable) -> None:
    queries, owned = workload(ground.lake, QUERIES), hours("14", "18")
    expected = computed(queries, events, owned)
    assert expected
    reached = reach_of(queries.queries, owned)
    number = count_of(events, reached, {"Departure", "Weather", "Cancellation"})
    for parts in (1, 3, 7):
        found, counts = ground.by_route(queries, ground.cut(queries, owned, parts), parts)
        assert found == expected, parts
        assert counts[EVENTS] == number, "each once, though parts read them again"


def test_parts_cut_by_the_keys_of_all_groups_give_the_same(
    ground: Ground, events: EventTable
) -> None:
    """One window ends in the slice, so that time does not keep two cores busy; NULL is a group."""
    queries, owned = workload(ground.lake, BY_CARRIER), hours("15", "16")
    assert bucket_keys(queries.queries) == ("carrier", "distance")
    route = ground.cut(queries, owned, 3, bucket_keys(queries.queries))
    assert {part.owned for part in route.parts} == {owned}
    assert route.in_words() == "files read directly, in 3 parts, split by key"
    found, counts = ground.by_route(queries, route, 3)
    assert found == computed(queries, events, owned) != []
    whole, once = ground.by_route(queries, ground.cut(queries, owned, 1), 1)
    assert (found, counts[EVENTS]) == (whole, once[EVENTS])
    # Where one query has other groups, events of a group may lie anywhere.
    assert bucket_keys(workload(ground.lake, BY_CARRIER + QUERIES).queries) == ()


@pytest.mark.parametrize("by", first(["carrier", "tailnum", "origin"], 1))
def test_a_lake_laid_out_by_buckets_gives_the_same(
    spark: SparkSession,
    laid_home: Callable[[str], Settings],
    monkeypatch: pytest.MonkeyPatch,
    by: str,
) -> None:
    lake, events = flights_lake(laid_home(f"{{by: [{by}], number: 6}}"))
    ground, owned = Ground(spark, lake), hours("14", "18")
    queries = workload(lake, QUERIES)
    expected, plain = computed(queries, events, owned), ground.run(QUERIES, owned)
    assert staged(lake, owned) == expected
    assert plain.route.startswith("files read directly, in 1 part"), "there are few events"
    monkeypatch.setattr("elsinore.spark.aggregate_route.MANY_BYTES", 0)
    done = ground.run(QUERIES, owned)
    assert staged(lake, owned) == expected
    assert (done.rows, plain.rows) == (len(expected), len(expected))
    # Others carry the key by some types only; an event counts where it is read for the longest.
    routes = choose_routes(lake, queries.queries, owned, lake.version("events"), 2)
    number, counted = 0, frozenset[str]()
    for (group, _), words in zip(routes, done.route.split("; "), strict=True):
        merged = ", their rows merged" if by == "tailnum" else ""
        if all(by in common_keys(query) for query in group):
            assert re.fullmatch(f"files read directly, in [2-8] parts, split by key{merged}", words)
        else:
            assert "split by key" not in words
        reach, types = reach_of(group, owned), types_read(queries, group)
        number, counted = number + count_of(events, reach, types - counted), counted | types
    assert done.events == number


def count_of(events: EventTable, interval: Interval, types: Collection[str]) -> int:
    """How many events of some types there are in an interval."""
    codes = pa.array([events.schema.type_codes[name] for name in types], pa.int32())
    read = events.between(interval.start, interval.end).table[TYPE_COLUMN]
    return pc.sum(pc.is_in(read, codes)).as_py() or 0


BY_CARRIER = """
QUERY rows_of_two RETURN carrier, distance, COUNT(*), MAX(D.dep_delay) PATTERN Departure D+
WHERE D.dep_delay < NEXT(D).dep_delay GROUP-BY carrier, D.distance WITHIN 1 hour;
QUERY more RETURN distance, carrier, COUNT(*) PATTERN SEQ(Cancellation C, Departure D)
WHERE [origin] GROUP-BY distance, carrier WITHIN 1 hour;
"""


FEW_AND_MANY = """
    QUERY few RETURN origin, COUNT(*) PATTERN SEQ(Weather W, Departure D+)
    {} GROUP-BY origin WITHIN 1 hour {};
    QUERY many RETURN origin, COUNT(*), AVG(D.dep_delay), STDDEV(D.dep_delay),
    SUM(D.distance * D.dep_delay) PATTERN SEQ(Cancellation C, Departure D+)
    {} GROUP-BY origin WITHIN 1 hour {};
"""


@pytest.mark.parametrize("executor", ["hamlet", "sweep"])
def test_queries_that_share_give_the_rows_of_one_batch_however_they_are_cut(
    ground: Ground, events: EventTable, executor: str
) -> None:
    """By time and by key, rows merged; swept windows overlap, and reach into the slice."""
    hamlet = executor == "hamlet"
    where = "WHERE D.dep_delay <= NEXT(D).dep_delay" if hamlet else "WHERE D.dep_delay > 10"
    slide = "" if hamlet else "SLIDE 20 minutes"
    queries = workload(ground.lake, FEW_AND_MANY.format(where, slide, where, slide))
    how = {"sets": sets_of(queries).sets} if hamlet else {"sweeps": [("few", "many")]}
    plan, owned = RuntimePlan.of(queries.queries, **how), hours("06", "16")
    by_key = Route(ground.cut(queries, owned, 2, ("origin",)).parts, merged=True)
    (found, told), (other, also) = (
        ground.by_route(queries, route, 2, plan)
        for route in (ground.cut(queries, owned, 2), by_key)
    )
    assert found == other == computed(queries, events, owned) != []
    if hamlet:
        assert told["bursts"] == also["bursts"] > 0
        assert told["events in bursts"] == also["events in bursts"] > told["bursts"]


def test_reading_is_of_one_version(lake: Lake, events: EventTable) -> None:
    version, owned = lake.version("events"), hours("15", "18")
    before = files_of(lake.path("events"), version, owned)
    put_events(lake, events, mode="overwrite")
    assert files_of(lake.path("events"), version, owned) == before
    after = files_of(lake.path("events"), lake.version("events"), owned)
    assert {file.path for file in after}.isdisjoint(file.path for file in before)


@pytest.mark.parametrize(("first", "end", "files"), [("05", "07", 0), ("06", "07T20:00", 1)])
def test_files_of_other_times_are_not_read(lake: Lake, first: str, end: str, files: int) -> None:
    interval = Interval.parse(f"2013-02-{first}", f"2013-02-{end}")
    assert len(files_of(lake.path("events"), lake.version("events"), interval)) == files


def test_a_file_that_is_removed_meanwhile_is_a_conflict(ground_of_its_own: Ground) -> None:
    queries, owned = workload(ground_of_its_own.lake, QUERIES), hours("15", "18")
    route = ground_of_its_own.cut(queries, owned, 2)
    Path(route.parts[0].files[0].path).unlink()
    with pytest.raises(ConflictError, match="removed during the run"), spark_failures():
        ground_of_its_own.by_route(queries, route, 2)
