"""A whole window is searched for groups that lack their result, or it is said why it was not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest

from elsinore.events import EventTable
from elsinore.quality.sample import EVERY_GROUP, Check, Place
from elsinore.quality.validate import MAX_EXHAUSTED, Compared, check_all
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.store.tables import Lake
from tests.golden_cases import event_table, stream_schema

SCHEMA = stream_schema({"A": {"g": "long"}, "B": {"g": "long"}})
COUNTED_QUERY = "RETURN g, COUNT(*), SUM(A.g) PATTERN A+ GROUP-BY g WITHIN 100"
#: In window 0 group 1 has one trend, and group 2 each subset of 70 events but the empty one.
MANY = "a0(g=1) a1..70(g=2)"

#: Answers checks of the query of a text over events, within so many steps.
Search = Callable[[str, str, Sequence[Check], int], list[Compared]]


def workload(text: str) -> Workload:
    return bind_workload(parse_workload(f"QUERY q {text};"), SCHEMA)


def whole(window: int, *groups: str) -> Check:
    return Check(Place("q", EVERY_GROUP, window), None, {}, frozenset(groups))


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Search:
    def made(text: str, events: str, checks: Sequence[Check], steps: int) -> list[Compared]:
        asked = workload(text)
        table = event_table(events, SCHEMA)

        def found(
            _: Lake, known: Workload, version: int, places: Sequence[Place]
        ) -> list[EventTable | None]:
            assert version == 0
            windows = [known.by_name[p.query].window.bounds(p.window) for p in places]
            return [table.between(window.start, window.end) for window in windows]

        monkeypatch.setattr("elsinore.quality.validate.events_of_places", found)
        return list(check_all(cast("Lake", None), asked, checks, 0, steps))

    return made


def test_a_group_without_its_result_is_named_with_what_it_should_be(search: Search) -> None:
    one, *missing = search(COUNTED_QUERY, MANY, [whole(0, '{"g": 1}')], 10_000)
    assert (one.whole, one.checked, one.mismatch) == (True, True, False)
    assert {(item.group_key, item.aggregate, item.reference[0]) for item in missing} == {
        ('{"g": 2}', "COUNT(*)", str(2**70 - 1)),
        # Every event is in half of the 2^70 subsets.
        ('{"g": 2}', "SUM(A.g)", str(2 * 70 * 2**69)),
    }
    assert all(item.mismatch and item.published == (None, None) for item in missing)
    assert {(item.method, item.reason) for item in missing} == {
        ("counted", "the result is missing")
    }
    assert 'group {"g": 2}, window [' in str(missing[0])


def test_a_window_that_lacks_nothing_is_one_row_that_agrees(search: Search) -> None:
    (one,) = search(COUNTED_QUERY, MANY, [whole(0, '{"g": 1}', '{"g": 2}')], 10_000)
    assert (one.whole, one.method, one.mismatch, one.reason) == (True, "counted", False, None)


def test_trends_that_cannot_be_counted_are_built(search: Search) -> None:
    text = "RETURN g, COUNT(*) PATTERN A AND B GROUP-BY g WITHIN 100"
    events = "a1(g=1) b2(g=1) a3(g=2) a4(g=2) b5(g=2) a6(g=3)"
    one, missing = search(text, events, [whole(0, '{"g": 1}')], 1_000)
    assert one.checked
    # Two A, each with the one B; group 3 has no B.
    assert (missing.group_key, missing.reference[0]) == ('{"g": 2}', "2")
    assert missing.method == "enumerated"


def test_what_costs_too_much_is_skipped_and_takes_nothing_from_results(search: Search) -> None:
    events = " ".join(f"a{100 * n}..{100 * n + 69}(g=2)" for n in range(5)) + " a500(g=7)"
    single = Check(Place("q", '{"g": 7}', 5), 0, {
        "COUNT(*)": ("1", 1.0), "SUM(A.g)": ("7", 7.0),
    })  # fmt: skip
    result, other, *windows = search(
        COUNTED_QUERY, events, [*(whole(n, '{"g": 2}') for n in range(5)), single], 100
    )
    assert {result.aggregate, other.aggregate} == {"COUNT(*)", "SUM(A.g)"}
    assert all(item.checked and not item.mismatch for item in (result, other))
    assert len(windows) == 5
    assert all(item.whole and not item.checked and not item.mismatch for item in windows)
    tried = [item for item in windows if "100 steps" in str(item.reason)]
    given_up = [item for item in windows if "exceeded the budget" in str(item.reason)]
    assert (len(tried), len(given_up)) == (MAX_EXHAUSTED, 5 - MAX_EXHAUSTED)
