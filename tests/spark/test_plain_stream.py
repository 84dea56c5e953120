"""A stream as most files are, without ids and of one type, through all jobs."""

from __future__ import annotations

import json
import shutil

import pytest

import elsinore
from elsinore.lake.provenance import PUBLISHED
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments
from jobs import (
    aggregate_trends,
    find_plan,
    judge_quality,
    land_events,
    publish_results,
    report_quality,
    validate_results,
)
from tests.spark.conftest import NewHome
from tests.spark.landing_zone import hours

SCHEMA = (
    "{stream: sales, time: {field: at, unit: iso}, types: {Sale: {shop: string, price: double}}}"
)
QUERIES = """
QUERY rising RETURN COUNT(*) PATTERN Sale S+ WHERE [shop] AND S.price < NEXT(S).price
GROUP-BY S.shop WITHIN 2 hours SLIDE 1 hour;
"""


@pytest.mark.spark
def test_it_is_published_and_landed_again_nothing_changes(new_home: NewHome) -> None:
    settings = new_home()
    shutil.rmtree(settings.lake)  # it has the columns of flights
    schema, queries = settings.home / "sales.yaml", settings.home / "sales.sase"
    schema.write_text(SCHEMA)
    queries.write_text(QUERIES)
    settings = settings.model_copy(update={"schema_file": schema, "workload_file": queries})
    files = []
    for hour in (10, 11):
        sales = [
            {"at": f"2013-01-01T{hour}:{minute:02}:00Z", "shop": shop, "price": minute % 5}
            for minute in range(9) for shop in "xy"
        ]  # fmt: skip
        files.append(settings.landing / f"2013/01/01/events-2013-01-01T{hour}.jsonl")
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        # A line that is there twice counts twice: nothing tells that it is not another sale.
        lines = [json.dumps(sale) for sale in [*sales, sales[0]]]
        files[-1].write_text("\n".join(lines) + "\n")
    once = Arguments(hours(10, 12), "once")
    assert land_events.main(once, settings)["accepted"] == 2 * 19
    for job in (land_events, find_plan, aggregate_trends, validate_results, publish_results,
                report_quality, judge_quality):  # fmt: skip
        job.main(once, settings)
    answers = elsinore.workload(queries, schema=schema).run(files)["rising"].to_pylist()
    expected = {
        (row["shop"], row["window_start"]): row["COUNT(*)"]
        for row in answers
        if row["window_start"].hour < 11  # the others end later
    }
    found = {
        (json.loads(row["group_key"])["shop"], row["window_start"]): int(row["exact"])
        for row in Lake.open(settings).rows(PUBLISHED).to_pylist()
    }
    assert found == expected
    assert len(expected) == 4
