"""Run queries that are equal except for name, RETURN and HAVING as one query."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from elsinore.executors.aggregates import participation_query
from elsinore.query.bound import BoundQuery
from elsinore.query.query_keys import QueryKey
from elsinore.template.measures import measure_queries
from elsinore.template.support import greta_refusals


@dataclass(frozen=True)
class Alike:
    """Queries with the same trends in the same windows and groups."""

    run: BoundQuery  #: the query that is run: the first by name, with the aggregates of all
    queries: tuple[BoundQuery, ...]  #: all queries of the class


def answered_by(classes: Sequence[Alike]) -> dict[QueryKey, tuple[QueryKey, ...]]:
    """Return the keys of the queries of each class, by the key of the query that is run."""
    return {each.run.key: tuple(query.key for query in each.queries) for each in classes}


def alike_in_participation(classes: Sequence[Alike]) -> Iterator[tuple[BoundQuery, Alike]]:
    """Yield the queries with EACH or DISTINCT that are run for some classes.

    Each has a class of `participation_query` of all queries of the class that have such values.
    """
    for found in classes:
        asking = [query for query in found.queries if query.participating]
        if asking:
            first = min(asking, key=lambda query: query.name)
            union = tuple(item for query in asking for item in query.participating)
            run = replace(first, aggregates=union)
            yield run, Alike(participation_query(run), tuple(map(participation_query, asking)))


def alike_in_measures(classes: Sequence[Alike]) -> tuple[Alike, ...]:
    """Return the classes of the queries of measures of all queries of some classes."""
    found = (part for each in classes for query in each.queries for part in measure_queries(query))
    return alike([*found])


def alike(queries: Sequence[BoundQuery]) -> tuple[Alike, ...]:
    """Return the classes of queries, each query in one, in the order of their first queries."""
    classes: dict[Hashable, list[BoundQuery]] = {}
    for query in queries:
        classes.setdefault((query.steps, query.question), []).append(query)
    return tuple(found for members in classes.values() for found in _together(members))


def _together(queries: Sequence[BoundQuery]) -> Sequence[Alike]:
    """Return one class, or one per query if greta cannot compute all their aggregates together."""
    if len(queries) > 1:
        first = min(queries, key=lambda query: query.name)
        union = tuple(aggregate for query in queries for aggregate in query.aggregates)
        run = replace(first, aggregates=union)
        if not greta_refusals(run):
            return [Alike(run, tuple(queries))]
    return [Alike(query, (query,)) for query in queries]
