"""Steps of a query with `RETURN STEPS`: one ordinary query per part of its sequence.

The query of a step has the pattern up to the part, and what the clauses say about these events. It
counts trends and keys like any other query, so executors need to know nothing about steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from elsinore.errors import ParameterError
from elsinore.query.bound import BoundAggregate, BoundQuery, Key, of_query
from elsinore.query.syntax import Pattern, event_patterns


@of_query
def step_queries(query: BoundQuery) -> tuple[BoundQuery, ...]:
    """Return the query of each step, in their order; none for a query without steps.

    Positions keep their numbers, because the positions of a prefix come first.
    """
    return tuple(_step(query, number, pattern) for number, pattern in enumerate(query.steps, 1))


def with_steps(queries: Iterable[BoundQuery]) -> Iterator[BoundQuery]:
    """Yield queries, and instead of a query with steps the queries of its steps."""
    for query in queries:
        yield from step_queries(query) or (query,)


def query_of_step(query: BoundQuery, step: int | None) -> BoundQuery:
    """Return the query that has the trends of a step, by default of the last one.

    Raises:
        ParameterError: the query does not have this step.
    """
    if step is None:
        return step_queries(query)[-1] if query.steps else query
    if not query.steps:
        problem = f"query {query.name} returns no steps"
        raise ParameterError(problem, hint="leave out the step")
    if not 1 <= step <= len(query.steps):
        problem = f"query {query.name} has no step {step}"
        raise ParameterError(problem, hint=f"use a number from 1 to {len(query.steps)}")
    return step_queries(query)[step - 1]


def _step(query: BoundQuery, number: int, pattern: Pattern) -> BoundQuery:
    size = 1 + max(map(query.position_of, event_patterns(pattern)))
    kept = frozenset(range(size))
    text = f"{query.fingerprint} step {number}"
    return replace(
        query,
        text=text,
        fingerprint=hashlib.sha256(text.encode()).hexdigest(),
        pattern=pattern,
        positions=query.positions[:size],
        local_predicates=tuple(p for p in query.local_predicates if p.position in kept),
        edge_predicates=tuple(p for p in query.edge_predicates if {p.earlier, p.later} <= kept),
        keys=tuple(_keys(query.keys, kept)),
        aggregates=tuple(_aggregates(query.aggregates, kept)),
        steps=(),
        step_of=(query, number),
    )


def _keys(keys: Iterable[Key], kept: frozenset[int]) -> Iterator[Key]:
    """Yield keys without the positions that a step lacks; keys that no event has are left out."""
    for key in keys:
        if positions := key.positions & kept:
            yield replace(key, positions=positions)


def _aggregates(
    aggregates: Iterable[BoundAggregate], kept: frozenset[int]
) -> Iterator[BoundAggregate]:
    for item in aggregates:
        yield replace(item, positions=item.positions & kept)
