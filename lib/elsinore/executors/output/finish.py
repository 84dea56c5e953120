"""Compute final results from partial aggregate states.

The values of one aggregate are computed for all rows of a query at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import log2
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.executors.aggregates import RULES, Accumulator, asked_name, participation_query
from elsinore.executors.kinds import Kind
from elsinore.executors.output.calculate import Values, as_doubles, calculate
from elsinore.executors.output.scaled import Scaled, ratio
from elsinore.executors.output.window_rows import States
from elsinore.integers import digits_of
from elsinore.query.bound import BoundAggregate, BoundQuery, Workload
from elsinore.query.expressions import BoundExpression, GroupValue, operands_of
from elsinore.results.published import LONG_SCHEMA, exact_text, group_text
from elsinore.results.row import ResultRow, nearest_double, sorted_rows
from elsinore.timeline import Instant, hour_label

#: The columns that identify a row of a query.
_ROW_KEY = ["group", "window_start", "window_end"]


def finish(workload: Workload, partial: pa.Table) -> list[ResultRow]:
    """Return the result rows of merged partial rows (`output.wire`), in canonical order."""
    calendar = workload.schema.time_unit.is_calendar
    time: Callable[[int], int] = Instant if calendar else int
    rows = []
    for query, merged in by_query(workload, partial):
        part, columns = finish_query(query, merged)
        texts = part["group"].to_pylist()
        groups = {text: query.labelled(json.loads(text)) for text in set(texts)}
        bounds = (map(time, part[name].to_pylist()) for name in ("window_start", "window_end"))
        values = zip(*(column.to_list() for column in columns), strict=True)
        for text, start, end, own in zip(texts, *bounds, values, strict=True):
            named = tuple(zip(query.value_names, own, strict=True))
            rows.append(ResultRow(query.name, groups[text], start, end, named))
    return sorted_rows(rows)


#: The partial rows of a query and of its `participation_query`, by name. One can be missing.
Parts = dict[str, pa.Table]


def by_query(workload: Workload, partial: pa.Table) -> Iterator[tuple[BoundQuery, Parts]]:
    """Yield each query that has partial rows, with its rows."""
    names = partial["query"].combine_chunks().dictionary_encode()
    numbers = np.asarray(names.indices)
    parts: dict[str, Parts] = {}
    for number, name in enumerate(names.dictionary.to_pylist()):
        rows = partial.take(pa.array(np.flatnonzero(numbers == number)))
        parts.setdefault(asked_name(name), {})[name] = rows
    for name, found in parts.items():
        yield workload.by_name[name], found


def finish_query(query: BoundQuery, parts: Parts) -> tuple[pa.Table, list[Values]]:
    """Return the rows that HAVING keeps, and their values in the order of RETURN.

    Args:
        query: the query.
        parts: its partial rows, merged over all tasks, because HAVING needs complete aggregates.
    """
    rows, slots = _slots(query, parts)
    read = [query.having, *(output.expression for output in query.outputs)]
    groups = list(_group_values(query, rows)) if any(map(_reads_group, read)) else []
    size = rows.num_rows
    if query.having is not None:
        truth = calculate(query.having, slots, groups, size)
        kept = truth.numbers & truth.known
        rows, size = rows.filter(pa.array(kept)), int(kept.sum())
        slots = [values.where(kept) for values in slots]
        groups = [values.where(kept) for values in groups]
    outputs = [calculate(output.expression, slots, groups, size) for output in query.outputs]
    return rows, outputs


def _slots(query: BoundQuery, parts: Parts) -> tuple[pa.Table, list[Values]]:
    """Return the rows of a query, and the values of its aggregates.

    A row with a trend has participating events, and the other way round. So the partial rows of
    both kinds have the same windows and groups.
    """
    values: dict[str, Values] = {}
    rows = None
    for part in (query, participation_query(query)) if query.participating else (query,):
        if part.name not in parts:
            continue
        found = parts[part.name]
        if len(parts) > 1:
            order = [("group", "ascending"), ("window_start", "ascending")]
            found = found.take(pc.sort_indices(found, sort_keys=order))
        if rows is not None and not rows.select(_ROW_KEY).equals(found.select(_ROW_KEY)):
            raise AssertionError(f"rows of {query.name} and of its EACH or DISTINCT differ")
        rows, states = found, States.of(part, found)
        each = part is not query
        asked = part.aggregates if each else part.counted
        labels = (item.label for item in (query.participating if each else asked))
        values |= {
            label: _finished(item, states) for label, item in zip(labels, asked, strict=True)
        }
    assert rows is not None, "a query has partial rows"
    return rows, [values[item.label] for item in query.aggregates]


def _reads_group(expression: BoundExpression | None) -> bool:
    """Return whether an expression reads a grouping attribute."""
    if expression is None or isinstance(expression, GroupValue):
        return expression is not None
    return any(map(_reads_group, operands_of(expression)))


def _group_values(query: BoundQuery, rows: pa.Table) -> Iterator[Values]:
    """Yield the values of each grouping attribute; each distinct group is decoded once."""
    encoded = rows["group"].combine_chunks().dictionary_encode()
    groups = [json.loads(text) for text in encoded.dictionary.to_pylist()]
    numbers = np.asarray(encoded.indices)
    for place, key in enumerate(query.group_keys):
        values = Values.of(key.type, [group[place] for group in groups])
        yield Values(key.type, values.numbers[numbers], values.known[numbers])


def _finished(item: BoundAggregate, states: States) -> Values:
    rule = RULES[item.function]
    return rule.finish(_Columns(item.value_type, states), rule.needs(item))


class _Columns(NamedTuple):
    """What `aggregates.Rule.finish` reads: the states of R rows, for values of one type."""

    type: AttributeType
    states: States

    def integer(self, of: Accumulator) -> Values:
        counts = as_doubles(self.states.integers[of])
        return Values(self.type, counts, np.ones(counts.size, np.bool_))

    def extreme(self, of: Accumulator) -> Values:
        column = self.states.extremes[of]
        if self.type is AttributeType.DOUBLE:
            return Values(self.type, column.values, column.known)
        integers = np.where(column.known, column.values, 0)
        return Values(self.type, as_doubles(integers), column.known)

    def total(self, present: Accumulator, of: Accumulator) -> Values:
        known = self.states.integers[present] > 0
        if of.kind is Kind.DOUBLE:
            return Values(self.type, _divided(*self.states.sums[of], None), known)
        return Values(self.type, as_doubles(self.states.integers[of]), known)

    def mean(self, present: Accumulator, of: Accumulator) -> Values:
        counts = as_doubles(self.states.integers[present])
        known, divisors = counts > 0, np.maximum(counts, 1)
        if of.kind is Kind.DOUBLE:
            return Values(self.type, _divided(*self.states.sums[of], divisors), known)
        totals = as_doubles(self.states.integers[of])
        return Values(self.type, _ratios(totals, divisors), known)


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
    for query, merged in by_query(workload, partial):
        rows, outputs = finish_query(query, merged)
        keys = _keys(query, rows, calendar=workload.schema.time_unit.is_calendar)
        for name, values in zip(query.value_names, outputs, strict=True):
            named = {"aggregate": name, "type": values.type.value}
            columns = keys | _numbers(values)
            columns |= {key: pa.repeat(text, rows.num_rows) for key, text in named.items()}
            table = [columns[name] for name in LONG_SCHEMA.names]
            tables.append(pa.table(table, schema=LONG_SCHEMA))
    return pa.concat_tables(tables)


def _numbers(values: Values) -> dict[str, pa.Array]:
    """Return the columns of `results.published.numbers_of` for all values."""
    numbers, unknown = values.numbers, ~values.known
    if values.type in (AttributeType.STRING, AttributeType.BOOLEAN):
        none = pa.nulls(numbers.size, pa.float64())
        exact = pa.array(list(map(exact_text, numbers.tolist())), pa.string(), mask=unknown)
        return {"value": none, "exact": exact, "log2": none}
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
