"""The events that `why` lists for EACH and DISTINCT against those of the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.library.participants import list_participants
from elsinore.query.bound import BoundQuery
from elsinore.query.steps import with_steps
from elsinore.reference.budget import Meter
from elsinore.reference.event import read_events
from elsinore.reference.keys import Keys
from elsinore.reference.match import Match
from elsinore.reference.measures import reader_of
from elsinore.reference.participation import count_distinct, participants, participating_at
from elsinore.reference.trends import Group, matcher_of, trends_by_group
from elsinore.results.published import group_text
from elsinore.template.support import participation_refusals
from tests.draws import draws
from tests.property.random_cases import random_case

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

#: What the reference may spend on one window.
_BUDGET = 4_000
#: Windows per case.
_WINDOWS = 6
#: Constructs that decide how the events are found.
CONSTRUCTS = (
    *("EACH", "EACH *", "DISTINCT", "EACH with edge predicate", "EACH with NOT"),
    *("EACH next-match", "EACH contiguous", "EACH of an ambiguous pattern", "keys of steps"),
    *("keys of several attributes", "span with EACH"),
)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_the_listed_events_are_those_that_participate(construct: str) -> None:
    rows: Counter[bool] = Counter()
    number = draws(12, 150)
    for n in range(number):
        case = random_case(f"{construct}:{n}")
        for query in with_steps(case.workload.queries):
            if not query.participating or query.window.session is not None:
                continue  # windows of sessions have no numbers
            try:
                _compare_windows(query, case.events, rows)
            except (BudgetError, UnsupportedQueryError):
                continue
            except AssertionError as error:
                error.add_note(case.described())
                raise
    assert rows[False] > number // 2, rows


def _compare_windows(query: BoundQuery, events: EventTable, rows: Counter[bool]) -> None:
    """Compare some windows; count the rows, by whether the reference finds what is listed."""
    ordered = read_events(query, events)
    numbers = {n for event in ordered for n in query.window.indices(event.time)}
    for number in sorted(numbers)[:_WINDOWS]:
        extent = query.window.extent(number)
        inside = events.between(extent.start, extent.end)
        keys, meter = Keys(query, inside.schema), Meter(query.name, _BUDGET)
        own = read_events(query, inside)
        matcher = matcher_of(query, keys, own, meter, query.window.bounds(number))
        for group, trends in trends_by_group(matcher).items():
            _compare_row(query, inside, number, group, [*trends.matches, *trends.others])
            rows[bool(participation_refusals(query))] += 1


def _compare_row(
    query: BoundQuery, inside: EventTable, number: int, group: Group, matches: Sequence[Match]
) -> None:
    text = group_text(query.labelled(group))
    listed = list_participants(
        query,
        inside,
        query.window.bounds(number),
        lambda held: group_text(query.labelled(held)) == text,
        10**6,
        [str(row) for row in range(inside.table.num_rows)],
    )
    every = participants(matches)
    found = {tuple(one["aliases"]): one for one in listed if one["kind"] == "events"}
    counts = Counter(one["count"] for one in listed if one["kind"] == "values")
    expected: Counter[int] = Counter()
    read = set()
    for item in query.participating:
        events = participating_at(item, every)
        if not item.distinct:
            own = found[tuple(query.labels(item.positions))]
            assert [int(event["id"]) for event in own["listed"]] == [one.index for one in events]
            assert own["count"] == len(events)
        elif (item.positions, item.attribute) not in read:
            read.add((item.positions, item.attribute))
            assert item.attribute is not None
            value_of = reader_of(item.attribute)
            expected[count_distinct(value_of(event) for event in events)] += 1
    assert counts == expected
