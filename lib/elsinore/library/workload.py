"""Queries bound to a schema, to be run over frames and files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date
from functools import partial
from typing import Any, Protocol, cast

from elsinore.catalog.load_schema import load_schema, read_schema, schema_of
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ParameterError, QueryError, memory_failures
from elsinore.events import EventTable
from elsinore.executors.input.ties import ties_of
from elsinore.executors.plan import Executor, Request, compile_plan, require
from elsinore.files.read_events import ReadReport, Source, read_events
from elsinore.files.read_parquet import Frame
from elsinore.hints import Hint
from elsinore.library.arguments import hints_in_python, path_of, require_share, require_whole
from elsinore.library.check import Checked
from elsinore.library.explain import Explained
from elsinore.library.plan import Planned
from elsinore.library.results import Results, answer, process_cores
from elsinore.library.why import Why
from elsinore.query.bound import Workload as BoundWorkload
from elsinore.query.given_values import Given, given_in_python
from elsinore.query.load_workload import load_workload, read_workload
from elsinore.renamed import renamed_parameters
from elsinore.results.row import sorted_rows
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.observe import observe
from elsinore.template.support import lowered


class SpeaksArrow(Protocol):
    """A frame of pandas, polars or DuckDB, a table or reader of Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


#: A file or folder, or a frame.
OneSource = str | os.PathLike[str] | SpeaksArrow

#: Events: one of these, or several.
Events = OneSource | Iterable[OneSource]

_NO_EVENTS = (
    "pass a path, a pandas, polars, DuckDB or Arrow table, or a list of these; call collect() on "
    "a lazy frame and to_table() on an Arrow data set"
)
#: No path begins like this, unless it is given as a `Path`.
_QUERY = re.compile(r"\s*(QUERY\s|\Z)", re.IGNORECASE)


@hints_in_python()
def workload(
    text_or_path: str | os.PathLike[str],
    *,
    schema: str | os.PathLike[str] | Mapping[str, Any] | StreamSchema,
    params: Mapping[str, Any] | None = None,
) -> Workload:
    """Return queries bound to a schema.

    Args:
        text_or_path: queries; a text that begins with QUERY or holds `;` or a line break is
            queries, any other the path of a file.
        schema: how to read an event: the path of a YAML file, YAML text with a line break, a dict
            with the keys of such a file, or the result of `load_schema`.
        params: values of parameters by name. Defaults replace missing values. With a list, each
            query that uses the parameter is answered once per value, as `query[10]`.

    Raises:
        QueryError: the queries do not parse or bind, or a parameter is unknown or of another type;
            `diagnostics` lists every error with its position.
        SchemaError: the schema is not valid.
        ParameterError: an argument is neither a text nor a path.

    Example:
        >>> visits = workload(
        ...     "QUERY visits RETURN COUNT(*) PATTERN View+ WITHIN 10",
        ...     schema={
        ...         "stream": "shop",
        ...         "time": {"field": "time", "unit": "integer"},
        ...         "type": {"field": "event"},
        ...         "types": {"View": {"user": "string"}},
        ...     },
        ... )
        >>> visits.queries
        ('visits',)
    """
    if not isinstance(schema, StreamSchema):
        schema = _schema_of(schema)
    given = given_in_python(params)
    if isinstance(text_or_path, str) and _holds_queries(text_or_path):
        read = partial(read_workload, text_or_path, schema, "<text>")
        return Workload(schema, read, given)
    hint = "pass a string of queries, or the path of a .sase file"
    path = path_of("queries", text_or_path, hint=hint)
    if not path.exists():
        hint = "check the path, or begin a string of queries with QUERY name RETURN"
        raise QueryError(f"cannot read {path}: no such file", hint=hint)
    return Workload(schema, partial(load_workload, path, schema), given)


def _schema_of(given: str | os.PathLike[str] | Mapping[str, Any]) -> StreamSchema:
    if isinstance(given, Mapping):
        return schema_of(given)
    if isinstance(given, str) and ("\n" in given or not given.strip()):
        return read_schema(given)
    hint = "pass YAML text, the path of a .yaml file, a dict, or the result of load_schema"
    return load_schema(path_of("schema", given, hint=hint))


