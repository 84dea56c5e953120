"""Questions about hours, on ledgers written by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from elsinore.errors import DataError
from elsinore.ledger.fold import fold
from elsinore.ledger.inputs import (
    arrived,
    event_ranges,
    late,
    missing,
    missing_inputs,
    silent_hours,
    without_files,
)
from elsinore.ledger.results import (
    complete,
    lost,
    not_validated,
    provisional,
    publication_of,
    publications,
    recomputed,
    recorded_events_version,
    stale,
    unpublished,
    unsettled,
    waiting,
)
from elsinore.ledger.results import (
    published as published_hours,
)
from elsinore.ledger.rows import State
from elsinore.timeline import HOUR
from tests.unit.ledger.ledgers import (
    START,
    WORKLOAD,
    at,
    failed,
    ingested,
    label,
    numbers,
    published,
    refreshed,
    row,
    state,
    table,
)


def until(hour: int) -> int:
    return START + hour * HOUR


def listing(*files: tuple[int, str, int, int]) -> pa.Table:
    names = ("hour", "name", "size", "modified")
    columns = zip(*[(label(hour), *rest) for hour, *rest in files], strict=True)
    return pa.table(dict(zip(names, map(list, columns), strict=True)))


def test_hours_between_the_first_and_now_are_missing_unless_a_run_ingested_them() -> None:
    found = state(ingested(3, "a"), ingested(6), ingested(4, "b"))
    assert numbers(missing(found, until(9))) == [5, 7, 8]
    assert numbers(missing(found, until(9), since=until(7))) == [7, 8]
    # Hour 6 was ingested, but no file was there.
    assert numbers(without_files(found, until(9))) == [5, 6, 7, 8]
    assert numbers(arrived(found)) == [3, 4]
    assert silent_hours(found, until(9)) == 4
    assert silent_hours(found, until(4)) == silent_hours(state(), until(4)) == 0
    assert numbers(missing(state(), until(9))) == []


def test_new_and_changed_files_are_late() -> None:
    found = state(
        ingested(0, "same", "newer", "longer", "gone"), ingested(1), ingested(2, "x"),
        ingested(2, "y"),
    )  # fmt: skip
    late_files = late(
        found,
        listing((0, "same", 10, 1), (0, "newer", 10, 2), (0, "longer", 11, 1), (1, "new", 1, 1),
                (2, "x", 10, 1), (2, "y", 10, 1), (5, "never ingested", 1, 1)),
    )  # fmt: skip
    assert [tuple(one.values()) for one in late_files.files.to_pylist()] == [
        (label(0), "longer", False), (label(0), "newer", False), (label(1), "new", True),
        (label(2), "x", True), (label(5), "never ingested", True),
    ]  # fmt: skip
    assert numbers(late_files.hours) == [0, 1, 2, 5]
    unlisted = state(row(State.INGESTED, 0, file_count=1))
    assert numbers(late(unlisted, listing((0, "a", 10, 1))).hours) == []
    # Landing zones are cleaned: files that are gone make no hour late.
    assert numbers(late(found, listing((0, "same", 10, 1))).hours) == []


def test_missing_inputs_are_the_hours_without_a_file_that_windows_reach() -> None:
    found = state(ingested(2, "a"), ingested(3), ingested(5, "b"))
    lists = missing_inputs(found, at(2, 3, 5, 6), 2).to_pylist()
    assert lists == [[], [label(3)], [label(3), label(4)], [label(4), label(6)]]
    assert missing_inputs(state(), at(2), 2).to_pylist() == [[]]


def test_hours_are_stale_if_their_windows_reach_events_that_changed_later() -> None:
    # Windows of two hours that end on the hour reach one hour back.
    done = [published(hour, 4) for hour in range(7, 20)]
    found = state(done, refreshed(10, 5))
    assert numbers(stale(found, 1)) == [10, 11]
    assert numbers(stale(found, 0)) == [10]
    assert numbers(stale(found, 3)) == [10, 11, 12, 13]
    # Versions decide, not the order of rows: this change was seen.
    assert numbers(stale(state(refreshed(10, 4), done, refreshed(12, 4)), 1)) == []
    # Recomputed from the change.
    assert numbers(stale(state(done, refreshed(10, 5), published(10, 5)), 1)) == [11]
    # A later change at an earlier hour still counts after a newer one next to it.
    assert numbers(stale(state(published(11, 6), refreshed(10, 7), refreshed(11, 5)), 1)) == [11]


def test_staged_results_are_overtaken_by_events_that_changed_meanwhile() -> None:
    staged = row(State.AGGREGATED, 5, events_version=3, workload_fingerprint="f")
    found = state(staged, refreshed(4, 4))
    assert numbers(stale(found, 1, of=State.AGGREGATED)) == [5]
    assert numbers(stale(found, 0, of=State.AGGREGATED)) == []


def test_hours_of_other_queries_are_known_by_their_fingerprint() -> None:
    found = state(published(1, 1), published(2, 1, workload_fingerprint="g"), refreshed(1, 2))
    assert numbers(published_hours(found, "g").hours) == [2]
    assert numbers(stale(found, 1, fingerprint="f")) == [1]
    assert numbers(stale(found, 1)) == [1, 2]


def test_other_workloads_are_ignored() -> None:
    other = published(1, 1) | {"workload": "others"}
    found = state(ingested(1, "a"), other, failed(2, workload="others"), published(3, 1))
    assert numbers(published_hours(found).hours) == [3]
    assert numbers(found.failed.last.hours) == []
    of_stream = state(ingested(1, "a"), other, workload="")
    assert numbers(of_stream.known) == [1]
    assert of_stream.began is None


def test_provisional_hours_wait_until_an_input_arrives() -> None:
    before = [ingested(1, "a"), published(3, 1, 2, 3), published(4, 1), published(5, 1, 3)]
    assert numbers(provisional(state(*before))) == [3, 5]
    assert numbers(waiting(state(*before))) == []
    assert numbers(waiting(state(*before, ingested(2)))) == []  # no file was there
    after = [*before, ingested(2, "b")]
    assert numbers(waiting(state(*after))) == [3]
    assert numbers(provisional(state(*after, published(3, 2)))) == [5]


def test_hours_whose_events_were_removed_are_lost_until_they_are_ingested_again() -> None:
    removed = [row(State.REMOVED, hour, events_version=5) for hour in (1, 2)]
    found = state([ingested(1, "a"), ingested(2, "b")], removed)
    assert numbers(lost(found, at(0, 1, 2, 3, 4), 1)) == [1, 2, 3]
    again = state([ingested(1, "a"), ingested(2, "b")], removed, ingested(2, "b"))
    assert numbers(lost(again, at(0, 1, 2, 3, 4), 1)) == [1, 2]
    # Published results stay: a removal makes no hour stale.
    assert numbers(stale(state(published(1, 1), removed), 0)) == []


def test_hours_whose_results_changed_after_they_were_recorded_are_unsettled() -> None:
    found = state([published(1, 1, results_version=4), published(2, 1, results_version=5)])
    assert numbers(unsettled(found, at(1, 2, 3), np.array([5, 5, 5]))) == [1]
    assert numbers(unsettled(found, at(), np.array([], np.int64))) == []


def test_results_that_were_staged_again_are_not_validated() -> None:
    staged = [row(State.AGGREGATED, hour, events_version=1) for hour in (1, 2, 3)]
    checked = [row(State.VALIDATED, hour, events_version=1) for hour in (1, 2)]
    assert numbers(not_validated(state(staged, checked, staged[:1]))) == [1, 3]
    assert numbers(not_validated(state([*staged[:1], *checked[:1]]))) == []  # in one commit


def test_an_hour_is_failed_until_it_gets_further() -> None:
    first = [published(1, 1), failed(1, "a", step="aggregate")]
    found = state(*first, failed(1, "b", step="validate"))
    assert numbers(found.failed.last.hours) == [1]
    assert found.failed.last.rows["reason"].to_pylist() == ["b"]
    assert found.failed.tries.tolist() == [2]
    # A run is past the step that failed; if it fails again, that is the third attempt.
    staged = [*first, failed(1, "b"), row(State.AGGREGATED, 1)]
    assert numbers(state(*staged).failed.last.hours) == []
    assert state(*staged, failed(1, "c")).failed.tries.tolist() == [3]
    done = [*staged, failed(1, "c"), published(1, 2)]
    assert numbers(state(*done).failed.last.hours) == []
    assert state(*done, failed(1, "d")).failed.tries.tolist() == [1]


def test_ingests_fail_for_all_workloads() -> None:
    refused = failed(2, "too many invalid records", workload="", step="ingest")
    found = state(ingested(1, "a"), refused)
    assert numbers(found.failed_ingests.last.hours) == [2]
    assert numbers(found.failed.last.hours) == []
    assert numbers(state(refused, ingested(2, "b")).failed_ingests.last.hours) == []


def test_unpublished_hours_are_those_that_the_workload_should_have() -> None:
    since, end = until(0), until(8)
    files = [ingested(hour, "a") for hour in (1, 2, 3, 5, 6, 9)]
    found = state(files, published(2, 1))
    # Hour 4 reaches the file of hour 3, hour 7 that of hour 6; hour 1 is before the first.
    assert numbers(unpublished(found, 0, end, since=since)) == [3, 5, 6]
    assert numbers(unpublished(found, 1, end, since=since)) == [3, 4, 5, 6, 7]
    assert numbers(unpublished(found, 0, end, since=until(6))) == [6]
    # Ingested again after the workload began, or worked on by it.
    later = state(files, published(2, 1), ingested(3, "b"), failed(1), row(State.AGGREGATED, 5))
    assert numbers(unpublished(later, 0, end, since=end)) == [1, 3, 5]
    # A new workload has no history to catch up with.
    assert numbers(unpublished(state(files), 0, end, since=since)) == []


def test_the_changes_of_every_version_of_events_are_recorded() -> None:
    assert recorded_events_version(state()) == -1
    removed = row(State.REMOVED, 1, events_version=7)
    assert recorded_events_version(state(refreshed(1, 3), removed, refreshed(2, 5))) == 7


def test_event_times_are_those_of_ingested_hours() -> None:
    found = state(
        ingested(1, "a", first_event=START + 5, last_event=START + 9), ingested(2, "b"),
        ingested(3, "c", first_event=START + 7, last_event=START + 8),
    )  # fmt: skip
    first, last = event_ranges(found, until(3))
    assert ((first - START).tolist(), (last - START).tolist()) == ([5], [9])


def test_a_state_of_a_later_release_is_refused() -> None:
    rows = table(ingested(1, "a"))
    strange = rows.set_column(rows.column_names.index("state"), "state", pa.array(["archived"]))
    with pytest.raises(DataError, match="states that this release does not know"):
        fold(strange, WORKLOAD)


def test_a_publication_has_the_origin_of_the_results_of_its_hour() -> None:
    own = {"plan_fingerprint": "p", "results_version": 5, "run": "r2"}
    found = state(published(1, 3), published(2, 3, 1), published(1, 4, 0, **own))
    one = publication_of(found, int(at(1)[0]))
    assert one is not None
    assert (one.hour, one.workload, one.workload_fingerprint) == (label(1), WORKLOAD, "f")
    assert (one.plan_fingerprint, one.events_version, one.results_version) == ("p", 4, 5)
    assert (one.run, one.rows, one.checked_rows) == ("r2", 4, 1)
    assert one.missing_inputs == (label(0),)
    assert list(publications(found)) == [label(1), label(2)]
    assert list(publications(found, at(2, 3))) == [label(2)]
    assert publication_of(found, int(at(3)[0])) is None


def test_hours_that_were_published_twice_are_recomputed() -> None:
    found = state(published(1, 3), [published(2, 3), published(3, 3)], published(2, 4))
    assert numbers(recomputed(found)) == [2]
    assert numbers(recomputed(state())) == []


def test_complete_hours_are_neither_provisional_nor_stale() -> None:
    found = state([published(1, 3), published(2, 3, 0), published(3, 3)], refreshed(3, 4))
    assert numbers(complete(found, 1)) == [1]
