"""Any runtime plan whatsoever against greta, on random workloads of all kinds of queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pyarrow as pa

from elsinore.engine.aggregate_ordered import only_compares, ordered_sets
from elsinore.engine.finish import finish
from elsinore.engine.hamlet.observe import Observer
from elsinore.engine.plan import Executor, Request, RuntimePlan, plan_for
from elsinore.events import EventTable
from elsinore.query.bound import Workload
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.results.row import ResultRow, sorted_rows
from elsinore.sharing.sharable import sharable_sets
from elsinore.template.support import aseq_refusals, greta_refusals
from elsinore.timeline import Interval
from tests.draws import draws
from tests.property.compare import assert_same_rows, greta
from tests.property.random_cases import SCHEMA
from tests.property.random_cases.dice import Dice
from tests.property.random_workloads import RandomWorkload, random_workload
from tests.unit.hamlet.random_sets import random_set

WORKLOADS = draws(12, 40)


@dataclass(frozen=True)
class _Case:
    """Queries of fixed length and others over the events of both."""

    name: str
    workload: Workload
    events: EventTable

    def plans(self) -> list[RuntimePlan]:
        """Nothing shared, what should be quickest, and anything."""
        freely = plan_for(Executor.AUTO, self.workload, self.events)
        dice = Dice(f"sharing of {self.name}")
        queries = self.workload.queries
        fixed = tuple(query for query in queries if not aseq_refusals(query))
        others = [query for query in queries if query not in fixed]
        found = [RuntimePlan.of(queries), freely]
        for plan in RandomWorkload(self.name, Workload(SCHEMA, fixed), ()).plans(4):
            dice.shuffle(others)
            cut = dice.number(0, len(others))
            sets = [*sharable_sets(others[:cut]).sets, *sharable_sets(others[cut:]).sets]
            swept = [*others, *(query for query in fixed if dice.chance(0.3))]
            sweeps = (tuple(query.name for query in swept if dice.chance(0.3)),)
            ordered = [part for each in filter(only_compares, sets) for part in ordered_sets(each)]
            found.append(
                RuntimePlan.of(queries, segments=plan, sweeps=sweeps, ordered=ordered, sets=sets)
            )
        return found


def _case(number: int) -> _Case:
    """A sharable workload beside one of fixed length, whose queries are called f0, f1, ..."""
    kleene, fixed = random_set(f"short:{number}"), random_workload(number)
    named = (
        replace(query, source=replace(query.source, name=f"f{n}"))
        for n, query in enumerate(fixed.workload.queries[:3])
    )
    queries = [*(q for q in kleene.workload.queries if not greta_refusals(q)), *named]
    Dice(f"order {number}").shuffle(queries)
    events = EventTable.of(SCHEMA, [*kleene.rows, *fixed.rows])
    return _Case(str(number), Workload(SCHEMA, tuple(queries)), events)


def _rows(workload: Workload, tables: list[pa.Table]) -> list[ResultRow]:
    return finish(workload, pa.concat_tables([PARTIAL_SCHEMA.empty_table(), *tables]))


def _judge(case: _Case, expected: dict[str, list[ResultRow]], plan: RuntimePlan) -> None:
    found = _rows(case.workload, list(plan.run(case.events)))
    for query in case.workload.queries:
        mine = [row for row in found if row.query == query.name]
        assert_same_rows(mine, expected[query.name])


def test_any_sharing_gives_the_rows_of_greta() -> None:
    tally: Counter[str] = Counter()
    for number in range(WORKLOADS):
        case = _case(number)
        expected = {query.name: greta(query, case.events) for query in case.workload.queries}
        for plan in case.plans():
            _judge(case, expected, plan)
            tally["sets"] += sum(len(names) > 1 for names in plan.sets)
            tally["segments"] += len(plan.segments)
            tally["sweeps"] += len(plan.sweeps)
            tally["ordered"] += len(plan.ordered)
        tally["answers"] += sum(map(bool, expected.values()))
    assert tally["answers"] > WORKLOADS
    assert tally["sets"] > WORKLOADS
    assert tally["segments"] > WORKLOADS
    assert tally["sweeps"] > WORKLOADS
    assert tally["ordered"] > WORKLOADS // 2


def test_some_queries_and_some_windows_of_a_set() -> None:
    """Of a set of three one query is not asked for here; only owned windows are worked out."""
    case = _case(3)
    everybody = case.workload.queries
    plan = RuntimePlan.of(everybody, sets=sharable_sets(everybody).sets)
    watched: list[Observer] = []

    def watch(_: object) -> Observer:
        watched.append(Observer(room=0))
        return watched[-1]

    for left_out in case.workload.queries:
        queries = [query for query in case.workload.queries if query is not left_out]
        owned = Interval(0, 20)
        part = plan.of_queries({query.name for query in queries})
        request = Request(owned, observe=watch)
        found = _rows(case.workload, list(part.run(case.events, request)))
        expected = (row for query in queries for row in greta(query, case.events, owned))
        assert_same_rows(found, sorted_rows(expected))
        assert watched.pop().counts["bursts"] > 0