def _holds_queries(text: str) -> bool:
    return ";" in text or "\n" in text or _QUERY.match(text) is not None


class Workload:
    """Queries that were checked against a schema. The function `workload` returns it.

    All methods accept the same events: an object with `__arrow_c_stream__` (a pandas or polars
    DataFrame, a DuckDB relation, an Arrow table or reader), the path of a file or directory, or
    several of these. A DataFrame needs a column for each field of the schema, like a Parquet file.
    Records are checked and deduplicated as in files. pandas does not distinguish NULL from NaN, so
    both are NULL.

    Attributes:
        schema: The schema.
    """

    def __init__(
        self,
        schema: StreamSchema,
        read: Callable[[tuple[Given, ...]], BoundWorkload],
        given: tuple[Given, ...],
    ) -> None:
        self.schema = schema
        self._read_queries, self._given = read, given
        self._bound: BoundWorkload | QueryError
        try:
            self._bound = read(given)
        except QueryError as error:
            if not error.fields.get("unset"):
                raise
            self._bound = error  # `run` can set the parameters

    @property
    def bound(self) -> BoundWorkload:
        """Return the queries in the form that the engine reads.

        Raises:
            QueryError: a parameter has no value.
        """
        if isinstance(self._bound, QueryError):
            raise self._bound.told(Hint.for_python)
        return self._bound

    def _bound_with(self, params: Mapping[str, Any] | None) -> BoundWorkload:
        """Return the queries with other values of parameters than the workload has."""
        given = given_in_python(params)
        if not given:
            return self.bound
        own = {one.name: one for one in self._given} | {one.name: one for one in given}
        return self._read_queries(tuple(own.values()))

    @property
    def queries(self) -> tuple[str, ...]:
        """Return the names of the queries, in their order."""
        return tuple(query.name for query in self.bound.queries)

    def __repr__(self) -> str:
        is_unset = isinstance(self._bound, QueryError)
        names = "parameters without values" if is_unset else ", ".join(self.queries)
        return f"<Workload over {self.schema.name}: {names}>"

    @renamed_parameters(max_bad_share="max_error_rate")
    @hints_in_python()
    def run(
        self,
        events: Events,
        *,
        executor: str = "auto",
        max_error_rate: float = 0.05,
        threads: int | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Results:
        r"""Return the results of all queries.

        Args:
            events: Events in any form that the class accepts.
            executor: Engine that evaluates the queries, as in `elsinore run --executor`. `auto`
                picks the fastest one per query.
            max_error_rate: Share of invalid records above which the call fails, 0 to 1.
            threads: Maximum number of threads. None: the number of cores of this process.
            params: Values of parameters by name, as in `elsinore.workload`, for this run.

        Raises:
            QueryError: A parameter is unknown, has no value or is of another type.
            DataError: Too many records are invalid, or a column is missing.
            ParameterError: An argument is invalid, or a file is missing or of an unknown format.
            UnsupportedQueryError: The executor cannot run one of the queries.
            BudgetError: A query that only twostep can run has too many trends.

        Example:
            Count the trends of rising values. Three rising values have seven: three of one value,
            three of two, and one of three.

            >>> import pyarrow as pa
            >>> import elsinore
            >>> schema = "stream: sensor\ntime: {field: t, unit: integer}\ntypes: {A: {v: long}}"
            >>> query = "RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v WITHIN 10"
            >>> rising = elsinore.workload(f"QUERY rising {query};", schema=schema)
            >>> results = rising.run(pa.table({"t": [1, 2, 3], "v": [5, 6, 9]}))
            >>> results["rising"].to_pylist()
            [{'window_start': 0, 'window_end': 10, 'COUNT(*)': 7}]
        """
        if executor not in list(Executor):
            known = ", ".join(Executor)
            raise ParameterError(f"unknown executor {executor}", hint=f"use one of {known}")
        who = Executor(executor)
        if threads is not None:
            require_whole("threads", threads, 1)
        bound = self._bound_with(params)
        require(bound.queries, who)
        table, report = self._read(events, max_error_rate, bound.attributes_read)
        request = Request(threads=threads or process_cores())
        rows = answer(bound, table, who, request=request)
        ties = ties_of(bound.queries, table, report.nanoseconds)
        return Results(bound, sorted_rows(rows), report, ties)

    def check(self) -> Checked:
        """Return a description of each query, as `elsinore check` prints it."""
        return Checked(self.bound)

    @hints_in_python()
    def plan(self, events: Events) -> Planned:
        """Return the static plan for events like these, as `elsinore plan` prints it.

        Args:
            events: Events in any form that the class accepts.

        Raises:
            DataError: The input is empty or cannot be read.
        """
        table, _ = self._read(events, 1.0, self.bound.attributes_read)
        run = lowered(self.bound)
        return Planned(find_plan(run, observe(run, table)), run, table)

    @hints_in_python()
    def explain(self, events: Events) -> Explained:
        """Return which queries share work over events like these, as `elsinore explain` prints it.

        Args:
            events: Events in any form that the class accepts.

        Raises:
            DataError: The input is empty or cannot be read.
        """
        run = lowered(self.bound)
        statistics = observe(run, self._read(events, 1.0, self.bound.attributes_read)[0])
        runtime = compile_plan(run, statistics)
        return Explained(run, find_plan(run, statistics), statistics, runtime)

    @hints_in_python()
    def why(
        self,
        events: Events,
        query: str,
        group: Mapping[str, Any],
        window: str | int | date,
        *,
        limit: int = 10,
        step: int | None = None,
    ) -> Why:
        """Return the trends that one result counts, and the events of EACH and DISTINCT.

        Args:
            events: Events in any form that the class accepts.
            query: Name of the query.
            group: Value of each attribute of GROUP-BY, as in the results; a timestamp can be ISO
                8601 text. `{}` if the query has no groups.
            window: Start of the window: ISO 8601 text, a date or datetime, or an integer time.
            limit: Maximum number of trends, events and values in each list.
            step: Number of a step, from 1, if the query returns steps. None: the last one.

        Raises:
            ParameterError: The query, group, window or step does not exist.
            DataError: The events cannot be read.
        """
        table, _ = self._read(events, 1.0)
        return Why(self.bound, table, query, group, window, limit, step)

    def _read(
        self, events: Events, max_error_rate: float, read: Collection[str] | None = None
    ) -> tuple[EventTable, ReadReport]:
        require_share("max_error_rate", max_error_rate)
        with memory_failures("reading the events", hint="read fewer events at once"):
            return read_events(
                sources_of(events), self.schema, max_error_rate=max_error_rate, read=read
            )


def sources_of(events: Events) -> list[Source]:
    """Paths and frames, the latter by number; ParameterError: something is neither."""
    if hasattr(events, "to_frame"):
        raise ParameterError(
            f"cannot read events from the type {type(events).__name__}", hint=_NO_EVENTS
        )
    one = isinstance(events, str | os.PathLike) or hasattr(events, "__arrow_c_stream__")
    one = one or isinstance(events, Mapping) or not isinstance(events, Iterable)
    given = [cast(OneSource, events)] if one else list(cast(Iterable[OneSource], events))
    width = len(str(len(given)))  # of events with one id the last counts, by these names
    place = "" if one else f" in a {type(events).__name__}"
    return [_source(each, f"frame {n:0{width}}", place) for n, each in enumerate(given, 1)]


def _source(given: OneSource, name: str, place: str) -> Source:
    if isinstance(given, str | os.PathLike):
        return path_of("events", given)
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
        return Frame(name, given)
    what = "None" if given is None else f"the type {type(given).__name__}"
    raise ParameterError(f"cannot read events from {what}{place}", hint=_NO_EVENTS)
