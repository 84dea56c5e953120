"""Result rows as a wide table: a column per group attribute and per value.

The metadata of the table's schema name the columns of each query, so that Parquet and Arrow files
can be read as rows again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import types

from elsinore.errors import ParameterError
from elsinore.integers import digits_of, integer_of
from elsinore.results.published import exact_integers
from elsinore.results.row import ResultRow, Value, plain_value
from elsinore.timeline import Instant, Length

#: Maximum number of cells of a table. Rows have cells in the columns of all queries. A cell takes
#: 16 bytes, and a value about 30.
MOST_CELLS = 100_000_000
#: The columns of every query.
_COMMON = ("query", "window_start", "window_end")
_STEP = "step"
#: The key of the metadata; its value is a JSON object of `_Layout` by query.
_KEY = b"elsinore.results"
_PLAIN = (
    types.is_string, types.is_integer, types.is_floating, types.is_decimal, types.is_timestamp,
    types.is_boolean, types.is_duration,
)  # fmt: skip
#: The metadata of a column of strings that holds integers of any size.
_INTEGERS = {b"elsinore.type": b"integer"}


class _Layout(NamedTuple):
    """The columns of a query: of its group attributes, its values and its step, by their names."""

    group: dict[str, str]
    values: dict[str, str]
    row: dict[str, str] = {}  # noqa: RUF012 - a default that is never changed


def wide_table(rows: Sequence[ResultRow], *, calendar: bool) -> pa.Table:
    """Return rows as a table.

    Args:
        rows: in canonical order.
        calendar: whether times are timestamps; else they are int64 ticks.

    Returns:
        `query`, `window_start` and `window_end`, `step` if a query returns steps, the attributes of
        all groups, and the values of all queries. A cell is NULL if the query of its row does not
        have the column. Names that occur twice, with values of several types or as a group
        attribute and a value, get a trailing `_`. Integers have all digits (`exact_integers`).
    """
    time = pa.timestamp("us", "UTC") if calendar else pa.int64()
    rows_by_query: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        rows_by_query.setdefault(row.query, []).append(at)
    has_steps = any(row.step is not None for row in rows)
    columns = _Columns(len(rows), taken=(*_COMMON, _STEP) if has_steps else _COMMON)
    for kind in ("group", "values"):
        columns.add(kind, [dict(getattr(row, kind)) for row in rows], rows_by_query)
    arrays = {
        "query": pa.array([row.query for row in rows], pa.string()),
        "window_start": pa.array([int(row.window_start) for row in rows], time),
        "window_end": pa.array([int(row.window_end) for row in rows], time),
    }
    if has_steps:
        arrays[_STEP] = pa.array([row.step for row in rows], pa.int64())
    arrays |= columns.arrays()
    fields = [
        pa.field(name, array.type, metadata=_INTEGERS if name in columns.long else None)
        for name, array in arrays.items()
    ]
    for row in rows:
        if row.step is not None:
            columns.layouts[row.query]["row"] = {_STEP: _STEP}
    layouts = json.dumps(columns.layouts, ensure_ascii=False)
    schema = pa.schema(fields, metadata={_KEY: layouts.encode()})
    return pa.table([*arrays.values()], schema=schema)


class _Columns:
    """The columns of groups and values, while rows are added.

    Attributes:
        layouts: the columns of each query, by "group" and "values".
        long: the columns of strings that hold integers.
    """

    def __init__(self, size: int, taken: Sequence[str]) -> None:
        self.layouts: dict[str, dict[str, dict[str, str]]] = {}
        self.long: set[str] = set()
        self._size = size
        self._kinds: dict[str, tuple[str, type] | None] = dict.fromkeys(taken)
        self._cells: dict[str, list[Value]] = {}

    def add(
        self,
        role: str,
        named: Sequence[dict[str, Value]],
        rows_by_query: Mapping[str, Sequence[int]],
    ) -> None:
        """Add the group attributes or the values of all rows.

        Raises:
            ParameterError: the table has too many cells.
        """
        for query, mine in rows_by_query.items():
            layout = self.layouts.setdefault(query, {}).setdefault(role, {})
            for label in dict.fromkeys(label for at in mine for label in named[at]):
                kind = _kind_of([named[at].get(label) for at in mine])
                layout[label] = name = self._column(label, (role, kind))
                for at in mine:
                    self._cells[name][at] = named[at].get(label)

    def _column(self, label: str, kind: tuple[str, type]) -> str:
        """Return the column of a name for a kind of values; add it if it is new."""
        name = label
        while name in self._kinds and self._kinds[name] != kind:
            name += "_"
        if name not in self._kinds:
            self._kinds[name] = kind
            if (len(self._cells) + 1) * self._size > MOST_CELLS:
                problem = f"the results have more than {MOST_CELLS:,} cells as one table"
                hint = "write JSON, as in --output FILE.jsonl, or fewer queries"
                raise ParameterError(problem, hint=hint)
            self._cells[name] = [None] * self._size
        return name

    def arrays(self) -> dict[str, pa.Array]:
        """Return the columns."""
        found = {}
        for name, cells in self._cells.items():
            kind = self._kinds[name]
            assert kind is not None
            found[name] = _array(cells, kind[1])
            if kind[1] is int and types.is_string(found[name].type):
                self.long.add(name)
        return found


def _kind_of(values: Sequence[Value]) -> type:
    """Return the one type of values; a column without values has doubles."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return float
    return kinds.pop() if len(kinds) == 1 else str


