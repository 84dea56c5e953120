"""Reads the content of a report from the lake's tables into plain values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.acero import AggregateNodeOptions

from elsinore.catalog.stream import StreamSchema
from elsinore.files.rejection import OF_FILES, Reason, empty_files
from elsinore.lake.delta_log import aggregate_rows, read_rows
from elsinore.lake.landing_doubts import stored_ties
from elsinore.lake.open_windows import OpenWindows, open_windows
from elsinore.lake.provenance import (
    PUBLISHED,
    STAGED,
    Publication,
    checks_of_staged,
    read_publications,
    staged_origins,
)
from elsinore.lake.regions import Hours, Landings, parts_of, run_key
from elsinore.lake.run_metrics import (
    COPIES,
    EMPTIED,
    LAND_STEP,
    LOST,
    PROFILE_FINGERPRINT,
    PUBLISH_STEP,
    UNREAD,
    VALIDATE_STEP,
    RunTime,
    is_of_sharing,
    read_metrics,
    run_time_sharing,
)
from elsinore.lake.sample import EVERY_GROUP
from elsinore.quality.lake import PLACE, ResultCounts, count_results
from elsinore.quality.stories import TOPS, Earlier, Story, earlier_hours, tell
from elsinore.query.bound import Workload
from elsinore.settings import LakePath
from elsinore.sharing.explain import explain_plan
from elsinore.sharing.plan import PlannedCandidate, StaticPlan
from elsinore.sharing.profile import StreamProfile
from elsinore.step_clock import BEGAN, ENDED
from elsinore.timeline import DAY, Interval, format_instant, hour_label, hours_of
from elsinore.wording import some_of

#: Strings in metrics are mostly fingerprints; this many characters distinguish them.
_TEXT = 24
_SENTENCE = 120
#: How the names of the pipeline's steps begin, in their order.
_STEPS = ("land", "plan", "list", "aggregate", "validate", "publish", "report")
#: Columns of `validations` that are read.
_CHECK_COLUMNS = [
    *PLACE, "status", "reason", "method", "mismatch", "has_result", "published_exact",
    "published_value",
]  # fmt: skip
#: How many days a trend shows, the run's own last.
DAYS = 14
_TALLIES = ["lines", "accepted", "duplicates", "quarantined", "superseded"]
_LONGEST = 40


def power(results: int, checked: int, wrong: int) -> float:
    """The chance that a random sample of `checked` among `results` holds one of `wrong` ones.

    Hypergeometric: one less the chance that all wrong results are among those left out.

    Of 4 results 2 are wrong and 2 are checked: 1 of the 6 pairs holds no wrong one.

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
    throughput: float | None  #: events a second, where both are known
    #: all the rest as (metric, number, text), numbers of several slices added.
    others: Sequence[tuple[str, float | None, str | None]]


class Publishing(NamedTuple):
    """The publication state of some hours."""

    hours: int  #: how many there are
    missing: tuple[str, ...]  #: labels of the hours that are not published
    unsettled: tuple[str, ...]  #: labels of the hours whose run ended between two commits
    provisional: tuple[str, ...]  #: labels of the hours whose windows reach hours without a file
    last: datetime | None  #: when the last hour was published; None if none was
    workloads: tuple[str, ...]  #: names of the workloads they were published for


