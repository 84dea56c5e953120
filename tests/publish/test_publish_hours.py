"""Publication: only rows that differ are written, in one commit or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.publish import publish_hours
from elsinore.publish.publish_hours import Published, publish
from elsinore.publish.tables import RESULTS, STAGED
from elsinore.store import spark_tables
from elsinore.store.spark_tables import SparkTables
from tests.publish.conftest import Ground, staged_rows
from tests.results_lake import QUERIES, hours

pytestmark = pytest.mark.spark

OWNED = hours("15", "18")


def published(ground: Ground, owned: Any = OWNED, run: str = "test") -> Published:
    version = ground.results.store.version(STAGED)
    return publish(ground.results, owned, staged_version=version, note={"run": run})


def changes(ground: Ground, after: int) -> Counter[str]:
    """Rows of the change feed of `results` after a version, by kind."""
    store = ground.results.store
    if store.version(RESULTS) == after:
        return Counter()
    return Counter(row._change_type for row in store.changes(RESULTS, after + 1).collect())


def test_only_rows_that_differ_are_written(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ground.results.store
    ground.aggregate(QUERIES, OWNED)
    first = published(ground)
    rows = staged_rows(ground.results)
    assert staged_rows(ground.results, RESULTS) == rows
    assert first.rows == Counter(row["window_end_hour"] for row in rows)
    assert (first.inserted, first.changed) == (len(rows),) * 2
    assert first.hours == tuple(f"2013-02-08T{hour}" for hour in (15, 16, 17))
    assert store.history(RESULTS, 1)[0].note["run"] == "test"
    assert changes(ground, 0) == {"insert": len(rows)}

    # The same rows, staged again: no commit.
    ground.aggregate(QUERIES, OWNED)
    again = published(ground, run="again")
    assert (again.version, again.changed, again.hours) == (first.version, 0, ())
    assert store.version(RESULTS) == first.version

    # One value, one row more and one less, of two hours; somebody has added a column.
    ground.sql("ALTER TABLE {} ADD COLUMN (note STRING)", RESULTS)
    before = store.version(RESULTS)
    hour, other = "2013-02-08T15", "2013-02-08T17"
    chains = f"query = 'chains' AND window_end_hour = '{hour}' AND aggregate = 'COUNT(*)'"
    group = store.read(STAGED).where(chains).agg(F.min("group_key")).collect()[0][0]
    count = ground.sql(
        f"UPDATE {{}} SET value = value + 1 WHERE {chains} AND group_key = '{group}'", STAGED
    )[0][0]
    assert count == 1
    ground.sql(f"DELETE FROM {{}} WHERE query = 'storms' AND window_end_hour = '{other}'", STAGED)
    fewer = len(rows) - store.read(STAGED).count()
    new = store.read(STAGED).where(chains).where(F.col("group_key") == group)
    store.append(STAGED, new.withColumn("group_key", F.lit("new")), {})
    # More ranges of hours than a condition has: hours without rows join them.
    monkeypatch.setattr(publish_hours, "MOST_RANGES", 1)
    done = published(ground, hours("12", "20"), run="third")
    assert (done.updated, done.deleted, done.inserted) == (1, fewer, 1)
    assert done.hours == (hour, other)
    assert changes(ground, before) == {
        "update_preimage": 1, "update_postimage": 1, "delete": fewer, "insert": 1,
    }  # fmt: skip
    found = store.read(RESULTS).drop("note").collect()
    assert Counter(found) == Counter(store.read(STAGED).collect())


def test_a_first_publication_compares_no_rows(
    new_ground: Callable[[], Ground], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With numbers from the files, or from Spark, as for a table with deletion vectors."""
    ground = new_ground()
    read = list[str]()
    spark_read = SparkTables.read

    def noted(self: SparkTables, table: str, version: int | None = None) -> DataFrame:
        read.append(table)
        return spark_read(self, table, version)

    monkeypatch.setattr(SparkTables, "read", noted)
    ground.aggregate(QUERIES, hours("15", "17"))
    first = published(ground, hours("15", "16"))
    assert read.count(RESULTS) == 0
    monkeypatch.setattr(spark_tables, "count_by_hour", lambda *_: None)
    second = published(ground, hours("16", "17"))
    assert read.count(RESULTS) == 1
    rows = staged_rows(ground.results)
    assert staged_rows(ground.results, RESULTS) == rows
    assert {**first.rows, **second.rows} == Counter(row["window_end_hour"] for row in rows)
    assert first.inserted + second.inserted == len(rows)
    # The next publication has rows to compare, and one of them differs.
    monkeypatch.undo()
    ground.sql("UPDATE {} SET value = 0.5 WHERE window_end_hour = '2013-02-08T15'", RESULTS)
    done = published(ground, hours("15", "17"))
    assert done.changed_hours == ("2013-02-08T15",)
    assert staged_rows(ground.results, RESULTS) == rows


@pytest.mark.long
def test_other_hours_and_later_staging_do_not_matter(ground: Ground) -> None:
    store = ground.results.store
    ground.aggregate(QUERIES, OWNED)
    published(ground)
    ground.aggregate(QUERIES, hours("18", "19"))
    pinned = store.version(STAGED)
    ground.sql("DELETE FROM {}", STAGED)
    done = publish(ground.results, hours("18", "19"), staged_version=pinned, note={})
    assert done.hours == ("2013-02-08T18",)
    found = store.read(RESULTS).groupBy("window_end_hour").count().collect()
    assert sorted(row.window_end_hour for row in found) == [
        f"2013-02-08T{hour}" for hour in (15, 16, 17, 18)
    ]
    # What is no longer staged is removed, of the hours of the publication only.
    assert published(ground, hours("17", "18")).deleted > 0
    left = store.read(RESULTS).select("window_end_hour").distinct().collect()
    assert sorted(row[0] for row in left) == [f"2013-02-08T{hour}" for hour in (15, 16, 18)]
