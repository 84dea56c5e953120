"""Published rows, worked out again from the raw files: without a lake, and by the reference."""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow.compute as pc
import pytest

from elsinore.events import EventTable
from elsinore.files.read_events import read_events
from elsinore.publish.tables import RESULTS
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.reference.two_step import two_step
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from elsinore.timeline import Interval
from tests.e2e.__main__ import compared
from tests.e2e.conftest import CleanRun
from tests.e2e.support import END, START
from tests.results_lake import as_staged, computed, staged

pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.slow]

#: One result: its aggregates by name.
Result = list[dict[str, Any]]


@pytest.fixture(scope="module")
def published(clean: CleanRun) -> tuple[Workload, EventTable, Result]:
    """The queries, the events of the raw files, and all that is published."""
    settings = Settings(home=clean[0].path / "var")
    lake = Lake.open(settings)
    events, _ = read_events([settings.landing], lake.stream, max_error_rate=0.05)
    workload = load_workload(settings.workload_file, lake.stream)
    return workload, events, staged(lake, Interval.parse(START, END), RESULTS)


def test_published_rows_are_those_that_the_raw_files_give(published: Any) -> None:
    """None is missing, and none is there that should not be."""
    workload, events, rows = published
    assert rows
    assert rows == computed(workload, events, Interval.parse(START, END))


def test_published_values_are_those_of_run(clean: CleanRun) -> None:
    """As `python -m tests.e2e` compares the values of a year."""
    number, different = compared(Settings(home=clean[0].path / "var"), Interval.parse(START, END))
    assert number > 0
    assert different == []


def test_the_reference_finds_the_published_rows_in_the_raw_files(published: Any) -> None:
    """The smallest, the middle and a larger result of each query."""
    workload, events, rows = published
    place = itemgetter("query", "group_key", "window_start")
    results = sorted((list(found) for _, found in groupby(rows, place)), key=size)
    for query in workload.queries:
        own = [result for result in results if result[0]["query"] == query.name]
        for chosen in (own[at] for at in {0, len(own) // 2, len(own) * 3 // 4} if own):
            _, group, start = place(chosen[0])
            near = of_group(events, json.loads(group))
            window = start // query.window.slide
            rows_of_window = two_step(query, near, windows=[window], budget=200_000_000)
            found = as_staged(workload, rows_of_window)
            assert [row for row in found if row["group_key"] == group] == chosen


def size(result: Result) -> float:
    return max(row["log2"] or 0.0 for row in result)


def of_group(events: EventTable, group: dict[str, Any]) -> EventTable:
    """The events that a group can have: all others would be too many for the reference."""
    table = events.table
    for name, value in group.items():
        table = table.filter(pc.or_kleene(pc.is_null(table[name]), pc.equal(table[name], value)))
    return EventTable(events.schema, table)
