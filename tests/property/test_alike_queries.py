"""Queries that are equal but for their names and what they return, against greta one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest

from elsinore.engine.finish import finish
from elsinore.engine.plan import Executor, RuntimePlan, plan_for
from elsinore.engine.plan.alike import alike
from elsinore.events import EventTable
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_query
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.template.support import greta_refusals
from tests.property.compare import assert_same_rows, greta
from tests.property.random_cases import SCHEMA
from tests.property.random_cases.dice import Dice
from tests.property.random_workloads import random_workload
from tests.unit.hamlet.random_sets import random_set

WORKLOADS = 10


def _repeated(queries: list[BoundQuery], dice: Dice) -> Workload:
    """Each query several times, under other names; one returns what another does, or COUNT(*)."""
    texts = []
    for number, query in enumerate(queries):
        for copy in range(dice.number(1, 3)):
            lines = print_query(query.source).split("\n")
            every = lines[1] if "COUNT(*)" in lines[1] else f"{lines[1]}, COUNT(*)"
            returned = dice.pick([lines[1], "RETURN COUNT(*)", every])
            texts += [f"QUERY r{9 - copy}_{number}", returned, *lines[2:]]
    return bind_workload(parse_workload("\n".join(texts)), SCHEMA)


@pytest.mark.parametrize("number", range(WORKLOADS))
def test_repeated_queries_give_the_rows_of_greta(number: int) -> None:
    dice = Dice(f"repeated {number}")
    kleene, fixed = random_set(f"short:{number}"), random_workload(number)
    found = [*kleene.workload.queries, *fixed.workload.queries[:3]]
    workload = _repeated([query for query in found if not greta_refusals(query)], dice)
    events = EventTable.of(SCHEMA, [*kleene.rows, *fixed.rows])
    freely = plan_for(Executor.AUTO, workload, events)
    assert [choice.query for choice in freely.choices] == [q.name for q in workload.queries]
    for plan in (RuntimePlan.of(workload.queries), freely):
        tables = list(plan.run(events))
        rows = finish(workload, pa.concat_tables([PARTIAL_SCHEMA.empty_table(), *tables]))
        for query in workload.queries:
            mine = [row for row in rows if row.query == query.name]
            assert_same_rows(mine, greta(query, events))


def test_queries_are_alike_whatever_they_return() -> None:
    same = "PATTERN SEQ(A, B+) WHERE [k] WITHIN 10;"
    texts = (
        f"QUERY b RETURN COUNT(*) {same} QUERY a RETURN COUNT(B), COUNT(*) {same}"
        "QUERY c RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k] WITHIN 11;"
    )
    both, other = alike(bind_workload(parse_workload(texts), SCHEMA).queries)
    assert [query.name for query in both.queries] == ["b", "a"]
    assert both.run.name == "a"
    assert [query.name for query in other.queries] == ["c"]
