"""The data-quality report of a run or of a night: one HTML file that needs nothing beside it.

No script, no font, no image from elsewhere; texts of events and queries are escaped. The page is
made of the tables and the judgement alone: made again at any time, it reads the same.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from elsinore.catalog.stream import StreamSchema
from elsinore.lake.regions import run_key
from elsinore.lake.run_metrics import RunTime
from elsinore.quality.bars import StackedBars, stacked_bars
from elsinore.quality.cells import FILTERS
from elsinore.quality.docs_link import link_back
from elsinore.quality.judgement import Judgement
from elsinore.quality.page_data import PageData, read_page_data
from elsinore.quality.report_data import LandedHour, ReportData, read_report_data
from elsinore.quality.run_verdict import decide
from elsinore.quality.trend_charts import trend_charts
from elsinore.timeline import Interval, hour_label


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


#: More hours are drawn by day.
_MOST_HOURS = 72


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


#: Counts of Hamlet's observers that are parts of each other.
_PARTS = (("Bursts", "shared", "bursts"), ("Events of bursts", "events shared", "events in bursts"))


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


#: How other counts are called on the page, in this order; others follow under their own names.
_COUNTS = {
    "events beside bursts": "events beside bursts",
    "event snapshots": "snapshots at event level",
    "split": "splits of queries that shared",
    "merged": "merges",
    "pairs": "pairs of events compared",
    "bytes": "bytes of scratch in a task, at most",
}


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
