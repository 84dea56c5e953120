"""Finished rows of joined workloads: each query has its own name, and the workload it is from."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from elsinore.events import EventTable
from elsinore.executors.plan import Request, RuntimePlan
from elsinore.executors.plan.alike import answered_by
from elsinore.lake.answered import joined_queries
from elsinore.query.bound import Origin, Workload
from elsinore.query.load_workload import read_workload
from elsinore.results.task_rows import FINISHED_SCHEMA, split
from elsinore.spark.aggregate_worker import finished
from tests.property.random_cases import SCHEMA

PATTERN = "PATTERN A WITHIN 10;"


def _workload(*names: str) -> Workload:
    text = "".join(f"QUERY {name} RETURN COUNT(*) {PATTERN}" for name in names)
    return read_workload(text, SCHEMA)


def test_queries_keep_their_names_beside_a_joint_name() -> None:
    joined = joined_queries([("", _workload("p", "q")), ("ops", _workload("q", "ops"))])
    assert [*joined.by_name] == ["p", "q", "ops/q", "ops/ops"]
    assert [joined.origin(name) for name in joined.by_name] == [
        Origin(0, "p"), Origin(0, "q"), Origin(1, "q"), Origin(1, "ops"),
    ]  # fmt: skip


def test_finished_rows_name_the_workload_of_their_query() -> None:
    joined = joined_queries([("", _workload("q")), ("ops", _workload("q"))])
    plan = RuntimePlan.of(joined.queries)
    (parts,) = plan.run(EventTable.of(SCHEMA, [("A", 3, {})]), Request())
    batches = finished(joined, answered_by(plan.row_classes), parts, Counter())
    rows, _ = split(pa.Table.from_batches(batches))
    assert rows.schema.names == FINISHED_SCHEMA.names
    found = [(row["workload"], row["query"]) for row in rows.to_pylist()]
    assert sorted(found) == [(0, "q"), (1, "q")]
    columns = (rows[name].to_pylist() for name in ("workload", "query_fingerprint"))
    prints = dict(zip(*columns, strict=True))
    assert prints == {0: joined.by_name["q"].fingerprint, 1: joined.by_name["ops/q"].fingerprint}
