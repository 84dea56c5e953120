"""Each part of a graph on a stream that can be counted by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.kernels.aggregated import propagated, trends_of
from tests.unit.kernels.cases import Case, Entry, Floor, Step

A, OPEN, CLOSE, INNER = range(4)
ALONE = Case([[]], [-1], {A: -1}, {A: -1}, [Step(A, A)])


def at(*events: tuple[int, int]) -> list[list[Entry]]:
    return [[Entry(time, state, x=time) for time, state in events]]


def test_every_subset_of_a_kleene_state() -> None:
    # 2^3 - 1
    assert trends_of(replace(ALONE, partitions=at((1, A), (2, A), (3, A))).graph()) == 7


def test_equal_times_are_never_adjacent() -> None:
    # 1, 1', 2, 1-2, 1'-2
    assert trends_of(replace(ALONE, partitions=at((1, A), (1, A), (2, A))).graph()) == 5


def test_a_guard_parts_what_it_lies_between() -> None:
    # (A, NOT N)+ over a1 n2 a3 a4: 1, 3, 4, 3-4
    case = Case(
        at((1, A), (2, 1), (3, A), (4, A)), [-1, 0], {A: -1, 1: -1}, {A: -1, 1: -1},
        [Step(A, A, floor=0)], [Floor(((0,),))],
    )  # fmt: skip
    assert trends_of(case.graph()) == 4


# NOT SEQ(C, NOT E, D) between the events of A+
NESTED = Case(
    [[]],
    [-1, 1, 1, 0],
    {A: -1, OPEN: -1, INNER: -1},
    {A: -1, CLOSE: -1, INNER: -1},
    [Step(A, A, floor=1), Step(OPEN, CLOSE, floor=0)],
    [Floor(((0,),)), Floor(((1,),))],
)


def test_a_guard_bars_only_events_before_its_match() -> None:
    # a1 c2 a3 d4 a5: the match lies between 1 and 5 alone: all 7 but 1-5
    stream = at((1, A), (2, OPEN), (3, A), (4, CLOSE), (5, A))
    assert trends_of(replace(NESTED, partitions=stream).graph()) == 6


def test_a_guard_within_a_guard() -> None:
    # a1 c2 e3 d4 a5: e undoes the match: 1, 5, 1-5
    stream = at((1, A), (2, OPEN), (3, INNER), (4, CLOSE), (5, A))
    assert trends_of(replace(NESTED, partitions=stream).graph()) == 3
    # a1 c2 e3 c4 d5 a6: but not that of the later c: 1, 6
    stream = at((1, A), (2, OPEN), (3, INNER), (4, OPEN), (5, CLOSE), (6, A))
    assert trends_of(replace(NESTED, partitions=stream).graph()) == 2


def test_a_firing_counts_for_later_instants_only() -> None:
    # a1 n2 a2 a3: n parts 1 from 3 alone: 1, 2, 3, 1-2, 2-3, 1-2-3
    case = Case(
        at((1, A), (2, 1), (2, A), (3, A)), [-1, 0], {A: -1, 1: -1}, {A: -1, 1: -1},
        [Step(A, A, floor=0)], [Floor(((0,),))],
    )  # fmt: skip
    assert trends_of(case.graph()) == 6


@pytest.mark.parametrize(
    ("starts", "bars", "ends", "trends"),
    [
        (-1, -1, -1, 2),  # 1, 3
        (0, -1, -1, 1),  # leading: 3 may not start
        (-1, 0, -1, 1),  # the opposite: 1 may not start
        (-1, -1, 0, 1),  # trailing: 1 may not end
    ],
)
def test_guards_at_the_borders(starts: int, bars: int, ends: int, trends: int) -> None:
    # one of a1 and a3, with n2 between
    case = Case(
        at((1, A), (2, 1), (3, A)), [-1, 0], {A: starts, 1: -1}, {A: ends, 1: -1}, [],
        [Floor(((0,),))], bars={A: bars},
    )  # fmt: skip
    assert trends_of(case.graph()) == trends


def test_contiguous_asks_for_the_last_instant_of_the_partition() -> None:
    # a1 a2 b3 a4 a5, where b is no entry: 1, 2, 1-2, 4, 5, 4-5
    case = Case(
        at((1, A), (2, A), (4, A), (5, A)), [-1], {A: -1}, {A: -1}, [Step(A, A, floor=0)],
        [Floor((), contiguous=True)], others=[[3]],
    )  # fmt: skip
    assert trends_of(case.graph()) == 6


def test_next_match_closes_all_events_of_a_state() -> None:
    # a1 a2 a3: 1, 2, 3, 1-2, 2-3, 1-2-3
    case = replace(ALONE, transitions=[Step(A, A, closes=True)])
    assert trends_of(replace(case, partitions=at((1, A), (2, A), (3, A))).graph()) == 6


def test_next_match_closes_events_one_by_one() -> None:
    # x must rise; x = 5, 1, 7, 8: 7 closes both 5 and 1, so 8 may only follow 7.
    # 5, 1, 7, 8, 5-7, 1-7, 7-8, 5-7-8, 1-7-8
    condition = ("and", ("open", 0), ("less_l",))
    entries = [[Entry(time, A, x=x) for time, x in enumerate((5, 1, 7, 8))]]
    ways = [Step(A, A, ("less_l",), slot=0)]
    case = Case(entries, [-1], {A: -1}, {A: -1}, [Step(A, A, condition)], ways=ways)
    assert trends_of(case.graph()) == 9


@pytest.mark.parametrize(
    ("step", "floors"),
    [
        (Step(A, A), []),
        (Step(A, A, floor=0), [Floor(((0,),))]),
        (Step(A, A, ("reaches", 0)), [Floor(((0,),))]),
        (Step(A, A, ("less_l",)), []),
    ],
)
def test_counts_outgrow_a_rung_and_are_exact_on_the_next(step: Step, floors: list[Floor]) -> None:
    # 61 events: 2^61 - 1 fits one limb with two bits to spare; 100 events do not
    for size, fits in ((61, True), (100, False)):
        stream = at(*((time, A) for time in range(size)))
        guards = {1: -1} if floors else {}
        case = Case(
            stream, [-1, *(0 for _ in guards)], {A: -1} | guards, {A: -1} | guards, [step], floors
        )
        spans = np.array([[0, size, 0, 0]])
        _, outgrown = propagated(case.graph(), spans, 1)
        assert outgrown.tolist() == [not fits]
        totals, outgrown = propagated(case.graph(), spans, 2)
        assert not outgrown.any()
        assert int.from_bytes(totals.counts[0, 0].tobytes(), "little") == 2**size - 1


def test_windows_do_not_see_each_other() -> None:
    # a1 n2 a3 | a4: the firing of the first window is not one of the second, nor are its events
    case = Case(
        at((1, A), (2, 1), (3, A), (4, A)), [-1, 0], {A: 0, 1: -1}, {A: -1, 1: -1},
        [Step(A, A, floor=0)], [Floor(((0,),))],
    )  # fmt: skip
    totals, _ = propagated(case.graph(), np.array([[0, 3, 0, 0], [2, 4, 0, 1]]), 1)
    assert totals.counts[:, 0].tolist() == [1, 3]
