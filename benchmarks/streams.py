"""Streams and workloads for benchmarks, and the executor `auto` over them."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from statistics import median

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.events import EventTable, arrow_schema
from elsinore.executors.input.in_order import Aggregate
from elsinore.executors.output.partial_rows import PartialRows, merge
from elsinore.executors.output.state_columns import Extremes
from elsinore.executors.plan import Executor, Request, RuntimePlan, plan_for
from elsinore.integers import integer_of
from elsinore.numbers.exact_columns import Integers, to_text
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.timeline import Interval, TimeUnit

Way = Callable[[], object]


def stream_of(
    types: Iterable[str], *attributes: str, of: AttributeType = AttributeType.LONG
) -> StreamSchema:
    """A stream of integer times whose types all have the same attributes, of one type."""
    own = tuple(Attribute(name, of) for name in attributes)
    kinds = tuple(EventType(kind, own) for kind in types)
    return StreamSchema("bench", "time", TimeUnit.INTEGER, "type", None, kinds)


def workload_of(stream: StreamSchema, queries: Sequence[str]) -> Workload:
    """Queries `q0`, `q1`, ...; a text begins with RETURN, or with PATTERN and counts trends."""
    texts = (
        f"QUERY q{number} {'' if text.startswith('RETURN') else 'RETURN COUNT(*) '}{text};"
        for number, text in enumerate(queries)
    )
    return read_workload("\n".join(texts), stream)


def events_of(
    stream: StreamSchema, kinds: np.ndarray, times: np.ndarray | None = None, **values: np.ndarray
) -> EventTable:
    """Events by number of the type and time (else the number of the event), and attributes."""
    times = np.arange(kinds.size) if times is None else times
    given = {"_time": times, "_type": kinds.astype(np.int32), **values}
    layout = arrow_schema(stream)
    return EventTable(stream, pa.table({name: given[name] for name in layout.names}, layout))


def auto(
    workload: Workload, events: EventTable, owned: Interval | None = None
) -> Callable[[], pa.Table]:
    """All rows by the executor `auto`, from events as Arrow columns to `text_rows`.

    Where an interval is given, of the windows that end in it. What is shared is decided beforehand,
    as in the pipeline.
    """
    plan = plan_for(Executor.AUTO, workload, events)
    return lambda: text_rows(chain.from_iterable(plan.run(events, Request(owned))))


def batch_runner(plan: RuntimePlan, stream: StreamSchema) -> Aggregate[pa.Table]:
    """What `aggregate_in_order` asks for the rows of each batch."""

    def rows_of(table: pa.Table, owned: Interval | None) -> Iterator[pa.Table]:
        yield from map(text_rows, plan.run(EventTable(stream, table), Request(owned)))

    return rows_of


def seconds_in_turns(
    ways: Mapping[str, Way], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[str, list[float]]:
    """Seconds of each round of each way, run in turns.

    CPU time by default, so that other work on the machine counts little.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            began = clock()
            way()
            seconds[name].append(clock() - began)
    return seconds


def medians(
    ways: Mapping[str, Way], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Median seconds of each way, as `seconds_in_turns`."""
    seconds = seconds_in_turns(ways, rounds, clock)
    return {name: median(found) for name, found in seconds.items()}


def peak_megabytes() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


#: Partial rows without sums of doubles, with integers of any size as decimal text.
_TEXT_SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("group", pa.string()),
        ("window_start", pa.int64()),
        ("window_end", pa.int64()),
        ("counts", pa.list_(pa.string())),
        ("extremes", pa.list_(pa.string())),
    ]
)


def text_rows(parts: Iterable[PartialRows]) -> pa.Table:
    """Partial rows as a table of `_TEXT_SCHEMA`."""
    return pa.concat_tables([_TEXT_SCHEMA.empty_table(), *map(_text_rows, parts)])


def _text_rows(part: PartialRows) -> pa.Table:
    slides, withins = (
        np.array([getattr(query.window, name) for query in part.queries], np.int64)[part.query]
        for name in ("slide", "within")
    )
    names = pa.array([query.name for query in part.queries], pa.string())
    counts = [to_text(column) for column in part.columns if isinstance(column, Integers)]
    extremes = [
        pa.array(list(map(repr, column.values.tolist())), pa.string(), mask=~column.known)
        for column in part.columns
        if isinstance(column, Extremes)
    ]
    columns = [
        names.take(pa.array(part.query)),
        part.groups.take(pa.array(part.group)),
        pa.array(part.window * slides),
        pa.array(part.window * slides + withins),
        _lists(counts, len(part)),
        _lists(extremes, len(part)),
    ]
    return pa.Table.from_arrays(columns, schema=_TEXT_SCHEMA)


def _lists(columns: Sequence[pa.Array], size: int) -> pa.ListArray:
    """The values of columns of `size` rows, as a list per row."""
    flat = pa.concat_arrays([pa.array([], pa.string()), *columns])
    if len(columns) > 1:
        order = np.arange(len(flat)).reshape(len(columns), size).T.ravel()
        flat = flat.take(pa.array(order))
    offsets = np.arange(size + 1, dtype=np.int32) * len(columns)
    return pa.ListArray.from_arrays(pa.array(offsets), flat)


def comparable(found: Iterable[Iterable[PartialRows]]) -> list[tuple[object, ...]]:
    """Partial rows, merged, in one order."""
    rows = text_rows(merge([*chain.from_iterable(found)])).to_pylist()
    return sorted(tuple(map(str, row.values())) for row in rows)


def counts_of(rows: pa.Table) -> dict[tuple[str, str, int], int]:
    """COUNT(*) by query, group and begin of the window."""
    keys = zip(
        *(rows.column(name).to_pylist() for name in ("query", "group", "window_start")),
        strict=True,
    )
    values = (integer_of(counts[0]) for counts in rows.column("counts").to_pylist())
    return dict(zip(keys, values, strict=True))


def one_b_in(every: int, size: int) -> np.ndarray:
    """Types 0 (A) and 1 (B): a B at a random place of each stretch of so many events."""
    kinds = np.zeros((size // every, every), int)
    places = np.random.default_rng(5).integers(0, every, len(kinds))
    kinds[np.arange(len(kinds)), places] = 1
    return kinds.ravel()


def trends_of_a_b(owner: np.ndarray, is_b: np.ndarray, times: np.ndarray) -> dict[int, int]:
    """Trends of SEQ(A, B+) by owner of the events: an A begins 2^n - 1 with the n B after it.

    Args:
        owner: int64[N], the partition and window of each event, as one number.
        is_b: bool[N]; the others are A.
        times: int64[N], no two of them equal.
    """
    order = np.lexsort((times, owner))
    owner, is_b = owner[order], is_b[order]
    first = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
    last = np.append(first[1:], owner.size) - 1
    so_far = np.cumsum(is_b)
    after = np.repeat(so_far[last], last - first + 1) - so_far
    assert int(after.max(initial=0)) < 45, "the sums below do not fit"
    begun = np.where(is_b, 0, (np.int64(1) << after) - 1)
    sums = np.add.reduceat(begun, first).tolist()
    return {o: n for o, n in zip(owner[first].tolist(), sums, strict=True) if n}
