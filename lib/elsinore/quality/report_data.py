"""What the report of a run or of a day tells, read from the lake's tables into plain values."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.acero import AggregateNodeOptions

from elsinore.catalog.stream import StreamSchema
from elsinore.files.rejection import OF_FILES
from elsinore.lake.delta_log import aggregate_rows, read_rows
from elsinore.lake.provenance import PUBLISHED, STAGED, read_publications, staged_origins
from elsinore.lake.regions import Hours, Landings, run_key
from elsinore.lake.run_metrics import (
    PUBLISH_STEP,
    RunTime,
    is_of_coverage,
    is_of_sharing,
    run_time_sharing,
)
from elsinore.quality.lake import PLACE, ResultCounts, TopResult, count_results
from elsinore.sharing.explain import ExplainedCandidate, explain_plan
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.profile import StreamProfile
from elsinore.step_clock import BEGAN, ENDED
from elsinore.timeline import DAY, Interval, format_instant, hour_label, hours_of

#: A metric, its value, its text.
Figure = tuple[str, float | None, str | None]
#: The metric that says what a slice shared.
SHARING = "sharing"
#: The metric that names the profile of a run's stream.
PROFILE_FINGERPRINT = "profile_fingerprint"
#: Texts among the figures are mostly fingerprints; this many characters tell them apart.
_TEXT = 24
_TIMES = (BEGAN, ENDED, "seconds")
_SENTENCE = 120
#: How the names of the pipeline's steps begin, in their order.
_STEPS = ("land", "plan", "list", "aggregate", "validate", "publish", "report")
#: Columns of `validations` that are read.
CHECK_COLUMNS = [*PLACE, "status", "reason", "method", "mismatch", "published_exact",
                 "published_value"]  # fmt: skip
#: How many days a trend shows, the run's own last.
DAYS = 14
_LONGEST = 40


class LandedHour(NamedTuple):
    """One hour of the landing zone; `reasons` counts its quarantined lines by reason code."""

    landing: str
    lines: int
    accepted: int
    duplicates: int
    quarantined: int
    reasons: dict[str, int]
    first_event: datetime | None
    last_event: datetime | None

    @property
    def adds_up(self) -> bool:
        """Whether lines = accepted + duplicates + quarantined."""
        return self.lines == self.accepted + self.duplicates + self.quarantined


@dataclass(frozen=True, slots=True)
class QueryResults:
    """One query's results and how far they were checked.

    A result is one group in one window; it has a value for each aggregate.

    Attributes:
        query: its name.
        rows: published results.
        aggregates, staged: published and staged values.
        top: the largest count; None without counts.
        checked, skipped, mismatches: validated values by outcome.
        results: staged results.
        results_checked: those of them that the reference has answered too.
        results_counted: those of the checked whose trends were counted, being too many to build.
        results_skipped: those that were drawn and could not be answered.
    """

    query: str
    rows: int
    aggregates: int
    staged: int
    top: TopResult | None
    checked: int
    skipped: int
    mismatches: int
    results: int
    results_checked: int
    results_counted: int
    results_skipped: int

    @property
    def has_results(self) -> bool:
        """Whether there was anything to check."""
        return bool(self.results or self.results_checked or self.results_skipped)

    @property
    def finds_one(self) -> float:
        """Chance that a single wrong result, wherever it is, is among the checked."""
        return power(self.results, self.results_checked, 1)

    @property
    def finds_percent(self) -> float:
        """The same where one result in a hundred is wrong."""
        return power(self.results, self.results_checked, ceil(self.results / 100))


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
    """A step's figures: seconds, events a second where both are known, and all the rest."""

    name: str
    seconds: float | None
    throughput: float | None
    others: tuple[Figure, ...]


class RunLine(NamedTuple):
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


