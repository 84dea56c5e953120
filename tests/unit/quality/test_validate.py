"""Validation finds what is wrong, missing or too much, and says what it did not look at."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from elsinore.quality.sample import EVERY_GROUP, Place, SampleSize, choose, read_results
from elsinore.quality.validate import VALIDATIONS, Validation, differ, require_no_mismatch, validate
from elsinore.settings import Settings
from elsinore.store.regions import Hours
from elsinore.store.tables import Lake
from elsinore.timeline import EPOCH, Interval, parse_hour
from tests.results_lake import (
    QUERIES,
    answers,
    flights_lake,
    hours,
    latest_staged,
    stage,
    stage_rows,
    staged,
    staged_rows,
    workload,
)

EVERYTHING = SampleSize(windows=10_000, steps=100_000, seed=0)
RUN = hours("15", "18")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with right results in the hours of RUN."""
    lake, events = flights_lake(Settings(home=tmp_path_factory.mktemp("home")))
    queries = workload(lake, QUERIES)
    stage(lake, queries, answers(queries, events, RUN), RUN)
    return lake


@pytest.fixture
def spoilt(lake: Lake) -> Iterator[Lake]:
    """The lake for a test that spoils its results."""
    right = staged_rows(lake, RUN)
    yield lake
    stage_rows(lake, right, RUN)


def check(lake: Lake, size: SampleSize = EVERYTHING, interval: Interval = RUN) -> Validation:
    queries = workload(lake, QUERIES)
    return validate(lake, queries, interval, size, latest_staged(lake, queries), run="test")


def at(row: dict) -> tuple[str, int]:
    return row["group_key"], (row["window_start"] - EPOCH) // timedelta(microseconds=1)


def spoil(lake: Lake, change: Callable[[dict], dict | None]) -> None:
    """Change each staged row; None takes it away."""
    changed = [change(row) for row in staged_rows(lake, RUN)]
    stage_rows(lake, [row for row in changed if row is not None], RUN)


def test_right_results_are_validated_every_one(lake: Lake) -> None:
    validation = check(lake)
    figures = validation.figures()
    assert figures["outcome"] == "validated"
    assert figures["mismatches"] == figures["skipped_places"] == 0
    assert figures["queries_checked"] == 3
    assert figures["results_of_sample"] == figures["results"]
    assert figures["strata_covered"] == figures["strata"]
    assert {query for query, _ in validation.strata} == {"chains", "chances", "storms"}
    assert validation.covered == validation.strata
    checked = {
        (item.query, item.group_key, item.window.start, item.aggregate)
        for item in validation.compared
    }
    results = {
        (row["query"], row["group_key"], row["window_start"], row["aggregate"])
        for row in staged(lake, RUN)
    }
    assert results
    assert results <= checked
    # Groups without a result were looked at too.
    assert any(item.published == item.reference == (None, None) for item in validation.compared)
    require_no_mismatch(validation)
    written = lake.rows(VALIDATIONS, Hours(RUN).expression(by_day=False)).to_pylist()
    right = [row for row in written if row["status"] == "checked" and not row["mismatch"]]
    assert len(right) == len(validation.compared)


def test_a_single_missing_result_is_found_by_the_others_of_its_window(spoilt: Lake) -> None:
    # Beside them one window without results is drawn, and one group of an event.
    few = SampleSize(windows=3, steps=100_000, seed=0)
    before = check(spoilt, few)
    # One result of each query is drawn; that of `storms`, which has no groups, has no others.
    assert before.figures()["searched_windows"] == 2 + 1
    (drawn, *_) = (i for i in before.compared if i.query == "chains" and not i.whole)
    others = [
        row
        for row in staged(spoilt, RUN)
        if (row["query"], row["window_start"]) == ("chains", drawn.window.start)
        and row["group_key"] != drawn.group_key
    ]
    missing = [row for row in others if row["group_key"] == others[0]["group_key"]]
    assert len({row["group_key"] for row in others}) > 1
    gone = {(row["group_key"], row["window_start"]) for row in missing}
    spoil(spoilt, lambda row: None if row["query"] == "chains" and at(row) in gone else row)
    found = check(spoilt, few).mismatches
    assert {(i.query, i.group_key, i.window.start, i.reason) for i in found} == {
        ("chains", others[0]["group_key"], drawn.window.start, "the result is missing")
    }
    assert {i.aggregate: i.reference[0] for i in found} == {
        row["aggregate"]: row["exact"] for row in missing
    }
    assert all(i.published == (None, None) for i in found)
    count = next(row["exact"] for row in missing if row["aggregate"] == "COUNT(*)")
    assert any(f"COUNT(*): nothing instead of {count}" in str(i) for i in found)


