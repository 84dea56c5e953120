"""The results of a workload by one executor: rows, or a table for each query."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.choices import BUDGET
from elsinore.errors import SetupError, memory_failures
from elsinore.events import ARROW_TYPES, EventTable
from elsinore.executors.input.ties import Ties
from elsinore.executors.output.finish import finish
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.plan import EVERYTHING, Executor, Request, RuntimePlan, plan_for
from elsinore.executors.plan.alike import answered_by
from elsinore.executors.row_bound import MOST_VALUES, require_few_rows
from elsinore.files.read_events import ReadReport
from elsinore.query.bound import BoundOutput, BoundQuery, Workload
from elsinore.query.print_query import count_of
from elsinore.query.query_keys import QueryKey
from elsinore.reference.two_step import two_step
from elsinore.results.published import exact_integers
from elsinore.results.row import ResultRow, sorted_rows
from elsinore.sharing.plan import StaticPlan
from elsinore.wording import escaped, some_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: Rows of a table that are shown.
_SHOWN = 10
_BOUNDS = ("window_start", "window_end")


def process_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def answer(
    workload: Workload,
    events: EventTable,
    executor: Executor = Executor.AUTO,
    budget: int = BUDGET,
    *,
    static_plan: StaticPlan | None = None,
    request: Request = EVERYTHING,
) -> list[ResultRow]:
    """The rows of all queries of a workload, by query, group and window.

    The executor must refuse none of them.

    Without a static plan, sharon shares what GWMIN finds.
    """
    if not len(events):
        return []
    plan = plan_for(executor, workload, events, static_plan)
    parts = list(_few_rows(workload, plan, plan.run(events, request)))
    with memory_failures("making the result rows", hint="write a larger SLIDE, or fewer queries"):
        rows = finish(workload, parts, answered_by(plan.row_classes))
    for query in plan.left:
        request.tell([query.name])
        rows += two_step(query, events, budget=budget)
    return sorted_rows(rows) if plan.left else rows


def _few_rows(
    workload: Workload, plan: RuntimePlan, found: Iterable[Sequence[PartialRows]]
) -> Iterator[PartialRows]:
    """Yield partial rows.

    Raises:
        QueryError: there are too many rows or values; the error names the query with the most.
    """
    rows, answered = Counter[QueryKey](), answered_by(plan.row_classes)
    values = Counter[QueryKey]()
    for part in chain.from_iterable(found):
        numbers = np.bincount(part.query, minlength=len(part.queries)).tolist()
        for run, number in zip(part.queries, numbers, strict=True):
            for key in answered.get(run.key, (run.key,)):
                rows[key] += number
                query = workload.by_name[key.query]
                # Several partial rows can belong to one row.
                width = len(query.value_labels)
                values[query.key] = max(values[query.key], rows[key] * width)
        most = values if values.total() > MOST_VALUES else rows
        query = workload.by_name[most.most_common(1)[0][0].query]
        require_few_rows(query, rows.total(), values.total())
        yield part


class Results(dict[str, pa.Table]):
    r"""Results of a workload: a dictionary with an Arrow table per query name.

    A table has one row per group and window, and per step, sorted by these. Its columns are:

    - The attributes of GROUP-BY, in that order, with their types.
    - `window_start` and `window_end`: timestamps in UTC, or int64 if the stream's times are
      integers.
    - `step`, an int64, if the query returns steps.
    - One column per value of RETURN, with its name after AS, or with its text. Doubles are
      float64, strings, truth values and timestamps have these types. Lengths of time are
      `duration[us]`. Integers are exact: int64 if all values fit, otherwise decimal128 with 38
      digits, decimal256 with 76 digits, or text with all digits.

    Attributes:
        rejected: Invalid records, with the columns `file`, `record_number` (int64, starting at 1),
            `record`, `reason_code` and `reason`.
        ignored: Number of records whose type the schema ignores.
        duplicates: Number of events that were dropped because they equal another with the same id.
        events: Number of events that were evaluated.
        ties: Counts of events that have the same time as another event of their partition
            (`queries`, `keys`, `events`, `tied`, `cut`), per set of event types and keys.
        warnings: Sentences about probable errors, such as a missing field or a timestamp of 1970
            among current ones.

    Example:
        >>> import elsinore
        >>> schema = "stream: s\ntime: {field: t, unit: integer}\ntypes: {A: {}}\n"
        >>> query = "QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 10;"
        >>> events = pa.table({"t": [1, 2, 3]})
        >>> elsinore.workload(query, schema=schema).run(events)["q"].to_pylist()
        [{'window_start': 0, 'window_end': 10, 'COUNT(*)': 7}]
    """

    def __init__(
        self,
        workload: Workload,
        rows: Iterable[ResultRow],
        report: ReadReport,
        ties: Iterable[Ties] = (),
    ) -> None:
        by_query: dict[str, list[ResultRow]] = {query.name: [] for query in workload.queries}
        for row in rows:
            by_query[row.query].append(row)
        calendar = workload.schema.time_unit.is_calendar
        super().__init__((q.name, _table(q, by_query[q.name], calendar)) for q in workload.queries)
        self.rejected: pa.Table = report.rejected
        self.ignored: int = report.ignored
        self.duplicates: int = report.duplicates
        self.events: int = report.accepted
        self.ties: tuple[Ties, ...] = tuple(ties)
        self.warnings: tuple[str, ...] = (
            *map(str, workload.warnings), *report.warnings, *self._of_ties(),
        )  # fmt: skip

    def _of_ties(self) -> Iterator[str]:
        """Yield sentences about events with equal times."""
        for one in self.ties:
            names = f"{some_of(one.queries)}: "
            is_empty = any(not self[name].num_rows for name in one.queries)
            if one.are_many or (one.tied and is_empty):
                yield names + one.text
            if one.cut:
                yield names + one.text_of_cut

    def __missing__(self, name: str) -> pa.Table:
        raise KeyError(f"unknown query {name}; use one of {', '.join(self)}")

    def to_arrow(self) -> dict[str, pa.Table]:
        """Return the Arrow table of each query by its name."""
        return dict(self)

    def to_pandas(self) -> dict[str, pd.DataFrame]:
        """Return a pandas DataFrame of each query by its name.

        Decimals are Python's `Decimal`. A column of longs with NULL has the pandas type `Int64`,
        because NumPy would round them.
        """
        return {name: _frame(table) for name, table in self.items()}

    def to_polars(self) -> dict[str, pl.DataFrame]:
        """Return a polars DataFrame of each query by its name; decimals of 76 digits are text.

        Raises:
            SetupError: polars is not installed.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise SetupError("polars is not installed", hint="pip install polars") from error
        return {name: pl.DataFrame(_narrow(table)) for name, table in self.items()}

    def __repr__(self) -> str:
        parts = (title if frame is None else f"{title}\n{frame.to_string(index=False)}"
                 for title, frame in self._parts())  # fmt: skip
        return escaped("\n\n".join(parts))

    def _repr_html_(self) -> str:
        return "".join(
            f"<p>{escape(title)}</p>{'' if frame is None else frame.to_html(index=False)}"
            for title, frame in self._parts()
        )

    def _parts(self) -> Iterator[tuple[str, pd.DataFrame | None]]:
        """A line about all, and one about each query, with its first rows."""
        aside = [f"{count_of(self.rejected.num_rows, 'record')} rejected"] * bool(self.rejected)
        aside += [f"{count_of(self.ignored, 'record')} of other types ignored"] * bool(self.ignored)
        aside += [f"{count_of(self.duplicates, 'duplicate')} removed"] * bool(self.duplicates)
        aside += self.warnings
        head = f"{count_of(len(self), 'query')} over {count_of(self.events, 'event')}"
        yield f"{head} ({', '.join(aside)})" if aside else head, None
        for name, table in self.items():
            more = f", the first {_SHOWN}" if table.num_rows > _SHOWN else ""
            title = f"{name}: {count_of(table.num_rows, 'row')}{more}"
            yield title, _frame(table[:_SHOWN]) if table.num_rows else None


