"""Compute final results from partial aggregate states.

The values of one aggregate are computed for all rows of a query at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import log2
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.executors.aggregates import (
    RULES,
    Accumulator,
    needs_of,
    participation_query,
)
from elsinore.executors.input.numbering import numbered
from elsinore.executors.kinds import Kind
from elsinore.executors.output.calculate import Longs, Values, calculate
from elsinore.executors.output.dispersion import Moments
from elsinore.executors.output.exact_states import IntegerExtremes
from elsinore.executors.output.measures import (
    dispersion_of_measure,
    extreme_of_measure,
    sum_of_measure,
)
from elsinore.executors.output.partial_rows import PartialRows, joined_groups
from elsinore.executors.output.state_columns import Extremes
from elsinore.executors.output.states import States
from elsinore.numbers.exact_columns import (
    Integers,
    from_python,
    nearest_doubles,
    ratios,
    to_text,
    wide_rows,
)
from elsinore.query.bound import (
    AggregateFunction,
    BoundAggregate,
    BoundOutput,
    BoundQuery,
    Workload,
)
from elsinore.query.expressions import BoundExpression, GroupValue, Slot, operands_of
from elsinore.query.query_keys import QueryKey
from elsinore.query.steps import step_queries
from elsinore.results.published import LONG_SCHEMA, exact_text, group_text
from elsinore.results.row import ResultRow, Value, sorted_rows
from elsinore.sorting import ascending
from elsinore.template.measures import measure_queries
from elsinore.timeline import Instant, Length, hour_label

#: By the key of a query that ran: the keys of the queries that its rows answer.
Answered = Mapping[QueryKey, Sequence[QueryKey]]

#: Every query answers only itself.
NOTHING: Answered = MappingProxyType({})


def finish(
    workload: Workload, partial: Sequence[PartialRows], answered: Answered = NOTHING
) -> list[ResultRow]:
    """Return the result rows of merged partial rows, in canonical order.

    Args:
        workload: the queries.
        partial: the rows, one per query that ran, group and window.
        answered: the queries that are answered; a query that it lacks answers itself.
    """
    calendar = workload.schema.time_unit.is_calendar
    time: Callable[[int], int] = Instant if calendar else int
    rows = []
    for query, parts in _by_query(workload, partial, answered):
        for found in finish_query(query, parts):
            kept, step = found.rows, found.step
            groups = {n: query.labelled(json.loads(text)) for n, text in _group_texts(kept).items()}
            bounds = (map(time, each.tolist()) for each in _bounds(query, kept))
            lists = map(_listed, query.outputs, found.columns)
            values = zip(*lists, strict=True)
            for group, start, end, own in zip(kept.group.tolist(), *bounds, values, strict=True):
                named = tuple(zip(query.value_names, own, strict=True))
                rows.append(ResultRow(query.name, groups[group], start, end, named, step=step))
    return sorted_rows(rows)


def _bounds(query: BoundQuery, rows: PartialRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and the end of the window of each row, int64[R] each."""
    if query.window.session is None:
        return query.window.starts(rows.window), query.window.ends(rows.window)
    assert rows.ends is not None, "rows of sessions are bounded"
    return rows.window, rows.ends


def _listed(output: BoundOutput, column: Values | Longs) -> list[Value]:
    """Return the values of a column as in result rows."""
    values = column.to_list()
    if output.is_duration:
        return [value if value is None else Length(value) for value in values]
    return values


class Ran(NamedTuple):
    """Partial rows, and the query that ran for them."""

    query: BoundQuery  #: it has at least the aggregates of the queries that the rows answer
    rows: PartialRows


#: The partial rows of a query, of its `participation_query` and of its `measure_queries`, by key.
#: Some can be missing.
Parts = dict[QueryKey, Ran]


def _by_query(
    workload: Workload, partial: Sequence[PartialRows], answered: Answered
) -> Iterator[tuple[BoundQuery, Parts]]:
    """Yield each query that has partial rows, with its rows."""
    asked: dict[str, dict[QueryKey, tuple[BoundQuery, list[Any]]]] = {}
    for part in partial:
        order = np.argsort(part.query, kind="stable")
        firsts = np.searchsorted(part.query[order], np.arange(len(part.queries) + 1))
        for number, run in enumerate(part.queries):
            mine = order[firsts[number] : firsts[number + 1]]
            for key in answered.get(run.key, (run.key,)) if mine.size else ():
                own = asked.setdefault(key.query, {}).setdefault(key, (run, []))
                own[1].append((part, mine))
    for name, found in asked.items():
        yield (
            workload.by_name[name],
            {
                each: Ran(run, _existing(run, [_taken(*one) for one in places]))
                for each, (run, places) in found.items()
            },
        )


