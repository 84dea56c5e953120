"""Which route an aggregation takes, and how a slice is cut into parts that tasks read."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import Mock

import pytest

from elsinore.lake.event_files import EventFile
from elsinore.query.bind_query import bind_workload
from elsinore.query.parse import parse_workload
from elsinore.results.task_rows import add_up
from elsinore.spark.aggregate_route import MOST_READ, busiest, choose_routes, cut_into_parts
from elsinore.timeline import HOUR, Interval
from elsinore.windows import Window
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({"A": {"k": "long", "x": "long"}}, "us")


def hourly(hours: int, size: int = 100) -> list[EventFile]:
    """A file of 60 instants for each hour, from hour 0."""
    return [EventFile(f"{n}", size, 60 * n, 60 * n + 59) for n in range(hours)]


@pytest.mark.parametrize("most", [1, 2, 3, 7])
@pytest.mark.parametrize("reach", [1, 60, 150])
def test_parts_follow_each_other_and_have_the_files_that_they_reach(most: int, reach: int) -> None:
    owned, files = Interval(240, 600), hourly(10)
    parts = cut_into_parts(files, owned, {Window(reach, 1)}, most=most, cores=100)
    assert (parts[0].owned.start, parts[-1].owned.end) == (owned.start, owned.end)
    assert all(one.owned.end == other.owned.start for one, other in pairwise(parts))
    assert len(parts) <= most
    for part in parts:
        # A window that ends right after `start` begins `reach - 1` before it.
        assert part.reached == Interval(part.owned.start - reach + 1, part.owned.end)
        hours = range(part.reached.start // 60, (part.reached.end - 1) // 60 + 1)
        assert [file.path for file in part.files] == [str(n) for n in hours]


def test_parts_read_nothing_twice_where_windows_begin_with_them() -> None:
    parts = cut_into_parts(hourly(10), Interval(60, 600), {Window(60, 60)}, most=9, cores=9)
    assert len(parts) == 9
    assert all(part.reached == part.owned for part in parts)


def test_short_windows_are_cut_into_as_many_parts_as_cores() -> None:
    parts = cut_into_parts(hourly(10), Interval(60, 600), {Window(1, 1)}, most=9, cores=3)
    assert [part.owned for part in parts] == [
        Interval(60, 240), Interval(240, 420), Interval(420, 600)
    ]  # fmt: skip
    assert busiest(parts, 3) == 300


def test_no_core_is_left_with_a_part_more_than_the_others() -> None:
    files = [EventFile(f"{n}", 100 + n % 3, 60 * n, 60 * n + 59) for n in range(24)]
    two, three = (
        cut_into_parts(files, Interval(0, 1440), {Window(10, 10)}, most=cores, cores=cores)
        for cores in (2, 3)
    )
    assert (len(two), len(three)) == (2, 3)
    assert busiest(three, 2) == three[0].size + three[2].size > busiest(two, 2)
    assert len(cut_into_parts(files, Interval(0, 1440), {Window(10, 10)}, most=4, cores=2)) == 2


def test_borders_are_where_the_bytes_are() -> None:
    """Three of four bytes lie in the last hour."""
    files = [*hourly(3), EventFile("full", 900, 180, 239)]
    parts = cut_into_parts(files, Interval(0, 240), {Window(1, 1)}, most=4, cores=4)
    assert [part.owned.start for part in parts] == [0, 180, 200, 220]


def test_a_large_file_is_read_by_several_tasks_a_row_group_more_each() -> None:
    file = EventFile("large", 10**9, 0, 3599)
    parts = cut_into_parts([file], Interval(0, 3600), {Window(60, 60)}, most=4, cores=4)
    assert [part.size for part in parts] == [2.5e8 + 6.25e6] * 4


def test_long_windows_are_cut_little() -> None:
    """One window of a day for each of two hours: each part would read the day."""
    files = hourly(26)
    alone = cut_into_parts(files, Interval(1440, 1560), {Window(1440, 1)}, most=8, cores=1)
    assert len(alone) == 1
    two = cut_into_parts(files, Interval(1440, 1560), {Window(1440, 1)}, most=8, cores=2)
    assert [len(part.files) for part in two] == [25, 25]  # against 26 in one part
    # Each part holds the day in memory: there are not more than some.
    files = hourly(26, 10**9)
    many = cut_into_parts(files, Interval(1440, 1560), {Window(1440, 1)}, most=64, cores=64)
    assert len(many) == MOST_READ


def test_a_slice_without_files_has_parts_all_the_same() -> None:
    parts = cut_into_parts([], Interval(0, 100), {Window(10, 1)}, most=4, cores=4)
    assert [part.owned for part in parts] == [Interval(0, 100)]


QUERIES = """
QUERY pairs RETURN COUNT(*) PATTERN A+ WHERE [k] AND A.x < NEXT(A).x WITHIN 1 day;
QUERY both RETURN COUNT(*) PATTERN SEQ(A a, A b) WHERE [k, x] WITHIN 1 day;
QUERY other RETURN COUNT(*) PATTERN SEQ(A a, A b) WHERE [x] WITHIN 1 day;
QUERY none RETURN COUNT(*) PATTERN SEQ(A a, A b) WITHIN 1 day;
QUERY short RETURN COUNT(*) PATTERN SEQ(A a, A b) WITHIN 1 minute;
"""


@pytest.mark.parametrize(
    ("names", "cores", "found"),
    [
        # One window of a day ends in the day: time keeps one core busy.
        ("pairs both", 2, {"pairs both": "2 parts, split by key, their rows merged"}),
        ("none", 2, {"none": "1 part"}),
        ("none", 16, {"none": "1 part"}),
        ("short", 4, {"short": "4 parts"}),
        # Without a common key they go apart, if that is worth a job for each.
        (
            "pairs other",
            2,
            {
                "pairs": "2 parts, split by key, their rows merged",
                "other": "2 parts, split by key, their rows merged",
            },
        ),
        ("pairs other none", 2, {"pairs other none": "1 part"}),
    ],
)
def test_keys_are_cut_by_where_time_keeps_too_few_cores_busy(
    monkeypatch: pytest.MonkeyPatch, names: str, cores: int, found: dict[str, str]
) -> None:
    day = Interval(0, 24 * HOUR)
    files = [EventFile(f"{n}", 10**9, n * HOUR, (n + 1) * HOUR - 1) for n in range(24)]
    workload = bind_workload(parse_workload(QUERIES), SCHEMA)
    asked = [workload.by_name[name] for name in names.split()]
    lake = Mock(cores=cores)

    def routes() -> dict[str, str]:
        routes = choose_routes(lake, asked, day, 0, parts=cores)
        start = "files read directly, in "
        return {
            " ".join(query.name for query in of): route.in_words().removeprefix(start)
            for of, route in routes
        }

    monkeypatch.setattr("elsinore.spark.aggregate_route.files_of", lambda *_: files)
    assert routes() == found
    monkeypatch.setattr("elsinore.spark.aggregate_route.MANY_BYTES", 10**12)
    assert list(routes()) == [names], "of few events all run together"


def test_counts_of_tasks_are_added_and_sizes_compared() -> None:
    found = add_up([{"bursts": 2, "bytes": 10}, {"bursts": 3, "bytes": 7}, {}])
    assert found == {"bursts": 5, "bytes": 10}