class Publishing(NamedTuple):
    """What of some hours is published.

    Attributes:
        hours: how many there are.
        missing: labels of those that are not published.
        unsettled: labels of those whose run ended between two commits.
        last: when the last of them was published; None where none was.
        workloads: names of the workloads they were published for.
    """

    hours: int
    missing: tuple[str, ...]
    unsettled: tuple[str, ...]
    last: datetime | None
    workloads: tuple[str, ...]


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


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything that a page shows.

    Attributes:
        interval: the hours.
        hours: what landed in them; those without a file are left out.
        fields: ranges of the events that landed, by event type and attribute.
        late: how many of them landed in a later hour than they happened in.
        longest: by how much at most; None where none is late.
        unusable: path below the landing zone and reason of each file that is quarantined whole.
        stream: None where it was not measured.
        plans: those that the results name, each with its candidates.
        sharing: what was shared at run time in words, `run_time` in figures.
        queries: by name.
        steps: in the order of the pipeline.
        seconds: from the start of the first step to the end of publication; None where that is not
            on record.
        skip_reasons: why values were not checked, the most frequent first.
        days: figures of the days up to this one, oldest first; see `read_day_figures`.
        publishing: what of the hours is published.
        runs: those behind the hours; None on the page of a single run.
    """

    interval: Interval
    hours: tuple[LandedHour, ...]
    fields: tuple[FieldRange, ...]
    late: int
    longest: timedelta | None
    unusable: tuple[tuple[str, str], ...]
    stream: StreamProfile | None
    plans: tuple[tuple[StaticPlan, tuple[ExplainedCandidate, ...]], ...]
    sharing: tuple[str, ...]
    run_time: RunTime
    queries: tuple[QueryResults, ...]
    steps: tuple[Step, ...]
    seconds: float | None
    skip_reasons: tuple[tuple[str, int], ...]
    days: pd.DataFrame
    publishing: Publishing
    runs: tuple[RunLine, ...] | None


def read_report_data(
    lake: Path, interval: Interval, schema: StreamSchema | None, *, pages: Path | None
) -> ReportData:
    """The figures of the run, or of the runs of a day, over an interval.

    Args:
        lake: folder of the Delta tables.
        interval: whole hours.
        schema: the stream's; None: fields of events are not looked at.
        pages: folder of the runs' reports; None where the page is of a single run.

    Raises:
        DataError: a table is missing or cannot be read.
        PlanError: the run's plan or profile is damaged.
    """
    owned, landed = Hours(interval), Landings(interval).expression(by_day=False)
    landings = read_rows(lake, "landings", columns=LandedHour._fields, where=landed)
    rows = landings.sort_by("landing").to_pylist()
    checks = read_rows(
        lake, "validations", columns=CHECK_COLUMNS, where=owned.expression(by_day=False)
    ).to_pandas()
    published = count_results(lake, PUBLISHED, owned, tops=True)
    staged = count_results(lake, STAGED, owned)
    metrics = _metrics(lake, interval)
    fields, late, longest = _landed_events(lake, interval, schema)
    named = sorted({origin.plan for origin in staged_origins(lake, interval).values()})
    found = read_rows(lake, "plans", kind=["plan"], fingerprint=named).sort_by("fingerprint")
    plans = [StaticPlan.from_json(body) for body in found["body"].to_pylist()]
    skipped = checks["reason"][checks["status"] == "skipped"]
    return ReportData(
        interval=interval,
        hours=tuple(LandedHour(**row | {"reasons": json.loads(row["reasons"])}) for row in rows),
        fields=fields,
        late=late,
        longest=longest,
        unusable=tuple(_unusable_files(lake, interval)),
        stream=_stream(lake, metrics),
        plans=tuple((plan, explain_plan(plan)) for plan in plans),
        sharing=_details(metrics, SHARING),
        run_time=run_time_sharing(_figures(metrics)),
        queries=tuple(_query_results(published, staged, checks)),
        steps=tuple(_steps(metrics)),
        seconds=_wall_time(metrics, interval),
        skip_reasons=tuple(Counter(skipped.fillna("no reason given")).most_common()),
        days=read_day_figures(lake, interval),
        publishing=_publishing(lake, interval),
        runs=None if pages is None else _runs(lake, interval, pages),
    )


def _place(step: str) -> tuple[int, str]:
    known = (place for place, start in enumerate(_STEPS) if step.startswith(start))
    return next(known, len(_STEPS)), step


def _details(metrics: pd.DataFrame, metric: str) -> tuple[str, ...]:
    """The distinct texts of a metric."""
    return tuple(sorted(metrics.loc[metrics["metric"] == metric, "detail"].dropna().unique()))


def _stream(lake: Path, metrics: pd.DataFrame) -> StreamProfile | None:
    """The profile that the run's metrics name."""
    named = _details(metrics, PROFILE_FINGERPRINT)
    rows = read_rows(lake, "plans", kind=["profile"], fingerprint=named)
    bodies = rows["body"].to_pylist()
    return StreamProfile.from_json(bodies[0]) if bodies else None


