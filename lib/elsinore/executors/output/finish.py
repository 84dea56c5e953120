"""Compute final results from partial aggregate states.

The values of one aggregate are computed for all rows of a query at once. Integers are NumPy's if
they are exact as doubles. If one of them is larger, all are Python's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.executors.aggregates import Weight, carrier_of
from elsinore.executors.output.scaled import Scaled, ratio
from elsinore.executors.output.window_rows import States
from elsinore.integers import digits_of
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery, Workload
from elsinore.results.published import LONG_SCHEMA, group_text
from elsinore.results.row import ResultRow, Value, nearest_double, sorted_rows
from elsinore.timeline import Instant, hour_label

#: Integers below this are exact as doubles.
EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Values:
    """The values of an aggregate in R rows."""

    type: AttributeType  #: of the values
    #: float64[R]; for integers int64[R], or object[R] of Python's integers if one is larger.
    numbers: np.ndarray
    known: np.ndarray  #: bool[R]: the rows that have a value

    def to_list(self) -> list[Value]:
        """Return the values as in result rows; None if a row has no value."""
        values = self.numbers.tolist()
        if self.type is AttributeType.TIMESTAMP:
            values = map(Instant, values)
        return [v if k else None for v, k in zip(values, self.known.tolist(), strict=True)]


def finish(workload: Workload, partial: pa.Table) -> list[ResultRow]:
    """Return the result rows of merged partial rows (`output.wire`), in canonical order."""
    calendar = workload.schema.time_unit.is_calendar
    time: Callable[[int], int] = Instant if calendar else int
    rows = []
    for query, part in by_query(workload, partial):
        texts = part["group"].to_pylist()
        groups = {text: query.labelled(json.loads(text)) for text in set(texts)}
        bounds = (map(time, part[name].to_pylist()) for name in ("window_start", "window_end"))
        labels, columns = zip(*finish_columns(query, part), strict=True)
        values = zip(*(column.to_list() for column in columns), strict=True)
        for text, start, end, own in zip(texts, *bounds, values, strict=True):
            named = tuple(zip(labels, own, strict=True))
            rows.append(ResultRow(query.name, groups[text], start, end, named))
    return sorted_rows(rows)


def by_query(workload: Workload, partial: pa.Table) -> Iterator[tuple[BoundQuery, pa.Table]]:
    """Yield each query that has partial rows, with its rows."""
    names = partial["query"].combine_chunks().dictionary_encode()
    numbers = np.asarray(names.indices)
    for number, name in enumerate(names.dictionary.to_pylist()):
        rows = partial.take(pa.array(np.flatnonzero(numbers == number)))
        yield workload.by_name[name], rows


def finish_columns(query: BoundQuery, rows: pa.Table) -> Iterator[tuple[str, Values]]:
    """Yield the label and the values of each aggregate of RETURN, from merged partial rows."""
    states = States.of(query, rows)
    for item in query.aggregates:
        yield item.label, _finished(item, states)


def _finished(item: BoundAggregate, states: States) -> Values:
    value = carrier_of(item, Weight.VALUE)
    match item.function:
        case AggregateFunction.MIN | AggregateFunction.MAX:
            column = states.extremes[value, item.function is AggregateFunction.MAX]
            return Values(item.type, column.values, column.known)
        case AggregateFunction.COUNT:
            event = None if item.counts_trends else carrier_of(item, Weight.EVENT)
            counts = _as_doubles(states.integers[event])
            return Values(item.type, counts, np.ones(counts.size, np.bool_))
    counts = _as_doubles(states.integers[carrier_of(item, Weight.PRESENT)])
    known = counts > 0
    divisors = np.maximum(counts, 1) if item.function is AggregateFunction.AVG else None
    if item.type is AttributeType.DOUBLE:
        return Values(item.type, _divided(*states.sums[value], divisors), known)
    totals = _as_doubles(states.integers[value])
    if divisors is None:
        return Values(item.type, totals, known)
    return Values(AttributeType.DOUBLE, _ratios(totals, divisors), known)


def _as_doubles(integers: np.ndarray) -> np.ndarray:
    """Return integers that are exact as doubles, or Python's integers if one is not."""
    if integers.dtype == object or -EXACT < integers.min() <= integers.max() < EXACT:
        return integers
    return integers.astype(object)


