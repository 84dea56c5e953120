"""What a report tells beside the figures of its own run: coverage, fields, days, publishing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import StreamSchema
from elsinore.files.rejection import OF_FILES
from elsinore.lake.provenance import Publication, read_publications
from elsinore.lake.regions import Hours, Landings
from elsinore.quality.day_figures import DayFigures, read_day_figures
from elsinore.quality.lake import read_batches, read_rows
from elsinore.timeline import Interval, hour_label, hours_of

_PLACE = ["query", "group_key", "window_start"]
#: Columns of `validations` that coverage is told from.
COVERAGE_COLUMNS = [*_PLACE, "status", "method", "published_exact", "published_value"]
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class PageData:
    """The rest of a page.

    Attributes:
        coverage: of each query, how much was checked and what that can find.
        landed: what the events hold that landed.
        unusable: the files of which nothing landed.
        days: figures of the days up to this one, oldest first.
        publishing: what of the hours is published.
        runs: those behind the hours; None on the page of a single run.
    """

    coverage: tuple[QueryCoverage, ...]
    landed: LandedEvents
    unusable: tuple[UnusableFile, ...]
    days: tuple[DayFigures, ...]
    publishing: Publishing
    runs: tuple[RunLine, ...] | None

    @property
    def results(self) -> int:
        """Staged results."""
        return sum(one.results for one in self.coverage)

    @property
    def checked(self) -> int:
        """Those of them that the reference has answered too."""
        return sum(one.checked for one in self.coverage)


def read_page_data(
    lake: Path,
    interval: Interval,
    stream: StreamSchema | None,
    *,
    staged: Mapping[str, int],
    pages: Path | None,
) -> PageData:
    """Read it for the hours of an interval.

    Args:
        lake: folder of the Delta tables.
        interval: whole hours.
        stream: the stream's schema; None: fields are not looked at.
        staged: how many staged results each query has.
        pages: folder of the runs' reports; None where the page is of a single run.

    Raises:
        DataError: a table is missing or cannot be read.
    """
    owned = Hours(interval).expression(by_day=False)
    checks = read_rows(lake, "validations", columns=COVERAGE_COLUMNS, where=owned)
    return PageData(
        coverage=tuple(coverage(staged, checks.to_pandas())),
        landed=read_landed_events(lake, interval, stream),
        unusable=read_unusable_files(lake, interval),
        days=read_day_figures(lake, interval),
        publishing=read_publishing(lake, interval),
        runs=None if pages is None else read_runs(lake, interval, pages),
    )


@dataclass(frozen=True, slots=True)
class QueryCoverage:
    """One query's checks against the reference.

    Attributes:
        query: its name.
        results: staged results, one for each group and window.
        checked: those of them that the reference has answered too.
        counted: those of the checked whose trends were counted, being too many to build.
        skipped: those that were drawn and could not be answered.
        finds_one: chance that a single wrong result, wherever it is, is among the checked.
        finds_percent: the same where one result in a hundred is wrong.
    """

    query: str
    results: int
    checked: int
    counted: int
    skipped: int
    finds_one: float
    finds_percent: float


def coverage(staged: Mapping[str, int], validations: pd.DataFrame) -> Iterator[QueryCoverage]:
    """The coverage of each query, by name.

    Args:
        staged: by query, how many results are staged.
        validations: `COVERAGE_COLUMNS` of the checks.
    """
    there = validations["published_exact"].notna() | validations["published_value"].notna()
    drawn = validations[there].drop_duplicates([*_PLACE, "status", "method"])
    for name in sorted({*staged, *drawn["query"]}):
        of_query = drawn[drawn["query"] == name]
        number = staged.get(name, 0)
        checked = int((of_query["status"] == "checked").sum())
        yield QueryCoverage(
            query=name,
            results=number,
            checked=checked,
            counted=int((of_query["method"] == "counted").sum()),
            skipped=int((of_query["status"] == "skipped").sum()),
            finds_one=power(number, checked, 1),
            finds_percent=power(number, checked, ceil(number / 100)),
        )


def power(results: int, checked: int, wrong: int) -> float:
    """The chance that a random sample of `checked` among `results` holds one of `wrong` ones.

    Hypergeometric: one less the chance that all wrong results are among those left out.

    >>> power(100, 25, 1), power(10, 5, 2), power(10, 10, 1), power(0, 0, 0)
    (0.25, 0.7777777777777778, 1.0, 0.0)
    """
    missed = 1.0
    for drawn in range(min(wrong, results)):
        missed *= max(results - checked - drawn, 0) / (results - drawn)
    return 1.0 - missed


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run that validated results of these hours, by what it reported.

    Attributes:
        key: its first hour and its end hour.
        outcome: of its validation, in words.
        results, checked, mismatches: staged results, those that were checked, values that differ.
        strata, strata_covered: classes of results by query and size, and those with a check.
        page: its report beside this page, if there is one.
    """

    key: str
    outcome: str
    results: int
    checked: int
    mismatches: int
    strata: int
    strata_covered: int
    page: str | None


@dataclass(frozen=True, slots=True)
class Publishing:
    """What of some hours is published.

    Attributes:
        hours: how many there are.
        missing: labels of those that are not published.
        unsettled: labels of those whose run ended between two commits.
        last: when the last of them was published; None where none was.
        workloads: names of the workloads they were published for.
        runs: the runs that published them.
    """

    hours: int
    missing: tuple[str, ...]
    unsettled: tuple[str, ...]
    last: datetime | None
    workloads: tuple[str, ...]
    runs: tuple[str, ...]


