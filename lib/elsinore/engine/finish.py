"""Finishes the states of aggregates into result rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from elsinore.algebra import Scaled, ratio
from elsinore.catalog.stream import AttributeType
from elsinore.lowering.carriers import Carriers, Weight, carrier_of, carriers_of
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery, Workload
from elsinore.results.partial import decode_extreme
from elsinore.results.row import ResultRow, Value, sorted_rows
from elsinore.timeline import Instant

State = dict[str, Any]


def finish(workload: Workload, partial: pa.Table) -> list[ResultRow]:
    """The result rows of merged partial rows (`results.partial`), in canonical order."""
    calendar = workload.schema.time_unit.is_calendar
    time: Callable[[int], int] = Instant if calendar else int
    finishers = {query.name: finishers_of(query) for query in workload.queries}
    rows = []
    for state in partial.to_pylist():
        query = workload.by_name[state["query"]]
        rows.append(
            ResultRow(
                query.name,
                group_of(query, json.loads(state["group"])),
                time(state["window_start"]),
                time(state["window_end"]),
                tuple((label, finisher(state)) for label, finisher in finishers[query.name]),
            )
        )
    return sorted_rows(rows)


def group_of(query: BoundQuery, values: list[Value]) -> tuple[tuple[str, Value], ...]:
    """The group of a partial row, with labels, from the values in its JSON array."""
    group = []
    for key, value in zip(query.group_keys, values, strict=True):
        if key.type is AttributeType.TIMESTAMP and isinstance(value, int):
            value = Instant(value)
        group.append((str(key.group_label), value))
    return tuple(group)


def finishers_of(query: BoundQuery) -> list[tuple[str, Callable[[State], Value]]]:
    """What makes each aggregate of RETURN, by label, out of the states of a merged partial row.

    A state is the lists `counts`, `sums`, `minima` and `maxima` of the row by name.
    """
    carriers = carriers_of(query)
    return [(item.label, _finisher(item, carriers)) for item in query.aggregates]


def _finisher(aggregate: BoundAggregate, carriers: Carriers) -> Callable[[State], Value]:
    value = carrier_of(aggregate, Weight.VALUE)
    match aggregate.function:
        case AggregateFunction.COUNT:
            if aggregate.counts_trends:
                return lambda state: int(state["counts"][0])
            return _count(carriers, carrier_of(aggregate, Weight.EVENT))
        case AggregateFunction.MIN:
            return _extreme("minima", carriers.minima.index(value), aggregate.type)
        case AggregateFunction.MAX:
            return _extreme("maxima", carriers.maxima.index(value), aggregate.type)
    present = _count(carriers, carrier_of(aggregate, Weight.PRESENT))
    average = aggregate.function is AggregateFunction.AVG
    if aggregate.type is AttributeType.DOUBLE:
        return _double_sum(carriers.sums.index(value), present, average)
    return _long_sum(_count(carriers, value), present, average)


def _count(carriers: Carriers, carrier: Any) -> Callable[[State], int]:
    index = carriers.counts.index(carrier) + 1  # counts[0] is the number of trends
    return lambda state: int(state["counts"][index])


def _extreme(side: str, index: int, kind: AttributeType) -> Callable[[State], Value]:
    def finisher(state: State) -> Value:
        text = state[side][index]
        if text is None:
            return None
        value = decode_extreme(text)
        return Instant(value) if kind is AttributeType.TIMESTAMP else value

    return finisher


def _long_sum(
    total: Callable[[State], int], present: Callable[[State], int], average: bool
) -> Callable[[State], Value]:
    def finisher(state: State) -> Value:
        count = present(state)
        if not count:
            return None
        return ratio(total(state), count) if average else total(state)

    return finisher


def _double_sum(
    index: int, present: Callable[[State], int], average: bool
) -> Callable[[State], Value]:
    def finisher(state: State) -> Value:
        count = present(state)
        if not count:
            return None
        total = Scaled(state["sums"][index]["mantissa"], state["sums"][index]["exponent"])
        return total.divided_by(count) if average else total.to_float()

    return finisher