def _query_results(
    published: Mapping[str, ResultCounts],
    staged: Mapping[str, ResultCounts],
    checks: pd.DataFrame,
) -> Iterator[QueryResults]:
    """The results of each query, by name."""
    # A place without a result can be checked too; it is no result.
    there = checks["published_exact"].notna() | checks["published_value"].notna()
    drawn = checks[there].drop_duplicates([*PLACE, "status", "method"])
    for name in sorted({*published, *staged, *checks["query"]}):
        ours = published.get(name, ResultCounts())
        theirs = staged.get(name, ResultCounts())
        values, results = checks[checks["query"] == name], drawn[drawn["query"] == name]
        yield QueryResults(
            query=name,
            rows=ours.rows,
            aggregates=ours.values,
            staged=theirs.values,
            top=ours.top,
            checked=_count(values, "status", "checked"),
            skipped=_count(values, "status", "skipped"),
            mismatches=int(values["mismatch"].sum()),
            results=theirs.rows,
            results_checked=_count(results, "status", "checked"),
            results_counted=_count(results, "method", "counted"),
            results_skipped=_count(results, "status", "skipped"),
        )


def _count(rows: pd.DataFrame, column: str, value: str) -> int:
    return int((rows[column] == value).sum())


def _metrics(lake: Path, interval: Interval) -> pd.DataFrame:
    """Figures of the run; of a step that ran in time slices, those of the slices."""
    start, end = (hour_label(border) for border in (interval.start, interval.end))
    key = pc.field("run_key")
    rows = read_rows(lake, "run_metrics", where=(key >= start) & (key < end)).to_pandas()
    own = rows[rows["run_key"] == run_key(interval)]
    parts = rows[~rows["step"].isin(own["step"])]
    chosen = [own]
    for _, of_step in parts.groupby("step"):
        cover = _cover(sorted(of_step["run_key"].unique()), start, end)
        chosen.append(of_step[of_step["run_key"].isin(cover)])
    return pd.concat(chosen)


def _cover(keys: list[str], start: str, end: str) -> list[str]:
    """Run keys that follow each other from `start` on and do not pass `end`; the longest first.

    >>> _cover(["00_01", "00_02", "01_02", "02_03"], "00", "03")
    ['00_02', '02_03']
    """
    found: list[str] = []
    while nexts := [k for k in keys if k.startswith(f"{start}_") and k.split("_")[1] <= end]:
        found.append(max(nexts))
        start = found[-1].split("_")[1]
    return found


def _wall_time(metrics: pd.DataFrame, interval: Interval) -> float | None:
    own = metrics[(metrics["run_key"] == run_key(interval)) & (metrics["step"] == PUBLISH_STEP)]
    ended = own["value"][own["metric"] == ENDED]
    began = metrics["value"][metrics["metric"] == BEGAN]
    return None if ended.empty else float(ended.iloc[0] - began.min())


def _seconds(metrics: pd.DataFrame) -> float | None:
    """How long a step took, from its start to its record; of several slices, together."""
    by_run = metrics.pivot_table(index="run_key", columns="metric", values="value")
    if {BEGAN, ENDED} <= set(by_run.columns):
        return float((by_run[ENDED] - by_run[BEGAN]).sum())
    return float(by_run["seconds"].sum()) if "seconds" in by_run.columns else None


def _steps(metrics: pd.DataFrame) -> Iterator[Step]:
    """Steps in the order of the pipeline; steps that it does not know come last."""
    by_step = {str(name): rows for name, rows in metrics.groupby("step")}
    for name in sorted(by_step, key=_place):
        figures = [
            row
            for row in _figures(by_step[name])
            if not (is_of_sharing(row[0]) or is_of_coverage(row[0]))
        ]
        seconds = _seconds(by_step[name])
        events = sum(value or 0.0 for metric, value, _ in figures if metric == "events")
        yield Step(
            name=name,
            seconds=seconds,
            throughput=events / seconds if seconds and events else None,
            others=_added_up(figures),
        )


