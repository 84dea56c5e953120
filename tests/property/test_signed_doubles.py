"""Sums of doubles of both signs: no executor's rounding is a mismatch, and a wrong sum is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from elsinore.events import EventTable
from elsinore.executors.plan import Executor
from elsinore.library.results import answer
from elsinore.quality.sample import Check, Place
from elsinore.quality.validate import ENUMERATED, Compared, compare
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.reference.budget import BUDGET
from elsinore.reference.two_step import two_step
from elsinore.results.published import group_text, numbers_of
from elsinore.results.row import ResultRow
from tests.golden_cases import bound_query, stream_schema
from tests.property.compare import assert_same_rows, greta
from tests.property.random_cases.dice import Dice

SCHEMA = stream_schema({"A": {"y": "double"}, "B": {"y": "double"}})
#: Of these more than 2,000 have a trend of some query.
WINDOWS = 2_400
VALUES = (0.1, 0.2, 0.3, -0.3, -0.2, -0.1, 0.7, -0.6, 1e6 + 0.1, -1e6, 1e-3)
LOOPS = "SEQ(A, B+)", "SEQ(A+, B+)", "(SEQ(A, B+))+"
ROWS = "SEQ(A a, B b)", "SEQ(A a, B b, A c)"
#: By executor the patterns that it runs.
PATTERNS = {
    Executor.GRETA: LOOPS + ROWS,
    Executor.AUTO: LOOPS + ROWS,
    Executor.HAMLET: LOOPS,
    Executor.HAMLET_STATIC: LOOPS,
    Executor.SWEEP: LOOPS,
    Executor.ASEQ: ROWS,
    Executor.SHARON: ROWS,
}


@cache
def events() -> EventTable:
    """A window every ten ticks, of seven events at random times."""
    dice = Dice("signed doubles")
    rows = [
        (dice.pick("AAB"), 10 * window + dice.number(0, 9), {"y": dice.pick(VALUES)})
        for window in range(WINDOWS)
        for _ in range(7)
    ]
    return EventTable.of(SCHEMA, rows)


@cache
def workload(patterns: tuple[str, ...]) -> Workload:
    """A query for each pattern, and its twin to share with."""
    asked = "RETURN COUNT(*), SUM(A.y), AVG(A.y), SUM(B.y)"
    texts = [f"{asked} PATTERN {pattern} WITHIN 10;" for pattern in patterns for _ in "12"]
    named = (f"QUERY q{number} {text}" for number, text in enumerate(texts))
    return read_workload("".join(named), SCHEMA)


@cache
def reference(patterns: tuple[str, ...]) -> list[ResultRow]:
    """What every executor must find, query by query."""
    return [
        replace(row, query=query.name)
        for number, query in enumerate(workload(patterns).queries)
        for row in reference_of(patterns[number // 2])
    ]


@cache
def reference_of(pattern: str) -> list[ResultRow]:
    return two_step(workload((pattern,)).queries[0], events(), budget=10**7)


def judged(rows: list[ResultRow], patterns: tuple[str, ...]) -> Iterator[Compared]:
    """Each row as validation compares it with the reference's."""
    found = {row.key: row for row in rows}
    queries = workload(patterns).by_name
    for expected in reference(patterns):
        row, query = found[expected.key], queries[expected.query]
        numbers = {label: numbers_of(value) for label, value in row.values}
        published = {label: (exact, value) for label, (value, exact, _) in numbers.items()}
        place = Place(row.query, group_text(row.group), row.window_start // 10)
        check = Check(place, 0, published)
        yield from compare(query, check, [expected], ENUMERATED)


@pytest.mark.slow
@pytest.mark.parametrize("executor", PATTERNS)
def test_small_windows_through_every_executor(executor: Executor) -> None:
    patterns = PATTERNS[executor]
    asked = workload(patterns)
    rows = answer(asked, events(), executor, BUDGET)
    rows = sorted(rows, key=lambda row: (int(row.query[1:]), row.window_start))
    assert_same_rows(rows, reference(patterns))
    compared = list(judged(rows, patterns))
    assert len({item.window for item in compared}) > 2_000
    assert not [str(item) for item in compared if item.mismatch]


@pytest.mark.slow
def test_some_right_sums_are_far_off_beside_what_they_should_be() -> None:
    """More than 1e-9 of the reference's, which is what validation once allowed."""
    expected = [sum_of(row) for row in reference(LOOPS)]
    found = [sum_of(row) for q in workload(LOOPS).queries for row in greta(q, events())]
    pairs = zip(found, expected, strict=True)
    assert sum(abs(mine - right) > 1e-9 * abs(right) for mine, right in pairs) > 10


def sum_of(row: ResultRow) -> float:
    found = dict(row.values)["SUM(A.y)"]
    assert isinstance(found, float)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("missed", [1e-3, 0.1, -0.3, 1e6 + 0.1])
def test_a_value_that_is_missed_is_a_mismatch(missed: float) -> None:
    """However small beside the others, as long as it is more than rounding."""
    wrong = []
    for row in reference(LOOPS):
        values = dict(row.values) | {"SUM(A.y)": sum_of(row) - missed}
        wrong.append(replace(row, values=tuple(values.items())))
    compared = list(judged(wrong, LOOPS))
    sums = [item for item in compared if item.aggregate == "SUM(A.y)"]
    assert sums
    assert all(item.mismatch for item in sums)
    assert not any(item.mismatch for item in compared if item.aggregate != "SUM(A.y)")


@pytest.mark.parametrize(
    ("held", "wrong", "right"),
    [
        # Each value is in 4 of the 7 trends.
        ([0.1, 0.2, -0.3], [1e-13, 0.4, -0.4], [0.0, 2.2e-16, -4.4e-16]),
        ([1.7e308, 1.7e308], [1.7e308, -float("inf")], [float("inf")]),
        ([1.7e308, -1.7e308], [1e300, float("inf")], [0.0, 1e292, -1e292]),
        ([float("nan"), 1.0], [0.0, float("inf")], [float("nan")]),
        ([float("inf"), 1.0], [0.0, float("nan"), 1.7e308], [float("inf")]),
    ],
)
def test_sums_that_are_right_and_wrong(
    held: list[float], wrong: list[float], right: list[float]
) -> None:
    stream = EventTable.of(SCHEMA, [("A", time, {"y": y}) for time, y in enumerate(held)])
    query = bound_query("RETURN SUM(A.y) PATTERN A+ WITHIN 10", SCHEMA)
    (expected,) = two_step(query, stream)
    (mine,) = greta(query, stream)
    for by in (expected, mine):
        for value in right:
            assert_same_rows([replace(by, values=(("SUM(A.y)", value),))], [by])
        for value in wrong:
            with pytest.raises(AssertionError):
                assert_same_rows([replace(by, values=(("SUM(A.y)", value),))], [by])
