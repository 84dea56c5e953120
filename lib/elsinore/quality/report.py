"""The data-quality report of a run or of a night: one HTML file that needs nothing beside it.

No script, no font, no image from elsewhere; texts of events and queries are escaped. The page is
made of the tables and the judgement alone: made again at any time, it reads the same.
"""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import jinja2

from elsinore.catalog.stream import StreamSchema
from elsinore.lake.regions import run_key
from elsinore.lake.run_metrics import RunTime
from elsinore.quality.cells import FILTERS, first_words
from elsinore.quality.charts import StackedBars, stacked_bars, trend_charts
from elsinore.quality.judgement import Judgement
from elsinore.quality.page_data import PageData, Publishing, read_page_data
from elsinore.quality.report_data import LandedHour, ReportData, read_report_data
from elsinore.timeline import Interval, hour_label

#: More hours are drawn by day.
_MOST_HOURS = 72
#: Counts of Hamlet's observers that are parts of each other.
_PARTS = (("Bursts", "shared", "bursts"), ("Events of bursts", "events shared", "events in bursts"))
#: How other counts are called on the page, in this order; others follow under their own names.
_COUNTS = {
    "events beside bursts": "events beside bursts",
    "event snapshots": "snapshots at event level",
    "split": "splits of queries that shared",
    "merged": "merges",
    "pairs": "pairs of events compared",
    "bytes": "bytes of scratch in a task, at most",
}
Level = Literal["good", "warning", "critical"]
_BLOCK = re.compile(r"<p data-elsinore=\"reports\"[^>]*>.*?</p>", re.DOTALL)
_BODY = re.compile(r"<body[^>]*>")


def write_report(
    lake: Path,
    out: Path,
    interval: Interval,
    docs_index: Path | None,
    judgement: Judgement | None = None,
    *,
    stream: StreamSchema | None = None,
    night: bool = False,
) -> Path:
    """Write the report of the run over an interval; an earlier one of the same run is replaced.

    Data Docs get a link to it, as it has one to them.

    Args:
        lake: folder of the Delta tables.
        out: folder of the reports; made where missing.
        interval: the run's hours.
        docs_index: first page of the run's Data Docs, to link to.
        judgement: what the expectations said of the run.
        stream: the stream's schema, for NULLs and ranges; None: these are left out.
        night: whether the interval is a day, whose runs are reported on together.

    Returns:
        The path of the page: in `out`, `<start hour>_<end hour>.html` of a run and
        `night_<day>.html` of a night.

    Raises:
        DataError: a table is missing or cannot be read.
        PlanError: the run's plan is damaged.
    """
    out.mkdir(parents=True, exist_ok=True)
    name = f"night_{hour_label(interval.start)[:10]}" if night else run_key(interval)
    page = out / f"{name}.html"
    link = quote(os.path.relpath(docs_index, out)) if docs_index else None
    data = read_report_data(lake, interval)
    pages = out if night else None
    page_data = read_page_data(lake, interval, stream, staged=data.staged, pages=pages)
    text = render(data, page_data, judgement, link)
    made = page.with_suffix(f".{os.getpid()}.making")
    made.write_text(text, encoding="utf-8")
    made.replace(page)
    if docs_index is not None:
        link_back(docs_index, page, f"Report of {'the day' if night else 'the run'}")
    return page


