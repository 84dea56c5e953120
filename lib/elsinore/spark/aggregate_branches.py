"""Which queries of a workload can share one shuffle of the events, and by what."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.expressions import TIME, fields_of
from elsinore.query.syntax import Semantics


@dataclass(frozen=True, slots=True)
class Branch:
    """Queries that are answered from the same distribution of events over tasks.

    Attributes:
        keys: the attributes to distribute by; events of one trend, and those that can rule it out,
            agree in all of them. Empty: one task takes all events.
        queries: names, in the order of the workload.
        types: the event types that the queries read.
        attributes: the attributes that they read.
    """

    keys: tuple[str, ...]
    queries: tuple[str, ...]
    types: frozenset[str]
    attributes: tuple[str, ...]


def branches(workload: Workload) -> tuple[Branch, ...]:
    """One branch for each distinct set of common keys, and one for each query without any."""
    members: dict[tuple[tuple[str, ...], str], list[BoundQuery]] = {}
    for query in workload.queries:
        keys = common_keys(query)
        members.setdefault((keys, "" if keys else query.name), []).append(query)
    return tuple(_branch(workload, keys, queries) for (keys, _), queries in members.items())


def common_keys(query: BoundQuery) -> tuple[str, ...]:
    """The key attributes that the events of every position carry, negated ones included.

    A key that some position lacks cannot distribute events: those of that position are needed
    beside every value. Under `contiguous` events of all types matter, whatever they carry.
    """
    if query.semantics is Semantics.CONTIGUOUS:
        return ()
    everywhere = {position.index for position in query.positions}
    return tuple(sorted({key.attribute for key in query.keys if key.positions >= everywhere}))


def types_read(workload: Workload, query: BoundQuery) -> frozenset[str]:
    """The event types that can bear on a query's trends."""
    if query.semantics is Semantics.CONTIGUOUS:
        return frozenset(workload.schema.by_name)
    return query.event_types


def attributes_read(query: BoundQuery) -> frozenset[str]:
    """The attributes that a query's keys, predicates and aggregates read."""
    conditions = [predicate.condition for predicate in query.local_predicates]
    conditions += [predicate.condition for predicate in query.edge_predicates]
    read = {field.attribute for condition in conditions for field in fields_of(condition)}
    read |= {key.attribute for key in query.keys}
    read |= {item.attribute for item in query.aggregates if item.attribute is not None}
    return frozenset(read - {TIME})


def _branch(workload: Workload, keys: tuple[str, ...], queries: list[BoundQuery]) -> Branch:
    return Branch(
        keys,
        tuple(query.name for query in queries),
        frozenset().union(*(types_read(workload, query) for query in queries)),
        tuple(sorted(frozenset().union(*(attributes_read(query) for query in queries)))),
    )
