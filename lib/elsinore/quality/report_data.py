"""What a run's report tells, read from the lake's tables into plain values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc

from elsinore.lake.provenance import PUBLISHED, STAGED, staged_origins
from elsinore.lake.regions import Hours, Landings, run_key
from elsinore.lake.run_metrics import (
    PUBLISH_STEP,
    RunTime,
    is_of_coverage,
    is_of_sharing,
    run_time_sharing,
)
from elsinore.quality.lake import ResultCounts, count_results, read_rows
from elsinore.sharing.explain import ExplainedCandidate, explain_plan
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.profile import StreamProfile
from elsinore.step_clock import BEGAN, ENDED
from elsinore.timeline import Interval, hour_label

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


@dataclass(frozen=True, slots=True)
class LandedHour:
    """One hour of the landing zone; `reasons` counts its quarantined lines by reason code."""

    hour: str
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

    Attributes:
        query: its name.
        rows: published (group, window)s.
        aggregates, staged: published and staged values, one for each aggregate of a row.
        largest, log2: the largest count in full and its binary logarithm; None without counts.
        group, window_start: where the largest count is.
        checked, skipped, mismatches: validated aggregates by outcome.
    """

    query: str
    rows: int
    aggregates: int
    staged: int
    largest: str | None
    log2: float | None
    group: str | None
    window_start: datetime | None
    checked: int
    skipped: int
    mismatches: int


@dataclass(frozen=True, slots=True)
class Step:
    """A step's figures: seconds, events a second where both are known, and all the rest."""

    name: str
    seconds: float | None
    throughput: float | None
    others: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything that the page of one run shows.

    `stream` is None where it was not measured; `plans` are those that the results name, each with
    its candidates; `sharing` says in words what was shared at run
    time, `run_time` in figures; `staged` counts staged results by query. `seconds` is the time
    from the start of the first step to the end of publication; None where that is not on record.
    """

    interval: Interval
    hours: tuple[LandedHour, ...]
    stream: StreamProfile | None
    plans: tuple[tuple[StaticPlan, tuple[ExplainedCandidate, ...]], ...]
    sharing: tuple[str, ...]
    run_time: RunTime
    queries: tuple[QueryResults, ...]
    staged: dict[str, int]
    steps: tuple[Step, ...]
    seconds: float | None
    skip_reasons: tuple[tuple[str, int], ...]


def read_report_data(lake: Path, interval: Interval) -> ReportData:
    """The figures of the run over an interval.

    Raises:
        DataError: a table is missing or cannot be read.
        PlanError: the run's plan or profile is damaged.
    """
    owned, landed = Hours(interval), Landings(interval)
    landings = read_rows(lake, "landings", where=landed.expression(by_day=False))
    columns = ["query", "status", "reason", "mismatch"]
    checks = read_rows(
        lake, "validations", columns=columns, where=owned.expression(by_day=False)
    ).to_pandas()
    published = count_results(lake, PUBLISHED, owned, tops=True)
    staged = count_results(lake, STAGED, owned)
    metrics = _metrics(lake, interval)
    origins = staged_origins(lake, interval)
    skipped = checks["reason"][checks["status"] == "skipped"]
    return ReportData(
        interval=interval,
        hours=tuple(_hour(row) for row in landings.sort_by("landing").to_pylist()),
        stream=_stream(lake, metrics),
        plans=tuple(
            (plan, explain_plan(plan))
            for plan in _plans(lake, sorted({o.plan for o in origins.values()}))
        ),
        sharing=_details(metrics, SHARING),
        run_time=run_time_sharing(_figures(metrics)),
        queries=tuple(_queries(published, staged, checks)),
        staged={query: counts.rows for query, counts in staged.items()},
        steps=tuple(_steps(metrics)),
        seconds=_wall_time(metrics, interval),
        skip_reasons=tuple(Counter(skipped.fillna("no reason given")).most_common()),
    )


def _place(step: str) -> tuple[int, str]:
    known = (place for place, start in enumerate(_STEPS) if step.startswith(start))
    return next(known, len(_STEPS)), step


def _hour(row: dict[str, object]) -> LandedHour:
    numbers = {n: int(str(row[n])) for n in ("lines", "accepted", "duplicates", "quarantined")}
    times = {n: t for n in ("first_event", "last_event") if isinstance(t := row[n], datetime)}
    return LandedHour(
        hour=str(row["landing"]),
        reasons={str(k): int(v) for k, v in json.loads(str(row["reasons"])).items()},
        first_event=times.get("first_event"),
        last_event=times.get("last_event"),
        **numbers,
    )


def _details(metrics: pd.DataFrame, metric: str) -> tuple[str, ...]:
    """The distinct texts of a metric."""
    return tuple(sorted(metrics.loc[metrics["metric"] == metric, "detail"].dropna().unique()))


def _stream(lake: Path, metrics: pd.DataFrame) -> StreamProfile | None:
    """The profile that the run's metrics name."""
    named = _details(metrics, PROFILE_FINGERPRINT)
    rows = read_rows(lake, "plans", kind=["profile"], fingerprint=named)
    bodies = rows["body"].to_pylist()
    return StreamProfile.from_json(bodies[0]) if bodies else None


def _plans(lake: Path, fingerprints: list[str]) -> list[StaticPlan]:
    rows = read_rows(lake, "plans", kind=["plan"], fingerprint=fingerprints).sort_by("fingerprint")
    return [StaticPlan.from_json(body) for body in rows["body"].to_pylist()]


def _queries(
    published: Mapping[str, ResultCounts],
    staged: Mapping[str, ResultCounts],
    checks: pd.DataFrame,
) -> Iterator[QueryResults]:
    for name in sorted({*published, *staged, *checks["query"]}):
        ours, of_query = published.get(name, ResultCounts()), checks[checks["query"] == name]
        top = ours.top
        yield QueryResults(
            query=name,
            rows=ours.rows,
            aggregates=ours.values,
            staged=staged.get(name, ResultCounts()).values,
            largest=top.exact if top else None,
            log2=top.log2 if top else None,
            group=top.group if top else None,
            window_start=top.window_start if top else None,
            checked=int((of_query["status"] == "checked").sum()),
            skipped=int((of_query["status"] == "skipped").sum()),
            mismatches=int(of_query["mismatch"].sum()),
        )


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
        figures = [row for row in _figures(by_step[name]) if not _is_told_elsewhere(row[0])]
        seconds = _seconds(by_step[name])
        events = sum(value or 0.0 for metric, value, _ in figures if metric == "events")
        yield Step(
            name=name,
            seconds=seconds,
            throughput=events / seconds if seconds and events else None,
            others=_added_up(figures),
        )


def _is_told_elsewhere(metric: str) -> bool:
    return is_of_sharing(metric) or is_of_coverage(metric)


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