def _existing(query: BoundQuery, parts: Sequence[PartialRows]) -> PartialRows:
    """Return rows without windows that do not exist, see `Window.exists`."""
    rows, window = PartialRows.joined(parts), query.window
    if not window.may_skip:
        return rows
    return rows.take(np.flatnonzero(window.starts(rows.window) < window.starts(rows.window + 1)))


def _taken(part: PartialRows, rows: np.ndarray) -> PartialRows:
    return part if rows.size == len(part) else part.take(rows)


def _group_texts(part: PartialRows) -> dict[int, str]:
    """Return the groups that have rows, as JSON, by their numbers."""
    used = np.unique(part.group)
    return dict(zip(used.tolist(), part.groups.take(pa.array(used)).to_pylist(), strict=True))


class Finished(NamedTuple):
    """Finished rows of a query, and their values in the order of RETURN."""

    rows: PartialRows
    columns: list[Values | Longs]
    step: int | None = None  #: the step of all of these rows, if the query returns steps


def finish_query(query: BoundQuery, parts: Parts) -> list[Finished]:
    """Return the rows of a query, or the rows of each of its steps.

    A row of a step is there if the first step has a trend in its window and group; it has zeros if
    the step itself has none.

    Args:
        query: the query.
        parts: its partial rows, merged over all tasks, because HAVING needs complete aggregates.
    """
    if not query.steps:
        return [_kept_by_having(query, parts)]
    first, *others = step_queries(query)
    if first.key not in parts:
        return []
    rows, columns = _aggregates(first, parts)
    found = [Finished(rows, columns, 1)]
    for number, step in enumerate(others, 2):
        found.append(Finished(rows, _of_step(step, parts, rows), number))
    return found


def _of_step(step: BoundQuery, parts: Parts, rows: PartialRows) -> list[Values | Longs]:
    """Return the values of a step in the order of the rows of the first step."""
    columns = list[Values | Longs]()
    for asked in (step, participation_query(step)) if step.participating else (step,):
        run, found = parts.get(asked.key) or Ran(asked, PartialRows.none_of(asked))
        states = States.of(run, _with_rows_of(rows, found))
        columns += [_finished(item, states) for item in asked.counted]
    return columns


def _kept_by_having(query: BoundQuery, parts: Parts) -> Finished:
    """Return the rows that HAVING keeps, and their values."""
    part, finished = _aggregates(query, parts)
    read = [query.having, *(output.expression for output in query.outputs)]
    groups = list(_group_values(query, part)) if any(map(_reads_group, read)) else []
    calculated = [each for each in read if each is not None and not isinstance(each, Slot)]
    slots = [each.values() for each in finished] if calculated else []
    if query.having is not None:
        truth = calculate(query.having, slots, groups, len(part))
        kept = truth.numbers & truth.known
        part = part.take(np.flatnonzero(kept))
        finished = [each.where(kept) for each in finished]
        slots = [each.where(kept) for each in slots]
        groups = [each.where(kept) for each in groups]
    outputs = []
    for output in query.outputs:
        if isinstance(output.expression, Slot):
            column = finished[output.expression.number]
        else:
            column = calculate(output.expression, slots, groups, len(part))
        outputs.append(_within_64_bits(column) if output.is_duration else column)
    return Finished(part, outputs)


def _within_64_bits(column: Values | Longs) -> Values | Longs:
    """Return lengths of time without values that need more bits."""
    if isinstance(column, Longs):
        known = column.known.copy()
        for band in column.numbers.wide:
            known[band.rows] = False
        return Longs(column.type, Integers(column.numbers.small), known)
    if column.numbers.dtype != object:
        return column
    fits = np.array([-(2**63) <= number < 2**63 for number in column.numbers.tolist()], np.bool_)
    return Values(column.type, np.where(fits, column.numbers, 0), column.known & fits)


def _aggregates(query: BoundQuery, parts: Parts) -> tuple[PartialRows, list[Values | Longs]]:
    """Return the rows of a query, and the values of its aggregates.

    A row with a trend has participating events, and the other way round. So the partial rows of
    both kinds have the same windows and groups.
    """
    asked = {query.key: [(item.label, item) for item in query.counted]}
    if query.participating:
        each = participation_query(query)
        labels = (item.label for item in query.participating)
        asked[each.key] = list(zip(labels, each.aggregates, strict=True))
    values, held = (
        dict[str, Values | Longs](),
        [parts[key].rows for key in asked if key in parts],
    )
    rows = held if len(held) == 1 else _aligned(query, held)
    for (key, items), part in zip(
        ((key, asked[key]) for key in asked if key in parts), rows, strict=True
    ):
        states = States.of(parts[key].query, part)
        values |= {label: _finished(item, states) for label, item in items}
    for own in measure_queries(query):
        values |= _measured(own, parts, rows[0])
    return rows[0], [values[item.label] for item in query.aggregates]