def render(
    data: ReportData, page: PageData, judgement: Judgement | None, docs_link: str | None
) -> str:
    """The page as text; `docs_link` is a relative path to the Data Docs."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("elsinore.quality", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    return environment.get_template("report.html.j2").render(
        data=data,
        page=page,
        charts=trend_charts(page.days),
        verdict=decide(data, page, judgement),
        observed=data.stream and Interval(*data.stream.observed),
        judgement=judgement,
        docs_link=docs_link,
        landed=_landed_bars(data.hours),
        by="hour" if len(data.hours) <= _MOST_HOURS else "day",
        quarantine=_quarantine_bars(data.hours),
        totals=_totals(data),
        shares=_shares(data.run_time),
        counts=_other_counts(data.run_time),
        reasons=sum((Counter(hour.reasons) for hour in data.hours), Counter()).most_common(),
    )


def _landed_bars(hours: tuple[LandedHour, ...]) -> StackedBars | None:
    parts = ("accepted", "duplicates", "quarantined")
    return _bars(hours, {part: [getattr(hour, part) for hour in hours] for part in parts})


def _quarantine_bars(hours: tuple[LandedHour, ...]) -> StackedBars | None:
    """By reason: next to the accepted lines they would be too thin to see."""
    totals = sum((Counter(hour.reasons) for hour in hours), Counter())
    named = [reason for reason, _ in totals.most_common(5)]
    series = {reason: [hour.reasons.get(reason, 0) for hour in hours] for reason in named}
    if len(totals) > len(named):
        series["other reasons"] = [
            sum(n for reason, n in hour.reasons.items() if reason not in named) for hour in hours
        ]
    return _bars(hours, series)


def _bars(hours: tuple[LandedHour, ...], series: Mapping[str, Sequence[int]]) -> StackedBars | None:
    """One bar for each hour, or for each day where there are many."""
    if len(hours) <= _MOST_HOURS:
        return stacked_bars([_short(hour.hour) for hour in hours], series)
    days: dict[str, Counter[str]] = {}
    for place, hour in enumerate(hours):
        of_day = {name: values[place] for name, values in series.items()}
        days.setdefault(hour.hour[:10], Counter()).update(of_day)
    return stacked_bars([*days], {name: [day[name] for day in days.values()] for name in series})


def _totals(data: ReportData) -> dict[str, Any]:
    first = [hour.first_event for hour in data.hours if hour.first_event]
    last = [hour.last_event for hour in data.hours if hour.last_event]
    parts = ("lines", "accepted", "duplicates", "quarantined")
    queries = ("rows", "aggregates", "checked", "skipped", "mismatches")
    return {
        **{part: sum(getattr(hour, part) for hour in data.hours) for part in parts},
        **{part: sum(getattr(query, part) for query in data.queries) for part in queries},
        "seconds": any(step.seconds for step in data.steps),
        "first_event": min(first, default=None),
        "last_event": max(last, default=None),
    }


@dataclass(frozen=True, slots=True)
class _Share:
    """A part of a whole, to be drawn as a bar."""

    name: str
    part: float
    whole: float
    unit: str = ""


def _shares(found: RunTime) -> list[_Share]:
    """What was shared of what could be, and what that saves."""
    shares = [
        _Share(name, found.counts.get(part, 0), found.counts[whole])
        for name, part, whole in _PARTS
        if found.counts.get(whole)
    ]
    if found.alone:
        shares.append(
            _Share("Predicted cost, and what sharing saves of it", found.saved, found.alone, " s")
        )
    return shares


def _other_counts(found: RunTime) -> list[tuple[str, int]]:
    shown = {name for _, *parts in _PARTS for name in parts}
    names = [*_COUNTS, *(name for name in found.counts if name not in _COUNTS)]
    return [
        (_COUNTS.get(name, name), found.counts[name])
        for name in names
        if name in found.counts and name not in shown
    ]


def _short(hour: str) -> str:
    """'2013-01-01T10' as '01-01 10h'."""
    return f"{hour[5:10]} {hour[11:]}h"


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """One headline, and everything that speaks against the run, the worst first."""

    level: Level
    headline: str
    reasons: tuple[str, ...]


def decide(data: ReportData, page: PageData, judgement: Judgement | None) -> RunVerdict:
    """The verdict on a run or a day from its figures and, if there is one, its judgement."""
    critical = [*_figures_wrong(data), *_runs_wrong(page), *_judged(judgement, "critical")]
    warnings = [*_figures_doubtful(data, page, judgement), *_judged(judgement, "warning")]
    reasons = (*critical, *warnings)
    if critical:
        return RunVerdict("critical", "Do not rely on this run", reasons)
    if not sum(query.checked for query in data.queries):
        return RunVerdict("warning", "Not validated", reasons)
    if warnings:
        return RunVerdict("warning", "Published and validated, with warnings", reasons)
    return RunVerdict("good", "Published and validated", ())


def _figures_wrong(data: ReportData) -> list[str]:
    found = [
        f"{query.query}: {query.mismatches} of {query.checked} checked aggregates differ from the "
        "reference"
        for query in data.queries
        if query.mismatches
    ]
    found += [
        f"landing {hour.hour}: {hour.lines} lines are not {hour.accepted} accepted + "
        f"{hour.duplicates} duplicates + {hour.quarantined} quarantined"
        for hour in data.hours
        if not hour.adds_up
    ]
    missing = sum(query.staged != query.aggregates for query in data.queries)
    if missing:
        found.append(f"the staged results of {missing} queries are not those that are published")
    return found


def _figures_doubtful(data: ReportData, page: PageData, judgement: Judgement | None) -> list[str]:
    found = []
    if not data.hours:
        found.append("nothing landed in these hours")
    if not any(query.aggregates for query in data.queries):
        found.append("no trend was found")
    if not any(query.checked for query in data.queries):
        found.append("no aggregate was compared with the reference")
    found += _publishing_doubtful(page.publishing)
    unchecked = tuple(one.query for one in page.coverage if one.results and not one.checked)
    if unchecked and len(unchecked) < len(page.coverage):
        found.append(f"no result was checked of: {first_words(unchecked)}")
    if judgement is None:
        found.append("no expectations were judged for this run")
    return found


def _publishing_doubtful(publishing: Publishing) -> list[str]:
    found = []
    if missing := publishing.missing:
        found.append(
            f"{len(missing)} of {publishing.hours} hours are not published: {first_words(missing)}"
        )
    if publishing.unsettled:
        found.append(
            f"a run ended between two commits, publish again: {first_words(publishing.unsettled)}"
        )
    return found


def _runs_wrong(page: PageData) -> list[str]:
    return [
        f"run {run.key}: {run.mismatches} values differ from the reference"
        for run in page.runs or ()
        if run.mismatches
    ]


def _judged(judgement: Judgement | None, severity: str) -> list[str]:
    if judgement is None:
        return []
    failed = judgement.failures if severity == "critical" else judgement.warnings
    return [f"{v.table}: {v.description} Found: {v.observed}" for v in failed]


def link_back(docs_index: Path, page: Path, text: str) -> None:
    """Put a link to a report at the top of Data Docs; again, and there is still one.

    Does nothing where there are no Data Docs.
    """
    if not docs_index.is_file():
        return
    content = docs_index.read_text(encoding="utf-8")
    target = quote(os.path.relpath(page, docs_index.parent))
    link = f'<a href="{target}">{html.escape(text)}</a>'
    found = _BLOCK.search(content)
    links = re.findall(r"<a .*?</a>", found[0], re.DOTALL) if found else []
    others = [one for one in links if f'href="{target}"' not in one]
    style = "margin:0;padding:8px 16px;font-family:sans-serif"
    block = f'<p data-elsinore="reports" style="{style}">' + " · ".join([*others, link]) + "</p>"
    content = _BLOCK.sub("", content)
    content = _BODY.sub(lambda body: body[0] + block, content, count=1)
    made = docs_index.with_suffix(f".{os.getpid()}.making")
    made.write_text(content, encoding="utf-8")
    made.replace(docs_index)
