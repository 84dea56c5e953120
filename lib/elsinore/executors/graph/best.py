"""Run a query of measures for MIN and MAX over the events of a table.

`kernels.best` finds the greatest sum of weights over the trends of each window, in floating point,
in 64 bits, or in 96 bits. All sums of integers are exact: factors have a common denominator.
Constants are added in `output.measures`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.executors.aggregates import Accumulator, accumulators_of
from elsinore.executors.graph.climb import are_large, rank_orders
from elsinore.executors.graph.kernels.best import (
    Bests,
    Size,
    Weights,
    find_bests,
    make_best_scratch,
    make_bests,
)
from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.orders import Orders
from elsinore.executors.graph.kernels.work import make_work
from elsinore.executors.graph.layout import Layout, lay_out
from elsinore.executors.graph.run_template import build_graph, last_events
from elsinore.executors.input.anchors import windows_of
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import StateEntries, at_states, key_codes, make_entries
from elsinore.executors.input.exact import exact_values
from elsinore.executors.input.key_codes import KeyCodes
from elsinore.executors.input.weights import EventWeights, stack_rows
from elsinore.executors.kinds import Kind
from elsinore.executors.output.best_sums import extremes_of_sums, rows_of_extremes
from elsinore.executors.output.partial_rows import PartialRows, merge
from elsinore.executors.output.state_columns import Extremes, WideExtremes, scaled_of
from elsinore.executors.output.window_rows import Groups
from elsinore.executors.row_bound import RowBound
from elsinore.numbers.two_parts import LOW, NARROW, PART
from elsinore.query.bound import BoundQuery, KeyName, Marks, MeasureKind, MeasureTerm
from elsinore.results.row import nearest_double
from elsinore.template.build import build_templates
from elsinore.template.placement import placements_of
from elsinore.template.template import Template
from elsinore.timeline import Interval

#: Integers below this in absolute value fit two parts.
_WIDE = NARROW << PART
#: Doubles are scaled so that sums are below `2**_HIGHEST`.
_HIGHEST = 1020


def aggregate_extremes(
    query: BoundQuery, events: EventTable | EventColumns, *, owned: Interval | None = None
) -> list[PartialRows]:
    """Return partial rows of a query of measures for MIN and MAX.

    Windows without a trend that has a value have no row.

    Args:
        query: one of `template.measures.measure_queries`.
        events: events in any order, of all partitions.
        owned: compute only windows that end in this interval; None for every window.

    Raises:
        QueryError: there are too many rows, or a sum of integers needs more than 96 bits.
    """
    columns = EventColumns.of(events)
    codes = key_codes(query, columns)
    accumulators = accumulators_of(query).columns[Kind.RANK]
    bound, parts = RowBound([query]), []
    for template in build_templates(query):
        found = _Pass(query, template, codes, columns)
        spans = windows_of(query, template, found.placed, owned)
        extremes = [found.best(accumulator, spans) for accumulator in accumulators]
        kept = np.flatnonzero(np.logical_or.reduce([column.known for column in extremes]))
        extremes = [column.take(kept) for column in extremes]
        rows = [rows_of_extremes(query, found.groups, spans[kept, 2:4], extremes)]
        if query.window.span is not None:
            rows = merge(rows)
        bound.add(np.zeros(sum(map(len, rows)), np.int64))
        parts += rows
    return merge(parts)


class _Pass:
    """A template over the events of a table.

    Attributes:
        placed: its entries.
        groups: the group of each partition.
    """

    def __init__(
        self,
        query: BoundQuery,
        template: Template,
        codes: Mapping[KeyName, KeyCodes],
        columns: EventColumns,
    ) -> None:
        self.query, self.template, self.columns = query, template, columns
        placements = placements_of([query], [template])
        entries = make_entries(placements, codes, columns, query.window)
        places = {place: (place[1], 0) for place in placements.by_place}
        self.placed: StateEntries = at_states(entries, placements, places)
        self.groups = Groups.of(entries.group_texts(query, codes))
        last = np.empty(0, np.int64)
        if template.contiguous:
            schema = columns.events.schema
            last = last_events(query, schema, codes, columns, self.placed, entries.keys)
        self.layout: Layout = lay_out(template)
        size = self.placed.times.size
        longs, doubles = stack_rows([], size, np.int64), stack_rows([], size, np.float64)
        nothing = EventWeights(longs, doubles, longs, {})
        self.graph: Graph = build_graph(self.layout, columns, self.placed, nothing, last)

    def best(self, accumulator: Accumulator, spans: np.ndarray) -> Extremes | WideExtremes:
        """Return the minimum or maximum of a measure in some windows, without its constant."""
        longest = int((spans[:, 1] - spans[:, 0]).max(initial=0))
        sums = _Sums(self, accumulator, longest)
        found = make_bests(spans.shape[0], sums.weights)
        for chosen, orders in self._parts(spans):
            mine = spans[chosen]
            work = make_work(self.graph, mine, 1, orders)
            scratch = make_best_scratch(self.graph, work, sums.weights, longest)
            part = make_bests(mine.shape[0], sums.weights)
            find_bests(self.graph, sums.weights, mine, work, scratch, part)
            found.values[chosen], found.sizes[chosen] = part
        return sums.meant(found)

    def _parts(self, spans: np.ndarray) -> Iterator[tuple[np.ndarray, Orders | None]]:
        """Yield numbers of windows, and the ranks by which conditions on pairs are evaluated."""
        if not spans.shape[0]:
            return
        large = are_large(spans)
        if not self.layout.orders or not large.any():
            yield np.arange(spans.shape[0]), None
            return
        if not large.all():
            yield np.flatnonzero(~large), None
        chosen = np.flatnonzero(large)
        yield chosen, rank_orders(self.graph, self.layout.orders, spans[chosen])


class _Sums:
    """A measure as weights of entries, and the meaning of their greatest sums.

    Attributes:
        weights: the weights; negated for a minimum.
    """

    def __init__(self, found: _Pass, accumulator: Accumulator, longest: int) -> None:
        measure = accumulator.measure
        assert measure is not None
        self._pass, self._longest, self._largest = found, longest, accumulator.largest
        self._sign = 1 if accumulator.largest else -1
        self._doubles = measure.adds_doubles
        self._scale = 1 if self._doubles else measure.scale  # integers are multiplied by it
        self._shift = 0  # doubles are divided by two to the power of it
        parts = [_Part(found, term, doubles=self._doubles) for term in measure.terms]
        highest = sum((self._highest(part) for part in parts), start=Fraction(0))
        if self._doubles:
            self._shift = max(0, int(highest).bit_length() - _HIGHEST)
            self.weights = self._of_doubles(parts)
        else:
            self.weights = self._of_integers(parts, int(highest))

    def _factors(self, term: MeasureTerm) -> tuple[Fraction, Fraction]:
        """Return what a value is multiplied by, and what is added instead of NULL."""
        factor = term.factor * self._sign * self._scale
        return factor, factor * (term.otherwise or 0)

    def _highest(self, part: _Part) -> Fraction:
        """Return a bound of the absolute values of a part of a sum."""
        factor, otherwise = self._factors(part.term)
        often = part.term.kind in (MeasureKind.LENGTH, MeasureKind.TOTAL)
        times = self._longest if often else 1
        return abs(factor) * part.highest * times + abs(otherwise)

    # ---- weights

    def _of_integers(self, parts: Sequence[_Part], highest: int) -> Weights:
        if highest >= _WIDE:
            name = self._pass.query.key.query
            message = f"query {name}: a sum in a minimum or maximum needs more than 96 bits"
            hint = "compute with doubles, as in TOTAL(A.x * 1.0)"
            raise QueryError(message, hint=hint)
        dtype = np.int64 if highest < NARROW else object
        sums = [np.zeros(self._pass.placed.times.size, dtype) for _ in range(3)]
        for part in parts:
            factor, otherwise = map(int, self._factors(part.term))
            for total, values, instead in zip(sums, part.values, part.instead, strict=True):
                total += values.astype(dtype) * factor + instead.astype(dtype) * otherwise
        own, starts, ends = sums if dtype is np.int64 else map(_in_two, sums)
        return Weights(own, np.zeros(own.shape[0], np.uint8), starts, ends)

    def _of_doubles(self, parts: Sequence[_Part]) -> Weights:
        sums = [np.zeros(self._pass.placed.times.size) for _ in range(3)]
        with np.errstate(invalid="ignore"):
            for part in parts:
                (factor, up), (otherwise, also) = map(scaled_of, self._factors(part.term))
                for total, values, instead in zip(sums, part.values, part.instead, strict=True):
                    scaled = np.ldexp(values.astype(np.float64) * factor, up - self._shift)
                    total += np.where(values != 0, scaled, 0.0)
                    total += np.ldexp(instead * otherwise, also - self._shift)
        own, starts, ends = sums
        sizes = np.zeros(own.size, np.uint8)
        sizes[own == np.inf], sizes[own == -np.inf] = Size.ABOVE, Size.BELOW
        sizes[own != own] = Size.NAN
        return Weights(np.where(sizes == Size.FINITE, own, 0.0), sizes, starts, ends)

    # ---- their sums

    def meant(self, found: Bests) -> Extremes | WideExtremes:
        """Return the extremes that some greatest sums mean."""
        known = found.sizes != 0
        if self._doubles:
            return Extremes.of(self._doubles_of(found), known, largest=self._largest)
        return extremes_of_sums(found.values, known, largest=self._largest)

    def _doubles_of(self, found: Bests) -> np.ndarray:
        sizes = found.sizes
        with np.errstate(over="ignore"):
            finite = np.ldexp(found.values, self._shift)
        is_finite, is_above = sizes & (1 << Size.FINITE) != 0, sizes & (1 << Size.ABOVE) != 0
        below = np.where(sizes & (1 << Size.BELOW) != 0, -np.inf, np.nan)
        return self._sign * np.where(is_above, np.inf, np.where(is_finite, finite, below))


class _Part:
    """The amounts that entries add to one term of a measure.

    Attributes:
        term: the term.
        values: what entries add, as any, first or last event of a trend, before the factor.
        instead: how often they add the value that replaces NULL, in the same three ways.
        highest: the greatest absolute value, without infinities.
    """

    def __init__(self, found: _Pass, term: MeasureTerm, *, doubles: bool) -> None:
        self.term = term
        size, placed = found.placed.times.size, found.placed
        nothing = np.zeros(size, np.int64)
        marks = term.marks or Marks(term.positions)
        inside = _at(found, marks.adds)
        own, starts, ends = nothing, nothing, nothing
        null = np.zeros(size, np.bool_)
        if term.kind is MeasureKind.LENGTH:
            own = inside.astype(np.int64)
        elif term.kind is MeasureKind.DURATION:
            times = found.columns.times[placed.rows]
            ends = times - times.min(initial=np.iinfo(np.int64).max)
            starts = -ends
        else:
            assert term.value is not None
            read = exact_values(term.value, found.columns).take(placed.rows)
            known = read.column.known
            numbers = read.numbers
            if doubles and read.rows.size:
                numbers = np.array([*map(nearest_double, numbers.tolist())], np.float64)
            own = np.where(inside & known, numbers, 0)
            null = inside & ~known & (term.kind is not MeasureKind.TOTAL)
        self.values = own, starts, ends
        self.instead = null, nothing, _at(found, marks.lacks)
        self.highest = Fraction(0)
        for values in (own, ends):
            numbers = values if values.dtype == object else values[np.isfinite(values)]
            if numbers.size:
                least, most = (np.asarray(end).item() for end in (numbers.min(), numbers.max()))
                self.highest = max(self.highest, abs(Fraction(least)), abs(Fraction(most)))


def _at(found: _Pass, positions: frozenset[int]) -> np.ndarray:
    """Return whether each entry is at some positions."""
    inside = [state.positions <= positions for state in found.template.states]
    return np.array(inside, np.bool_)[found.placed.states]


def _in_two(numbers: np.ndarray) -> np.ndarray:
    """Return integers in two parts, see `Weights`."""
    parts = [(number >> PART, number & LOW) for number in numbers.tolist()]
    return np.array(parts, np.int64).reshape(-1, 2)