def _aligned(query: BoundQuery, parts: Sequence[PartialRows]) -> list[PartialRows]:
    """Return parts with the same groups and windows, with their rows in the same order."""
    _, groups = joined_groups(parts)
    orders = [ascending(group, part.window) for group, part in zip(groups, parts, strict=True)]
    keys = [
        np.stack([group[order], part.window[order]])
        for group, part, order in zip(groups, parts, orders, strict=True)
    ]
    if not all(np.array_equal(keys[0], each) for each in keys):
        raise AssertionError(f"rows of {query.name} and of its EACH or DISTINCT differ")
    return [part.take(order) for part, order in zip(parts, orders, strict=True)]


def _measured(part: BoundQuery, parts: Parts, rows: PartialRows) -> dict[str, Values | Longs]:
    """Return the aggregates of a query of measures, in the order of the rows of its origin.

    A row of the origin is missing in the part if no trend has a value.
    """
    run, found = parts.get(part.key) or Ran(part, PartialRows.none_of(part))
    states = States.of(run, _with_rows_of(rows, found))
    return {item.label: _finished(item, states) for item in part.aggregates}


def _with_rows_of(rows: PartialRows, part: PartialRows) -> PartialRows:
    """Return the states of a part in the order of other rows; over no trends if it lacks a row."""
    _, groups = joined_groups([rows, part])
    keys = (np.concatenate(groups), np.concatenate([rows.window, part.window]))
    numbers, _ = numbered(keys, len(rows) + len(part))
    place_of = np.full(numbers.size, len(part))
    place_of[numbers[len(rows) :]] = np.arange(len(part))
    places = place_of[numbers[: len(rows)]]
    columns = (type(each).joined([each, each.zero(1)]).take(places) for each in part.columns)
    return replace(rows, queries=part.queries, columns=tuple(columns))


def _reads_group(expression: BoundExpression | None) -> bool:
    """Return whether an expression reads a grouping attribute."""
    if expression is None or isinstance(expression, GroupValue):
        return expression is not None
    return any(map(_reads_group, operands_of(expression)))


def _group_values(query: BoundQuery, part: PartialRows) -> Iterator[Values]:
    """Yield the values of each grouping attribute; each distinct group is decoded once."""
    used, numbers = np.unique(part.group, return_inverse=True)
    groups = [json.loads(text) for text in part.groups.take(pa.array(used)).to_pylist()]
    for place, key in enumerate(query.group_keys):
        values = Values.of(key.type, [group[place] for group in groups])
        yield Values(key.type, values.numbers[numbers], values.known[numbers])


# ---- states to values


def _finished(item: BoundAggregate, states: States) -> Values | Longs:
    if item.measure is None:
        columns = _Columns(item.value_type, states, item.share)
        return RULES[item.function].finish(columns, needs_of(item))
    compute = extreme_of_measure if item.is_extreme else sum_of_measure
    if item.function.is_dispersion:
        compute = dispersion_of_measure
    return compute(item, item.measure, states)


class _Columns(NamedTuple):
    """What `aggregates.Rule.finish` reads: the states of R rows, for values of one type."""

    type: AttributeType
    states: States
    share: Fraction | None = None  #: see `BoundAggregate.share`

    def integer(self, of: Accumulator) -> Values | Longs:
        counts = self.states.integers[of]
        return Longs(self.type, counts, np.ones(len(counts), np.bool_))

    def extreme(self, of: Accumulator) -> Values | Longs:
        column = self.states.extremes[of]
        if isinstance(column, IntegerExtremes):
            return Longs(self.type, column.integers, column.known)
        assert isinstance(column, Extremes), "no measure of trends"
        if self.type is AttributeType.DOUBLE:
            return Values(self.type, column.values, column.known)
        integers = Integers(np.where(column.known, column.values, 0))
        return Longs(self.type, integers, column.known)

    def total(self, present: Accumulator, of: Accumulator) -> Values | Longs:
        known = self.states.integers[present].nonzero
        if of.kind is Kind.DOUBLE:
            return Values(self.type, self.states.sums[of].to_doubles(), known)
        return Longs(self.type, self.states.whole(of), known)

    def mean(self, present: Accumulator, of: Accumulator) -> Values | Longs:
        counts = self.states.integers[present]
        if of.kind is Kind.DOUBLE:
            means = self.states.sums[of].divided_by(counts)
        else:
            means = ratios(self.states.whole(of), counts)
        return Values(self.type, means, counts.nonzero)

    def dispersion(
        self, function: AggregateFunction, moments: Sequence[Accumulator]
    ) -> Values | Longs:
        present, first, square, *not_finite = moments
        found = Moments(
            self.states.integers[present], self.states.sum_of(first), self.states.sum_of(square)
        )
        odd = self.states.sum_of(*not_finite).integers.nonzero if not_finite else None
        return found.dispersion(function, odd)

    def percentile(self, of: Accumulator) -> Values | Longs:
        lists = self.states.lists[of]
        if self.share is None:
            return Values(self.type, *lists.medians())
        values, known = lists.percentiles(self.share)
        if self.type is AttributeType.DOUBLE:
            return Values(self.type, values + 0.0, known)
        return Longs(self.type, Integers(values), known)