def _figures(metrics: pd.DataFrame) -> list[Figure]:
    """In the order of their names."""
    rows = metrics.sort_values(["metric", "detail"])
    return [
        (str(metric), None if pd.isna(value) else float(value), detail)
        for metric, value, detail in zip(rows["metric"], rows["value"], rows["detail"], strict=True)
    ]


def _added_up(figures: list[Figure]) -> tuple[Figure, ...]:
    """Figures without the seconds; numbers of the same metric from several slices are added."""
    sums: dict[str, float | None] = {}
    texts: dict[str, str] = {}
    for metric, value, detail in figures:
        known = sums.get(metric)
        sums[metric] = known if value is None else value + (known or 0.0)
        if detail is not None:
            longest = _SENTENCE if " " in detail else _TEXT
            texts[metric] = detail[:longest] + ("..." if len(detail) > longest else "")
    return tuple(
        (metric, value, texts.get(metric)) for metric, value in sums.items() if metric not in _TIMES
    )


# ---- beside the run's own figures: what is published, files, fields, days


def _publishing(lake: Path, interval: Interval) -> Publishing:
    labels = [hour_label(hour) for hour in hours_of(interval)]
    found = read_publications(lake, labels)
    return Publishing(
        hours=len(labels),
        missing=tuple(label for label in labels if label not in found),
        unsettled=tuple(sorted(label for label, one in found.items() if not one.settled)),
        last=max((one.published_at for one in found.values()), default=None),
        workloads=tuple(sorted({one.workload for one in found.values()})),
    )


def _runs(lake: Path, interval: Interval, pages: Path) -> tuple[RunLine, ...]:
    """The runs that lie within an interval, by their hours."""
    start, end = hour_label(interval.start), hour_label(interval.end)
    key = pc.field("run_key")
    rows = read_rows(lake, "run_metrics", where=(key >= start) & (key < end), step=["validate"])
    runs: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in rows.to_pylist():
        first, last = row["run_key"].split("_")
        if start <= first and last <= end:
            told = row["detail"] if row["value"] is None else int(row["value"])
            runs[row["run_key"]][row["metric"]] = told
    return tuple(
        RunLine(
            key=key,
            outcome=figures.get("outcome", "unknown"),
            results=figures.get("results", 0),
            checked=figures.get("results_of_sample", 0),
            mismatches=figures.get("mismatches", 0),
            strata=figures.get("strata", 0),
            strata_covered=figures.get("strata_covered", 0),
            page=f"{key}.html" if (pages / f"{key}.html").is_file() else None,
        )
        for key, figures in sorted(runs.items())
    )


def _unusable_files(lake: Path, interval: Interval) -> Iterator[tuple[str, str]]:
    """By path, the files that the landings of an interval put into quarantine whole."""
    columns = ["file", "position", "reason"]
    landed = Landings(interval).expression(by_day=True)
    found = read_rows(lake, "quarantine", columns=columns, where=landed, reason_code=OF_FILES)
    for row in found.filter(pc.field("position") == 0).sort_by("file").to_pylist():
        yield row["file"], row["reason"].removeprefix(f"{row['file']} ")


