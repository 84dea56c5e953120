"""Run a function for each number below a limit in Spark tasks, and return rows or values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.results.task_rows import Counts, results_of, split, with_counts
from elsinore.settings import Settings
from elsinore.spark.aggregate_worker import Task, each_number
from elsinore.spark.session import open_session
from elsinore.store.task_failures import spark_failures
from elsinore.tasks import InTasks

#: The rows of tasks that return values: a number and its value as JSON.
_TOLD = pa.schema({"number": pa.int64(), "told": pa.string()})


@contextmanager
def in_tasks_of(settings: Settings, name: str) -> Iterator[InTasks]:
    """Yield a function that calls functions with numbers in Spark tasks; see `InTasks`.

    The session is opened at the first call, and ends with the block. Errors in tasks are raised
    unchanged.

    Args:
        settings: The server.
        name: Purpose of the session, see `open_session`.
    """
    with ExitStack() as stack:
        sessions: list[SparkSession] = []

        def in_tasks(number: int, do: Callable[[int], Any]) -> list[Any]:
            if not sessions:
                sessions.append(stack.enter_context(open_session(settings, name)))
            with spark_failures():
                return told(sessions[0], number, do)

        yield in_tasks


def told(spark: SparkSession, tasks: int, do: Callable[[int], Any]) -> list[Any]:
    """Call a function with each number below `tasks` in a Spark task, and return its results.

    The results must be JSON values.
    """

    def done(number: int) -> Iterable[pa.RecordBatch]:
        row = {"number": number, "told": json.dumps(do(number))}
        return results_of(pa.Table.from_pylist([row], schema=_TOLD))

    rows = split_rows(numbered(spark, tasks, each_number(done), _TOLD), [])
    texts = pa.concat_tables(rows).sort_by("number")["told"]
    return [json.loads(text) for text in texts.to_pylist()]


def numbered(spark: SparkSession, tasks: int, task: Task, rows: pa.Schema) -> DataFrame:
    """Return the rows of a task function for all numbers below `tasks`, in one task per number."""
    numbers = spark.range(0, tasks, numPartitions=tasks)
    return numbers.mapInArrow(task, from_arrow_schema(with_counts(rows)))


def split_rows(rows: DataFrame, counts: list[Counts]) -> Iterator[pa.Table]:
    """Yield the result rows of tasks, and append the counts of tasks to a list."""
    frame: Any = rows
    client, plan = frame.sparkSession.client, frame._plan
    # Read in parts, because `toArrow` would hold all rows in memory.
    for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(part, pa.Table):
            results, found = split(part)
            counts.append(found)
            if results.num_rows:
                yield results
