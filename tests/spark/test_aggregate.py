"""Aggregation on Spark gives what the engine gives on one batch, however events are spread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from elsinore.engine.linear.segments import shared_segments
from elsinore.engine.plan import RuntimePlan
from elsinore.errors import ConflictError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.lake.event_files import reach_of
from elsinore.lake.provenance import STAGED, Origin, staged_origins
from elsinore.lake.regions import Hours
from elsinore.lake.stored_events import files_of
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.sharing.observe import observe
from elsinore.sharing.plan import Finder
from elsinore.sharing.sharable import sets_of
from elsinore.spark.aggregate import Aggregated, aggregate, aggregated, events_between, split_rows
from elsinore.spark.aggregate_route import Route, choose_route, cut_into_parts
from elsinore.spark.aggregate_worker import EVENTS, ROWS, WINDOWS, Counts, add_up
from elsinore.spark.failures import spark_failures
from elsinore.spark.partitions import branches
from elsinore.spark.tables import SparkLake
from elsinore.template.support import aseq_refusals
from elsinore.timeline import HOUR, Interval
from tests.spark.results_lake import (
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


@pytest.fixture
def lake(flights: tuple[SparkLake, EventTable]) -> SparkLake:
    return flights[0]


@pytest.fixture
def events(flights: tuple[SparkLake, EventTable]) -> EventTable:
    return flights[1]


def run(lake: SparkLake, queries: str, owned: Interval, parts: int = 2) -> Aggregated:
    return aggregate(lake, workload(lake, queries), owned, static_plan="p", parts=parts, run="test")


def by_route(
    lake: SparkLake,
    queries: Workload,
    owned: Interval,
    route: Route,
    parts: int,
    plan: RuntimePlan | None = None,
) -> tuple[list[dict], dict[str, int]]:
    """The rows of one route, and what its tasks counted."""
    version = lake.version("events")
    plan = plan or RuntimePlan.of(queries.queries)
    rows = aggregated(lake, queries, owned, version, route, plan=plan, parts=parts)
    reports: list[Counts] = []
    parts_of = [part.drop_columns(["query_fingerprint"]) for part in split_rows(rows, reports)]
    found = sorted_results([row for part in parts_of for row in part.to_pylist()])
    counts = add_up(reports)
    windows = {(row["query"], row["group_key"], row["window_start"]) for row in found}
    assert (counts[ROWS], counts[WINDOWS]) == (len(found), len(windows))
    return found, counts


def cut(lake: SparkLake, queries: Workload, owned: Interval, parts: int) -> Route:
    """Files read directly in that many parts, whatever it costs."""
    reached = reach_of(queries.queries, owned)
    found = files_of(lake.path("events"), lake.version("events"), reached)
    reach = owned.start - reached.start + 1
    return Route(cut_into_parts(found.files, owned, reach, most=parts, cores=100 * parts))


SHUFFLED = Route((), "as asked")


def test_the_whole_workload_gives_what_one_batch_gives(
    lake: SparkLake,
    events: EventTable,
) -> None:
    queries = load_workload(Settings(home=Path("unused")).workload_file, lake.stream)
    owned = hours("15", "18")
    done = aggregate(lake, queries, owned, static_plan="p", parts=4, run="test")
    expected = computed(queries, events, owned)
    assert len({row["query"] for row in expected}) >= 10
    assert staged(lake, owned) == expected
    assert done.rows == len(expected)
    assert done.windows == len(
        {(row["query"], row["group_key"], row["window_start"]) for row in expected}
    )
    assert done.events_version == lake.version("events")


def test_rows_name_the_query_and_the_commit_the_rest(lake: SparkLake) -> None:
    queries = workload(lake, QUERIES)
    owned = hours("15", "18")
    done = aggregate(lake, queries, owned, static_plan="p17", parts=2, run="test")
    rows = lake.read(STAGED).where(Hours(owned).predicate(by_day=True))
    named = {tuple(row) for row in rows.select("query", "query_fingerprint").distinct().collect()}
    assert named == {(query.name, query.fingerprint) for query in queries.queries}
    expected = Origin("test", workload_fingerprint(queries), "p17", done.events_version)
    labels = [f"2013-02-08T{hour}" for hour in (15, 16, 17)]
    assert staged_origins(lake.root, owned) == dict.fromkeys(labels, expected)
    # Of an hour that is aggregated again alone, the later commit counts.
    aggregate(lake, queries, hours("16", "17"), static_plan="p18", parts=2, run="later")
    found = staged_origins(lake.root, hours("15", "19"))
    assert {label: origin.plan for label, origin in found.items()} == dict(
        zip(labels, ("p17", "p18", "p17"), strict=True)
    )


def test_shared_segments_change_no_row(lake: SparkLake, events: EventTable) -> None:
    queries = load_workload(Settings(home=Path("unused")).workload_file, lake.stream)
    owned = hours("15", "18")
    statistics = observe(queries, events)
    fixed = Workload(queries.schema, tuple(q for q in queries.queries if not aseq_refusals(q)))
    segments = shared_segments(find_plan(fixed, statistics, finder=Finder.GWMIN))
    plan = RuntimePlan.of(queries.queries, segments=segments, alone=2.0, together=1.5)
    done = aggregate(lake, queries, owned, static_plan="p", plan=plan, parts=2, run="test")
    assert staged(lake, owned) == computed(queries, events, owned)
    assert len(segments) > 0
    assert done.sharing == plan.in_words()


def test_slices_give_what_one_run_gives(lake: SparkLake, events: EventTable) -> None:
    for owned in (hours("09", "10"), hours("10", "12")):
        run(lake, QUERIES, owned, parts=1)
    assert staged(lake, hours("09", "12")) == computed(
        workload(lake, QUERIES), events, hours("09", "12")
    )


@pytest.mark.parametrize("route", ["direct", "shuffled"])
def test_staged_rows_are_a_file_a_day(
    lake: SparkLake, monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    owned = Interval.parse("2013-02-07T19:00", "2013-02-08T08:00")
    if route == "shuffled":
        monkeypatch.setattr("elsinore.spark.aggregate.choose_route", lambda *_: SHUFFLED)

    def files() -> set[str]:
        return set(DeltaTable(str(lake.path(STAGED))).file_uris())

    before = files()
    done = run(lake, QUERIES, owned, parts=4)
    new = files() - before
    assert len(new) == 2
    assert sum("owned_day=2013-02-08" in file for file in new) == 1
    assert done.rows == len(staged(lake, owned)) > 0
    assert done.events > 0


def test_the_number_of_parts_does_not_matter(lake: SparkLake) -> None:
    queries, owned = workload(lake, QUERIES), hours("16", "18")
    one, five = (by_route(lake, queries, owned, SHUFFLED, parts=n)[0] for n in (1, 5))
    assert one
    assert one == five


def test_a_rerun_leaves_the_same_rows_and_fewer_events_fewer(
    lake: SparkLake,
    events: EventTable,
) -> None:
    owned, neighbour = hours("18", "20"), hours("20", "21")
    for interval in (owned, neighbour, owned):
        run(lake, QUERIES, interval)
    first = staged(lake, owned)
    assert first == computed(workload(lake, QUERIES), events, owned)
    beside = staged(lake, neighbour)
    put_events(lake, events.between(0, owned.start - 12 * HOUR), mode="overwrite")
    try:
        assert run(lake, QUERIES, owned).rows == 0
    finally:
        put_events(lake, events, mode="overwrite")
    assert staged(lake, owned) == []
    assert staged(lake, neighbour) == beside != []


def test_values_that_are_the_same_group_share_a_task(lake: SparkLake) -> None:
    day = Interval.parse("2013-03-01T00:00", "2013-03-01T01:00")
    humid = [0.0, -0.0, float("nan"), float("nan"), None, None, 50.0]
    put_events(
        lake,
        EventTable.of(
            lake.stream,
            [
                (
                    "Weather",
                    day.start + n,
                    {"origin": "JFK", "humid": v, "precip": 0.0, "visib": 1.0},
                )
                for n, v in enumerate(humid)
            ],
        ),
    )
    text = """
        QUERY by_humidity RETURN humid, COUNT(*) PATTERN Weather W+
        GROUP-BY humid WITHIN 1 hour;
        QUERY same_humidity RETURN COUNT(*) PATTERN Weather W+ WHERE [humid] WITHIN 1 hour;
    """
    run(lake, text, day, parts=7)
    # Two events make three trends, one makes one; as an equivalence key NULL and NaN join none.
    assert [(row["query"], row["group_key"], row["exact"]) for row in staged(lake, day)] == [
        ("by_humidity", '{"humid": 0.0}', "3"),
        ("by_humidity", '{"humid": 50.0}', "1"),
        ("by_humidity", '{"humid": NaN}', "3"),
        ("by_humidity", '{"humid": null}', "3"),
        ("same_humidity", "{}", "4"),
    ]


def test_a_query_that_the_engine_lacks_is_refused_before_anything_is_written(
    lake: SparkLake,
) -> None:
    version = lake.version(STAGED)
    text = "QUERY odd RETURN COUNT(x) PATTERN SEQ(Weather x+, Weather y+) WITHIN 1 hour;"
    with pytest.raises(UnsupportedQueryError, match="odd"):
        run(lake, text, hours("15", "16"))
    assert lake.version(STAGED) == version


def test_branches_distribute_by_the_keys_that_every_position_carries(
    lake: SparkLake,
) -> None:
    chains, chances, storms = branches(workload(lake, QUERIES))
    assert chains.keys == ("carrier", "tailnum")
    assert chances.keys == ("origin",)  # Weather has no carrier
    assert storms.keys == ()
    assert chances.types == {"Weather", "Cancellation", "Departure"}
    assert chances.attributes == ("carrier", "dep_delay", "origin")


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_files_read_directly_give_what_the_shuffle_gives(lake: SparkLake, parts: int) -> None:
    queries, owned = workload(lake, QUERIES), hours("14", "18")
    direct, counts = by_route(lake, queries, owned, cut(lake, queries, owned, parts), parts)
    assert direct == by_route(lake, queries, owned, SHUFFLED, parts)[0] != []
    types = {"Departure", "Weather", "Cancellation"}
    reached = events_between(lake, lake.version("events"), reach_of(queries.queries, owned), types)
    assert counts[EVENTS] == reached.count()  # each once, though parts read them again


def test_sets_that_hamlet_runs_are_counted_once_by_both_routes(
    lake: SparkLake,
) -> None:
    queries = workload(
        lake,
        """
        QUERY few RETURN origin, COUNT(*) PATTERN SEQ(Weather W, Departure D+)
        WHERE D.dep_delay <= NEXT(D).dep_delay GROUP-BY origin WITHIN 1 hour;
        QUERY many RETURN origin, COUNT(*) PATTERN SEQ(Cancellation C, Departure D+)
        WHERE D.dep_delay <= NEXT(D).dep_delay GROUP-BY origin WITHIN 1 hour;
        """,
    )
    owned = hours("06", "16")
    plan = RuntimePlan.of(queries.queries, sets=sets_of(queries).sets)
    direct, told = by_route(lake, queries, owned, cut(lake, queries, owned, 2), 2, plan)
    shuffled, also = by_route(lake, queries, owned, SHUFFLED, 2, plan)
    assert direct == shuffled == by_route(lake, queries, owned, SHUFFLED, 1)[0] != []
    assert told["bursts"] == also["bursts"] > 0
    assert told["events in bursts"] == also["events in bursts"] > told["bursts"]


def test_swept_queries_give_the_rows_of_queries_by_themselves(
    lake: SparkLake,
) -> None:
    """In chunks of the tasks' events, by both routes; windows overlap, and reach into the slice."""
    queries = workload(
        lake,
        """
        QUERY few RETURN origin, COUNT(*), AVG(D.dep_delay) PATTERN SEQ(Weather W, Departure D+)
        GROUP-BY origin WITHIN 1 hour SLIDE 20 minutes;
        QUERY many RETURN origin, COUNT(*) PATTERN SEQ(Cancellation C, Departure D+)
        WHERE D.dep_delay > 10 GROUP-BY origin WITHIN 1 hour SLIDE 20 minutes;
        """,
    )
    owned = hours("06", "16")
    plan = RuntimePlan.of(queries.queries, sweeps=[("few", "many")])
    direct, _ = by_route(lake, queries, owned, cut(lake, queries, owned, 2), 2, plan)
    shuffled, _ = by_route(lake, queries, owned, SHUFFLED, 2, plan)
    assert direct == shuffled == by_route(lake, queries, owned, SHUFFLED, 1)[0] != []


