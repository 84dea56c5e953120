"""Compile all kernels for the types that the executors pass, and so fill the cache.

Run `python -m elsinore.executors.compile_kernels` at set-up and when an image is built. It runs a
few queries over small streams with each executor, once with 64-bit counts and once with wider
counts. The executors choose the argument types themselves, so no list of signatures has to be
maintained.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.graph.aggregate_ordered import aggregate_ordered, lower_ordered
from elsinore.executors.graph.best import aggregate_extremes
from elsinore.executors.graph.climb import BY_ITSELF
from elsinore.executors.graph.reach import Reach
from elsinore.executors.graph.span_sets import aggregate_span_set, span_sets
from elsinore.executors.hamlet.aggregate_set import aggregate_set
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.linear.longest import aggregate_longest, needs_only_times
from elsinore.executors.linear.segments import lower_passes, run_passes
from elsinore.executors.linear.sweep import aggregate_sweep
from elsinore.executors.linear.sweep_sets import sweep_sets
from elsinore.executors.linear.time_bounds import TimeBounds
from elsinore.executors.output.participation import aggregate_participation
from elsinore.numbers.compiled import QuickCache
from elsinore.numbers.exact_columns import from_python, to_text
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import BoundQuery
from elsinore.query.parse import parse_workload
from elsinore.sharing.sharable import sharable_sets
from elsinore.template.measures import measure_queries
from elsinore.timeline import TimeUnit

_ATTRIBUTES = (
    Attribute("k", AttributeType.STRING, True), Attribute("l", AttributeType.STRING, True),
    Attribute("v", AttributeType.LONG, True), Attribute("w", AttributeType.DOUBLE, True),
)  # fmt: skip
_SCHEMA = StreamSchema(
    "kernels", "time", TimeUnit.INTEGER, "type", None,
    tuple(EventType(kind, _ATTRIBUTES) for kind in "ABC"),
)  # fmt: skip

_WEIGHED = "RETURN COUNT(*), SUM(A.v), AVG(A.v), MIN(A.v)"
_RISING = f"{_WEIGHED} PATTERN A+ WHERE A.v < NEXT(A).v WITHIN"
_SWEPT = f"{_WEIGHED} PATTERN A+ WHERE A.v % 99 + 1 > 0"
_SET = tuple(
    f"{_WEIGHED} PATTERN SEQ({first}, A+) WHERE A.v < NEXT(A).v WITHIN 100" for first in "BC"
)
_EACH = "RETURN COUNT(EACH A), SUM(EACH A.w), COUNT(DISTINCT A.v) PATTERN A+ WITHIN 100"
#: Measures in 64 bits, in doubles and in 96 bits.
_MEASURES = ("LENGTH", "TOTAL(A.w)", f"LENGTH * {2**62}")
#: Patterns of squares of measures: without conditions, with one on pairs, and with NOT.
_SQUARED = ("A+", "A+ WHERE A.v < NEXT(A).v", "SEQ(A+, NOT B, C)")
_FIXED = f"{_WEIGHED} PATTERN SEQ(B, A) WHERE [k] WITHIN 100 SLIDE 10"


def steps() -> Iterator[partial[Any]]:
    """Yield calls that together compile every kernel."""
    for size in (10, 70):  # more than 62 events outgrow 64 bits
        events = _stream(size)
        yield partial(aggregate_query, _query(f"{_WEIGHED} PATTERN A+ WITHIN 100"), events)
        yield partial(aggregate_query, _query(f"{_WEIGHED} PATTERN A+ SPAN 100 PER 50"), events)
        yield partial(aggregate_query, _query(f"{_WEIGHED} PATTERN A+ SESSION 9 BY k"), events)
        for pattern in ("A+", "SEQ(B, C, A, A x)"):  # with few states, and with more
            span = f"RETURN COUNT(*) PATTERN {pattern} SPAN 100 PER 50"
            yield partial(aggregate_query, _query(span), events)
        yield partial(_spans, events)
        yield partial(aggregate_set, _queries(*_SET), events)
        yield partial(_fixed, _FIXED, events)
        for keys in ("", "[k] AND ", "[k, l] AND "):
            swept = _SWEPT.replace("WHERE ", f"WHERE {keys}")
            yield partial(_sweep, f"{swept} WITHIN 100", events)
        yield partial(_sweep, "RETURN COUNT(*) PATTERN A+ WITHIN 100 SLIDE 10", events, panes=True)
        yield partial(aggregate_participation, [_query(_EACH)], events, TimeBounds)
        rising = _EACH.replace("WITHIN", "WHERE A.v < NEXT(A).v WITHIN")
        yield partial(aggregate_participation, [_query(rising)], events, Reach)
        spanned = _EACH.replace("WITHIN 100", "SPAN 100 PER 50")
        yield partial(aggregate_participation, [_query(spanned)], events, Reach)
        for measure in _MEASURES:
            yield partial(_extremes, measure, events)
        for pattern in _SQUARED:
            yield partial(_squares, pattern, events)
        yield partial(_sweep, "RETURN COUNT(*) PATTERN SEQ(B, A+) WITHIN 100", events)
    # Fewer than 64 events are compared by pairs, 64 and more by order.
    yield partial(aggregate_query, _query(f"{_RISING} 63"), _stream(63))
    for compared in ("A.v", "9 * A.v", "A.w"):  # integers close together and far apart, doubles
        rising = _RISING.replace("A.v <", f"{compared} <")
        yield partial(aggregate_query, _query(f"{rising} 100"), _stream(70))
    rising = "RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v WITHIN"
    yield partial(aggregate_query, _query(f"{rising} {2 * BY_ITSELF}"), _stream(BY_ITSELF))
    yield partial(_ordered, rising, _stream(70))
    yield partial(_ordered, rising, _stream(BY_ITSELF))
    yield partial(to_text, from_python([2**100]))


def _stream(size: int) -> EventTable:
    """Return a stream of one B, one C and `size` A events, at the times 0, 1, 2 and so on."""
    events = (
        (kind, n, {"k": "x", "l": "y", "v": n, "w": n * 0.5})
        for n, kind in enumerate("BC" + "A" * size)
    )
    return EventTable.of(_SCHEMA, events)


def _fixed(query: str, events: EventTable) -> None:
    for _ in run_passes(lower_passes(_queries(query), ()), EventColumns.of(events), None):
        pass


def _sweep(query: str, events: EventTable, panes: bool | None = None) -> None:
    for found in sweep_sets(_queries(query)):
        aggregate_sweep(found, events, panes=panes)


def _extremes(measure: str, events: EventTable) -> None:
    queries = measure_queries(_query(f"RETURN MAX({measure}) PATTERN A+ WITHIN 100"))
    for found in sweep_sets([*filter(needs_only_times, queries)]):
        aggregate_longest(found, EventColumns.of(events))
    for query in queries:
        aggregate_extremes(query, events)


def _squares(pattern: str, events: EventTable) -> None:
    (query,) = measure_queries(_query(f"RETURN STDDEV(LENGTH) PATTERN {pattern} WITHIN 100"))
    aggregate_query(query, events)


def _spans(events: EventTable) -> None:
    """Run queries with a span: two that share events, and with one and several comparisons."""
    texts = (f"RETURN COUNT(*) PATTERN A+ SPAN {span} PER 50" for span in (60, 100))
    for found in span_sets(_queries(*texts)):
        aggregate_span_set(found, events)
    for pattern in ("SEQ(B, A) WHERE B.v < NEXT(A).v", "A+ WHERE A.v < NEXT(A).v"):
        aggregate_query(_query(f"RETURN COUNT(*) PATTERN {pattern} SPAN 100 PER 50"), events)


def _ordered(rising: str, events: EventTable) -> None:
    """Run two queries that share an order tree."""
    texts = (rising.replace("A+", f"SEQ({first}, A+)") for first in "BC")
    (found,) = sharable_sets(_queries(*(f"{text} {2 * BY_ITSELF}" for text in texts))).sets
    aggregate_ordered(lower_ordered(found), EventColumns.of(events))


def _query(text: str) -> BoundQuery:
    return _queries(text)[0]


def _queries(*texts: str) -> tuple[BoundQuery, ...]:
    named = "".join(f"QUERY q{number} {text};" for number, text in enumerate(texts))
    return bind_workload(parse_workload(named), _SCHEMA).queries


def compile_kernels() -> None:
    """Compile all kernels that are not in the cache, and print a dot per step.

    Hamlet's kernels take as long as all others together, so two processes take half the time. If
    both compile the same kernel, one process can overwrite the cache entry of the other. A last
    round compiles what is still missing.
    """
    print("kernels ", end="", file=sys.stderr, flush=True)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        list(processes.map(run_steps, (True, False)))
        processes.submit(run_steps).result()
    print(file=sys.stderr)


def run_steps(hamlet: bool | None = None) -> None:
    """Run the steps of Hamlet (True), the other steps (False), or all steps (None).

    Numba keeps millions of objects. Repeated garbage collections over all of them take a tenth of
    the time. Here the objects of each step are collected once and then frozen.
    """
    QuickCache.told = True  # the dots replace its message
    gc.disable()
    for step in steps():
        if hamlet in (None, step.func is aggregate_set):
            step()
            gc.collect()
            gc.freeze()
            print(".", end="", file=sys.stderr, flush=True)
    gc.enable()


if __name__ == "__main__":
    compile_kernels()
