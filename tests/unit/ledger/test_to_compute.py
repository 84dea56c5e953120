"""The hours to compute: which, in which order, why, and how many a run takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.ledger.rows import State
from elsinore.ledger.to_compute import (
    Planned,
    Question,
    Why,
    choose,
    in_words,
    lost_hours,
    merge,
    to_compute,
)
from elsinore.timeline import HOUR, Interval
from tests.unit.ledger.ledgers import (
    START,
    at,
    failed,
    ingested,
    numbers,
    published,
    refreshed,
    row,
    state,
)

DAY = "2013-02-08"


def ask(**given: Any) -> Question:
    """Return the question of a workload whose windows reach one hour back."""
    parameters: dict[str, Any] = {
        "reach": 1,
        "until": START + 12 * HOUR,
        "since": START,
        "fingerprint": "f",
    }
    return Question(**(parameters | given))


def planned(*hours: int, failed_at: int | None = None) -> list[Planned]:
    return [Planned(START + hour * HOUR, Why.STALE, "x", failed_at) for hour in hours]


def shown(ranges: tuple[Interval, ...]) -> list[tuple[int, int]]:
    return [((one.start - START) // HOUR, (one.end - START) // HOUR) for one in ranges]


LEDGER = (
    [ingested(hour, "a") for hour in (1, 2, 3, 4, 5, 7, 8)],
    [published(hour, 4, results_version=9) for hour in (1, 2, 3, 5)],
    published(7, 4, 6),
    published(8, 4, 6),
    refreshed(3, 5),
    ingested(6, "late"),
    published(8, 4, workload_fingerprint="other"),
)


def test_every_hour_to_compute_has_its_reason() -> None:
    changed = (at(2, 9), np.array([10, 10]))
    found = to_compute(state(*LEDGER), ask(until=START + 8 * HOUR, changed=changed))
    assert in_words(found) == [
        f"{DAY}T02: its published rows changed after their publication was recorded",
        f"{DAY}T03: events of {DAY}T03 changed",
        f"{DAY}T04: not published yet",
        f"{DAY}T06: not published yet",
        f"{DAY}T07: files arrived for {DAY}T06",
    ]
    assert [one.why for one in found] == [
        Why.UNSETTLED, Why.STALE, Why.UNPUBLISHED, Why.UNPUBLISHED, Why.WAITING
    ]  # fmt: skip
    own = Interval(START + 3 * HOUR, START + 7 * HOUR)
    assert numbers(np.array([one.hour for one in to_compute(state(*LEDGER), ask(own=own))])) == [
        7, 9
    ]  # fmt: skip


def test_hours_of_other_queries_stay_unless_they_are_asked_for() -> None:
    ledger = [published(1, 1), published(2, 1, workload_fingerprint="g"), refreshed(1, 2)]
    assert [one.hour for one in to_compute(state(*ledger), ask())] == at(1).tolist()
    every = to_compute(state(*ledger), ask(fingerprint=None))
    assert [one.hour for one in every] == at(1, 2).tolist()


def test_hours_that_failed_with_the_same_inputs_come_last() -> None:
    broken = [failed(hour, step="validate", events_version=1) for hour in (2, 3, 4)]
    ledger: list[Any] = [
        [ingested(h, "a") for h in range(1, 7)],
        published(1, 1),
        *broken,
        broken[0],
    ]
    found = to_compute(state(*ledger), ask(until=START + 7 * HOUR))
    assert [((one.hour - START) // HOUR, one.failed_at) for one in found] == [
        (5, None), (6, None), (3, 4), (4, 5), (2, 6)
    ]  # fmt: skip
    assert found[-1].text == "not published yet; failed 2 times, last in validate: it broke"
    # New events of its windows may help, so it is tried at once.
    again = to_compute(state(*ledger, refreshed(1, 2)), ask(until=START + 7 * HOUR))
    assert {(one.hour - START) // HOUR: one.failed_at for one in again} == {
        1: None, 2: None, 5: None, 6: None, 3: 4, 4: 5
    }  # fmt: skip


def test_hours_whose_events_were_removed_are_not_computed() -> None:
    removed = row(State.REMOVED, 3, events_version=6)
    found = state(*LEDGER, removed)
    assert START + 3 * HOUR not in [one.hour for one in to_compute(found, ask())]
    assert numbers(lost_hours(found, ask())) == [3, 4]


def test_runs_take_the_latest_hours_and_catch_up_begins_with_the_first() -> None:
    found = choose(planned(1, 2, 3, 4, 5, 7, 8), most=3, next_most=2)
    assert shown(found.taken) == [(5, 6), (7, 9)]
    assert (found.hours, found.left, shown(found.catch_up)) == (3, 4, [(1, 3)])
    every = choose(planned(1, 2, 4), most=9, next_most=2, apart=at(2).tolist())
    assert shown(every.taken) == [(1, 2), (2, 3), (4, 5)]
    assert (every.left, every.catch_up) == (0, ())
    assert choose([], most=3, next_most=2) == ((), 0, 0, ())


def test_failed_hours_are_taken_alone_and_after_all_others() -> None:
    again = [*planned(2, failed_at=1), *planned(3, failed_at=2), *planned(1, failed_at=3)]
    hours = [*planned(4, 5), *again]
    assert shown(choose(hours, most=4, next_most=9).taken) == [(4, 6), (2, 3), (3, 4)]
    assert shown(choose(hours, most=1, next_most=9).taken) == [(5, 6)]
    # Only failed hours are left for the next run: one at a time.
    assert shown(choose(hours, most=2, next_most=9).catch_up) == [(2, 3)]


def test_an_hour_is_new_if_it_is_new_for_any_workload() -> None:
    one = [*planned(2), *planned(1, failed_at=5)]
    other = [*planned(1), *planned(3, failed_at=6)]
    assert [(each.hour, each.failed_at) for each in merge([one, other])] == [
        (START + HOUR, None), (START + 2 * HOUR, None), (START + 3 * HOUR, 6)
    ]  # fmt: skip