def _array(cells: Sequence[Any], kind: type) -> pa.Array:
    if kind is int:
        return exact_integers(cells)
    if kind is Instant:
        micros = [None if cell is None else int(cell) for cell in cells]
        return pa.array(micros, pa.timestamp("us", "UTC"))
    if kind is Length:
        return pa.array(cells, pa.int64()).cast(pa.duration("us"))
    if kind is str:
        texts = [_text(cell) for cell in cells]
        return pa.array(texts, pa.string())
    return pa.array(cells, pa.bool_() if kind is bool else pa.float64())


def _text(cell: Value) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, int) and not isinstance(cell, bool | Instant):
        return digits_of(cell)
    return str(plain_value(cell))


# ---- tables as rows


def rows_of(table: pa.Table) -> Iterator[ResultRow]:
    """Yield the rows of a table of `wide_table`.

    Raises:
        KeyError, TypeError, ValueError: the table has another form.
    """
    layouts = _layouts_of(table.schema)
    if not all(any(is_plain(field.type) for is_plain in _PLAIN) for field in table.schema):
        raise TypeError("a column has values of another type")
    cells = {name: _cells_of(table, name) for name in table.schema.names}
    for at, query in enumerate(cells["query"]):
        layout = layouts[query]
        group = tuple((label, cells[name][at]) for label, name in layout.group.items())
        values = tuple((label, cells[name][at]) for label, name in layout.values.items())
        start, end = (cells[name][at] for name in _COMMON[1:])
        if not (isinstance(start, int) and isinstance(end, int)):
            raise TypeError("a window is not a time")
        step = cells[layout.row[_STEP]][at] if _STEP in layout.row else None
        if not isinstance(step, int | None):
            raise TypeError("a step is not an integer")
        yield ResultRow(query, group, start, end, values, step=step)


def _layouts_of(schema: pa.Schema) -> dict[str, _Layout]:
    found = json.loads((schema.metadata or {})[_KEY])
    layouts = {query: _Layout(**layout) for query, layout in found.items()}
    for layout in layouts.values():
        for names in layout:
            if not isinstance(names, Mapping) or not {*names.values()} <= {*schema.names}:
                raise ValueError("a column of results is missing")
    return layouts


def _cells_of(table: pa.Table, name: str) -> list[Any]:
    column, field = table[name], table.schema.field(name)
    if types.is_timestamp(field.type):
        micros = column.cast(pa.timestamp("us", field.type.tz)).cast(pa.int64()).to_pylist()
        return [None if each is None else Instant(each) for each in micros]
    if types.is_duration(field.type):
        micros = column.cast(pa.duration("us")).cast(pa.int64()).to_pylist()
        return [None if each is None else Length(each) for each in micros]
    cells = column.to_pylist()
    if (field.metadata or {}).items() >= _INTEGERS.items():
        return [None if each is None else integer_of(each) for each in cells]
    return [int(each) if isinstance(each, Decimal) else each for each in cells]