# ---- the same values as rows of the long table of results


def finish_long(
    workload: Workload, partial: Sequence[PartialRows], answered: Answered = NOTHING
) -> pa.Table:
    """Return the results of merged partial rows as `LONG_SCHEMA`, by query; see `finish`."""
    tables = [LONG_SCHEMA.empty_table()]
    for query, parts in _by_query(workload, partial, answered):
        for found in finish_query(query, parts):
            tables += _long_tables(query, found, calendar=workload.schema.time_unit.is_calendar)
    return pa.concat_tables(tables)


def _long_tables(query: BoundQuery, found: Finished, *, calendar: bool) -> Iterator[pa.Table]:
    """Yield finished rows as `LONG_SCHEMA`, one table per value of RETURN."""
    size = len(found.rows)
    keys = _keys(query, found.rows, calendar=calendar)
    keys["step"] = pa.repeat(pa.scalar(found.step, pa.int64()), size)
    for output, values in zip(query.outputs, found.columns, strict=True):
        named = {"aggregate": output.name, "type": output.type_name}
        numbers = _of_longs(values) if isinstance(values, Longs) else _of_values(values)
        columns = keys | numbers
        columns |= {key: pa.repeat(text, size) for key, text in named.items()}
        table = [columns[name] for name in LONG_SCHEMA.names]
        yield pa.table(table, schema=LONG_SCHEMA)


def _of_longs(longs: Longs) -> dict[str, pa.Array]:
    """Return the columns of `results.published.numbers_of` for integers."""
    numbers, unknown = longs.numbers, ~longs.known
    sized = longs.known & numbers.nonzero
    is_small, sizes = sized & (numbers.small != 0), np.zeros(len(numbers))
    sizes[is_small] = [log2(abs(number)) for number in numbers.small[is_small].tolist()]
    rows, wide = wide_rows(numbers)
    sizes[rows] = [log2(abs(number)) for number in wide]
    digits = to_text(numbers)
    return {
        "value": pa.array(nearest_doubles(numbers), mask=unknown),
        "exact": pc.if_else(pa.array(longs.known), digits, None) if unknown.any() else digits,
        "log2": pa.array(sizes, mask=~sized),
    }


def _of_values(values: Values) -> dict[str, pa.Array]:
    """Return the columns of `results.published.numbers_of` for the values of expressions."""
    numbers, unknown = values.numbers, ~values.known
    if values.type in (AttributeType.STRING, AttributeType.BOOLEAN):
        none = pa.nulls(numbers.size, pa.float64())
        exact = pa.array(list(map(exact_text, numbers.tolist())), pa.string(), mask=unknown)
        return {"value": none, "exact": exact, "log2": none}
    if numbers.dtype != np.float64:
        integers = from_python(numbers.tolist()) if numbers.dtype == object else Integers(numbers)
        return _of_longs(Longs(values.type, integers, values.known))
    sized = values.known & (numbers != 0) & np.isfinite(numbers)
    sizes = np.zeros(numbers.size)
    sizes[sized] = [log2(abs(number)) for number in numbers[sized].tolist()]  # NumPy's differ
    return {
        "value": pa.array(numbers, mask=unknown),
        "exact": pa.nulls(numbers.size, pa.string()),
        "log2": pa.array(sizes, mask=~sized),
    }


def _keys(query: BoundQuery, rows: PartialRows, *, calendar: bool) -> dict[str, pa.Array]:
    """Return the columns that all results of a row share; each distinct string is built once.

    Windows in ticks have no hour.
    """
    starts, ends = _bounds(query, rows)
    complete = pa.array(ends + query.window.ahead)
    used, numbers = np.unique(rows.group, return_inverse=True)
    groups = rows.groups.take(pa.array(used)).to_pylist()
    texts = [group_text(query.labelled(json.loads(text))) for text in groups]
    return {
        "window_end_hour": _each_once(
            complete, lambda end: hour_label(end - 1) if calendar else ""
        ),
        "query": pa.repeat(query.name, len(rows)),
        "group_key": pa.array(texts, pa.string()).take(pa.array(numbers)),
        "window_start": pa.array(starts),
        "window_end": pa.array(ends),
    }


def _each_once(values: pa.Array, text_of: Callable[[Any], str]) -> pa.Array:
    encoded = values.dictionary_encode()
    texts = pa.array([text_of(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)
