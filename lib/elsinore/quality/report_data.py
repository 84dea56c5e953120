"""Reads the content of a report from the ledger and the lake's tables into plain values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.acero import AggregateNodeOptions

from elsinore.catalog.stream import StreamSchema
from elsinore.files.rejection import OF_FILES, Reason
from elsinore.lake.sharing_metrics import RunTime, is_of_sharing, run_time_sharing
from elsinore.lake.stored_ties import stored_ties
from elsinore.ledger.days import Cell, calendar, completeness, day_labels
from elsinore.ledger.fold import Fold
from elsinore.ledger.results import (
    Publication,
    complete,
    provisional,
    publications,
    recomputed,
    stale,
)
from elsinore.ledger.rows import Longs, State
from elsinore.ledger.run_metrics import (
    COPIES,
    EMPTIED,
    INGEST_STEP,
    LOST,
    PROFILE_FINGERPRINT,
    PUBLISH_STEP,
    UNCHECKED,
    UNREAD,
    VALIDATE_STEP,
    read_metrics,
)
from elsinore.quality.ingested_hours import ingested_hours, is_table
from elsinore.quality.lake import (
    PLACE,
    ResultCounts,
    count_results,
    count_staged,
    unsettled_hours,
)
from elsinore.quality.measures import measures_of
from elsinore.quality.open_windows import OpenWindows, open_windows
from elsinore.quality.sample import EVERY_GROUP
from elsinore.quality.staged import aggregated, checks_of_staged, hours_in
from elsinore.quality.stories import TOPS, Earlier, Story, earlier_hours, tell
from elsinore.query.bound import Workload
from elsinore.settings import LakePath
from elsinore.sharing.explain import explain_plan
from elsinore.sharing.plan import PlannedCandidate, StaticPlan
from elsinore.sharing.profile import StreamProfile
from elsinore.step_clock import BEGAN, ENDED
from elsinore.store.delta_log import aggregate_rows, read_rows
from elsinore.store.regions import Hours, Landings, parts_of, run_key
from elsinore.timeline import DAY, HOUR, Interval, hour_label
from elsinore.wording import some_of

#: Strings in metrics are mostly fingerprints; this many characters distinguish them.
_TEXT = 24
_SENTENCE = 120
#: How the names of the pipeline's steps begin, in their order.
_STEPS = ("ingest", "plan", "list", "aggregate", "validate", "publish", "report")
#: Columns of `validations` that are read.
_CHECK_COLUMNS = [
    *PLACE, "status", "reason", "method", "mismatch", "has_result", "published_exact",
    "published_value",
]  # fmt: skip
#: How many days a trend shows, the run's own last.
DAYS = 14
_TALLIES = ["records", "accepted", "repeated", "bad_records"]
_LONGEST = 40


def power(results: int, checked: int, wrong: int) -> float:
    """Return the probability that a random sample contains a wrong result.

    `checked` of `results` are in the sample, and `wrong` of `results` are wrong. It is one minus
    the hypergeometric probability that the sample has no wrong result.

    In the second example, 2 of 4 results are wrong and 2 are checked: 1 of the 6 possible samples
    has no wrong result.

    >>> power(100, 25, 1), power(4, 2, 2), power(10, 10, 1), power(7, 0, 3), power(0, 0, 0)
    (0.25, 0.8333333333333334, 1.0, 0.0, 0.0)
    """
    missed = 1.0
    for drawn in range(min(wrong, results)):
        missed *= max(results - checked - drawn, 0) / (results - drawn)
    return 1.0 - missed


class Step(NamedTuple):
    """The metrics of a step."""

    name: str  #: its name
    seconds: float | None  #: how long it took; of several slices, together
    throughput: float | None  #: events per second; None if unknown
    #: all the rest as (metric, number, text), numbers of several slices added.
    others: Sequence[tuple[str, float | None, str | None]]


class Publishing(NamedTuple):
    """The publication state of some hours."""

    hours: int  #: how many there are
    missing: tuple[str, ...]  #: labels of the hours that are not published
    unsettled: tuple[str, ...]  #: labels of the hours whose results changed since their publication
    provisional: tuple[str, ...]  #: labels of the hours whose windows reach hours without a file
    stale: tuple[str, ...]  #: labels of the hours whose events changed since their publication
    complete: int  #: how many are published, not provisional and not stale
    recomputed: int  #: how many were published more than once
    last: datetime | None  #: when the last hour was published; None if none was
    workloads: tuple[str, ...]  #: names of the workloads they were published for


class Newest(NamedTuple):
    """The newest published hour of the workload."""

    end: int  #: its end, in microseconds since 1970
    after: int  #: time from its end to its last publication, in microseconds


class CalendarDay(NamedTuple):
    """A day of the calendar of completeness."""

    day: str  #: as in `2013-02-08`
    #: consecutive hours with the same state: the first hour of the day, their number, the state.
    cells: tuple[tuple[int, int, Cell], ...]
    hours: int  #: number of hours that are over, since the first ingested hour
    published: int  #: number of published hours
    rows: int  #: number of their results
    checked_rows: int  #: number of these that equal the reference


class FieldRange(NamedTuple):
    """One attribute of one event type, over the ingested events.

    `least` and `most` are readable strings; None if all values are NULL.
    """

    event_type: str
    attribute: str
    events: int
    nulls: int
    least: str | None
    most: str | None


@dataclass(frozen=True)
class ReportData:
    """The content of the page of a run or of a day; each part is read on first use.

    Reading raises DataError if a table is missing or cannot be read, and PlanError if the plan or
    the profile of the run is damaged.

    Attributes:
        lake: directory of the Delta tables. Tables of data that no run has created count as empty.
        state: the state of the hours of the workload.
        interval: whole hours.
        schema: schema of the stream; None: fields of events are left out.
        pages: directory of the reports of runs; None for the page of a single run.
        workload: source of the texts of queries; None: they are left out.
    """

    lake: LakePath
    state: Fold
    interval: Interval
    schema: StreamSchema | None
    pages: Path | None
    workload: Workload | None = None

    # ---- what was ingested

    @cached_property
    def hours(self) -> pd.DataFrame:
        """A row for each hour with a file; for the columns see `ingested_hours`."""
        found = ingested_hours(self.lake, self.state, self.interval)
        return found[found["file_count"] > 0].reset_index(drop=True)

    @cached_property
    def unusable(self) -> list[tuple[str, str]]:
        """Path below the landing zone and reason of each file that is quarantined as a whole.

        Empty files are left out, as they only show that an hour had no event.
        """
        if not is_table(self.lake, "quarantine"):
            return []
        columns = ["file", "record_number", "reason"]
        own = Landings(self.interval).expression(by_day=True)
        codes = [code for code in OF_FILES if code is not Reason.EMPTY_FILE]
        found = read_rows(self.lake, "quarantine", columns=columns, where=own, reason_code=codes)
        rows = found.filter(pc.field("record_number") == 0).sort_by("file").to_pylist()
        return [(row["file"], row["reason"].removeprefix(f"{row['file']} ")) for row in rows]

    @cached_property
    def _events(self) -> dict[str, dict[str, Any]]:
        """Metrics by type of the events of the hours' files, read part by part."""
        if not is_table(self.lake, "events"):
            return {}
        names = list(self.schema.attributes) if self.schema else []
        nulls = pc.CountOptions(mode="only_null")
        hour = pc.strptime(pc.field("file_hour"), format="%Y-%m-%dT%H", unit="us").cast(pa.int64())
        by = pc.subtract(hour, pc.field("event_time").cast(pa.int64()))
        columns = {name: pc.field(name) for name in ("event_type", *names)}
        # No attribute begins so.
        columns |= {"_by": by, "_is_late": pc.greater(by, 0).cast(pa.int64())}
        wanted = AggregateNodeOptions(
            [
                ([], "hash_count_all", None, "events"),
                ("_is_late", "hash_sum", None, "late"),
                ("_by", "hash_max", None, "longest"),
                *((name, "hash_count", nulls, f"nulls of {name}") for name in names),
                *((name, "hash_min", None, f"least {name}") for name in names),
                *((name, "hash_max", None, f"most {name}") for name in names),
            ],
            keys=["event_type"],
        )
        own = Landings(self.interval)
        rows = aggregate_rows(self.lake, "events", columns, wanted, hours=own).to_pylist()
        return {row["event_type"]: row for row in rows}

    @property
    def late(self) -> int:
        """How many events are in files of a later hour than their own."""
        return sum(row["late"] or 0 for row in self._events.values())

    @property
    def longest(self) -> timedelta | None:
        """The longest delay of late events; None if no event is late."""
        longest = max((row["longest"] or 0 for row in self._events.values()), default=0)
        return timedelta(microseconds=longest) if self.late else None

    @property
    def fields(self) -> tuple[FieldRange, ...]:
        """Ranges of the ingested events, by event type and attribute."""
        return tuple(
            FieldRange(
                kind.name, one.name, row["events"], row[f"nulls of {one.name}"],
                _text(row[f"least {one.name}"]), _text(row[f"most {one.name}"]),
            )
            for kind in (self.schema.types if self.schema else ())
            if (row := self._events.get(kind.name))
            for one in kind.attributes
        )  # fmt: skip

    @cached_property
    def days(self) -> pd.DataFrame:
        """Metrics of the `DAYS` up to the last one (UTC), without leading days of no metrics.

        Records count by the hour of their files, results by the hour in which their windows end. A
        row per day, named as `2013-02-08`, with float64 columns: `records`, `accepted`, `repeated`
        and `bad_records` of the files; published `rows`, the number of them that are `checked`, and
        `mismatches` of all that was checked.
        """
        days = self._days
        labels = day_labels(days)
        hours = [f"{label}T{hour:02}" for label in labels for hour in range(24)]
        records = ingested_hours(self.lake, self.state, days)
        key = ["window_end_hour", "workload_fingerprint"]
        columns = ["window_end_hour", "workload_fingerprint", "rows"]
        published = {
            label: (one.workload_fingerprint, one.rows) for label, one in self.publications.items()
        }
        own = [(label, *published[label]) for label in hours if label in published]
        results = pd.DataFrame(own, columns=columns)
        columns = [*key, *_CHECK_COLUMNS[len(PLACE) :]]
        checks = read_rows(
            self.lake, "validations", columns=columns, window_end_hour=hours
        ).to_pandas()
        # If another workload has published an hour since, only its checks count.
        last = checks["window_end_hour"].map(results.set_index("window_end_hour")[key[1]])
        checks = checks[last.isna() | (last == checks[key[1]])].copy()
        checks["checked"] = (checks["status"] == "checked") & _is_result(checks)
        checks["mismatches"] = checks["mismatch"]
        parts = [
            _by_day(records, "file_hour", _TALLIES),
            _by_day(results, "window_end_hour", ["rows"]),
            _by_day(checks, "window_end_hour", ["checked", "mismatches"]),
        ]
        found = pd.concat(parts, axis=1).reindex(labels).fillna(0).astype("float64")
        return found[found.any(axis=1).cummax()]

    @property
    def _days(self) -> Interval:
        """The `DAYS` up to the last day of the hours."""
        end = -(-self.interval.end // DAY) * DAY
        return Interval(end - DAYS * DAY, end)

    @property
    def reach(self) -> int:
        """How many hours before their own the windows reach; 0 if the workload is unknown."""
        queries = self.workload.queries if self.workload else ()
        return max((query.window.hours_back for query in queries), default=0)

    @cached_property
    def calendar(self) -> tuple[CalendarDay, ...]:
        """The state of each hour of the `DAYS`, without the days before the first known hour."""
        state, days = self.state, self._days
        if not len(state.known):
            return ()
        start = max(days.start, min(int(state.known[0]) // DAY * DAY, days.end - DAY))
        days, until = Interval(start, days.end), self.interval.end
        cells = calendar(state, days, self.reach, until).tolist()
        counts = completeness(state, days, self.reach, until).to_pylist()
        numbers = ([one[name] for name in CalendarDay._fields[2:]] for one in counts)
        return tuple(
            CalendarDay(label, _ranges_of(of_day), *rest)
            for label, of_day, rest in zip(day_labels(days), cells, numbers, strict=True)
        )

    @cached_property
    def newest(self) -> Newest | None:
        """The newest published hour of the workload; None if there is none."""
        rows = self.state[State.PUBLISHED]
        if not len(rows.hours):
            return None
        end = int(rows.hours[-1]) + HOUR
        return Newest(end, max(int(rows.longs("time")[-1]) - end, 0))

    # ---- what is published, and what was checked

    @cached_property
    def publications(self) -> dict[str, Publication]:
        """The publications of all hours, by label."""
        return publications(self.state)

    @cached_property
    def published(self) -> dict[str, ResultCounts]:
        """The published results of the hours, by query."""
        return count_results(
            self.lake, Hours(self.interval), tops=TOPS, measures=measures_of(self.workload)
        )

    @cached_property
    def _checks(self) -> pd.DataFrame:
        found = checks_of_staged(self.lake, self.state, Hours(self.interval))
        return found.select(_CHECK_COLUMNS).to_pandas()

    @cached_property
    def publishing(self) -> Publishing:
        """The publication state of the hours."""
        state, hours = self.state, hours_in(Hours(self.interval))
        labels = list(map(hour_label, hours.tolist()))
        found = {label: self.publications[label] for label in labels if label in self.publications}

        def own(some: Longs) -> tuple[str, ...]:
            return tuple(map(hour_label, np.intersect1d(some, hours).tolist()))

        return Publishing(
            hours=len(labels),
            missing=tuple(label for label in labels if label not in found),
            unsettled=own(unsettled_hours(self.lake, state, hours)),
            provisional=own(provisional(state)),
            stale=own(stale(state, self.reach)),
            complete=len(own(complete(state, self.reach))),
            recomputed=len(own(recomputed(state))),
            last=max((one.published_at for one in found.values()), default=None),
            workloads=tuple(sorted({one.workload for one in found.values()})),
        )

    @cached_property
    def earlier(self) -> tuple[Earlier, ...]:
        """The hours that the run is compared with."""
        return earlier_hours(self.interval, self.publications)

    @cached_property
    def stories(self) -> tuple[Story, ...]:
        """The results of each query."""
        return tell(self.lake, self.interval, self.published, self.publications, self.workload)

    @cached_property
    def open_windows(self) -> OpenWindows:
        """The unpublished windows that contain ingested events and end after the hours."""
        if self.workload is None:
            return OpenWindows()
        return open_windows(self.state, self.workload, self.interval.end)

    @property
    def ends_some(self) -> bool:
        """True if a window of the workload ends in the hours, or the workload is not known."""
        queries = self.workload.queries if self.workload else ()
        return not queries or any(query.window.ending_in(self.interval) for query in queries)

    @property
    def longest_window(self) -> int:
        """The longest window of the workload in microseconds; 0 if the workload is unknown."""
        queries = self.workload.queries if self.workload else ()
        return max((query.window.longest for query in queries), default=0)

    @cached_property
    def queries(self) -> tuple[Any, ...]:
        """The results of each query and how far they were checked.

        A result is one group in one window; it has a value for each aggregate. By name: `query`;
        `rows`, published results; `aggregates` and `staged`, published and staged values;
        `checked`, `skipped` and `mismatches`, validated values by outcome; `searched`, windows that
        were searched for missing results; `results`, staged results; `results_checked`, staged
        results that the reference has computed too; `results_counted`, checked results whose trends
        were counted, as they were too many to build; `results_skipped`, sampled results that the
        reference could not compute; `absent_checked`, checked pairs of a group and a window that
        must have no result; `has_results`, whether there was anything to check;
        `finds_one`, the probability that the sample contains a single wrong result;
        `finds_percent`, the probability that it contains a wrong result if one in a hundred is
        wrong.
        """
        published, checks = self.published, self._checks
        staged = count_staged(self.lake, self.state, Hours(self.interval))
        # A group and window without a result can be checked too, but does not count as a result.
        drawn = checks[_is_result(checks)].drop_duplicates([*PLACE, "status", "method"])
        is_value = checks["group_key"] != EVERY_GROUP
        is_absent = is_value & ~_is_result(checks) & (checks["status"] == "checked")
        absent = checks[is_absent].drop_duplicates(PLACE)

        def number(rows: pd.DataFrame, counted: pd.Series) -> pd.Series:
            return counted.astype("int64").groupby(rows["query"]).sum()

        found = pd.DataFrame(
            {
                "rows": _numbers(published, "rows"),
                "aggregates": _numbers(published, "values"),
                "staged": _numbers(staged, "values"),
                "results": _numbers(staged, "rows"),
                "checked": number(checks, is_value & (checks["status"] == "checked")),
                "skipped": number(checks, is_value & (checks["status"] == "skipped")),
                "searched": number(checks, ~is_value & (checks["status"] == "checked")),
                "mismatches": number(checks, checks["mismatch"]),
                "results_checked": number(drawn, drawn["status"] == "checked"),
                "results_counted": number(drawn, drawn["method"] == "counted"),
                "results_skipped": number(drawn, drawn["status"] == "skipped"),
                "absent_checked": number(absent, absent["status"] == "checked"),
            }
        )
        found = found.fillna(0).astype("int64").sort_index().rename_axis("query").reset_index()
        sampled = list(zip(found["results"], found["results_checked"], strict=True))
        found = found.assign(
            has_results=found[["results", "results_checked", "results_skipped"]].any(axis=1),
            finds_one=[power(results, checked, 1) for results, checked in sampled],
            finds_percent=[power(results, n, -(-results // 100)) for results, n in sampled],
        )
        return tuple(found.itertuples(index=False, name="QueryResults"))

    @property
    def skip_reasons(self) -> list[tuple[str, int]]:
        """Why values were not checked, the most frequent first."""
        skipped = self._checks["reason"][self._checks["status"] == "skipped"]
        return Counter(skipped.fillna("no reason given")).most_common()

    @cached_property
    def runs(self) -> tuple[Any, ...] | None:
        """The runs in the interval that validated results, by their metrics.

        None on the page of a single run. A run with a mismatch stops before it reports. The columns
        are:

        - `key`: the first hour and the end hour.
        - `outcome`: the outcome of the validation, in words.
        - `results`, `checked`: the numbers of staged and of checked results.
        - `strata`, `strata_covered`: the numbers of classes of results by query and size, and of
          classes with a check.
        - `page`: the name of the run's report; None if there is none.
        """
        pages = self.pages
        if pages is None:
            return None
        end = hour_label(self.interval.end)
        rows = self._metrics_within(pc.field("step") == VALIDATE_STEP)
        rows = _of_last_workload(rows[rows["run_key"].str.split("_").str[1] <= end])
        numbers = rows.pivot_table(
            index="run_key", columns="metric", values="value", aggfunc="last"
        )
        texts = rows[rows["metric"] == "outcome"].set_index("run_key")["detail"]
        keys = sorted(rows["run_key"].unique())
        columns = ["results", "results_of_sample", "strata", "strata_covered"]
        runs = numbers.reindex(index=keys, columns=columns).fillna(0).astype("int64").assign(
            key=keys,
            outcome=texts.reindex(keys).fillna("unknown"),
            page=[f"{key}.html" if (pages / f"{key}.html").is_file() else None for key in keys],
        ).rename(columns={"results_of_sample": "checked"})  # fmt: skip
        return tuple(runs.itertuples(index=False, name="RunLine"))

    # ---- plans, and what the steps reported

    @cached_property
    def plans(self) -> list[tuple[StaticPlan, tuple[tuple[PlannedCandidate, str], ...]]]:
        """The plans that the results name, each with its candidates and the decisions on them."""
        rows = aggregated(self.state, Hours(self.interval)).rows
        named = sorted(filter(None, set(rows["plan_fingerprint"].to_pylist())))
        found = read_rows(self.lake, "plans", kind=["plan"], fingerprint=named)
        bodies = found.sort_by("fingerprint")["body"].to_pylist()
        # Others are of an earlier version.
        plans = [StaticPlan.from_json(body) for body in bodies if StaticPlan.is_current(body)]
        return [(plan, explain_plan(plan)) for plan in plans]

    @cached_property
    def stream(self) -> StreamProfile | None:
        """The profile that the run's metrics name; None where it was not measured."""
        named = self._details(PROFILE_FINGERPRINT)
        rows = read_rows(self.lake, "plans", kind=["profile"], fingerprint=named)
        bodies = rows["body"].to_pylist()
        return StreamProfile.from_json(bodies[0]) if bodies else None

    @property
    def unread(self) -> str:
        """Unrecognized names in the landing zone, as a list in words; empty if there are none."""
        return ", ".join(self._details(UNREAD))

    @property
    def emptied(self) -> dict[str, list[str]]:
        """By hour, the fields without a value that had values in the week before."""
        found: dict[str, list[str]] = {}
        for text in self._details(EMPTIED):
            found |= json.loads(text)
        return dict(sorted(found.items()))

    @cached_property
    def ties(self) -> list[str]:
        """Sentences about events with equal times, if these are many or a query has no result."""
        if self.workload is None or not is_table(self.lake, "events"):
            return []
        return [
            f"{some_of(one.queries)}: {one.text}"
            for one in stored_ties(self.lake, self.workload, self.interval)
            if one.are_many or (one.tied and not self.published.keys() >= set(one.queries))
        ]

    @property
    def lost(self) -> list[str]:
        """Sentences about repeated records that may be corrections themselves."""
        return sorted({each for text in self._details(LOST) for each in json.loads(text)})

    @property
    def unchecked_doubts(self) -> list[str]:
        """The reasons why the tables could not be searched for probable problems."""
        return sorted(set(self._details(UNCHECKED)))

    @property
    def copies(self) -> list[str]:
        """Pairs of files of which one may be a compressed copy of the other."""
        pairs = {tuple(pair) for text in self._details(COPIES) for pair in json.loads(text)}
        return [" and ".join(pair) for pair in sorted(pairs)]

    @cached_property
    def run_time(self) -> RunTime:
        """The metrics of sharing at run time."""
        rows = self._metrics.sort_values(["metric", "detail"])[["metric", "value", "detail"]]
        return run_time_sharing(rows.itertuples(index=False, name=None))

    @property
    def seconds(self) -> float | None:
        """From the start of the first step to the end of publication; None if not on record.

        None for a day, too: it is many runs.
        """
        metrics = self._metrics
        own = metrics["step"][metrics["run_key"] == run_key(self.interval)]
        if own.isin([INGEST_STEP, PUBLISH_STEP]).sum() == 0:
            return None
        published = metrics[metrics["step"] == PUBLISH_STEP]
        ended = published["value"][published["metric"] == ENDED]
        began = metrics["value"][metrics["metric"] == BEGAN]
        return None if ended.empty else float(ended.max() - began.min())

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps in the order of the pipeline, unknown ones last."""
        metrics = self._metrics
        beside = metrics["metric"].map(lambda name: is_of_sharing(name) or name in (BEGAN, ENDED))
        shown = metrics[~beside.astype(bool)]
        found = []
        for name in sorted(metrics["step"].unique(), key=_place):
            own, seconds = shown[shown["step"] == name], _seconds(metrics[metrics["step"] == name])
            events = own["value"][own["metric"] == "events"].sum()
            by_metric = own.sort_values("detail").groupby("metric")
            numbers, texts = by_metric["value"].sum(min_count=1), by_metric["detail"].last()
            if name == INGEST_STEP:
                numbers = numbers.sub(self._empty_files, fill_value=0).reindex(numbers.index)
            others = [
                (
                    metric,
                    None if pd.isna(number) else number,
                    text and _cut_off(text, _SENTENCE if " " in text else _TEXT),
                )
                for metric, number, text in zip(numbers.index, numbers, texts, strict=True)
            ]
            rate = events / seconds if seconds and events else None
            found.append(Step(name, seconds, rate, others))
        return tuple(found)

    @property
    def _empty_files(self) -> pd.Series:
        """The counts of empty files in the metrics of the ingest, by metric."""
        return pd.Series(self.hours["empty"].sum(), ["files", "records", "bad_records"])

    @cached_property
    def _metrics(self) -> pd.DataFrame:
        """The metrics of the run; a step that ran in slices has the metrics of its slices."""
        rows = _of_last_workload(self._metrics_within())
        chosen = [rows[:0]]
        for _, of_step in rows.groupby("step"):
            times = of_step["value"].where(of_step["metric"] == ENDED, 0)
            ended = times.groupby(of_step["run_key"]).max().to_dict()
            chosen.append(of_step[of_step["run_key"].isin(parts_of(self.interval, ended))])
        return pd.concat(chosen)

    def _metrics_within(self, where: pc.Expression | None = None) -> pd.DataFrame:
        """Return the metrics of the runs that begin in the interval."""
        key = pc.field("run_key")
        inside = (key >= hour_label(self.interval.start)) & (key < hour_label(self.interval.end))
        found = read_metrics(self.lake, inside if where is None else inside & where)
        return found.to_pandas()

    def _details(self, metric: str) -> tuple[str, ...]:
        """Return the distinct strings of a metric."""
        texts = self._metrics.loc[self._metrics["metric"] == metric, "detail"]
        return tuple(sorted(texts.dropna().unique()))


def _ranges_of(cells: Sequence[str]) -> tuple[tuple[int, int, Cell], ...]:
    """Return the cells of a day as ranges of consecutive hours with the same state.

    >>> [(start, number, str(cell)) for start, number, cell in _ranges_of(["#", "#", "."])]
    [(0, 2, '#'), (2, 1, '.')]
    """
    found: list[tuple[int, int, Cell]] = []
    for cell, hours in groupby(cells):
        start = sum(number for _, number, _ in found)
        found.append((start, len(list(hours)), Cell(cell)))
    return tuple(found)


def _is_result(checks: pd.DataFrame) -> pd.Series:
    has_value = checks["published_exact"].notna() | checks["published_value"].notna()
    # Earlier releases have not said it.
    return checks["has_result"].astype("boolean").fillna(has_value).astype(bool)


def _numbers(counts: Mapping[str, ResultCounts], name: str) -> pd.Series:
    return pd.Series({query: getattr(one, name) for query, one in counts.items()}, dtype="int64")


def _of_last_workload(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the metrics of the last workload that ran over the same hours.

    Metrics without a workload, such as nightly maintenance, belong to all.
    """
    is_named = rows["workload_fingerprint"].fillna("") != ""
    ended = rows["value"].where(rows["metric"] == ENDED, 0)
    last = ended.groupby([rows["run_key"], rows["workload_fingerprint"]]).transform("max")
    of_last = last == last.where(is_named).groupby(rows["run_key"]).transform("max")
    return rows[~is_named | of_last]


def _place(step: str) -> tuple[int, str]:
    known = (place for place, start in enumerate(_STEPS) if step.startswith(start))
    return next(known, len(_STEPS)), step


def _seconds(metrics: pd.DataFrame) -> float | None:
    """Return the seconds of a step from its start to its record, added up over slices."""
    own = (metrics[metrics["metric"] == name] for name in (BEGAN, ENDED))
    began, ended = (rows.groupby("run_key")["value"].mean() for rows in own)
    return None if began.empty or ended.empty else float((ended - began).sum())


def _cut_off(text: str, longest: int) -> str:
    return text[:longest] + ("..." if len(text) > longest else "")


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return _cut_off(f"{value:.6g}" if isinstance(value, float) else str(value), _LONGEST)


def _by_day(rows: pd.DataFrame, hour: str, columns: list[str]) -> pd.DataFrame:
    return rows[columns].astype("float64").groupby(rows[hour].str[:10]).sum()
