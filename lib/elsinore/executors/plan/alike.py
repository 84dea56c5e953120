"""Run queries that are equal except for name, RETURN and HAVING as one query."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from elsinore.executors.aggregates import accumulators_of, participation_query
from elsinore.executors.output.wire import PARTIAL_SCHEMA, state_columns
from elsinore.query.bound import BoundQuery
from elsinore.template.support import greta_refusals

#: For each column of states in partial rows: the number of states of the query that ran, and the
#: positions of the states that another query returns. None: it returns all states.
Places = tuple[tuple[int, tuple[int, ...]] | None, ...]
_STATES = ("counts", "sums", "minima", "maxima")
_ALL: Places = (None,) * len(_STATES)


@dataclass(frozen=True)
class Alike:
    """Queries with the same trends in the same windows and groups."""

    run: BoundQuery  #: the query that is run: the first by name, with the aggregates of all
    queries: tuple[BoundQuery, ...]  #: all queries of the class

    @cached_property
    def names(self) -> Mapping[Places, Sequence[str]]:
        """Return the names of the queries by the positions of the states that they return."""
        there, names = state_columns(accumulators_of(self.run)), dict[Places, list[str]]()
        for query in self.queries:
            wanted = zip(there, state_columns(accumulators_of(query)), strict=True)
            chosen = [(len(side), tuple(map(side.index, asked))) for side, asked in wanted]
            places = tuple(None if of == (*range(size),) else (size, of) for size, of in chosen)
            names.setdefault(places, []).append(query.name)
        return names


def for_all(classes: Sequence[Alike], table: pa.Table) -> Iterator[pa.Table]:
    """Yield unfinished rows of all queries of some classes, given the rows of the queries that ran.

    Queries that return all states share the columns of the rows; only the names are copied.

    Args:
        classes: the classes of all queries.
        table: rows of `executors.output.wire`.
    """
    several = {found.run.name: found for found in classes if len(found.queries) > 1}
    if not several:
        yield table
        return
    table = table.cast(PARTIAL_SCHEMA)
    run = table["query"].combine_chunks().dictionary_encode()
    turns: dict[tuple[Places, int], dict[int, str]] = {}
    for code, name in enumerate(run.dictionary.to_pylist()):
        asked = several[name].names if name in several else {_ALL: [name]}
        for places, names in asked.items():
            for turn, each in enumerate(names):
                turns.setdefault((places, turn), {})[code] = each
    together: dict[tuple[Places, frozenset[int]], list[dict[int, str]]] = {}
    for (places, _), named in turns.items():
        together.setdefault((places, frozenset(named)), []).append(named)
    for (places, codes), several_named in together.items():
        rows, owners = table, np.asarray(run.indices)
        if len(codes) < len(run.dictionary):
            mine = np.isin(owners, [*codes])
            rows, owners = table.filter(pa.array(mine)), owners[mine]
        yield _for_each(several_named, rows, owners, places)


def _for_each(
    named: Sequence[Mapping[int, str]], rows: pa.Table, owners: np.ndarray, places: Places
) -> pa.Table:
    """Return one copy of the rows per mapping in `named`, with other query names.

    Args:
        named: per copy, the new name of each query that ran, by its code.
        rows: rows of the queries that ran.
        owners: int[R], the code of each row's query.
        places: the positions of the states that the new queries return.
    """
    states = {name: _of_lists(rows[name], of) for name, of in zip(_STATES, places, strict=True)}
    columns = {
        name: pa.chunked_array(states.get(name, rows[name]).chunks * len(named))
        for name in PARTIAL_SCHEMA.names
    }
    size = int(owners.max(initial=0)) + 1
    names = pa.array([each.get(code) for each in named for code in range(size)], pa.string())
    begins = np.arange(len(named)) * size
    columns["query"] = names.take(pa.array(np.add.outer(begins, owners).ravel()))
    return pa.table(columns, PARTIAL_SCHEMA)


def _of_lists(
    column: pa.ChunkedArray, places: tuple[int, tuple[int, ...]] | None
) -> pa.ChunkedArray:
    """Return lists with the elements at some positions, given lists of equal length."""
    if places is None:
        return column
    lists, (size, chosen) = column.combine_chunks(), places
    rows = lists.flatten()
    taken = np.add.outer(np.arange(len(lists)) * size, np.array(chosen, np.int64)).ravel()
    offsets = np.arange(len(lists) + 1, dtype=np.int32) * len(chosen)
    return pa.chunked_array(
        [pa.ListArray.from_arrays(pa.array(offsets), rows.take(pa.array(taken)))]
    )


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


def alike(queries: Sequence[BoundQuery]) -> tuple[Alike, ...]:
    """Return the classes of queries, each query in one, in the order of their first queries."""
    classes: dict[Hashable, list[BoundQuery]] = {}
    for query in queries:
        classes.setdefault(query.question, []).append(query)
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
