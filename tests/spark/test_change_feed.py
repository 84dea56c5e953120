"""A job that keeps a copy of the published rows by the change feed, as the page shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from elsinore.lake.tables import Lake
from elsinore.settings import Settings
from tests.page_examples import run_python_blocks
from tests.spark.conftest import NewHome
from tests.spark.landing_zone import departure, hours, put, run_jobs

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

    # Each run has hours of its own, and more events of earlier ones, or fewer.
    copied = 0
    for number, corrections in enumerate((
        {9: [departure(9, hour=9)]},
        {9: [departure(n, n, hour=9, carrier="AA" if n > 30 else "UA") for n in (9, 30, 50)]},
        {9: [departure(9, hour=9)], 10: [departure(n, n, carrier="B6") for n in range(5)]},
    )):  # fmt: skip
        for hour, records in corrections.items():
            put(settings, hour, *records)
        put(settings, 11 + number, departure(11 + number, hour=11 + number))
        run_jobs(settings, hours(9 if not number else 11 + number, 12 + number), f"run {number}")
        if not number:
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