class FieldRange(NamedTuple):
    """One attribute of one event type, over the events that landed.

    `least` and `most` are texts as people read them; None where every value is NULL.
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

    Reading raises DataError where a table is missing or cannot be read, and PlanError where the
    run's plan or profile is damaged.

    Attributes:
        lake: folder of the Delta tables.
        interval: whole hours.
        schema: the stream's; None: fields of events are not looked at.
        pages: folder of the runs' reports; None where the page is of a single run.
        workload: where the texts of queries come from; None: they are left out.
    """

    lake: LakePath
    interval: Interval
    schema: StreamSchema | None
    pages: Path | None
    workload: Workload | None = None

    # ---- what landed

    @cached_property
    def hours(self) -> pd.DataFrame:
        """A row for each hour that files landed for.

        `landing`, its label; numbers of `lines`, that are `accepted`, `duplicates` and
        `quarantined`; `reasons` counts the last by reason code; `first_event` and `last_event`,
        timestamps. `empty` counts files without a line, which no other column counts.
        """
        landed = Landings(self.interval).expression(by_day=False)
        return _without_empty(read_rows(self.lake, "landings", where=landed).sort_by("file_hour"))

    @cached_property
    def unusable(self) -> list[tuple[str, str]]:
        """Path below the landing zone and reason of each file that is quarantined as a whole.

        Empty files are left out, as they only show that an hour had no event.
        """
        columns = ["file", "record_number", "reason"]
        landed = Landings(self.interval).expression(by_day=True)
        codes = [code for code in OF_FILES if code is not Reason.EMPTY_FILE]
        found = read_rows(self.lake, "quarantine", columns=columns, where=landed, reason_code=codes)
        rows = found.filter(pc.field("record_number") == 0).sort_by("file").to_pylist()
        return [(row["file"], row["reason"].removeprefix(f"{row['file']} ")) for row in rows]

    @cached_property
    def _events(self) -> dict[str, dict[str, Any]]:
        """Figures by type of the events that came with the landings, read part by part."""
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
        landed = Landings(self.interval)
        rows = aggregate_rows(self.lake, "events", columns, wanted, hours=landed).to_pylist()
        return {row["event_type"]: row for row in rows}

    @property
    def late(self) -> int:
        """How many events landed in a later hour than they happened in."""
        return sum(row["late"] or 0 for row in self._events.values())

    @property
    def longest(self) -> timedelta | None:
        """By how much at most; None where none is late."""
        longest = max((row["longest"] or 0 for row in self._events.values()), default=0)
        return timedelta(microseconds=longest) if self.late else None

    @property
    def fields(self) -> tuple[FieldRange, ...]:
        """Ranges of the events that landed, by event type and attribute."""
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
        """Figures of the `DAYS` up to the last one (UTC), without the first ones of no figures.

        Landings count by the hour of their files, results by the hour that owns them. A row for
        each day, named as `2013-02-08`, float64 columns: of landings `lines`, `accepted`,
        `duplicates`, `quarantined`, and `superseded`, the quarantined older versions of a corrected
        event; published `rows`, how many of them are `checked`,
        and `mismatches` of all that was checked.
        """
        last = (self.interval.end - 1) // DAY
        labels = [format_instant(day * DAY)[:10] for day in range(last - DAYS + 1, last + 1)]
        hours = [f"{label}T{hour:02}" for label in labels for hour in range(24)]
        landings = _without_empty(read_rows(self.lake, "landings", file_hour=hours))
        landings["superseded"] = [counts.get("superseded", 0) for counts in landings["reasons"]]
        key = ["window_end_hour", "workload_fingerprint"]
        columns = [*key, "rows"]
        results = read_rows(self.lake, "publications", columns=columns, window_end_hour=hours)
        results = results.to_pandas()
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
            _by_day(landings, "file_hour", _TALLIES),
            _by_day(results, "window_end_hour", ["rows"]),
            _by_day(checks, "window_end_hour", ["checked", "mismatches"]),
        ]
        days = pd.concat(parts, axis=1).reindex(labels).fillna(0).astype("float64")
        return days[days.any(axis=1).cummax()]

    # ---- what is published, and what was checked

    @cached_property
    def publications(self) -> dict[str, Publication]:
        """The publications of all hours, by label."""
        return read_publications(self.lake)

    @cached_property
    def published(self) -> dict[str, ResultCounts]:
        """The published results of the hours, by query."""
        return count_results(self.lake, PUBLISHED, Hours(self.interval), tops=TOPS)

    @cached_property
    def _checks(self) -> pd.DataFrame:
        found = checks_of_staged(self.lake, Hours(self.interval))
        return found.select(_CHECK_COLUMNS).to_pandas()

    @cached_property
    def publishing(self) -> Publishing:
        """The publication state of the hours."""
        labels = [hour_label(hour) for hour in hours_of(self.interval)]
        found = {label: self.publications[label] for label in labels if label in self.publications}
        return Publishing(
            hours=len(labels),
            missing=tuple(label for label in labels if label not in found),
            unsettled=tuple(sorted(label for label, one in found.items() if not one.settled)),
            provisional=tuple(sorted(label for label, one in found.items() if one.awaited)),
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
        """The unpublished windows that contain landed events and end after the hours."""
        if self.workload is None:
            return OpenWindows()
        return open_windows(self.lake, self.workload, self.interval.end)

    @property
    def ends_some(self) -> bool:
        """True if a window of the workload ends in the hours, or the workload is not known."""
        queries = self.workload.queries if self.workload else ()
        return not queries or any(query.window.ending_in(self.interval) for query in queries)

    @property
    def longest_window(self) -> int:
        """The longest window of the workload in microseconds; 0 if the workload is unknown."""
        queries = self.workload.queries if self.workload else ()
        return max((query.window.within for query in queries), default=0)

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
        staged = count_results(self.lake, STAGED, Hours(self.interval))
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

        By their hours: `key`, the first hour and the end hour; `outcome` of the validation, in
        words; numbers of staged `results` and of `checked` results; `strata`,
        classes of results by query and size, and `strata_covered`, those with a check; `page`, the
        name of its report, None where there is none. None in all on the page of a single run. One
        whose values differ is stopped before it reports.
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
        origins = staged_origins(self.lake, self.interval).values()
        named = sorted({origin.plan for origin in origins})
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
        if self.workload is None:
            return []
        return [
            f"{some_of(one.queries)}: {one.text}"
            for one in stored_ties(self.lake, self.workload, self.interval)
            if one.are_many or (one.tied and not self.published.keys() >= set(one.queries))
        ]

    @property
    def lost(self) -> list[str]:
        """Sentences about superseded lines that may be corrections themselves."""
        return sorted({each for text in self._details(LOST) for each in json.loads(text)})

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
        if own.isin([LAND_STEP, PUBLISH_STEP]).sum() == 0:
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
            if name == LAND_STEP:
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
        """The counts of empty files in the metrics of landing, by metric."""
        return pd.Series(self.hours["empty"].sum(), ["files", "lines", "quarantined"])

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
        """The distinct texts of a metric."""
        texts = self._metrics.loc[self._metrics["metric"] == metric, "detail"]
        return tuple(sorted(texts.dropna().unique()))


def _without_empty(landings: pa.Table) -> pd.DataFrame:
    """Return row counts of landings without empty files, which tables count as quarantined.

    `ingest` writes them itself for hours without an event.
    """
    found = landings.to_pandas()
    reasons = found["reasons"].map(json.loads)
    empty = reasons.map(empty_files).astype("int64")
    others = [{name: n for name, n in of.items() if name != Reason.EMPTY_FILE} for of in reasons]
    return found.assign(
        reasons=pd.Series(others, found.index, dtype=object), empty=empty,
        lines=found["lines"] - empty, quarantined=found["quarantined"] - empty,
    )  # fmt: skip


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
    """How long a step took, from its start to its record; of several slices, together."""
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