def read_publishing(lake: Path, interval: Interval) -> Publishing:
    """What is published of an interval's hours.

    Raises:
        DataError: a table is missing or damaged.
    """
    labels = [hour_label(hour) for hour in hours_of(interval)]
    found: dict[str, Publication] = read_publications(lake, labels)
    return Publishing(
        hours=len(labels),
        missing=tuple(label for label in labels if label not in found),
        unsettled=tuple(sorted(label for label, one in found.items() if not one.settled)),
        last=max((one.published_at for one in found.values()), default=None),
        workloads=tuple(sorted({one.workload for one in found.values()})),
        runs=tuple(sorted({one.run for one in found.values()})),
    )


def read_runs(lake: Path, interval: Interval, pages: Path) -> tuple[RunLine, ...]:
    """The runs that lie within an interval, by their hours.

    Args:
        lake: folder of the Delta tables.
        interval: whole hours.
        pages: folder of the reports, to see which runs have one.

    Raises:
        DataError: the table of metrics is missing or cannot be read.
    """
    start, end = hour_label(interval.start), hour_label(interval.end)
    key = pc.field("run_key")
    rows = read_rows(lake, "run_metrics", where=(key >= start) & (key < end), step=["validate"])
    runs: dict[str, dict[str, float | str]] = defaultdict(dict)
    for row in rows.to_pylist():
        first, last = row["run_key"].split("_")
        if start <= first and last <= end:
            told = row["detail"] if row["value"] is None else row["value"]
            runs[row["run_key"]][row["metric"]] = told
    return tuple(_line(key, figures, pages) for key, figures in sorted(runs.items()))


def _line(key: str, figures: dict[str, float | str], pages: Path) -> RunLine:
    def number(metric: str) -> int:
        return int(float(figures.get(metric, 0)))

    name = f"{key}.html"
    return RunLine(
        key=key,
        outcome=str(figures.get("outcome", "unknown")),
        results=number("results"),
        checked=number("results_of_sample"),
        mismatches=number("mismatches"),
        strata=number("strata"),
        strata_covered=number("strata_covered"),
        page=name if (pages / name).is_file() else None,
    )


@dataclass(frozen=True, slots=True)
class UnusableFile:
    """A file that went to quarantine whole: its path below the landing zone, and what it is."""

    file: str
    reason: str


def read_unusable_files(lake: Path, interval: Interval) -> tuple[UnusableFile, ...]:
    """Those of the landings of an interval, by path.

    Raises:
        DataError: the table cannot be read.
    """
    columns = ["file", "position", "reason"]
    landed = Landings(interval).expression(by_day=True)
    found = read_rows(lake, "quarantine", columns=columns, where=landed, reason_code=OF_FILES)
    whole = found.filter(pc.field("position") == 0).sort_by("file")
    return tuple(
        UnusableFile(row["file"], row["reason"].removeprefix(f"{row['file']} "))
        for row in whole.to_pylist()
    )


@dataclass(frozen=True, slots=True)
class FieldRange:
    """One attribute of one event type, over the events that landed.

    `least` and `most` are texts as people read them; None where every value is NULL.
    """

    event_type: str
    attribute: str
    events: int
    nulls: int
    least: str | None
    most: str | None


@dataclass(frozen=True, slots=True)
class Lateness:
    """Events that landed in a later hour than they happened in; `longest` is None where none is."""

    events: int
    longest: timedelta | None


@dataclass(frozen=True, slots=True)
class LandedEvents:
    """What landed: ranges by event type and attribute, and lateness."""

    fields: tuple[FieldRange, ...]
    late: Lateness


def read_landed_events(lake: Path, interval: Interval, stream: StreamSchema | None) -> LandedEvents:
    """Look through the events that came with the landings of an interval, part by part.

    Args:
        lake: folder of the Delta tables.
        interval: the hours of the landings.
        stream: says which type has which attributes; None: none are looked at.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    named = sorted(stream.attributes) if stream else []
    columns = ["event_type", "event_time", "landing", *named]
    landed = Landings(interval).expression(by_day=False)
    fields: dict[tuple[str, str], _Seen] = {}
    late, longest = 0, 0
    for events in read_batches(lake, "events", columns=columns, where=landed):
        for kind in stream.types if stream else ():
            rows = events.filter(pc.equal(events["event_type"], kind.name))
            for one in kind.attributes if len(rows) else ():
                fields.setdefault((kind.name, one.name), _Seen()).add(rows[one.name])
        number, most = _lateness(events)
        late, longest = late + number, max(longest, most)
    order = (
        [(kind.name, one.name) for kind in stream.types for one in kind.attributes]
        if stream
        else []
    )
    return LandedEvents(
        tuple(fields[place].told(*place) for place in order if place in fields),
        Lateness(late, timedelta(microseconds=longest) if late else None),
    )


@dataclass(slots=True)
class _Seen:
    """What was seen of a field so far."""

    events: int = 0
    nulls: int = 0
    extremes: tuple[Any, Any] | None = None

    def add(self, values: pa.Array) -> None:
        self.events += len(values)
        self.nulls += values.null_count
        found = pc.min_max(values).as_py()
        if found["min"] is not None:
            low, high = self.extremes or (found["min"], found["max"])
            self.extremes = min(low, found["min"]), max(high, found["max"])

    def told(self, kind: str, name: str) -> FieldRange:
        low, high = self.extremes or (None, None)
        return FieldRange(kind, name, self.events, self.nulls, _text(low), _text(high))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _lateness(events: pa.RecordBatch) -> tuple[int, int]:
    """How many came late, and by how many microseconds at most."""
    landed = pc.strptime(events["landing"], format="%Y-%m-%dT%H", unit="us").cast(pa.int64())
    by = pc.subtract(landed, events["event_time"].cast(pa.int64()))
    late = pc.greater(by, 0)
    return pc.sum(late).as_py() or 0, max(pc.max(by).as_py() or 0, 0)
