"""Run one template of a query over the events of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from elsinore.catalog.stream import StreamSchema
from elsinore.executors.aggregates import (
    Accumulator,
    Accumulators,
    Weight,
    WeightColumns,
    accumulators_of,
)
from elsinore.executors.graph.climb import climb
from elsinore.executors.graph.kernels.graph import Graph, Lanes
from elsinore.executors.graph.layout import Layout, lay_out
from elsinore.executors.graph.spans import Graphed, span_parts
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import (
    Entries,
    StateEntries,
    at_states,
    latest_entries,
    make_entries,
)
from elsinore.executors.input.key_codes import KeyCodes
from elsinore.executors.input.numbering import numbered
from elsinore.executors.input.sessions import ranks_of
from elsinore.executors.input.slots import fill_slots, spans_of
from elsinore.executors.input.weights import NO_RANK, EventWeights, Extremes, weigh_events
from elsinore.executors.kinds import Kind
from elsinore.executors.output.window_rows import WindowRows
from elsinore.query.automaton import may_meet
from elsinore.query.bound import BoundQuery, Key, KeyName
from elsinore.template.placement import placements_of
from elsinore.template.template import Template
from elsinore.timeline import Interval


@dataclass(frozen=True)
class Propagated:
    """The result of a template."""

    entries: Entries[tuple[int, int]]  #: the events, by partition
    extremes: list[Extremes]  #: the values of the ranks, by extreme
    #: the windows with a trend, by precision level. With a span, there are several such parts, and
    #: a window can occur several times. Its totals must be added up.
    parts: Iterator[list[WindowRows]]


def run_template(
    query: BoundQuery,
    template: Template,
    codes: Mapping[KeyName, KeyCodes],
    columns: EventColumns,
    owned: Interval | None,
) -> Propagated:
    """Return the totals of all windows with a trend, in all partitions.

    Args:
        query: the query.
        template: one of its templates.
        codes: the codes of its keys, by name.
        columns: the events.
        owned: compute only windows that end in this interval; None for every window.

    Raises:
        QueryError: more than `row_bound.MOST_WINDOWS` windows contain an event.
    """
    placements = placements_of([query], [template])
    # Queries that differ only in their span have equal entries.
    find = make_entries if query.window.span is None else latest_entries
    entries = find(placements, codes, columns, query.window)
    accumulators = accumulators_of(query)

    @cache
    def graphed() -> Graphed:
        places = {place: (place[1], 0) for place in placements.by_place}
        placed = at_states(entries, placements, places)
        last: np.ndarray = np.empty(0, np.int64)
        if template.contiguous:
            last = last_events(query, columns.events.schema, codes, columns, placed, entries.keys)
        layout = lay_out(template)
        weights = weigh_at_states(template, accumulators, columns, placed)
        lanes = lanes_of_pairs(layout, accumulators)
        graph = build_graph(layout, columns, placed, weights, last, lanes)
        return Graphed(placed, graph, layout.orders, weights.meanings(query))

    if query.window.span is None:
        placed, graph, orders, extremes = graphed()
        spans = spans_of(query, placed.offsets, placed.times, owned)
        return Propagated(entries, extremes, iter([climb(graph, spans, orders)]))
    parts = span_parts(query, template, entries, graphed, owned)
    return Propagated(entries, graphed().extremes if any(accumulators.weighed) else [], parts)


# ---- under `contiguous`: the last event of the partition before each entry

#: The time of the last event if there is none.
NONE = np.iinfo(np.int64).min


def last_events(
    query: BoundQuery,
    schema: StreamSchema,
    codes: Mapping[KeyName, KeyCodes],
    columns: EventColumns,
    entries: StateEntries,
    keys: Mapping[KeyName, np.ndarray],
) -> np.ndarray:
    """Return as int64[N] the position of the last earlier event in the partition of each entry.

    An event of any type is in the partitions with its values of the keys that apply to it.
    `keys` are the codes of each partition's keys, by name.
    """
    is_session = query.window.session is not None
    # All events of a session have one number, so positions are in the order of ranks of times.
    positions = ranks_of(columns) if is_session else columns.positions(query.window)
    distinct, ranks = np.unique(positions, return_inverse=True)
    last = np.full(entries.rows.size, NONE, np.int64)
    sizes = np.diff(entries.offsets)
    for names, types in _types_by_keys(query, schema).items():
        rows = np.concatenate([columns.rows_of(name) for name in types])
        for name in names:
            if query.named_keys[name].equivalence:
                rows = rows[codes[name].usable[rows]]
        if not rows.size:
            continue
        shared = [(codes[name].values[rows], keys[name]) for name in names if name in keys]
        numbers, _ = numbered(map(np.concatenate, shared), rows.size + sizes.size)
        of_event, of_partition = numbers[: rows.size], numbers[rows.size :]
        placed = np.unique(of_event * distinct.size + ranks[rows])
        sought = np.repeat(of_partition, sizes) * distinct.size + ranks[entries.rows]
        found = placed[np.maximum(np.searchsorted(placed, sought) - 1, 0)]
        inside = (found < sought) & (found // distinct.size == sought // distinct.size)
        last = np.maximum(last, np.where(inside, distinct[found % distinct.size], NONE))
    if is_session:
        session = entries.times - ranks_of(columns)[entries.rows]
        last = np.where(last == NONE, NONE, last + session)
    return last


def _types_by_keys(query: BoundQuery, schema: StreamSchema) -> dict[tuple[KeyName, ...], list[str]]:
    """Return the types of the stream by the partition keys that apply to their events."""
    keys = {name: key for name, key in query.named_keys.items() if _makes_partitions(query, key)}
    found: dict[tuple[KeyName, ...], list[str]] = {}
    for kind in schema.by_name:
        applying = tuple(n for n, key in keys.items() if _applies(query, schema, key, kind))
        found.setdefault(applying, []).append(kind)
    return found


def _makes_partitions(query: BoundQuery, key: Key) -> bool:
    """Return whether a key separates events; not if it binds a single event per trend."""
    if key.group_label is not None:
        return True
    positions = (query.positions[index] for index in key.positions)
    bound = frozenset((position.alias, position.type) for position in positions)
    return any(leaves <= bound for leaves in may_meet(query.pattern))


def _applies(query: BoundQuery, schema: StreamSchema, key: Key, kind: str) -> bool:
    """Return whether a key binds each position of trends that events of a type can have.

    Without such positions, it must bind each position whose events have the attribute.
    """
    carriers = key.carriers(schema, query.positions)
    positions = {p.index: p.type for p in query.positions if not p.negated}
    own = {index for index, other in positions.items() if other == kind}
    needed = own or {index for index, other in positions.items() if other in carriers}
    return kind in carriers and needed <= key.positions


# ---- the graph: arrays that the propagation kernels read


def weigh_at_states(
    template: Template, accumulators: Accumulators, columns: EventColumns, entries: StateEntries
) -> EventWeights:
    """Return the weights of entries for each accumulator, in their order.

    Args:
        template: the template.
        accumulators: the accumulators of its query.
        columns: the events.
        entries: the entries; a weight is empty (0, or `NO_RANK`) at states that do not count.
    """
    asked = WeightColumns()
    weighed = [[each for each in kind if not each.factors] for kind in accumulators.weighed]
    numbers = [[asked.number(each) for each in found] for found in weighed]
    weights = weigh_events(asked, columns, entries.rows)

    def at_states(kind: Kind, side: Callable[[Accumulator], frozenset[int]]) -> np.ndarray:
        """Return bool[*, N], whether entries are at some positions of each accumulator."""
        counts = [[s.positions <= side(c) for s in template.states] for c in weighed[kind]]
        found = np.array(counts, np.bool_).reshape(-1, len(template.states))
        return found[:, entries.states]

    def counted(weights: np.ndarray, kind: Kind, nothing: float) -> np.ndarray:
        """Return the weights at states that count, and `nothing` at other states."""
        there = at_states(kind, lambda accumulator: accumulator.positions)
        return np.where(there, weights[numbers[kind]], nothing)

    longs = counted(weights.longs, Kind.INTEGER, 0)
    if any(each.subtracts for each in weighed[Kind.INTEGER]):
        there = at_states(Kind.INTEGER, lambda accumulator: accumulator.subtracts)
        longs -= np.where(there, weights.longs[numbers[Kind.INTEGER]], 0)
    return replace(
        weights,
        longs=_with_products(accumulators.weighed[Kind.INTEGER], longs),
        doubles=counted(weights.doubles, Kind.DOUBLE, 0.0),
        ranks=counted(weights.ranks, Kind.RANK, NO_RANK),
    )


def _with_products(weighed: Sequence[Accumulator], longs: np.ndarray) -> np.ndarray:
    """Return the weights of all accumulators, given the weights of those without factors."""
    number_of = {each: n for n, each in enumerate(each for each in weighed if not each.factors)}
    if len(number_of) == len(weighed):
        return longs
    found = np.empty((len(weighed), longs.shape[1]), np.int64)
    for own, each in zip(found, weighed, strict=True):
        if each.factors:
            first, second = (longs[number_of[factor]] for factor in each.factors)
            own[:] = second if each.weight is Weight.PAIRS else first * second
        else:
            own[:] = longs[number_of[each]]
    return found


def lanes_of_pairs(layout: Layout, accumulators: Accumulators) -> Lanes | None:
    """Return the columns of one query that has sums over pairs of events; None for others.

    An event adds to such a sum its weight times the sum of the first factor, which is in another
    column, over earlier events. To other sums, it adds its weight times the count of trends.
    """
    integers = accumulators.columns[Kind.INTEGER]
    if all(each.weight is not Weight.PAIRS for each in integers):
        return None
    columns = {each: n for n, each in enumerate(integers)}
    read = [columns[each.factors[0]] if each.weight is Weight.PAIRS else 0 for each in integers]
    states, size = layout.arrays["starts"].size, len(integers)
    links = layout.arrays["transition_from"].size

    def each_alone(rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the range of each row in a list, and the list, of pairs of equal columns."""
        pairs = np.repeat(np.arange(size), 2).reshape(-1, 2)
        return np.arange(rows + 1) * size, np.tile(pairs, (rows, 1))

    return Lanes(
        size, size,
        np.tile(np.array(read, np.int64), (states, 1)),
        np.tile(np.arange(size) - 1, (states, 1)),
        np.arange(states + 1), np.zeros(states, np.int64),
        *each_alone(states), *each_alone(links),
    )  # fmt: skip


def build_graph(
    layout: Layout,
    columns: EventColumns,
    entries: StateEntries,
    weights: EventWeights,
    last_events: np.ndarray,
    lanes: Lanes | None = None,
) -> Graph:
    """Return the graph of a template over its entries.

    Args:
        layout: the arrays of the template.
        columns: the events.
        entries: the entries of its states.
        weights: the weights of the entries.
        last_events: int64[N], see `last_events`; empty if no floor is contiguous.
        lanes: the counts of several queries; None for one query.
    """
    slots_l, slots_d, known = fill_slots(layout.slots, columns, entries.rows, entries.states)
    return Graph(
        times=entries.times,
        states=entries.states,
        slots_l=slots_l,
        slots_d=slots_d,
        known=known,
        count_weights=weights.longs,
        sum_weights=weights.doubles,
        ranks=weights.ranks,
        no_rank=NO_RANK,
        base=last_events,
        lanes=lanes,
        **layout.arrays,
    )
