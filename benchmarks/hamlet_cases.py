"""Streams and queries for the benchmarks of Hamlet.

Each query is `SEQ(Si, B+)` with a start type of its own; a burst of B follows one event of each
start type.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.events import EventTable, arrow_schema
from elsinore.query.bind_query import bind_workload
from elsinore.query.parse import parse_workload
from elsinore.sharing.sharable import SharableSet, sharable_set
from elsinore.timeline import TimeUnit

MOST_QUERIES = 100
TYPES = ("B", *(f"S{n}" for n in range(MOST_QUERIES)))
SCHEMA = StreamSchema(
    "bench",
    "time",
    TimeUnit.INTEGER,
    "type",
    None,
    tuple(EventType(t, tuple(Attribute(n, AttributeType.LONG) for n in ("x", "y"))) for t in TYPES),
)

#: No single comparison: true for one pair in ten.
GENERAL: tuple[str, ...] = ("(B.x + NEXT(B).y) % 10 = 0",)
#: Four of them, each for a quarter of the queries.
SEVERAL = tuple(f"(B.x + NEXT(B).y) % 10 = {n}" for n in range(4))
#: Predicates on single events: half of the queries take all, the others miss one in 100 or in 4.
LOCAL: tuple[str, ...] = ("B.x >= 0", "B.x >= 10", "B.x >= 0", "B.y >= 250")
#: Both.
LOCAL_AND_GENERAL = tuple(f"{local} AND {GENERAL[0]}" for local in LOCAL)


@dataclass(frozen=True)
class Case:
    """`queries` queries over `bursts` bursts of `length` events, `per_window` of them a window.

    The queries take their conditions in turn from `where`, if there are any.
    """

    name: str
    where: tuple[str, ...]
    queries: int
    length: int
    bursts: int
    per_window: int = 1

    @property
    def events(self) -> int:
        """Events of the stream."""
        return self.bursts * (self.length + self.queries)

    @property
    def within(self) -> int:
        """Length of the tumbling windows."""
        return self.per_window * (self.length + self.queries)


def bar_cases() -> list[Case]:
    """The bar of spec section 8, and collapsed states beside it."""
    return [
        Case("general edge predicate", GENERAL, 20, 100, 100, 4),
        Case("general edge predicate, one burst a window", GENERAL, 20, 100, 200),
        Case("no predicate", (), 20, 40, 2_000),
        Case("no predicate, wide counts", (), 20, 100, 200, 4),
    ]


def sweep_cases() -> list[Case]:
    """Burst lengths 1 to 1,000, 2 to 100 queries, with and without predicates of several kinds."""
    few, many = (1, 3, 10, 50), (1, 3, 10, 50, 200, 1_000)
    kinds: tuple[tuple[str, tuple[str, ...], int, tuple[int, ...]], ...] = (
        ("plain", (), 40_000, few),
        ("edge", GENERAL, 6_000, many),
        ("local", LOCAL, 40_000, few),
        ("several edges", SEVERAL, 6_000, many[:-1]),
        ("local, edge", LOCAL_AND_GENERAL, 6_000, many[:-1]),
    )
    return [
        Case(f"{kind} k={k} b={b}", where, k, b, max(total // (b + k), 4))
        for kind, where, total, lengths in kinds
        for k in (2, 20, 100)
        for b in lengths
    ]


@cache
def prepared(case: Case) -> tuple[SharableSet, EventTable]:
    """The queries and the events of a case."""
    texts = ""
    for n in range(case.queries):
        where = f"WHERE {case.where[n % len(case.where)]}" if case.where else ""
        pattern = f"PATTERN SEQ(S{n}, B+) {where} WITHIN {case.within}"
        texts += f"QUERY q{n} RETURN COUNT(*) {pattern};"
    found = sharable_set(bind_workload(parse_workload(texts), SCHEMA).queries)
    assert found is not None
    dice = np.random.default_rng(7)
    kinds = np.tile(
        np.concatenate([np.arange(1, case.queries + 1), np.zeros(case.length, int)]), case.bursts
    )
    columns = [np.arange(kinds.size), kinds.astype(np.int32)]
    columns += [dice.integers(0, 1_000, kinds.size) for _ in "xy"]
    arrays = [pa.array(column) for column in columns]
    return found, EventTable(SCHEMA, pa.Table.from_arrays(arrays, schema=arrow_schema(SCHEMA)))
