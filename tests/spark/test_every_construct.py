"""Every construct over a Spark DataFrame: the rows of the reference."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import elsinore
from elsinore.choices import Executor
from elsinore.files.read_events import read_events
from elsinore.library.results import answer
from elsinore.library.workload import sources_of
from elsinore.timeline import instant_of
from tests.constructs_of_queries import PARAMETERS, QUERIES, SCHEMA, events, records
from tests.long_rows import to_long

pytestmark = pytest.mark.spark


def _instant(value: Any) -> Any:
    return instant_of(value.astimezone(UTC)) if isinstance(value, datetime) else value


def test_a_frame_gives_the_rows_of_the_reference(spark: SparkSession) -> None:
    texts = [f"QUERY q{number} {text};" for number, text in enumerate(QUERIES.values())]
    work = elsinore.workload(PARAMETERS + "\n".join(texts), schema=SCHEMA)
    read, _ = read_events(sources_of(events(changed=True)), work.schema, max_error_rate=0)
    names = ("query", "group_key", "window_start", "window_end", "step", "aggregate", "type",
             "value", "exact")  # fmt: skip
    long = to_long(work.bound, answer(work.bound, read, Executor.TWOSTEP))
    expected = [tuple(row[name] for name in names) for row in long.to_pylist()]
    frame = spark.createDataFrame(pa.Table.from_pylist(records(changed=True)))
    result = elsinore.spark.run(work, frame, parts=3).toArrow().rename_columns(names)
    found = [tuple(map(_instant, row.values())) for row in result.to_pylist()]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert {row[0] for row in found} == {f"q{number}" for number in range(len(QUERIES))}
