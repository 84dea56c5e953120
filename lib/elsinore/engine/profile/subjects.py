"""What of a stream a workload asks to be measured: bursts, predicates, pairs, key sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import gcd

from elsinore.query.bound import BoundQuery, EdgePredicate, Key, LocalPredicate, Workload
from elsinore.query.expressions import BoundExpression
from elsinore.query.print_query import print_bound
from elsinore.sharing.benefit import partition_keys
from elsinore.sharing.sharable import SharableSet, sharable_sets

Conditions = frozenset[BoundExpression]


@dataclass(frozen=True)
class BurstSubject:
    """The bursts of a set of sharable queries (Hamlet Definition 4.1).

    Attributes:
        kleene, queries, pane: of the set.
        keys: those that every type of the set carries; what only some types carry divides only
            these, and would put the others' events into several partitions.
        matches: by event type, what its events must meet, all of some alternative.
    """

    kleene: str
    queries: tuple[str, ...]
    pane: int
    keys: tuple[Key, ...]
    matches: tuple[tuple[str, tuple[Conditions, ...]], ...]


@dataclass(frozen=True)
class LocalSubject:
    """A predicate on single events, and the queries that have it."""

    event_type: str
    condition: BoundExpression
    text: str
    queries: tuple[str, ...]


@dataclass(frozen=True)
class EdgeSubject:
    """A predicate on pairs, and the queries that have it on the same pairs.

    Attributes:
        earlier, later: the event types.
        admits: what the earlier event must meet, and what the later.
        condition, text: the predicate.
        keys: those that both positions carry.
        within: WITHIN.
        queries: their names.
    """

    earlier: str
    later: str
    admits: tuple[Conditions, Conditions]
    condition: BoundExpression
    text: str
    keys: tuple[Key, ...]
    within: int
    queries: tuple[str, ...]


@dataclass(frozen=True)
class Subjects:
    """Everything that is measured; figures name subjects by their places here.

    Attributes:
        types: event types of the workload, in alphabetical order.
        pane: the gcd of all WITHIN and SLIDE.
        key_sets: attributes, each set and the whole in alphabetical order.
    """

    types: tuple[str, ...]
    pane: int
    key_sets: tuple[tuple[str, ...], ...]
    bursts: tuple[BurstSubject, ...]
    local: tuple[LocalSubject, ...]
    edges: tuple[EdgeSubject, ...]

    @classmethod
    def of(cls, workload: Workload) -> Subjects:
        """What a workload asks for; the same for the same workload."""
        queries = workload.queries
        keys = {tuple(sorted({key.attribute for key in query.keys})) for query in queries}
        return cls(
            types=tuple(sorted({name for query in queries for name in query.event_types})),
            pane=gcd(*(query.window.pane() for query in queries)),
            key_sets=tuple(sorted((keys | {*partition_keys(workload)}) - {()})),
            bursts=tuple(_bursts(found) for found in sharable_sets(queries).sets),
            local=_local(queries),
            edges=_edges(queries),
        )


def _bursts(found: SharableSet) -> BurstSubject:
    types = sorted({name for query in found.queries for name in query.event_types})
    return BurstSubject(
        found.kleene,
        tuple(query.name for query in found.queries),
        found.pane,
        _carried_by_all(found.queries),
        tuple((name, _choices(found.queries, name)) for name in types),
    )


def _carried_by_all(queries: Iterable[BoundQuery]) -> tuple[Key, ...]:
    """The keys that the events of every position of every query carry."""
    first, *others = queries
    everywhere = [_carried(query, range(len(query.positions))) for query in (first, *others)]
    common = frozenset.intersection(
        *(frozenset(key.attribute for key in keys) for keys in everywhere)
    )
    return tuple(key for key in everywhere[0] if key.attribute in common)


def _carried(query: BoundQuery, positions: Iterable[int]) -> tuple[Key, ...]:
    """The keys of a query that the events of some positions all carry, by attribute."""
    wanted = frozenset(positions)
    found = {key.attribute: key for key in query.keys if key.positions >= wanted}
    return tuple(found[attribute] for attribute in sorted(found))


def _choices(queries: Iterable[BoundQuery], event_type: str) -> tuple[Conditions, ...]:
    """What events of a type must meet at each position of it; alike ones once."""
    found = [
        query.local_conditions(position.index)
        for query in queries
        for position in query.positions
        if position.type == event_type
    ]
    return tuple(dict.fromkeys(found))


def _local(queries: Iterable[BoundQuery]) -> tuple[LocalSubject, ...]:
    users: dict[tuple[str, BoundExpression, str], dict[str, None]] = {}
    for query in queries:
        for predicate in query.local_predicates:
            kind = query.positions[predicate.position].type
            text = _text(query, predicate)
            users.setdefault((kind, predicate.condition, text), {})[query.name] = None
    return tuple(LocalSubject(*subject, tuple(names)) for subject, names in users.items())


def _edges(queries: Iterable[BoundQuery]) -> tuple[EdgeSubject, ...]:
    users: dict[EdgeSubject, dict[str, None]] = {}
    for query in queries:
        for edge in query.edge_predicates:
            keys = _carried(query, (edge.earlier, edge.later))
            subject = EdgeSubject(
                query.positions[edge.earlier].type,
                query.positions[edge.later].type,
                (query.local_conditions(edge.earlier), query.local_conditions(edge.later)),
                edge.condition,
                _text(query, edge),
                tuple(replace(key, positions=frozenset(), group_label=None) for key in keys),
                query.window.within,
                (),
            )
            users.setdefault(subject, {})[query.name] = None
    return tuple(replace(subject, queries=tuple(names)) for subject, names in users.items())


def _text(query: BoundQuery, predicate: LocalPredicate | EdgePredicate) -> str:
    """A predicate with event types in place of aliases."""
    return print_bound(predicate.condition, {p.index: p.type for p in query.positions})
