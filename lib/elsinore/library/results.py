"""The results of a workload: a table for each query, and what became of the events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.errors import SetupError
from elsinore.files.read_events import ReadReport
from elsinore.query.bound import AggregateFunction, BoundQuery, Workload
from elsinore.query.print_query import count_of
from elsinore.results.row import ResultRow, Value

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: Rows of a table that are shown.
_SHOWN = 10
_BOUNDS = ("window_start", "window_end")
_TYPES = {
    AttributeType.STRING: pa.string(),
    AttributeType.LONG: pa.int64(),
    AttributeType.DOUBLE: pa.float64(),
    AttributeType.BOOLEAN: pa.bool_(),
    AttributeType.TIMESTAMP: pa.timestamp("us", "UTC"),
}


class Results(Mapping[str, pa.Table]):
    """The results of each query by its name, as an Arrow table; those without results are empty.

    A table has a row for each group and window, sorted by them, with these columns:

    - those of GROUP-BY, in its order, of the attributes' types;
    - `window_start` and `window_end`: timestamps in UTC, or int64 of a stream of integer times;
    - one for each aggregate of RETURN, named as written there. AVG and sums of doubles are float64,
      MIN and MAX of the attribute's type, NULL where no event carried a value. Counts and sums of
      longs are exact: int64 where all of a column fit, else decimal128 with 38 digits, else
      decimal256 with 76, else text with all digits.

    Attributes:
        rejected: the lines and rows that were set aside: `file`, `position` (from 1), `line`,
            `reason_code` and `reason`, all of text but for `position` of int64.
        ignored: how many lines were of types that the schema passes over.
        duplicates: how many events equalled another one with the same id, and were left out.
        events: how many were counted.
    """

    def __init__(self, workload: Workload, rows: Iterable[ResultRow], report: ReadReport) -> None:
        by_query: dict[str, list[ResultRow]] = {query.name: [] for query in workload.queries}
        for row in rows:
            by_query[row.query].append(row)
        calendar = workload.schema.time_unit.is_calendar
        self._tables = {
            query.name: _table(query, by_query[query.name], calendar=calendar)
            for query in workload.queries
        }
        self.rejected: pa.Table = report.rejected
        self.ignored: int = report.ignored
        self.duplicates: int = report.duplicates
        self.events: int = report.accepted

    def __getitem__(self, query: str) -> pa.Table:
        """The table of a query."""
        return self._tables[query]

    def __iter__(self) -> Iterator[str]:
        """The names of the queries, in the order of the workload."""
        return iter(self._tables)

    def __len__(self) -> int:
        """How many queries there are."""
        return len(self._tables)

    def to_arrow(self) -> dict[str, pa.Table]:
        """The tables by the names of their queries."""
        return dict(self._tables)

    def to_pandas(self) -> dict[str, pd.DataFrame]:
        """Frames of pandas by the names of their queries; decimals are Python's `Decimal`."""
        return {name: table.to_pandas() for name, table in self.items()}

    def to_polars(self) -> dict[str, pl.DataFrame]:
        """Frames of polars by the names of their queries; decimals of 76 digits become text.

        Raises:
            SetupError: polars is not installed.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise SetupError("polars is not installed", hint="pip install polars") from error
        return {name: pl.DataFrame(_narrow(table)) for name, table in self.items()}

    def _parts(self) -> Iterator[tuple[str, Any]]:
        """Of each query a line about it, and its first rows as a frame."""
        for name, table in self.items():
            more = f", the first {_SHOWN}" if table.num_rows > _SHOWN else ""
            yield f"{name}: {count_of(table.num_rows, 'row')}{more}", table[:_SHOWN].to_pandas()

    def _head(self) -> str:
        aside = ", ".join(
            f"{count_of(number, what)} {fate}"
            for number, what, fate in (
                (self.rejected.num_rows, "line", "set aside"),
                (self.ignored, "line", "of other types ignored"),
                (self.duplicates, "duplicate", "left out"),
            )
            if number
        )
        told = f"{count_of(len(self), 'query')} over {count_of(self.events, 'event')}"
        return f"{told} ({aside})" if aside else told

    def __repr__(self) -> str:
        parts = [
            f"{title}\n{frame.to_string(index=False)}" if len(frame) else title
            for title, frame in self._parts()
        ]
        return "\n\n".join([self._head(), *parts])

    def _repr_html_(self) -> str:
        parts = [
            f"<p><b>{escape(title)}</b></p>{frame.to_html(index=False) if len(frame) else ''}"
            for title, frame in self._parts()
        ]
        return f"<p>{escape(self._head())}</p>{''.join(parts)}"


def _table(query: BoundQuery, rows: list[ResultRow], *, calendar: bool) -> pa.Table:
    bound = AttributeType.TIMESTAMP if calendar else AttributeType.LONG
    columns: list[tuple[str, pa.Array]] = []
    for place, key in enumerate(query.group_keys):
        name = str(key.group_label)
        # An attribute may be called like the bounds.
        name = f"{name}_" if name in _BOUNDS else name
        columns.append((name, _column([row.group[place][1] for row in rows], key.type)))
    for name in _BOUNDS:
        columns.append((name, _column([getattr(row, name) for row in rows], bound)))
    for place, item in enumerate(query.aggregates):
        average = item.function is AggregateFunction.AVG
        kind = AttributeType.DOUBLE if average else item.type
        columns.append((item.label, _column([row.values[place][1] for row in rows], kind)))
    names, arrays = zip(*columns, strict=True)
    return pa.Table.from_arrays(arrays, names=names)


def _column(values: list[Value], kind: AttributeType) -> pa.Array:
    if kind is AttributeType.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(_TYPES[kind])
    if kind is not AttributeType.LONG:
        return pa.array(values, _TYPES[kind])
    return _exact(values)


def _exact(values: list[Any]) -> pa.Array:
    """Integers in the narrowest type that holds all of them."""
    longest = max((abs(value) for value in values if value is not None), default=0)
    if longest < 2**63:
        return pa.array(values, pa.int64())
    texts = pa.array([None if value is None else str(value) for value in values], pa.string())
    for digits, kind in ((38, pa.decimal128(38)), (76, pa.decimal256(76))):
        if longest < 10**digits:
            return texts.cast(kind)
    return texts


def _narrow(table: pa.Table) -> pa.Table:
    """What polars can hold: it has no decimals of more than 38 digits."""
    fields = [
        field.with_type(pa.string()) if pa.types.is_decimal256(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
