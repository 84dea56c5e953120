"""Measure events for the profile of their stream (`elsinore.sharing.profile`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import gcd
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from elsinore.events import TYPE_COLUMN, EventTable
from elsinore.executors.input.admissions import EventsAt
from elsinore.executors.input.columns import Column, EventColumns
from elsinore.executors.input.evaluate import work_out
from elsinore.executors.input.key_codes import KeyCodes
from elsinore.executors.input.numbering import numbered
from elsinore.query.bound import BoundQuery, EdgePredicate, Key, LocalPredicate, Workload
from elsinore.query.expressions import BoundExpression, Field
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.print_query import print_bound
from elsinore.sharing.benefit import partition_keys
from elsinore.sharing.profile import (
    BurstLengths,
    EdgeSelectivity,
    LocalSelectivity,
    PartitionSkew,
    Spread,
    StreamProfile,
    TypeRate,
)
from elsinore.sharing.sharable import SharableSet, sharable_sets
from elsinore.sorting import ascending
from elsinore.timeline import Interval

#: Maximum number of pairs of events that are sampled per edge predicate.
SAMPLE = 2**15
_SEED = 20130101

Conditions = frozenset[BoundExpression]


def measure(events: EventTable, workload: Workload, observed: Interval) -> StreamProfile:
    """Return the profile of the events of an interval, for the queries of a workload.

    Events outside of the interval, and of types that no query reads, are ignored.

    Args:
        events: events in any order.
        workload: the queries, over the same stream.
        observed: the interval.
    """
    queries = workload.queries
    types = sorted({name for query in queries for name in query.event_types})
    inside = events.between(observed.start, observed.end)
    codes = [workload.schema.type_codes[name] for name in types]
    used = np.isin(np.asarray(inside.table[TYPE_COLUMN]), codes)
    columns = EventColumns(EventTable(events.schema, inside.table.filter(pa.array(used))))
    pane = gcd(*(query.window.pane() for query in queries))
    return StreamProfile(
        workload_fingerprint=workload_fingerprint(workload),
        observed=(observed.start, observed.end),
        pane=pane,
        rates=tuple(_rate(columns, name, pane, observed) for name in types),
        bursts=tuple(b for found in sharable_sets(queries).sets for b in _bursts(columns, found)),
        local=tuple(_local(columns, queries)),
        edges=tuple(_edges(columns, queries)),
        partitions=tuple(_partitions(columns, workload)),
    )


def _rate(columns: EventColumns, name: str, pane: int, observed: Interval) -> TypeRate:
    times = columns.times[columns.rows_of(name)]
    sizes = np.unique(times // pane, return_counts=True)[1]
    panes = (observed.end - 1) // pane - observed.start // pane + 1
    return TypeRate(event_type=name, events=Spread.of(sizes, panes - sizes.size))


def _partitions(columns: EventColumns, workload: Workload) -> Iterator[PartitionSkew]:
    wanted = {
        tuple(sorted({key.attribute for key in query.keys if key.value is None}))
        for query in workload.queries
    }
    for keys in sorted((wanted | {*partition_keys(workload)}) - {()}):
        kinds = columns.events.schema.attributes
        codes = [KeyCodes.of(Key(name, kinds[name], frozenset()), columns) for name in keys]
        known = np.logical_and.reduce([each.usable for each in codes])
        numbers, _ = numbered([each.values[known] for each in codes], int(known.sum()))
        if numbers.size:
            yield PartitionSkew(keys=keys, sizes=Spread.of(np.bincount(numbers)))


# ---- events that pass, and groups that contain whole trends


def _passing(columns: EventColumns, event_type: str, choices: Iterable[Conditions]) -> np.ndarray:
    """Return int64[*]: events of a type that meet all conditions of at least one of the choices."""
    rows = columns.rows_of(event_type)
    found, at = np.zeros(rows.size, np.bool_), EventsAt(columns, rows)
    for conditions in choices:
        found |= at.admitted((conditions, frozenset()))
    return rows[found]


def _grouped(columns: EventColumns, keys: Iterable[Key], span: int, rows: np.ndarray) -> np.ndarray:
    """Return int64[len(rows)]: the group of each event, by its keys and its multiple of `span`.

    Groups are numbered in order. The number is -1 if an equivalence key is missing, because then
    the event is in no trend.
    """
    usable = np.ones(rows.size, np.bool_)
    found = [columns.times[rows] // span]
    for key in keys:
        codes = KeyCodes.of(key, columns)
        if key.equivalence:
            usable &= codes.usable[rows]
        found.append(codes.values[rows])
    return np.where(usable, numbered(found, rows.size)[0], -1)


def _carried(query: BoundQuery, positions: Iterable[int]) -> dict[str, Key]:
    """Return the keys that the events of all these positions carry, sorted by attribute."""
    wanted = frozenset(positions)
    found = {key.attribute: key for key in query.keys if key.positions >= wanted}
    return dict(sorted(found.items()))


# ---- bursts (Hamlet Definition 4.1)


def _bursts(columns: EventColumns, found: SharableSet) -> Iterator[BurstLengths]:
    types = sorted({name for query in found.queries for name in query.event_types})
    keys = _carried_by_all(found.queries)
    rows = np.concatenate(
        [_passing(columns, name, _choices(found.queries, name)) for name in types]
    )
    groups = _grouped(columns, keys.values(), found.pane, rows)
    rows, groups = rows[groups >= 0], groups[groups >= 0]
    codes = np.asarray(columns.events.table[TYPE_COLUMN])[rows]
    order = ascending(groups, columns.times[rows], codes)
    codes, groups = codes[order], groups[order]
    begins = np.flatnonzero(np.diff(codes, prepend=-1) | np.diff(groups, prepend=-1))
    lengths = np.diff(begins, append=codes.size)
    for name in types:
        own = lengths[codes[begins] == columns.events.schema.type_codes[name]]
        if own.size:
            yield BurstLengths(
                event_type=name,
                kleene=found.kleene,
                queries=tuple(query.name for query in found.queries),
                keys=tuple(keys),
                pane=found.pane,
                lengths=Spread.of(own),
            )


def _carried_by_all(queries: Iterable[BoundQuery]) -> dict[str, Key]:
    """Return the keys that the events of every position of every query carry.

    A key that only some types carry would put events of the other types into several partitions.
    """
    first, *others = (_carried(query, range(len(query.positions))) for query in queries)
    return {name: key for name, key in first.items() if all(name in keys for keys in others)}


def _choices(queries: Iterable[BoundQuery], event_type: str) -> set[Conditions]:
    """Return the local conditions at each position of a type, in any of the queries."""
    return {
        query.local_conditions(position.index)
        for query in queries
        for position in query.positions
        if position.type == event_type
    }


# ---- selectivities


def _text(query: BoundQuery, predicate: LocalPredicate | EdgePredicate) -> str:
    """Return the text of a predicate, with event types instead of aliases."""
    return print_bound(predicate.condition, {p.index: p.type for p in query.positions})


def _local(columns: EventColumns, queries: Iterable[BoundQuery]) -> Iterator[LocalSelectivity]:
    users: dict[tuple[str, BoundExpression, str], dict[str, None]] = {}
    for query in queries:
        for predicate in query.local_predicates:
            kind = query.positions[predicate.position].type
            subject = kind, predicate.condition, _text(query, predicate)
            users.setdefault(subject, {})[query.name] = None
    for (kind, condition, text), names in users.items():
        yield LocalSelectivity(
            event_type=kind,
            condition=text,
            queries=tuple(names),
            events=columns.rows_of(kind).size,
            passed=_passing(columns, kind, [frozenset([condition])]).size,
        )


class _Pairs(NamedTuple):
    """The pairs of events that an edge predicate compares."""

    #: types of the earlier and the later event, and the local conditions on each.
    types: tuple[str, str]
    admits: tuple[Conditions, Conditions]
    #: the edge predicate, and its text.
    condition: BoundExpression
    text: str
    keys: tuple[Key, ...]  #: keys that both positions carry
    within: int  #: WITHIN


def _edges(columns: EventColumns, queries: Iterable[BoundQuery]) -> Iterator[EdgeSelectivity]:
    users: dict[_Pairs, dict[str, None]] = {}
    for query in queries:
        for edge in query.edge_predicates:
            earlier, later = edge.earlier, edge.later
            keys = _carried(query, (earlier, later)).values()
            pairs = _Pairs(
                (query.positions[earlier].type, query.positions[later].type),
                (query.local_conditions(earlier), query.local_conditions(later)),
                edge.condition,
                _text(query, edge),
                tuple(replace(key, positions=frozenset(), group_label=None) for key in keys),
                query.window.longest,
            )
            users.setdefault(pairs, {})[query.name] = None
    for pairs, names in users.items():
        yield _edge_selectivity(columns, pairs, tuple(names))


def _edge_selectivity(
    columns: EventColumns, pairs: _Pairs, queries: tuple[str, ...]
) -> EdgeSelectivity:
    """Return the number of pairs, and the share of the sampled pairs that pass."""
    number, earlier, later = _sample(columns, pairs)

    def read(field: Field) -> Column:
        return columns.column(field.attribute).take(later if field.following else earlier)

    truth = work_out(pairs.condition, read, earlier.size)
    return EdgeSelectivity(
        earlier=pairs.types[0],
        later=pairs.types[1],
        condition=pairs.text,
        queries=queries,
        keys=tuple(key.attribute for key in pairs.keys),
        within=pairs.within,
        pairs=number,
        sampled=earlier.size,
        share=float((truth.values & truth.known).mean()) if number else None,
    )


def _sample(columns: EventColumns, pairs: _Pairs) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the number of pairs, and the rows of both events of each sampled pair."""
    earlier, later = (
        _passing(columns, kind, [admits])
        for kind, admits in zip(pairs.types, pairs.admits, strict=True)
    )
    both = np.concatenate([earlier, later])
    groups = _grouped(columns, pairs.keys, pairs.within, both)
    distinct, ranks = np.unique(columns.times[both], return_inverse=True)
    places = groups * (distinct.size + 1) + ranks
    order = ascending(places)
    order = order[groups[order] >= 0]
    anchors, partners = order[order < earlier.size], order[order >= earlier.size]
    first = np.searchsorted(places[partners], places[anchors], "right")
    beyond = (groups[anchors] + 1) * (distinct.size + 1)
    amounts = np.searchsorted(places[partners], beyond, "left") - first
    ends = np.cumsum(amounts)
    number = int(amounts.sum())
    dice = np.random.default_rng(_SEED)
    chosen = dice.integers(0, number, SAMPLE) if number > SAMPLE else np.arange(number)
    owners = np.searchsorted(ends, chosen, "right")
    of_owner = chosen - (ends - amounts)[owners]
    return number, both[anchors[owners]], both[partners[first[owners] + of_owner]]
