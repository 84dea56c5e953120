"""The events that a check needs are enough: the reference says the same over them as over all."""

from __future__ import annotations

import pyarrow as pa
import pytest

from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.quality.checked_events import Wanted
from elsinore.quality.sample import EVERY_GROUP, Place
from elsinore.reference.two_step import two_step
from elsinore.results.published import group_text
from elsinore.results.row import ResultRow
from tests.draws import draws
from tests.property.random_cases import RandomCase, random_case


def values_of(rows: list[ResultRow]) -> list[tuple[object, str]]:
    return [(row.key, repr(row.values)) for row in rows]


def needed(case: RandomCase, group: str, window: int) -> EventTable:
    wanted = Wanted(case.workload, [(0, Place(case.query.name, group, window))])
    ((_, rows),) = wanted.by_place(case.events.table)
    return EventTable(case.events.schema, case.events.table.take(pa.array(rows)))


def spared(case: RandomCase) -> int:
    """How many events the searches of whole windows do not need, if all is as it should be."""
    query, events = case.query, case.events
    try:
        expected = two_step(query, events, budget=20_000)
    except (BudgetError, UnsupportedQueryError):
        return 0
    number = 0
    for window in {query.window.indices(int(row.window_start))[-1] for row in expected}:
        some = needed(case, EVERY_GROUP, window)
        rows = two_step(query, events, windows=[window])
        assert values_of(two_step(query, some, windows=[window])) == values_of(rows), (
            case.described()
        )
        bounds, back, ahead = query.window.bounds(window), query.window.back, query.window.ahead
        number += len(events.between(bounds.start - back, bounds.end + ahead)) - len(some)
        for row in rows:
            own = needed(case, group_text(row.group), window)
            there = [r for r in two_step(query, own, windows=[window]) if r.group == row.group]
            # All of its steps.
            of_group = [other for other in rows if other.group == row.group]
            assert values_of(there) == values_of(of_group), case.described()
    return number


AIMS = ("local predicate", "NOT with predicate", "NOT with key", "contiguous",
        "contiguous with NOT and key", "contiguous with scoped key",
        "contiguous with types outside the pattern", "grouping some types lack")  # fmt: skip


@pytest.mark.slow
def test_the_reference_says_the_same_over_the_events_that_a_check_needs() -> None:
    drawn = [spared(random_case(f"{aim}:{n}")) for aim in AIMS for n in range(draws(25, 400))]
    assert sum(number > 0 for number in drawn) > len(drawn) / 50
