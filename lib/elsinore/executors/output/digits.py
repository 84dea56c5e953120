"""Turn partial rows with sums of digits into partial rows with exact sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from elsinore.executors.aggregates import Accumulator, DigitQuery, accumulators_of
from elsinore.executors.output.exact_states import ExactSums
from elsinore.executors.output.partial_rows import PartialRows, by_shape
from elsinore.executors.output.state_columns import StateColumn
from elsinore.query.bound import BoundQuery
from elsinore.query.query_keys import QueryKey


def restored(parts: Iterable[PartialRows], queries: Sequence[BoundQuery]) -> list[PartialRows]:
    """Return partial rows in which sums of digits are exact sums.

    Args:
        parts: partial rows of queries, some of which can be of `executors.input.digits.in_digits`.
        queries: the queries themselves.
    """
    by_key = {query.key: query for query in queries}
    found = [rows for part in parts for rows in _restored(part, by_key)]
    return by_shape(found)


def _restored(part: PartialRows, by_key: dict[QueryKey, BoundQuery]) -> Iterator[PartialRows]:
    if not any(isinstance(query, DigitQuery) for query in part.queries):
        yield part
        return
    for number, run in enumerate(part.queries):
        rows = part.take(np.flatnonzero(part.query == number))
        owners, query = np.zeros(len(rows), np.int32), by_key[run.key]
        columns = _columns(run, query, rows)
        yield replace(rows, queries=(query,), query=owners, columns=columns)


def _columns(run: BoundQuery, query: BoundQuery, rows: PartialRows) -> tuple[StateColumn, ...]:
    """Return the columns of a query, given rows of the query that ran for it."""
    if not isinstance(run, DigitQuery):
        return rows.columns
    columns = iter(rows.columns)
    states: dict[Accumulator, Any] = {
        each: next(columns) for kind in accumulators_of(run).columns for each in kind
    }
    wanted, shares, lists = accumulators_of(query), dict(run.shares), tuple(columns)
    exact = (
        ExactSums.of_parts(
            [(states[share.of], share.factor, share.shift) for share in shares[each]], len(rows)
        )
        for each in wanted.exact
    )
    return (*(states[each] for kind in wanted.columns for each in kind), *exact, *lists)
