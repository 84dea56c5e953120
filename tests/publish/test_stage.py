"""Results that Spark's workers stage: by either way of reading events, for several workloads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.publish.stage import Target, stage
from elsinore.publish.tables import STAGED, ResultTables
from elsinore.spark.aggregate_hours import Asked
from elsinore.spark.compute import Computed
from tests.publish.conftest import Ground, staged_rows
from tests.results_lake import QUERIES, computed, flight_events, hours

pytestmark = pytest.mark.spark

OWNED = hours("15", "18")


def test_files_and_scan_give_the_same_rows_and_counts(
    ground: Ground, new_ground: Callable[[], Ground]
) -> None:
    queries = ground.workload(QUERIES)
    expected = computed(queries, flight_events(), OWNED)
    assert {row["query"] for row in expected} == {query.name for query in queries.queries}
    by_files = ground.aggregate(QUERIES, OWNED)
    assert by_files.route.startswith("files read directly")
    assert staged_rows(ground.results) == expected
    assert by_files.rows_of == {"": len(expected)}

    other = new_ground()
    features = "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name'"
    other.sql(f"ALTER TABLE {{}} SET TBLPROPERTIES ({features})")
    more = other.events.store.read("events").where("carrier = 'UA'")
    more = more.withColumn("event_id", F.concat(F.lit("more "), "event_id"))
    other.events.store.append("events", more, {})
    other.sql("OPTIMIZE {}")
    other.sql("ALTER TABLE {} ADD COLUMN (note STRING)")
    other.sql("DELETE FROM {} WHERE event_id LIKE 'more %'")
    detail = other.sql("DESCRIBE DETAIL {}")[0]
    assert {"deletionVectors", "columnMapping"} <= set(detail.tableFeatures)
    by_scan = other.aggregate(QUERIES, OWNED)
    assert by_scan.route.startswith("scanned by Spark: ")
    assert staged_rows(other.results) == staged_rows(ground.results)
    assert (by_scan.windows, by_scan.rows) == (by_files.windows, by_files.rows)
    assert by_scan.events <= by_files.events  # each query reads only what its windows reach


def test_a_slice_without_results_clears_its_hours(ground: Ground) -> None:
    ground.aggregate(QUERIES, OWNED)
    before = ground.results.store.read(STAGED)
    others = before.where("window_end_hour != '2013-02-08T16'").count()
    none = "QUERY none RETURN COUNT(*) PATTERN Departure D WHERE D.dep_delay > 99999 WITHIN 1 hour"
    done = ground.aggregate(none, hours("16", "17"))
    assert (done.rows, done.events > 0) == (0, True)
    after = ground.results.store.read(STAGED)
    assert (after.count(), after.where("window_end_hour = '2013-02-08T16'").count()) == (others, 0)
    # Also if no task runs at all.
    ground.aggregate(QUERIES, OWNED)
    empty = Computed((), ()).rows(ground.spark)
    done_empty = stage(empty, [Target(ground.results, {})], OWNED)
    assert (done_empty.counts, done_empty.rows) == ({}, (0,))
    assert ground.results.store.read(STAGED).count() == 0


def test_each_workload_gets_its_own_rows(ground: Ground) -> None:
    texts = QUERIES.split("\n\n")
    settings = ground.settings.model_copy(update={"workload": "ops"})
    ops = ResultTables.open(ground.spark, settings)
    ops.create()
    assert ops.store.root.endswith("/workloads/ops/lake")
    second = ground.workload(texts[1])
    done = ground.aggregate(texts[0] + texts[2], OWNED, Asked(second, ops))
    first = ground.workload(texts[0] + texts[2])
    assert staged_rows(ground.results) == computed(first, flight_events(), OWNED)
    assert staged_rows(ops) == computed(second, flight_events(), OWNED)
    assert done.rows_of == {
        "": len(staged_rows(ground.results)), "ops": len(staged_rows(ops)),
    }  # fmt: skip
    assert sum(done.rows_of.values()) == done.rows
    note = ops.store.history(STAGED, 1)[0].note
    assert (note["run"], note["plan"], note["events"]) == ("test", "p", done.events_version)
