"""The rules of aggregate functions, and the accumulators of queries."""

from __future__ import annotations

from itertools import chain
from math import sqrt

import pytest

from elsinore.catalog.stream import AttributeType
from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.executors.aggregates import (
    RULES,
    TRENDS,
    Accumulator,
    Weight,
    WeightColumns,
    accumulators_of,
    is_exact,
)
from elsinore.executors.hamlet.kernels import graph
from elsinore.executors.kinds import Kind
from elsinore.executors.linear.kernels import sweep_program
from elsinore.executors.output.finish import finish
from elsinore.executors.plan import Executor, plan_for
from elsinore.query.bound import AggregateFunction, BoundQuery
from elsinore.query.load_workload import read_workload
from elsinore.query.syntax import AGGREGATES
from elsinore.reference.two_step import two_step
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({"A": {"x": "long", "y": "double"}, "B": {"x": "long"}})


def query(returned: str) -> BoundQuery:
    text = f"QUERY q RETURN {returned} PATTERN SEQ(A+, B) WITHIN 10;"
    return read_workload(text, SCHEMA).queries[0]


def test_each_function_has_a_rule() -> None:
    assert {*RULES} == {*AggregateFunction}


def test_kernels_number_kinds_alike() -> None:
    assert (*Kind,) == (graph.LONG, graph.DOUBLE, graph.RANK)
    codes = sweep_program.LONG, sweep_program.DOUBLE, sweep_program.RANK
    assert codes == tuple(1 + kind for kind in Kind)
    assert sweep_program.COUNT == 0


def test_accumulators_are_shared_and_ordered() -> None:
    found = accumulators_of(query("MAX(A.x), COUNT(*), AVG(A.x), SUM(A.x), SUM(A.y), MIN(A.x)"))
    first = frozenset({0})
    integers = [(each.weight, each.attribute) for each in found.columns[Kind.INTEGER][1:]]
    assert found.columns[Kind.INTEGER][0] == TRENDS
    assert integers == [(Weight.PRESENT, "x"), (Weight.VALUE, "x"), (Weight.PRESENT, "y")]
    assert found.columns[Kind.DOUBLE] == (Accumulator(Kind.DOUBLE, Weight.VALUE, first, "y"),)
    assert [each.largest for each in found.columns[Kind.RANK]] == [False, True]
    assert [len(each) for each in found.weighed] == [3, 1, 2]
    assert not found.are_integers
    assert accumulators_of(query("COUNT(*)")).columns == ((TRENDS,), (), ())


def test_an_accumulator_counts_at_states_of_its_positions_only() -> None:
    both = Accumulator(Kind.INTEGER, Weight.EVENT, frozenset({0, 2}), None)
    assert both.counts_at(frozenset({2}))
    assert both.counts_at(frozenset({0, 2}))
    assert not both.counts_at(frozenset({0, 1}))
    assert not TRENDS.counts_at(frozenset({0})), "no event adds to the count of trends"


def test_accumulators_of_other_positions_share_a_column_of_weights() -> None:
    columns = WeightColumns.with_ones()
    ends, starts = (
        Accumulator(Kind.INTEGER, Weight.VALUE, frozenset({position}), "x") for position in (0, 1)
    )
    extreme = Accumulator(Kind.RANK, Weight.VALUE, frozenset({0}), "x")
    assert [columns.number(each) for each in (ends, starts, extreme)] == [1, 1, 0]


@pytest.mark.parametrize(
    ("returned", "kind", "exact"),
    [
        ("COUNT(*)", AttributeType.LONG, True),
        ("COUNT(A)", AttributeType.LONG, True),
        ("SUM(A.x)", AttributeType.LONG, True),
        ("SUM(A.y)", AttributeType.DOUBLE, False),
        ("SUM(A.x * A.x)", AttributeType.LONG, True),
        ("MAX(A.x * A.x)", AttributeType.LONG, True),
        ("MAX(A.x % 7)", AttributeType.LONG, False),
        ("VARIANCE(A.x)", AttributeType.DOUBLE, False),
        ("STDDEV(A.y)", AttributeType.DOUBLE, False),
        ("AVG(A.x)", AttributeType.DOUBLE, False),
        ("MIN(A.x)", AttributeType.LONG, False),
        ("MAX(A.time)", AttributeType.LONG, False),
    ],
)
def test_types_of_results(returned: str, kind: AttributeType, exact: bool) -> None:
    (item,) = query(returned).aggregates
    assert (item.value_type, is_exact(item)) == (kind, exact)


def test_every_function_has_a_name_in_queries_and_a_rule() -> None:
    assert {function.lower() for function in AggregateFunction.__members__} == AGGREGATES
    assert set(AggregateFunction) == set(RULES)


#: Of the lengths 1, 1 and 2.
OF_LENGTHS: dict[AggregateFunction, float] = {
    AggregateFunction.COUNT: 3, AggregateFunction.SUM: 4, AggregateFunction.AVG: 4 / 3,
    AggregateFunction.MIN: 1, AggregateFunction.MAX: 2,
    AggregateFunction.VARIANCE: 1 / 3, AggregateFunction.STDDEV: sqrt(1 / 3),
    AggregateFunction.VAR_POP: 2 / 9, AggregateFunction.STDDEV_POP: sqrt(2 / 9),
}  # fmt: skip


@pytest.mark.parametrize("function", AggregateFunction)
def test_every_function_of_a_measure_has_a_value_or_is_refused(function: AggregateFunction) -> None:
    """A new function must not be computed as another one, by the reference or by greta."""
    text = f"QUERY q RETURN {function}(LENGTH) PATTERN A+ WITHIN 10;"
    if function not in OF_LENGTHS:
        with pytest.raises(QueryError, match=f"{function} "):
            read_workload(text, SCHEMA)
        return
    workload = read_workload(text, SCHEMA)
    events = EventTable.of(SCHEMA, [("A", 1, {}), ("A", 2, {})])
    by_greta = plan_for(Executor.GRETA, workload, events).run(events)
    for rows in (two_step(workload.queries[0], events), finish(workload, [*chain(*by_greta)])):
        ((_, value),) = rows[0].values
        assert value == pytest.approx(OF_LENGTHS[function])