def _table(query: BoundQuery, rows: list[ResultRow], calendar: bool) -> pa.Table:
    columns: list[tuple[str, pa.Array]] = []
    labels = [str(key.group_label) for key in query.group_keys]
    taken = (*_BOUNDS, "step") if query.steps else _BOUNDS
    for place, key in enumerate(query.group_keys):
        name = label = labels[place]
        while name in taken or (name in labels and name != label):
            name += "_"
        columns.append((name, _column([row.group[place][1] for row in rows], key.type)))
    bound = AttributeType.TIMESTAMP if calendar else AttributeType.LONG
    columns += [(name, _column([getattr(row, name) for row in rows], bound)) for name in _BOUNDS]
    if query.steps:
        columns.append(("step", pa.array([row.step for row in rows], pa.int64())))
    for place, output in enumerate(query.outputs):
        values = [row.values[place][1] for row in rows]
        columns.append((output.name, _values(values, output)))
    names, arrays = zip(*columns, strict=True)
    return pa.Table.from_arrays(arrays, names=names)


def _values(values: list[Any], output: BoundOutput) -> pa.Array:
    if output.is_duration:
        return pa.array(values, pa.int64()).cast(pa.duration("us"))
    return _column(values, output.type)


def _column(values: list[Any], kind: AttributeType) -> pa.Array:
    if kind is AttributeType.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(pa.timestamp("us", "UTC"))
    if kind is AttributeType.LONG:
        return exact_integers(values)
    return pa.array(values, ARROW_TYPES[kind])


def _frame(table: pa.Table) -> pd.DataFrame:
    import pandas as pd  # only if a DataFrame is needed

    frame = table.to_pandas()
    for place, column in enumerate(table.columns):
        if column.null_count and column.type == pa.int64():
            longs = column.to_pandas(types_mapper={column.type: pd.Int64Dtype()}.get)
            frame.isetitem(place, longs)
    return frame


def _narrow(table: pa.Table) -> pa.Table:
    for at, field in enumerate(table.schema):
        if pa.types.is_decimal256(field.type):
            table = table.set_column(at, field.name, table[at].cast(pa.string()))
    return table