def test_reading_is_of_one_version(lake: SparkLake, events: EventTable) -> None:
    version, owned = lake.version("events"), hours("15", "18")
    before = files_of(lake.path("events"), version, owned)
    put_events(lake, events, mode="overwrite")
    assert files_of(lake.path("events"), version, owned) == before
    after = files_of(lake.path("events"), lake.version("events"), owned)
    assert {file.path for file in after.files}.isdisjoint(file.path for file in before.files)


def test_files_of_other_times_are_not_read(lake: SparkLake) -> None:
    version = lake.version("events")
    assert (
        files_of(lake.path("events"), version, Interval.parse("2013-02-05", "2013-02-07")).files
        == ()
    )
    assert (
        len(
            files_of(
                lake.path("events"), version, Interval.parse("2013-02-06", "2013-02-07T20:00")
            ).files
        )
        == 1
    )


def test_a_table_with_features_that_change_files_is_shuffled(
    spark: SparkSession, new_home: Callable[[], Settings]
) -> None:
    lake, _ = flights_lake(spark, new_home())
    queries, owned = workload(lake, QUERIES), hours("15", "18")
    plain = choose_route(lake, queries, owned, lake.version("events"), 2)
    assert plain.direct
    run(lake, QUERIES, owned)
    expected = staged(lake, owned)
    spark.sql(
        f"ALTER TABLE delta.`{lake.path('events')}` "
        "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(f"DELETE FROM delta.`{lake.path('events')}` WHERE event_type = 'Arrival'")
    route = choose_route(lake, queries, owned, lake.version("events"), 2)
    assert "deletionVectors" in route.in_words()
    done = run(lake, QUERIES, owned)
    assert done.route == route.in_words()
    assert staged(lake, owned) == expected != []


def test_a_file_that_is_removed_meanwhile_is_a_conflict(
    spark: SparkSession, new_home: Callable[[], Settings]
) -> None:
    lake, _ = flights_lake(spark, new_home())
    queries, owned = workload(lake, QUERIES), hours("15", "18")
    route = cut(lake, queries, owned, 2)
    Path(route.parts[0].files[0].path).unlink()
    with pytest.raises(ConflictError, match="removed meanwhile"), spark_failures():
        by_route(lake, queries, owned, route, 2)