def _ratios(totals: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return sums of longs divided by counts, each rounded once."""
    if object not in (totals.dtype, counts.dtype):
        return totals / counts
    return np.array(list(map(ratio, totals.tolist(), counts.tolist())), np.float64)


def _divided(mantissas: np.ndarray, exponents: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
    """Return sums of doubles, divided by `counts` if given, with the same rounding as `Scaled`."""
    if counts is not None and counts.dtype == object:
        sums: Iterator[Any] = map(Scaled, mantissas.tolist(), exponents.tolist())
        found = [total.divided_by(n) for total, n in zip(sums, counts.tolist(), strict=True)]
        return np.array(found, np.float64)
    if counts is not None:
        mantissas = mantissas / counts
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(mantissas, np.clip(exponents, -10_000, 10_000).astype(np.int32)) + 0.0


# ---- the same values as rows of the long table of results


def finish_long(workload: Workload, partial: pa.Table) -> pa.Table:
    """Return the results of merged partial rows (`output.wire`) as `LONG_SCHEMA`, by query."""
    tables = [LONG_SCHEMA.empty_table()]
    for query, rows in by_query(workload, partial):
        keys = _keys(query, rows, calendar=workload.schema.time_unit.is_calendar)
        for label, values in finish_columns(query, rows):
            columns = keys | _numbers(values) | {"aggregate": pa.repeat(label, rows.num_rows)}
            table = [columns[name] for name in LONG_SCHEMA.names]
            tables.append(pa.table(table, schema=LONG_SCHEMA))
    return pa.concat_tables(tables)


def _numbers(values: Values) -> dict[str, pa.Array]:
    """Return the columns of `results.published.numbers_of` for all values."""
    numbers, unknown = values.numbers, ~values.known
    sized = values.known & (numbers != 0)
    if numbers.dtype == np.float64:
        sized &= np.isfinite(numbers)
    sizes = np.zeros(numbers.size)
    sizes[sized] = [log2(abs(number)) for number in numbers[sized].tolist()]  # NumPy's differ
    doubles, exact = numbers, pa.nulls(numbers.size, pa.string())
    if numbers.dtype == object:
        doubles = np.array(list(map(nearest_double, numbers.tolist())))
        digits = np.array([digits_of(each) for each in numbers.tolist()], object)
        exact = pa.array(digits, mask=unknown)
    elif numbers.dtype == np.int64:
        doubles = numbers.astype(np.float64)
        exact = pa.array(numbers, mask=unknown).cast(pa.string())
    return {
        "value": pa.array(doubles, mask=unknown),
        "exact": exact,
        "log2": pa.array(sizes, mask=~sized),
    }


def _keys(query: BoundQuery, rows: pa.Table, *, calendar: bool) -> dict[str, pa.Array]:
    """Return the columns that all results of a row share; each distinct string is built once.

    Windows in ticks have no hour.
    """
    starts, ends, groups = (
        rows[name].combine_chunks() for name in ("window_start", "window_end", "group")
    )
    return {
        "window_end_hour": _each_once(ends, lambda end: hour_label(end - 1) if calendar else ""),
        "query": pa.repeat(query.name, len(ends)),
        "group_key": _each_once(groups, lambda text: group_text(query.labelled(json.loads(text)))),
        "window_start": starts,
        "window_end": ends,
    }


def _each_once(values: pa.Array, text_of: Callable[[Any], str]) -> pa.Array:
    encoded = values.dictionary_encode()
    texts = pa.array([text_of(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)
