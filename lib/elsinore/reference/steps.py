"""Put the rows of the steps of a query together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from elsinore.query.bound import BoundQuery
from elsinore.results.row import ResultRow


def rows_of_steps(query: BoundQuery, steps: Sequence[Sequence[ResultRow]]) -> Iterator[ResultRow]:
    """Yield a row of each step for each row of the first step.

    A step that has no trend in the window and group of such a row has zeros.

    Args:
        query: the query with steps.
        steps: for each step, the rows of the sequence up to its part.
    """
    zeros = tuple((name, 0) for name in query.value_names)
    by_place = [{_place(row): row for row in rows} for rows in steps]
    for first in steps[0]:
        own = replace(first, query=query.name)
        for number, rows in enumerate(by_place, 1):
            found = rows.get(_place(first))
            values = zeros if found is None else found.values
            yield replace(own, values=values, step=number)


def _place(row: ResultRow) -> tuple[object, ...]:
    """Return the group and the window of a row."""
    return row.key[1:]
