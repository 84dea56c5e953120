"""A job that keeps a copy of the published rows by the change feed, as the page shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from elsinore.settings import Settings
from elsinore.store.tables import Lake
from tests.homes import NewHome
from tests.landing_zone import departure, hours, put, run_jobs
from tests.page_examples import run_python_blocks

pytestmark = pytest.mark.spark

QUERY = (
    "QUERY legs RETURN carrier, COUNT(*) PATTERN Departure D+ GROUP-BY D.carrier "
    "WITHIN 2 hours SLIDE 1 hour;"
)


@pytest.fixture
def settings(new_spark_home: NewHome, tmp_path: Path) -> Settings:
    workload = tmp_path / "legs.sase"
    workload.write_text(QUERY, encoding="utf-8")
    own = {"late_arrival_days": 1, "workload_file": workload}
    return new_spark_home().model_copy(update=own)


def test_a_copy_by_the_change_feed_has_the_published_rows(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    apply_changes: Callable[..., int] = run_python_blocks("docs/how-to/consume-results.md")[
        "apply_changes"
    ]  # type: ignore[assignment]
    results, copy = str(Lake.open(settings).path("results")), str(tmp_path / "copy")

    def read(path: str) -> list[Any]:
        return sorted(map(tuple, spark.read.format("delta").load(path).collect()))

    # The second run has an hour of its own, more events of hour 9, and no event of hour 10.
    copied = 0
    for own, events in (
        (hours(9, 11), {9: [departure(9, hour=9)], 10: [departure(10, carrier="B6")]}),
        (hours(11, 12), {9: [departure(n, n, 9, carrier=c) for n, c in ((9, "UA"), (30, "UA"),
                                                                        (50, "AA"))],
                         10: [], 11: [departure(11, hour=11)]}),
    ):  # fmt: skip
        for hour, records in events.items():
            put(settings, hour, *records)
        run_jobs(settings, own, f"run {own}")
        if not copied:
            spark.sql(f"CREATE TABLE delta.`{copy}` LIKE delta.`{results}`").collect()
        before, copied = copied, apply_changes(spark, results, copy, copied)
        assert copied > before
        assert read(copy) == read(results)
    kinds = spark.sql(f"SELECT DISTINCT _change_type FROM table_changes_by_path('{results}', 1)")
    assert {row[0] for row in kinds.collect()} >= {"insert", "update_postimage", "delete"}
    # Nothing changed since, and to apply changes twice changes nothing.
    assert apply_changes(spark, results, copy, copied) == copied
    assert apply_changes(spark, results, copy, 0) == copied
    assert read(copy) == read(results)
