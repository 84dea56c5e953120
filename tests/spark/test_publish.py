"""Publishing shows what was validated, whole, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from elsinore.errors import LostWorkerError, ValidationError
from elsinore.events import EventTable
from elsinore.lake import delta_log as commit_notes
from elsinore.lake.provenance import (
    PUBLICATIONS,
    PUBLISHED,
    STAGED,
    Publication,
    RestagedError,
    read_publications,
)
from elsinore.lake.publish import hour_contents, publish
from elsinore.lake.regions import Hours
from elsinore.lake.run_metrics import VALIDATE_STEP, note_metrics
from elsinore.lake.sample import SampleSize
from elsinore.lake.stored_events import StoredEvents
from elsinore.lake.tables import Lake
from elsinore.lake.validate import VALIDATIONS, validate
from elsinore.lake.views import connect
from elsinore.results.row import sorted_rows
from elsinore.settings import Settings
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import HOUR, Interval, hour_label, hours_of
from tests.spark.landing_zone import by_hand
from tests.spark.results_lake import QUERIES, answers, hours, put_events, stage, staged, workload
from tests.views_lake import expected, ordered, results_of

SIZE = SampleSize(windows=12, steps=100_000, seed=0)


@pytest.fixture
def lake(flights: tuple[Lake, EventTable]) -> Lake:
    return flights[0]


def aggregated(lake: Lake, interval: Interval) -> None:
    """As the job does it, of the events that the lake has now."""
    queries = workload(lake, QUERIES)
    stored, _ = StoredEvents.of(lake.path("events"), queries).last()
    stage(lake, queries, answers(queries, stored, interval), interval)


def validated(lake: Lake, interval: Interval) -> None:
    asked = workload(lake, QUERIES)
    validation = validate(lake, asked, interval, SIZE, run="test")
    note_metrics(lake, asked, interval, VALIDATE_STEP, validation.figures())


def prepared(lake: Lake, interval: Interval) -> None:
    aggregated(lake, interval)
    validated(lake, interval)


def published(lake: Lake, interval: Interval) -> int:
    done = publish(lake, workload(lake, QUERIES), interval, run="run 7", name="three")
    return int(done["rows"])


def of(lake: Lake, interval: Interval) -> dict[str, Publication]:
    """The publications of an interval, by hour, in order."""
    labels = [hour_label(hour) for hour in hours_of(interval)]
    return dict(sorted(read_publications(lake.root, labels).items()))


def digest_of_hour(lake: Lake, hour: Interval) -> str:
    """What the published rows of an hour say now."""
    (found,) = hour_contents(lake, PUBLISHED, Hours(hour)).values()
    return found.digest


def test_validated_results_are_published_in_one_commit_and_again_the_same(lake: Lake) -> None:
    interval = hours("15", "17")
    prepared(lake, interval)
    before = lake.version(PUBLISHED)
    assert published(lake, interval) == len(staged(lake, interval)) > 0
    assert lake.version(PUBLISHED) == before + 1
    first = staged(lake, interval, PUBLISHED)
    assert first == staged(lake, interval)
    published(lake, interval)
    assert staged(lake, interval, PUBLISHED) == first
    (newest,) = deltalake.DeltaTable(str(lake.path(PUBLISHED))).history(1)
    assert json.loads(newest["userMetadata"]) == {
        "run": "run 7",
        "changed": ["2013-02-08T15", "2013-02-08T16"],
        "workload": workload_fingerprint(workload(lake, QUERIES)),
        "plans": ["p"],
        "digests": {label: found.digest for label, found in of(lake, interval).items()},
    }


def test_hours_whose_rows_change_are_returned(lake: Lake, events: EventTable) -> None:
    """Also by a second try of the run that changed them, as Airflow has no event of the first."""
    interval, first = hours("18", "20"), hours("18", "19")
    prepared(lake, interval)

    def changed(run: str, of: Interval = interval) -> list[str]:
        done = publish(lake, workload(lake, QUERIES), of, run=run, name="three")
        assert done["version"] == lake.version(PUBLISHED)
        return list(done["changed_hours"])

    both = ["2013-02-08T18", "2013-02-08T19"]
    assert changed("first") == both
    assert changed("first") == both
    assert changed("second") == []
    assert changed("second") == []
    put_events(lake, events.between(0, first.start - 12 * HOUR), mode="overwrite")
    try:
        prepared(lake, first)
    finally:
        put_events(lake, events, mode="overwrite")
    assert changed("third", first) == both[:1]
    assert changed("third", first) == both[:1]
    assert changed("fourth", first) == []


def test_views_show_what_was_published(lake: Lake, tmp_path: Path) -> None:
    interval, asked = hours("15", "17"), workload(lake, QUERIES)
    prepared(lake, interval)
    published(lake, interval)
    file = tmp_path / "three.sase"
    file.write_text(QUERIES)
    views = connect(Settings(home=Path(str(lake.root)).parent, workload_file=file))
    stored, _ = StoredEvents.of(lake.path("events"), asked).last()
    results = results_of(asked, sorted_rows(answers(asked, stored, interval)))
    of_hours = "window_end > '2013-02-08T15:00Z' AND window_end <= '2013-02-08T17:00Z'"
    for query in asked.queries:
        found = views.sql(f"SELECT * FROM {query.name} WHERE {of_hours}").fetchall()
        assert ordered(found) == expected(query, results[query.name]) != []


def test_publications_say_where_each_hour_comes_from(lake: Lake) -> None:
    interval, queries = hours("15", "17"), workload(lake, QUERIES)
    prepared(lake, interval)
    # A place that the reference finds empty, too, is checked and is no row.
    made = lake.rows(VALIDATIONS, pc.field("has_result") & (pc.field("status") == "checked"))
    empty_place = made.slice(0, 1).to_pylist()[0] | {"group_key": "{}", "has_result": False}
    row = pa.Table.from_pylist([empty_place], schema=made.schema)
    deltalake.write_deltalake(str(lake.path(VALIDATIONS)), row, mode="append")
    published(lake, interval)
    found = of(lake, interval)
    assert list(found) == ["2013-02-08T15", "2013-02-08T16"]
    key = ("query", "group_key", "window_start", "aggregate")
    rows_there = lake.rows(PUBLISHED, Hours(interval).expression(by_day=True)).to_pylist()
    places = {tuple(row[name] for name in key) for row in rows_there}
    checks = Counter(
        row["window_end_hour"]
        for row in lake.rows(VALIDATIONS).to_pylist()
        if row["status"] == "checked" and tuple(row[name] for name in key) in places
    )
    for label, hour in zip(found, (hours("15", "16"), hours("16", "17")), strict=True):
        rows = staged(lake, hour, PUBLISHED)
        publication = found[label]
        assert (publication.rows, publication.run) == (len(rows), "run 7")
        assert publication.rows >= publication.validated == checks[label] > 0
        assert publication.workload_fingerprint == workload_fingerprint(queries)
        assert (publication.plan_fingerprint, publication.workload) == ("p", "three")
        assert publication.events_version == lake.version("events")
        assert publication.digest == digest_of_hour(lake, hour)
        assert publication.settled
    # An hour that is published without any result says so.
    nothing = Interval.parse("2013-05-01T00:00", "2013-05-01T01:00")
    prepared(lake, nothing)
    published(lake, nothing)
    (empty,) = of(lake, nothing).values()
    assert (empty.rows, empty.validated, empty.settled) == (0, 0, True)


def test_what_a_crash_between_the_two_commits_leaves_is_told_and_mended(
    lake: Lake, events: EventTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    interval = hours("09", "11")
    prepared(lake, interval)
    published(lake, interval)
    before = of(lake, interval)
    put_events(lake, events.between(0, interval.start), mode="overwrite")
    try:
        prepared(lake, interval)
    finally:
        put_events(lake, events, mode="overwrite")

    def killed(self: Lake, table: str, *arguments: Any, **named: Any) -> None:
        assert table == PUBLICATIONS
        raise LostWorkerError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Lake, "record", killed)
        with pytest.raises(LostWorkerError):
            published(lake, interval)
    between = of(lake, interval)
    assert [hour.settled for hour in between.values()] == [False, False]
    assert [hour.digest for hour in between.values()] == [hour.digest for hour in before.values()]
    published(lake, interval)
    after = of(lake, interval)
    assert all(hour.settled for hour in after.values())
    assert all(after[label].rows < before[label].rows for label in before)


def test_results_that_are_gone_vanish_and_other_hours_stay(lake: Lake, events: EventTable) -> None:
    interval, first, second = hours("18", "20"), hours("18", "19"), hours("19", "20")
    prepared(lake, interval)
    assert published(lake, interval) > 0
    beside = staged(lake, second, PUBLISHED)
    assert 0 < len(beside) < len(staged(lake, interval, PUBLISHED))
    put_events(lake, events.between(0, first.start - 12 * HOUR), mode="overwrite")
    try:
        prepared(lake, first)
    finally:
        put_events(lake, events, mode="overwrite")
    assert published(lake, first) == 0
    assert staged(lake, first, PUBLISHED) == []
    assert staged(lake, second, PUBLISHED) == beside


def test_only_what_was_validated_is_published(spark: SparkSession, lake: Lake) -> None:
    interval = hours("12", "14")
    aggregated(lake, interval)
    with pytest.raises(ValidationError, match="not validated"):
        published(lake, interval)
    validated(lake, interval)
    # What only rearranges rows is no change.
    by_hand(spark, lake, "OPTIMIZE {}", STAGED)
    by_hand(
        spark,
        lake,
        "UPDATE {} SET value = value + 1 WHERE window_end_hour = '2013-02-08T13'",
        STAGED,
    )
    with pytest.raises(ValidationError, match=r"UPDATE \(version \d+\) changed the staged results"):
        published(lake, interval)
    # A change that nobody vouches for is not undone by an aggregation of some other hour.
    aggregated(lake, hours("13", "14"))
    with pytest.raises(ValidationError, match=r"UPDATE \(version \d+\) changed the staged results"):
        published(lake, interval)
    assert staged(lake, interval, PUBLISHED) == []
    prepared(lake, interval)
    assert published(lake, interval) > 0


def test_what_another_run_has_aggregated_meanwhile_is_validated_again(lake: Lake) -> None:
    interval = hours("02", "04")
    prepared(lake, interval)
    # Hours beside these do not matter.
    aggregated(lake, hours("04", "05"))
    before = published(lake, interval)
    validated(lake, interval)
    aggregated(lake, hours("03", "04"))
    with pytest.raises(RestagedError, match="recomputed after their validation") as caught:
        published(lake, interval)
    assert caught.value.transient
    validated(lake, interval)
    assert published(lake, interval) == before


def test_a_publication_that_was_overtaken_before_it_was_recorded_is_told(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, both = hours("00", "01"), hours("00", "02")
    for interval in (first, both):
        aggregated(lake, interval)
    validated(lake, first)
    validated(lake, both)
    record = Lake.record
    overtaken: list[str] = []

    def slow(self: Lake, table: str, rows: list[dict[str, Any]], **named: Any) -> None:
        if not overtaken:
            overtaken.append(table)
            published(lake, both)
            # As if the rows of the other had been of another version of the events.
            rows = [row | {"digest": "of other rows"} for row in rows]
        record(self, table, rows, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Lake, "record", slow)
        published(lake, first)
    assert [hour.settled for hour in of(lake, both).values()] == [False, True]
    published(lake, both)
    assert [hour.settled for hour in of(lake, both).values()] == [True, True]


def test_versions_that_are_wholly_on_record_are_not_read_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    interval = hours("20", "21")
    prepared(lake, interval)
    published(lake, interval)
    newest = lake.version(PUBLISHED)
    read: list[int] = []

    def found(path: Path, version: int) -> commit_notes.Commit:
        read.append(version)
        return one_commit(path, version)

    one_commit = commit_notes._read
    monkeypatch.setattr(commit_notes, "_read", found)
    assert of(lake, interval)["2013-02-08T20"].settled
    assert newest not in read
