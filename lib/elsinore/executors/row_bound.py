"""Limit the windows, result rows and values of a run, so that no query can take all memory.

The number of windows that may contain one event is checked when a query is bound
(`windows.MOST_OVERLAPPING`). Only the executors can count the windows that contain events, and the
windows with a trend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from elsinore.errors import Diagnostic, QueryError
from elsinore.query.bound import BoundQuery

#: Maximum number of result rows of a query, and of all queries of `elsinore run` together. A
#: finished row takes about 750 bytes of Python objects.
MOST_ROWS = 5_000_000

#: Maximum number of values of these rows. A value takes about 100 bytes, and a query can have
#: thousands of them.
MOST_VALUES = 25_000_000

#: Maximum number of windows, over all groups of a query, that contain an event of its pattern. The
#: executors greta and hamlet need about 150 bytes per window, whether or not it contains a trend.
MOST_WINDOWS = 20_000_000

_FEWER = "a GROUP-BY with fewer values, or run parts of the events separately"


def require_few_windows(query: BoundQuery, windows: int) -> None:
    """Raise QueryError if a query has more than `MOST_WINDOWS` windows with events."""
    if windows > MOST_WINDOWS:
        what = f"{windows:,} windows of its groups contain events, at most {MOST_WINDOWS:,} may"
        raise _refused(query, what)


def require_few_rows(query: BoundQuery, rows: int, values: int) -> None:
    """Raise QueryError if there are too many rows or values; the error names `query`.

    Args:
        query: a query.
        rows: number of rows; at most `MOST_ROWS`.
        values: number of their values; at most `MOST_VALUES`.
    """
    if rows > MOST_ROWS:
        raise _refused(query, f"more than {MOST_ROWS:,} result rows, the limit of a run")
    if values > MOST_VALUES:
        what = f"more than {MOST_VALUES:,} values in result rows, the limit of a run"
        raise _refused(query, what)


def _refused(query: BoundQuery, what: str) -> QueryError:
    at = query.source.slide.at if query.source.slide else query.at
    longer = "gap of SESSION" if query.window.session is not None else "SLIDE"
    hint = f"write a larger {longer} or {_FEWER}"
    return QueryError.of([Diagnostic(f"query {query.name}: {what}", at, hint)])


class Rows(Protocol):
    """Rows of several queries (`output.window_rows.WindowRows`)."""

    @property
    def owners(self) -> np.ndarray:
        """Return the number of the query of each row, int64[R]."""


R = TypeVar("R", bound=Rows)


@dataclass
class RowBound:
    """The number of rows of each query, counted while executors make them.

    Threads may share an object. Then it may miss some rows, but each thread still stops in time.
    """

    queries: Sequence[BoundQuery]  #: the queries, by their numbers
    _rows: np.ndarray = field(init=False)
    _widths: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self._widths = np.array([len(query.value_names) for query in self.queries], np.int64)
        self._rows = np.zeros(len(self.queries), np.int64)

    def add(self, owners: np.ndarray) -> None:
        """Count some rows.

        Args:
            owners: int64[R], the number of the query of each row.

        Raises:
            QueryError: a query has more than `MOST_ROWS` rows, or `MOST_VALUES` values.
        """
        self._rows += np.bincount(owners, minlength=len(self.queries))
        for rows in (self._rows, self._rows * self._widths):
            most = int(rows.argmax())
            number = int(self._rows[most])
            require_few_rows(self.queries[most], number, number * int(self._widths[most]))

    def counted(self, parts: Iterable[R]) -> Iterator[R]:
        """Yield rows of windows unchanged, and count them; see `add`."""
        for rows in parts:
            self.add(rows.owners)
            yield rows