def test_a_window_of_too_many_groups_is_not_searched_and_that_is_said(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elsinore.quality.sample.MAX_GROUPS", 1)
    validation = check(lake, SampleSize(windows=3, steps=100_000, seed=0))
    figures = validation.figures()
    skipped = [item for item in validation.compared if item.whole and not item.checked]
    assert figures["skipped_windows"] == len(skipped) > 0
    assert all("groups" in str(item.reason) for item in skipped)
    assert figures["skipped_places"] == 0


def test_what_the_budget_does_not_allow_is_skipped_and_not_validated(lake: Lake) -> None:
    validation = check(lake, SampleSize(windows=50, steps=1, seed=0))
    figures = validation.figures()
    assert figures["outcome"] == "not validated"
    assert figures["checked_places"] == 0
    assert figures["skipped_places"] != 0
    assert figures["skipped_windows"] != 0
    assert figures["searched_windows"] == 0
    assert figures["results_beyond_enumeration"] != 0
    assert all(item.reason and not item.mismatch for item in validation.compared)


def test_a_run_without_events_is_not_validated(lake: Lake) -> None:
    nothing = Interval.parse("2013-05-01T00:00", "2013-05-01T02:00")
    stage(lake, workload(lake, QUERIES), [], nothing)
    validation = check(lake, interval=nothing)
    assert validation.compared == []
    assert validation.figures()["outcome"] == "not validated"
    require_no_mismatch(validation)


def test_the_sample_follows_from_the_seed_alone(lake: Lake) -> None:
    found_now = latest_staged(lake, workload(lake, QUERIES))
    results = read_results(lake, workload(lake, QUERIES), Hours(RUN), found_now.version, 100_000)

    shuffled: list[int] = []

    def chosen(seed: int) -> set[Place]:
        size = SampleSize(windows=12, steps=100_000, seed=seed)
        # In whatever order the rows lie.
        found = results.sample(frac=1, random_state=len(shuffled))
        shuffled.append(seed)
        checks = choose(lake, workload(lake, QUERIES), RUN, found, found_now, size)
        drawn = [check for check in checks if check.stratum is not None]
        assert len(drawn) == 12
        # Beside them places drawn from elsewhere, half as many at most; and the windows of all.
        windows = {c.place for c in checks if c.place.whole and c.groups}
        grouped = [c.place for c in drawn if c.place.query != "storms"]
        assert windows == {replace(place, group_key=EVERY_GROUP) for place in grouped}
        assert len(checks) - len(windows) <= 18
        return {check.place for check in checks}

    first = chosen(1)
    assert first == chosen(1)
    assert first != chosen(2)
    assert {place.query for place in first} == {"chains", "chances", "storms"}


def test_checked_rows_are_counted_by_hour(lake: Lake) -> None:
    checked = check(lake).checked_rows()
    rows = staged(lake, RUN)
    wanted = Counter(parse_hour(row["window_end_hour"]) for row in rows)
    assert checked == dict(wanted)


@pytest.mark.parametrize(
    ("published", "reference", "bounds", "different"),
    [
        (("9007199254740993", 2.0**53), ("9007199254740992", 2.0**53), None, True),
        (("7", 7.0), ("7", 7.0), None, False),
        ((None, 1.0), (None, 1.0), None, False),
        ((None, 1.0), (None, math.nextafter(1.0, 2.0)), None, True),
        ((None, 1e-16), (None, 0.0), (-1e-15, 1e-15), False),
        ((None, 1e-14), (None, 0.0), (-1e-15, 1e-15), True),
        ((None, math.nan), (None, math.nan), None, False),
        ((None, math.nan), (None, 1.0), (0.9, 1.1), True),
        ((None, math.inf), (None, math.inf), None, False),
        ((None, math.inf), (None, -math.inf), None, True),
        ((None, 1.7e308), (None, math.inf), (math.inf, math.inf), True),
        ((None, 1.7e308), (None, math.inf), (1.6e308, math.inf), False),
        ((None, None), (None, None), None, False),
        ((None, None), (None, 0.0), (-1.0, 1.0), True),
        ((None, 7.0), ("7", 7.0), None, True),
    ],
)
def test_integers_differ_in_any_digit_and_doubles_beyond_rounding(
    published: tuple[str | None, float | None],
    reference: tuple[str | None, float | None],
    bounds: tuple[float, float] | None,
    different: bool,
) -> None:
    assert differ(published, reference, bounds) is different
