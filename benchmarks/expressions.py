"""GROUP-BY and aggregates of an expression against the same query over a stored column.

`SEQ(A, B)` has a trend per pair, so an event B adds its value once per earlier A of its key and
window. Both queries are compared with sums by NumPy.
"""

from __future__ import annotations

import numpy as np

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import auto, events_of, medians, stream_of, workload_of
from elsinore.events import EventTable
from elsinore.library.results import answer
from elsinore.results.row import ResultRow, Value

EVENTS, KEYS, WITHIN, ROUNDS = 1_000_000, 20, 4_000, 5
STREAM = stream_of("AB", "k", "price", "quantity", "total", "tens")
#: What is computed, with the expression and with the stored column.
CASES = {
    "GROUP-BY": (
        "RETURN COUNT(*) PATTERN SEQ(A, B b) WHERE [k] GROUP-BY {}",
        ("b.price - b.price % 10 AS tens", "b.tens AS tens"),
    ),
    "SUM": (
        "RETURN COUNT(*), SUM({}) PATTERN SEQ(A, B b) WHERE [k]",
        ("b.price * b.quantity", "b.total"),
    ),
    "SUM(EACH)": (
        "RETURN SUM(EACH {}) PATTERN SEQ(A, B b) WHERE [k]",
        ("b.price * b.quantity", "b.total"),
    ),
}


@benchmark(
    "expressions",
    "An expression costs little more than a stored column",
    f"SEQ(A, B) per key, {EVENTS:,} events of {KEYS} keys, tumbling windows, auto; GROUP-BY, SUM "
    "and SUM(EACH) of an expression, against a column that has its values",
    "times the time with the column",
    at_most=1.2,
)
def expressions() -> Measured:
    """The figure is the largest of the ratios of medians."""
    events = _events()
    rows: list[dict[str, float | str]] = []
    for case, (text, operands) in CASES.items():
        queries = [f"{text.format(operand)} WITHIN {WITHIN}" for operand in operands]
        workloads = [workload_of(STREAM, [query]) for query in queries]
        for workload in workloads:
            assert _found(answer(workload, events)) == _expected(case, events)
        expression, column = (auto(workload, events) for workload in workloads)
        seconds = medians({"expression": expression, "column": column}, ROUNDS)
        rows.append({"case": case, **seconds, "ratio": seconds["expression"] / seconds["column"]})
    figure = max(float(row["ratio"]) for row in rows)
    return Measured(figure, "every value, by sums with NumPy", tuple(rows), "CPU time of the call.")


def _events() -> EventTable:
    dice = np.random.default_rng(3)
    kinds, k = dice.integers(0, 2, EVENTS), dice.integers(0, KEYS, EVENTS)
    price, quantity = dice.integers(0, 100, EVENTS), dice.integers(1, 9, EVENTS)
    stored = {"total": price * quantity, "tens": price - price % 10}
    return events_of(STREAM, kinds, k=k, price=price, quantity=quantity, **stored)


#: The values of each group and start of a window.
_Rows = dict[tuple[Value, int], tuple[Value, ...]]


def _found(rows: list[ResultRow]) -> _Rows:
    return {
        (dict(row.group).get("tens", 0), row.window_start): tuple(value for _, value in row.values)
        for row in rows
    }


def _expected(case: str, events: EventTable) -> _Rows:
    """Return the values, by sums over all events of type B."""
    kinds, k, total, tens = (
        np.asarray(events.table[name]) for name in ("_type", "k", "total", "tens")
    )
    is_b, before = kinds == 1, _earlier(kinds, k)
    groups = tens if case == "GROUP-BY" else np.zeros_like(tens)
    place = (np.arange(EVENTS) // WITHIN * 100 + groups)[is_b]
    weights = {
        "GROUP-BY": [before],
        "SUM": [before, before * total],
        "SUM(EACH)": [(before > 0) * total],
    }[case]
    trends, *sums = (np.bincount(place, each[is_b]).astype(np.int64) for each in [before, *weights])
    return {
        (int(at % 100), int(at // 100 * WITHIN)): tuple(int(each[at]) for each in sums)
        for at in np.flatnonzero(trends)
    }


def _earlier(kinds: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return int64[N], the number of earlier A in the window of each event that have its key."""
    owner = np.arange(EVENTS) // WITHIN * KEYS + k
    order = np.argsort(owner, kind="stable")
    is_a = (kinds == 0)[order]
    so_far = np.cumsum(is_a) - is_a
    first = np.searchsorted(owner[order], owner[order])
    found = np.empty(EVENTS, np.int64)
    found[order] = so_far - so_far[first]
    return found
