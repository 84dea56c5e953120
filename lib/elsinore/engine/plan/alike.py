"""Queries that are equal but for their names and what they return: one of them is run for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from elsinore.lowering.carriers import carriers_of
from elsinore.query.bound import BoundQuery
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.template.support import greta_refusals

#: For each column of states in partial rows, their places among those of the query that is run.
Places = tuple[tuple[int, ...], ...]
_STATES = ("counts", "sums", "minima", "maxima")
#: Rows that are copied at once, so that no column of texts outgrows what Arrow can hold.
_COPIED = 1_000_000


@dataclass(frozen=True)
class Alike:
    """Queries with the same trends in the same windows and groups.

    Attributes:
        run: what is run for them: the first by name, with the aggregates of all.
        queries: whose rows are asked for.
    """

    run: BoundQuery
    queries: tuple[BoundQuery, ...]

    @cached_property
    def names(self) -> Mapping[Places, Sequence[str]]:
        """The names of the queries, by the places of the states that they ask for."""
        there, names = carriers_of(self.run), dict[Places, list[str]]()
        for query in self.queries:
            wanted = carriers_of(query)
            # The count of trends comes first.
            counts = (0, *(1 + there.counts.index(carrier) for carrier in wanted.counts))
            others = (
                tuple(getattr(there, name).index(carrier) for carrier in getattr(wanted, name))
                for name in _STATES[1:]
            )
            names.setdefault((counts, *others), []).append(query.name)
        return names

    def rows(self, run: pa.Table) -> Iterator[pa.Table]:
        """Unfinished rows of all queries from those of `run`, with the states that they ask for."""
        at_once = max(1, _COPIED // max(1, run.num_rows))
        for places, names in self.names.items():
            columns = {name: run[name] for name in run.column_names if name != "query"}
            for name, wanted in zip(_STATES, places, strict=True):
                columns[name] = _of_lists(run[name], wanted)
            for first in range(0, len(names), at_once):
                yield _for_each(names[first : first + at_once], columns, run.num_rows)


def _for_each(names: Sequence[str], columns: Mapping[str, pa.ChunkedArray], size: int) -> pa.Table:
    """Rows for each of some queries. One copy for all is quicker than a table for each."""
    rows = pa.array(np.tile(np.arange(size), len(names)))
    several = {name: column.take(rows) for name, column in columns.items()}
    owners = np.repeat(np.arange(len(names)), size)
    several["query"] = pa.array(names, pa.string()).take(pa.array(owners))
    return pa.table({name: several[name] for name in PARTIAL_SCHEMA.names}, PARTIAL_SCHEMA)


def for_all(classes: Sequence[Alike], table: pa.Table) -> Iterator[pa.Table]:
    """Unfinished rows of all queries of some classes, from those of what was run for them."""
    several = {found.run.name: found for found in classes if len(found.queries) > 1}
    if not several:
        yield table
        return
    table = table.cast(PARTIAL_SCHEMA)
    names = table["query"].combine_chunks().dictionary_encode()
    codes = np.asarray(names.indices)
    by_query = table.take(pa.array(np.argsort(codes, kind="stable"))).combine_chunks()
    ends = np.cumsum(np.bincount(codes, minlength=len(names.dictionary)))
    for name, low, high in zip(names.dictionary.to_pylist(), [0, *ends], ends, strict=False):
        own = by_query.slice(low, high - low)
        yield from several[name].rows(own) if name in several else [own]


def _of_lists(column: pa.ChunkedArray, places: Sequence[int]) -> pa.ChunkedArray | pa.Array:
    """Of lists that are all as long, the elements at some places."""
    lists = column.chunk(0)
    starts = np.asarray(lists.offsets)
    if [*places] == [*range(starts[1] - starts[0])]:
        return column
    chosen = (starts[:-1, None] + np.asarray(places, np.int64)).ravel()
    offsets = np.arange(len(lists) + 1, dtype=np.int32) * len(places)
    return pa.ListArray.from_arrays(pa.array(offsets), lists.values.take(pa.array(chosen)))


def alike(queries: Sequence[BoundQuery]) -> tuple[Alike, ...]:
    """All queries, each in one class; in the order of the first of each."""
    classes: dict[str, list[BoundQuery]] = {}
    for query in queries:
        _name, _returned, asked = query.text.split("\n", 2)
        classes.setdefault(asked, []).append(query)
    return tuple(found for members in classes.values() for found in _together(members))


def _together(queries: Sequence[BoundQuery]) -> Sequence[Alike]:
    """One class, or one for each query where no executor can count all that they return at once."""
    if len(queries) > 1:
        first = min(queries, key=lambda query: query.name)
        union = tuple(aggregate for query in queries for aggregate in query.aggregates)
        run = replace(first, aggregates=union)
        if not greta_refusals(run):
            return [Alike(run, tuple(queries))]
    return [Alike(query, (query,)) for query in queries]
