"""What can be worked out by hand, by all ways to run it: widths, ties, windows, snapshots."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby, product
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pytest

from elsinore.events import EventTable
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.results.row import encode_row
from elsinore.timeline import Interval
from tests.draws import draws
from tests.property.random_cases import SCHEMA
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.streams import Event
from tests.property.ways import Way, ways

#: Of a query the values of each of its rows, in the order of windows.
Values = list[tuple[Any, ...]]


def workload_of(*texts: str) -> Workload:
    queries = "".join(f"QUERY q{n} RETURN {text};" for n, text in enumerate(texts))
    return read_workload(queries, SCHEMA)


def judge(
    workload: Workload,
    events: Iterable[Event] | EventTable,
    expected: Sequence[Values],
    executors: str,
    owned: Interval | None = None,
) -> None:
    """All ways give these values, by query; these executors are among them."""
    table = events if isinstance(events, EventTable) else EventTable.of(SCHEMA, events)
    found = ways(workload, table, "by hand")
    for way in found:
        rows = way.rows(table, owned)
        for query, wanted in zip(workload.queries, expected, strict=True):
            if query in way.plan.queries:
                mine = [tuple(v for _, v in row.values) for row in rows if row.query == query.name]
                _assert_same(way, mine, wanted)
    assert {*executors.split()} <= {way.name.split(",")[0] for way in found}


def _assert_same(way: Way, found: Values, expected: Values) -> None:
    """Integers exactly, doubles but for rounding, each of its type."""
    assert [[type(v) for v in row] for row in found] == [[type(v) for v in r] for r in expected]
    for mine, wanted in zip(found, expected, strict=True):
        for one, other in zip(mine, wanted, strict=True):
            same = one == (pytest.approx(other, rel=1e-12) if isinstance(other, float) else other)
            assert same, f"{way.name}: {mine} for {wanted}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "burst",
    [1, 2, 3, 51, 52, 53, 59, *range(61, 66), *range(126, 131), 200, 254, 1_000, 1_100, 2_000],
)
def test_counts_are_exact_at_every_width(burst: int) -> None:
    """One start, then b events: 2^b - 1 trends, each B in 2^(b-1); two starts double both."""
    workload = workload_of(
        "COUNT(*), COUNT(B), SUM(B.x), AVG(B.y), MAX(B.x) PATTERN SEQ(A, B+) WITHIN 100000",
        "COUNT(*), COUNT(B), SUM(B.x) PATTERN SEQ(C, B+) WITHIN 100000",
        "COUNT(*) PATTERN SEQ(A, B+) WITHIN 100000",
        "COUNT(*), MIN(B.x) PATTERN B+ WITHIN 100000",
    )
    rows: list[Event] = [("A", 0, {}), ("C", 0, {}), ("C", 1, {})]
    rows += [("B", time, {"x": -3, "y": 0.5}) for time in range(2, burst + 2)]
    trends, halves = 2**burst - 1, burst * 2 ** (burst - 1)
    expected: list[Values] = [
        [(trends, halves, -3 * halves, 0.5, -3)],
        [(2 * trends, 2 * halves, -6 * halves)],
        [(trends,)],
        [(trends, -3)],
    ]
    judge(workload, rows, expected, "greta hamlet hamlet-static sweep auto")
    events = EventTable.of(SCHEMA, rows)
    first = ways(workload, events, "")[0].rows(events)[0]
    assert json.loads(encode_row(first))["values"]["COUNT(*)"] == trends


@pytest.mark.parametrize("burst", [57, 58, 59, 61, 130])
def test_counts_alone_are_exact_at_every_width(burst: int) -> None:
    """As above, where nothing but counts of trends may outgrow a burst."""
    workload = workload_of(*(f"COUNT(*) PATTERN SEQ({of}, B+) WITHIN 1000" for of in "AC"))
    rows: list[Event] = [("A", 0, {}), ("C", 0, {}), ("C", 1, {})]
    rows += [("B", time, {}) for time in range(2, burst + 2)]
    expected: list[Values] = [[(starts * (2**burst - 1),)] for starts in (1, 2)]
    judge(workload, rows, expected, "greta hamlet hamlet-static sweep auto")


#: Patterns over rising B of which every set is a trend.
RISING = (
    "B+ WHERE B.time < NEXT(B).time",
    "B+ WHERE B.x < NEXT(B).x OR NEXT(B).x - B.x = 0",
    "SEQ(B first, (SEQ(NOT N, B))*)",
)


@pytest.mark.slow
@pytest.mark.parametrize("burst", [10, 61, 100, 200, 1_050])
def test_counts_under_conditions_are_exact_at_every_width(burst: int) -> None:
    """Every set of events is a trend, found by trees, by pairs, and past a NOT that never holds."""
    compared = "PATTERN SEQ({}, B+) WHERE B.x < NEXT(B).x WITHIN 100000"
    workload = workload_of(
        *(f"COUNT(*), SUM(B.x) {compared.format(kind)}" for kind in "AC"),
        *(f"COUNT(*) PATTERN {pattern} WITHIN 100000" for pattern in RISING),
    )
    rows: list[Event] = [("A", 0, {}), ("C", 0, {}), ("N", 0, {})]
    rows += [("B", time, {"x": time}) for time in range(1, burst + 1)]
    trends, summed = 2**burst - 1, sum(range(1, burst + 1)) * 2 ** (burst - 1)
    expected: list[Values] = [[(trends, summed)]] * 2 + [[(trends,)]] * 3
    judge(workload, rows, expected, "greta hamlet auto")


#: Events of a block, and positions; templates of 20 positions take seconds.
BLOCKS = [*product((1, 70, 1_000), (1, 3, 8)), *[(1_000, 20), (1, 20), (70, 20)][: draws(1, 3)]]


@pytest.mark.slow
@pytest.mark.parametrize(("events", "length"), BLOCKS)
def test_counts_of_fixed_length_are_exact_at_every_width(events: int, length: int) -> None:
    """Blocks of n events a position, whose types alternate: a choice of one event a block, n^l."""
    types = ["AB"[place % 2] for place in range(length)]
    names, end = ", ".join(f"{kind} e{place}" for place, kind in enumerate(types)), length - 1
    text = f"COUNT(*), COUNT(e0), SUM(e{end}.x), AVG(e0.y), MIN(e{end}.x) PATTERN SEQ({names})"
    rows: list[Event] = [
        (kind, place * events + time, {"x": -(2**63) + (place != end), "y": 0.5})
        for place, kind in enumerate(types)
        for time in range(events)
    ]
    trends, least = events**length, -(2**63)
    expected: list[Values] = [[(trends, trends, least * trends, 0.5, least)]] * 2
    workload = workload_of(*[f"{text} WITHIN 1000000"] * 2)
    judge(workload, rows, expected, "greta aseq sharon sweep auto")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(draws(2, 4)))
def test_counts_are_exact_where_types_repeat_at_one_instant(seed: int) -> None:
    """Every event but D stands at several positions, and shares its instant with others."""
    dice = Dice(f"ties {seed}")
    types = [dice.pick("ABC") for _ in range(16)]
    names = ", ".join(f"{kind} e{place}" for place, kind in enumerate(types))
    workload = workload_of(*[f"COUNT(*) PATTERN SEQ({names}) WITHIN 1000000 SLIDE 250000"] * 2)
    rows: list[Event] = [
        (dice.pick("ABCD"), 250_000 + dice.number(0, 1_200), {}) for _ in range(3_000)
    ]
    trends = prefix_counts(types, rows)
    assert trends > 2**70
    judge(workload, rows, [[(trends,)] * 4] * 2, "greta aseq sharon sweep auto")


def prefix_counts(types: list[str], rows: list[Event]) -> int:
    """A-Seq's counts instant by instant, in Python's integers."""
    counts = [1] + [0] * len(types)
    for _, together in groupby(sorted(rows, key=itemgetter(1)), key=itemgetter(1)):
        before = list(counts)
        for kind, _, _ in together:
            for place, wanted in enumerate(types):
                counts[place + 1] += before[place] * (wanted == kind)
    return counts[-1]


@pytest.mark.parametrize("times", [3, 30, 70, 300])
def test_events_of_one_time_never_follow_each_other(times: int) -> None:
    """Two B at each of n times: 3 choices each, so 3^n - 1 trends, times the A before them all.

    A type that is not asked for stands between, and C ties with each pair. Each B is in 3^(n-1).
    """
    workload = workload_of(
        *("COUNT(*), COUNT(B) PATTERN SEQ(A, B+) WITHIN 100000",) * 2,
        "COUNT(*) PATTERN (B OR C)+ WITHIN 100000",
        "COUNT(*) PATTERN B+ WITHIN 100000",
    )
    rows: list[Event] = [("A", 0, {})]
    for time in range(1, times + 1):
        rows += [("B", time, {}), ("D", time, {}), ("B", time, {}), ("C", time, {})]
    trends = 3**times - 1
    both = (trends, 2 * times * 3 ** (times - 1))
    expected: list[Values] = [[both], [both], [(4**times - 1,)], [(trends,)]]
    judge(workload, rows, expected, "greta hamlet sweep auto")


@pytest.mark.slow
def test_counts_of_any_width_window_by_window() -> None:
    """Equal values: 2^n - 1 trends of n events, in windows that overlap and hold 30 to 630."""
    workload = workload_of(
        *(
            f"COUNT(*), SUM(B.x) PATTERN SEQ({kind}, B+) WHERE B.x <= NEXT(B).x"
            " WITHIN 5000 SLIDE 2500"
            for kind in "ACD"
        )
    )
    times = [0, 1, 2, *range(10, 40), *range(2_500, 3_100), *range(12_000, 12_030)]
    kinds = ["A", "C", "A", *"B" * (len(times) - 3)]
    rows: list[Event] = [(kind, time, {"x": 7}) for kind, time in zip(kinds, times, strict=True)]
    rows += [("C", 9_000, {}), ("D", 11_999, {})]

    def of(starts: int, events: int) -> tuple[int, int]:
        return starts * (2**events - 1), starts * 7 * events * 2 ** (events - 1)

    expected = [[of(2, 30), of(2, 630)], [of(1, 30), of(1, 630), of(1, 30)], [of(1, 30)] * 2]
    judge(workload, rows, expected, "greta auto")


def test_windows_before_the_first_event_and_at_negative_times() -> None:
    workload = workload_of(*["COUNT(*) PATTERN B+ WITHIN 10 SLIDE 4"] * 2)
    rows: list[Event] = [("B", time, {}) for time in (-9, -8, -3, 6, 7)]
    # [-16, -6) holds -9 and -8, then come -9 -8 -3, -8 -3, -3, and twice 6 7.
    expected: Values = [(3,), (7,), (3,), (1,), (3,), (3,)]
    judge(workload, rows, [expected] * 2, "greta hamlet sweep auto")


def test_windows_whose_panes_fit_64_bits_and_their_products_do_not() -> None:
    """Every set of the up to 80 events of a window is a trend."""
    workload = workload_of(*["COUNT(*) PATTERN B+ WITHIN 80 SLIDE 20"] * 2)
    rows: list[Event] = [("B", time, {}) for time in range(200)]
    sizes = [min(200, begin + 80) - max(0, begin) for begin in range(-60, 200, 20)]
    judge(workload, rows, [[(2**n - 1,) for n in sizes]] * 2, "greta hamlet sweep auto")


def test_only_the_windows_that_end_in_the_interval() -> None:
    """Interval (10, 20]: of the first those to 15 and 20, of the others that to 20."""
    workload = workload_of(
        "COUNT(*) PATTERN B+ WITHIN 10 SLIDE 5",
        "COUNT(*) PATTERN SEQ(A, B+) WITHIN 10",
        *["COUNT(*) PATTERN SEQ(A, B) WITHIN 10"] * 2,
    )
    rows: list[Event] = [("A" if time % 4 == 0 else "B", time, {}) for time in range(40)]
    # 5 to 14 has A at 8 and 12, 10 to 19 at 12 and 16, with 3 B each before 16 and after it.
    expected: list[Values] = [[(255,), (255,)], [(63 + 7,)], [(9,)], [(9,)]]
    executors = "greta hamlet aseq sharon sweep auto"
    judge(workload, rows, expected, executors, Interval(10, 20))


def test_tables_in_pieces_and_slices_of_tables() -> None:
    workload = workload_of(*(f"COUNT(*) PATTERN {of} WITHIN 1000" for of in ("B+", "B+", "B")))
    whole = EventTable.of(SCHEMA, [("B", time, {}) for time in range(10)])
    for table, events in (
        (whole.table.slice(3), 7),
        (pa.concat_tables([whole.table.slice(5), whole.table.slice(0, 2)]), 7),
        (whole.table.slice(0, 0), 0),
    ):
        expected: list[Values] = [[(n,)] * bool(n) for n in (2**events - 1,) * 2 + (events,)]
        judge(workload, EventTable(SCHEMA, table), expected, "greta hamlet aseq sweep")


def test_sums_beyond_every_double_keep_their_average() -> None:
    """Each of the 8 values of 1e308 is in 8 trends: the sum is 64e308, the average 1e308."""
    rows: list[Event] = [("A" if n < 8 else "B", 2 * n, {"y": 1e308}) for n in range(16)]
    rows += [("D", 5, {})]
    workload = workload_of(*["SUM(a.y), AVG(a.y) PATTERN SEQ(A a, B b) WITHIN 100"] * 2)
    expected: Values = [(float("inf"), 1e308)]
    judge(workload, rows, [expected] * 2, "greta aseq sharon sweep auto")


def test_windows_of_large_sums_and_more_of_them_than_there_is_room() -> None:
    """Windows [5k, 5k + 20) over an event at each time, of which every other is heavy."""
    heavy = 2**62
    workload = workload_of(
        "COUNT(*), SUM(B.x) PATTERN B+ WITHIN 20 SLIDE 5",
        "COUNT(*) PATTERN B+ WHERE B.x < 9 WITHIN 20 SLIDE 5",
    )
    rows: list[Event] = [("B", t, {"x": heavy if t % 2 else 0}) for t in range(100)]
    insides = [[t for t in range(k, k + 20) if 0 <= t < 100] for k in range(-15, 100, 5)]
    every: Values = [
        (2 ** len(held) - 1, heavy * sum(t % 2 for t in held) * 2 ** (len(held) - 1))
        for held in insides
    ]
    light: Values = [(2 ** sum(t % 2 == 0 for t in held) - 1,) for held in insides]
    judge(workload, rows, [every, light], "greta hamlet sweep auto")


def test_sums_that_cancel_within_a_burst() -> None:
    """Four B of v and three of -v, which follow their like: 15 and 7 sets, 8 and 4 with each B."""
    v = 2**56
    workload = workload_of(
        *(
            f"COUNT(*), SUM(B.x) PATTERN SEQ({kind}, B+) WHERE B.x = NEXT(B).x WITHIN 100"
            for kind in "AC"
        )
    )
    rows: list[Event] = [("A", 0, {}), ("C", 0, {})]
    rows += [("B", time, {"x": v if time % 2 else -v}) for time in range(1, 8)]
    judge(workload, rows, [[(22, 4 * 8 * v - 3 * 4 * v)]] * 2, "greta hamlet hamlet-static auto")


def test_segments_are_shared_across_windows_that_differ() -> None:
    """Sharon 7.2: one segment for queries with other windows, in the middle of one of them."""
    workload = workload_of(
        "COUNT(*) PATTERN SEQ(A a, B b) WITHIN 4 SLIDE 2",
        "COUNT(*) PATTERN SEQ(C c, A a, B b) WITHIN 6 SLIDE 3",
    )
    rows: list[Event] = [("CAB"[time % 3], time, {}) for time in range(12)]
    # A stands at 1, 4, 7, 10, B behind each. Each window of 4 has one A before B; those of 6 hold
    # C A B twice, 4 trends, but the first and the last window once.
    pairs: Values = [(1,)] * 6
    triples: Values = [(1,), (4,), (4,), (4,), (1,)]
    judge(workload, rows, [pairs, triples], "greta aseq sharon sweep auto")


def test_snapshots_at_event_level_carry_weighted_counts() -> None:
    """Hamlet Figure 5(c) with sums: q1 takes every B, q0 not the second; q0 has an edge predicate.

    q0 after a: {b3}, {b5}, {b3, b5}, 2 * 2 + 2 * 7 = 18. q1: every subset of b3, b4, b5 but the
    empty one, 4 * (2 + 5 + 7) = 56.
    """
    workload = workload_of(
        "COUNT(*), SUM(B.x), COUNT(B) PATTERN SEQ(A, B+) "
        "WHERE B.x != 5 AND B.x < NEXT(B).x WITHIN 100",
        "COUNT(*), SUM(B.x) PATTERN SEQ(C, B+) WITHIN 100",
    )
    rows: list[Event] = [("A", 1, {}), ("C", 2, {})]
    rows += [("B", time, {"x": x}) for time, x in ((3, 2), (4, 5), (5, 7))]
    judge(workload, rows, [[(3, 18, 4)], [(7, 56)]], "greta hamlet auto")


def test_a_burst_of_which_some_queries_take_nothing() -> None:
    """q0 and q1 take B above 5 alone: {7}, {9} and {7, 9}, after two A and C; q2 takes every B."""
    workload = workload_of(
        *(
            f"COUNT(*), {extreme}(B.x) PATTERN SEQ({kind}, B+) WHERE B.x > 5 WITHIN 100"
            for kind, extreme in (("A", "MAX"), ("C", "MIN"))
        ),
        "COUNT(*), MIN(B.x) PATTERN B+ WITHIN 100",
    )
    rows: list[Event] = [("C", 0, {}), ("A", 1, {}), ("A", 4, {})]
    rows += [("B", time, {"x": x}) for time, x in ((2, 1), (3, 2), (5, 7), (6, 9))]
    expected: list[Values] = [[(2 * 3, 9)], [(3, 7)], [(2**4 - 1, 1)]]
    judge(workload, rows, expected, "greta hamlet hamlet-static sweep auto")


def test_events_that_are_compared_through_many_windows_that_overlap() -> None:
    """B B B A, over and over: of the n B of a window, all equal, every set is a trend."""
    loop = "PATTERN B+ WHERE B.x <= NEXT(B).x WITHIN 100 SLIDE 25"
    workload = workload_of(f"COUNT(*) {loop}", f"COUNT(*), SUM(B.x) {loop}")
    rows: list[Event] = [("BBBA"[time % 4], time, {"x": 7}) for time in range(200)]
    held = [[t for t in range(k, k + 100) if 0 <= t < 200] for k in range(-75, 200, 25)]
    sizes = [sum(t % 4 < 3 for t in times) for times in held]
    expected: list[Values] = [[(2**n - 1,) for n in sizes]]
    expected += [[(2**n - 1, 7 * n * 2 ** (n - 1)) for n in sizes]]
    judge(workload, rows, expected, "greta hamlet hamlet-static auto")


#: Trends within a burst follow the events of equal x alone; windows of 20.
TOLD_APART = [
    # After a1: b2 (x=1) counts 1; a3, c4, b5 (x=2) 2; then, after a6, b11 (x=1) 3 + 1 = 4 and b12
    # (x=2) 3 + 2 = 5: 12. If b12 followed what b11 does it would count 4. q1, from c4 on: b5 1,
    # b11 1, b12 1 + 1 = 2: 4.
    ("a1 b2 a3 c4 B5 a6 b11 B12", 12, 4),
    # Every event of the last burst follows two events before it: of x = 1, or of x = 2. q0: b2 1,
    # b3 1 + 1 = 2, b5 2, b6 2 + 2 = 4; b8 3 + 1 + 2 = 6, b9 3 + 2 + 4 = 9: 24. q1, from c0 on: b2
    # 1, b3 2, b5 1, b6 2, b8 1 + 3 = 4, b9 1 + 3 = 4: 14.
    ("c0 a1 b2 b3 a4 B5 B6 a7 b8 B9", 24, 14),
]


@pytest.mark.parametrize(("text", "first", "second"), TOLD_APART)
def test_predecessors_before_a_burst_are_told_apart(text: str, first: int, second: int) -> None:
    loop = "WHERE B.x = NEXT(B).x WITHIN 20"
    workload = workload_of(*(f"COUNT(*) PATTERN SEQ({kind}, B+) {loop}" for kind in "AC"))
    rows: list[Event] = [
        (word[0].upper(), int(word[1:]), {"x": 1 + word.startswith("B")}) for word in text.split()
    ]
    judge(workload, rows, [[(first,)], [(second,)]], "greta hamlet auto")


@pytest.mark.parametrize("depth", [10, 40])
def test_conditions_that_nest_deeply(depth: int) -> None:
    """B - (N - (B - (N - ... 0))) = depth * (B - N), and no value is known before the last one."""
    nested = "0"
    for _ in range(depth):
        nested = f"B.x - (NEXT(B).x - ({nested}))"
    loop = f"PATTERN B+ WHERE {nested} = {2 * depth} WITHIN 100"
    workload = workload_of(f"COUNT(*) {loop}", f"COUNT(*), SUM(B.x) {loop}")
    rows: list[Event] = [("B", time, {"x": x}) for time, x in enumerate((3, 4, 1, 2))]
    judge(workload, rows, [[(6,)], [(6, 10 + 4 + 6)]], "greta hamlet auto")