def _landed_events(
    lake: Path, interval: Interval, schema: StreamSchema | None
) -> tuple[tuple[FieldRange, ...], int, timedelta | None]:
    """Look through the events that came with the landings of an interval, part by part."""
    names = list(schema.attributes) if schema else []
    nulls = pc.CountOptions(mode="only_null")
    hour = pc.strptime(pc.field("landing"), format="%Y-%m-%dT%H", unit="us").cast(pa.int64())
    by = pc.subtract(hour, pc.field("event_time").cast(pa.int64()))
    columns = {name: pc.field(name) for name in ("event_type", *names)}
    columns |= {"by": by, "is_late": pc.greater(by, 0).cast(pa.int64())}
    wanted = AggregateNodeOptions(
        [
            ([], "hash_count_all", None, "events"),
            ("is_late", "hash_sum", None, "late"),
            ("by", "hash_max", None, "longest"),
            *((name, "hash_count", nulls, f"nulls of {name}") for name in names),
            *((name, "hash_min", None, f"least {name}") for name in names),
            *((name, "hash_max", None, f"most {name}") for name in names),
        ],
        keys=["event_type"],
    )
    landed = Landings(interval).expression(by_day=False)
    rows = aggregate_rows(lake, "events", columns, wanted, where=landed).to_pylist()
    by_type = {row["event_type"]: row for row in rows}
    late = sum(row["late"] or 0 for row in rows)
    longest = max((row["longest"] or 0 for row in rows), default=0)
    fields = (
        FieldRange(
            kind.name, one.name, row["events"], row[f"nulls of {one.name}"],
            _text(row[f"least {one.name}"]), _text(row[f"most {one.name}"]),
        )
        for kind in (schema.types if schema else ())
        if (row := by_type.get(kind.name))
        for one in kind.attributes
    )  # fmt: skip
    return tuple(fields), late, timedelta(microseconds=longest) if late else None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def read_day_figures(lake: Path, interval: Interval) -> pd.DataFrame:
    """The `DAYS` up to the last one of an interval (UTC), without the first ones of no figures.

    Landings count by the hour of their files, results by the hour that owns them, aggregation by
    the hour that a slice begins in; of slices that overlap, each counts.

    Returns:
        A row for each day, named as `2013-02-08`, float64 columns: of landings `lines`,
        `accepted`, `duplicates`, `quarantined`, and `superseded` for those of the quarantined that
        were older versions of an event that was corrected; published `rows`, how many of them are
        `checked`, and `mismatches` of all that was checked; `events` that aggregation read, and
        its `seconds`.

    Raises:
        DataError: a table is missing or cannot be read.
    """
    last = (interval.end - 1) // DAY
    labels = [format_instant(day * DAY)[:10] for day in range(last - DAYS + 1, last + 1)]
    hours = [f"{label}T{hour:02}" for label in labels for hour in range(24)]
    landings = read_rows(lake, "landings", landing=hours).to_pandas()
    landings["superseded"] = [json.loads(text).get("superseded", 0) for text in landings["reasons"]]
    results = read_rows(lake, "publications", columns=["owned_hour", "rows"], owned_hour=hours)
    columns = ["owned_hour", "status", "mismatch", "published_exact", "published_value"]
    checks = read_rows(lake, "validations", columns=columns, owned_hour=hours).to_pandas()
    there = checks["published_exact"].notna() | checks["published_value"].notna()
    checks["checked"] = (checks["status"] == "checked") & there
    checks["mismatches"] = checks["mismatch"]
    counted = ["lines", "accepted", "duplicates", "quarantined", "superseded"]
    parts = [
        _by_day(landings, "landing", counted),
        _by_day(results.to_pandas(), "owned_hour", ["rows"]),
        _by_day(checks, "owned_hour", ["checked", "mismatches"]),
        _by_day(_slice_figures(lake, labels[0]), "run_key", ["events", "seconds"]),
    ]
    days = pd.concat(parts, axis=1).reindex(labels).fillna(0).astype("float64")
    return days[days.any(axis=1).cummax()]


def _by_day(rows: pd.DataFrame, hour: str, columns: list[str]) -> pd.DataFrame:
    return rows[columns].astype("float64").groupby(rows[hour].str[:10]).sum()


def _slice_figures(lake: Path, first: str) -> pd.DataFrame:
    """Events and seconds of each slice of aggregation from a day on.

    Without those of which one is lacking: events whose time was not taken would make others look
    faster.
    """
    names = ["events", "seconds"]
    rows = read_rows(
        lake, "run_metrics", columns=["run_key", "metric", "value"],
        where=pc.field("run_key") >= first, step=["aggregate"], metric=names,
    ).to_pandas()  # fmt: skip
    slices = rows.pivot_table(index="run_key", columns="metric", values="value", aggfunc="last")
    return slices.reindex(columns=names).dropna().reset_index()
