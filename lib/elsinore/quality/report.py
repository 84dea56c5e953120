"""The data-quality report of a run or of a night: one HTML file that needs nothing beside it.

No script, no font, no image from elsewhere; texts of events and queries are escaped. The page is
made of the tables and the judgement alone: made again at any time, it reads the same.
"""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import jinja2
import numpy as np
import pandas as pd

from elsinore.catalog.stream import StreamSchema
from elsinore.lake.regions import run_key
from elsinore.lake.run_metrics import RunTime
from elsinore.quality.judge import Judgement
from elsinore.quality.report_data import LandedHour, ReportData, read_report_data
from elsinore.query.print_query import count_of, print_length
from elsinore.timeline import Interval, hour_label

#: More digits of a count are not shown in full.
_FULL_DIGITS = 15
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
        judgement: what the expectations said of the run; names its Data Docs.
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
    docs = judgement.docs if judgement else None
    data = read_report_data(lake, interval, stream, pages=out if night else None)
    link = quote(os.path.relpath(docs, out)) if docs else None
    _write_whole(page, _render(data, judgement, link))
    if docs is not None:
        link_back(docs, page, f"Report of {'the day' if night else 'the run'}")
    return page


def _write_whole(path: Path, text: str) -> None:
    made = path.with_suffix(f".{os.getpid()}.making")
    made.write_text(text, encoding="utf-8")
    made.replace(path)


def _render(data: ReportData, judgement: Judgement | None, docs_link: str | None) -> str:
    """The page as text; `docs_link` is a relative path to the Data Docs."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("elsinore.quality", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    reasons: Counter[str] = sum((Counter(hour.reasons) for hour in data.hours), Counter())
    return environment.get_template("report.html.j2").render(
        data=data,
        charts=trend_charts(data.days),
        verdict=decide(data, judgement),
        observed=data.stream and Interval(*data.stream.observed),
        judgement=judgement,
        docs_link=docs_link,
        landed=_bars(data.hours, _landed_lines),
        by="hour" if len(data.hours) <= _MOST_HOURS else "day",
        quarantine=_bars(data.hours, _quarantined_lines(reasons)),
        totals=_totals(data),
        shares=_shares(data.run_time),
        counts=_other_counts(data.run_time),
        reasons=reasons.most_common(),
    )


def _landed_lines(hour: LandedHour) -> dict[str, int]:
    return {part: getattr(hour, part) for part in ("accepted", "duplicates", "quarantined")}


def _quarantined_lines(totals: Counter[str]) -> Callable[[LandedHour], dict[str, int]]:
    """By reason: next to the accepted lines they would be too thin to see."""
    named = [reason for reason, _ in totals.most_common(5)]

    def lines(hour: LandedHour) -> dict[str, int]:
        found = dict.fromkeys(named, 0)
        for reason, number in hour.reasons.items():
            name = reason if reason in named else "other reasons"
            found[name] = found.get(name, 0) + number
        return found

    return lines


def _bars(
    hours: Sequence[LandedHour], lines: Callable[[LandedHour], dict[str, int]]
) -> StackedBars | None:
    """One bar for each hour, or for each day where there are many."""
    counts: dict[str, Counter[str]] = {}
    for hour in hours:
        day = len(hours) > _MOST_HOURS
        label = hour.landing[:10] if day else f"{hour.landing[5:10]} {hour.landing[11:]}h"
        counts.setdefault(label, Counter()).update(lines(hour))
    series = {name: None for found in counts.values() for name in found}
    return stacked_bars(
        [*counts], {name: [found[name] for found in counts.values()] for name in series}
    )


def _totals(data: ReportData) -> dict[str, Any]:
    parts = ("lines", "accepted", "duplicates", "quarantined")
    queries = ("rows", "checked", "mismatches", "results", "results_checked")
    first, last = (
        [moment for hour in data.hours if (moment := getattr(hour, name))]
        for name in ("first_event", "last_event")
    )
    return {
        **{part: sum(getattr(hour, part) for hour in data.hours) for part in parts},
        **{part: sum(getattr(query, part) for query in data.queries) for part in queries},
        "seconds": any(step.seconds for step in data.steps),
        "first_event": min(first, default=None),
        "last_event": max(last, default=None),
    }


class _Share(NamedTuple):
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


class RunVerdict(NamedTuple):
    """One headline, and everything that speaks against the run, the worst first."""

    level: Level
    headline: str
    reasons: tuple[str, ...]


def decide(data: ReportData, judgement: Judgement | None) -> RunVerdict:
    """The verdict on a run or a day from its figures and, if there is one, its judgement."""
    critical = [*_figures_wrong(data), *_judged(judgement, "critical")]
    warnings = [*_figures_doubtful(data, judgement), *_judged(judgement, "warning")]
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
        f"landing {hour.landing}: {hour.lines} lines are not {hour.accepted} accepted + "
        f"{hour.duplicates} duplicates + {hour.quarantined} quarantined"
        for hour in data.hours
        if not hour.adds_up
    ]
    missing = sum(query.staged != query.aggregates for query in data.queries)
    if missing:
        queries = count_of(missing, "query")
        found.append(f"the staged results of {queries} are not those that are published")
    found += [
        f"run {run.key}: {run.mismatches} values differ from the reference"
        for run in data.runs or ()
        if run.mismatches
    ]
    return found


def _figures_doubtful(data: ReportData, judgement: Judgement | None) -> list[str]:
    missing, unsettled = data.publishing.missing, data.publishing.unsettled
    unchecked = tuple(one.query for one in data.queries if one.results and not one.results_checked)
    others = len(unchecked) < sum(one.has_results for one in data.queries)
    doubts = {
        "nothing landed in these hours": not data.hours,
        "no trend was found": not any(query.aggregates for query in data.queries),
        "no aggregate was compared with the reference": not any(q.checked for q in data.queries),
        f"{len(missing)} of {count_of(data.publishing.hours, 'hour')} are not published: "
        f"{first_words(missing)}": missing,
        f"a run ended between two commits, publish again: {first_words(unsettled)}": unsettled,
        f"no result was checked of: {first_words(unchecked)}": unchecked and others,
        "no expectations were judged for this run": judgement is None,
    }
    return [text for text, is_so in doubts.items() if is_so]


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
    _write_whole(docs_index, content)


# ---- charts, as geometry for an inline SVG; colours are the page's affair

#: Size of a chart of stacked bars in its own units; a page scales it to its width.
WIDTH, HEIGHT = 720, 190
_LEFT, _BOTTOM, _TOP = 56, 22, 8
_MAX_LABELS = 8
_MAX_BAR = 48
#: Size of a trend chart, likewise.
TREND_WIDTH, TREND_HEIGHT = 210, 44
_GAP = 3
_whole, _percent = "{:,.0f}".format, "{:.1%}".format


class Rectangle(NamedTuple):
    """One part of one bar; `series` counts from 0, `title` is what a pointer over it reads."""

    x: float
    y: float
    width: float
    height: float
    series: int
    title: str


class Label(NamedTuple):
    """A text at a point."""

    x: float
    y: float
    text: str


class StackedBars(NamedTuple):
    """A drawing of `WIDTH` by `HEIGHT`; `series` names the colours in order."""

    series: tuple[str, ...]
    rectangles: tuple[Rectangle, ...]
    categories: tuple[Label, ...]
    grid: tuple[Label, ...]
    left: float = _LEFT
    width: int = WIDTH
    height: int = HEIGHT


def stacked_bars(
    categories: Sequence[str], series: Mapping[str, Sequence[int]]
) -> StackedBars | None:
    """One bar for each category, its parts from the bottom in the order of `series`.

    None where there is nothing to draw.
    """
    totals = [sum(values) for values in zip(*series.values(), strict=True)]
    largest = max(totals, default=0)
    if largest == 0:
        return None
    top = _round_up(largest)
    slot = (WIDTH - _LEFT) / len(categories)
    bar = min(_MAX_BAR, slot * 0.8)
    scale = (HEIGHT - _BOTTOM - _TOP) / top
    rectangles = []
    for place, category in enumerate(categories):
        y = float(HEIGHT - _BOTTOM)
        for number, (name, values) in enumerate(series.items()):
            height = values[place] * scale
            y -= height
            if height:
                title = f"{category}: {values[place]:,} {name}"
                x = _LEFT + place * slot + (slot - bar) / 2
                rectangles.append(Rectangle(x, y, bar, height, number, title))
    step = -(-len(categories) // _MAX_LABELS)
    return StackedBars(
        series=tuple(series),
        rectangles=tuple(rectangles),
        categories=tuple(
            Label(_LEFT + (place + 0.5) * slot, HEIGHT - 6, categories[place])
            for place in range(0, len(categories), step)
        ),
        grid=tuple(
            Label(_LEFT, HEIGHT - _BOTTOM - value * scale, f"{value:,}")
            for value in sorted({0, top // 2, top})
        ),
    )


def _round_up(number: int) -> int:
    """The next 1, 2 or 5 times a power of ten.

    >>> [_round_up(n) for n in (1, 3, 71, 100, 101)]
    [1, 5, 100, 100, 200]
    """
    power: int = 10 ** (len(str(number)) - 1)
    return next(size * power for size in (1, 2, 5, 10) if size * power >= number)


class TrendChart(NamedTuple):
    """One bar for each day, oldest first.

    `latest` is the last day's figure as text; `critical` says that any figure at all is bad news.
    """

    title: str
    latest: str
    bars: tuple[Rectangle, ...]
    critical: bool
    width: int = TREND_WIDTH
    height: int = TREND_HEIGHT


def trend_charts(days: pd.DataFrame) -> tuple[TrendChart, ...]:
    """The charts of what `read_day_figures` gives; none of one day alone, which is no trend."""
    if len(days) < 2:
        return ()
    figures = (
        ("lines landed", days["lines"], _whole),
        ("quarantined", days["quarantined"] / days["lines"], _percent),
        ("duplicates", days["duplicates"], _whole),
        ("superseded by a correction", days["superseded"], _whole),
        ("values published", days["rows"], _whole),
        ("of these checked", (days["checked"] / days["rows"]).clip(upper=1), _percent),
        ("mismatches", days["mismatches"], _whole),
        ("events/s in aggregation", days["events"] / days["seconds"], _whole),
    )
    return tuple(
        _trend_chart(title, values.where(np.isfinite(values), 0.0), text)
        for title, values, text in figures
    )


def _trend_chart(title: str, values: pd.Series, text: Callable[[float], str]) -> TrendChart:
    slot = TREND_WIDTH / len(values)
    largest = values.max() or 1.0
    bars = []
    for place, (day, value) in enumerate(values.items()):
        # What is not zero is seen, however small.
        height = max(value / largest * TREND_HEIGHT, 2.0) if value else 0.0
        last = int(place == len(values) - 1)
        bars.append(
            Rectangle(place * slot, TREND_HEIGHT - height, slot - _GAP, height, last,
                      f"{day}: {text(value)}")
        )  # fmt: skip
    return TrendChart(title, text(values.iloc[-1]), tuple(bars), critical=title == "mismatches")


# ---- figures as people read them in cells


def shorten_count(digits: str | None) -> str:
    """A count that fits a cell: in full up to 15 digits, else its leading digits and its length.

    >>> shorten_count("1234567"), shorten_count("1" + "0" * 20)
    ('1,234,567', '1.00e20 (21 digits)')
    """
    if digits is None:
        return "–"
    if len(digits) <= _FULL_DIGITS:
        return f"{int(digits):,}"
    return f"{digits[0]}.{digits[1:3]}e{len(digits) - 1} ({len(digits)} digits)"


def show_instant(moment: datetime | None) -> str:
    """An instant to the second, or a dash."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment else "–"


def show_interval(interval: Interval) -> str:
    """Whole hours, UTC."""
    start, end = (hour_label(border).replace("T", " ") for border in (interval.start, interval.end))
    return f"{start}:00 to {end}:00 UTC"


def show_number(value: float | None) -> str:
    """A figure in a cell: whole numbers whole, others with as many places as matter."""
    if value is None:
        return "–"
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 0.01 else f"{value:.2g}"


def show_percent(part: float, whole: float) -> str:
    """A share with one decimal, or a dash where there is no whole.

    >>> show_percent(1, 8), show_percent(999, 1000), show_percent(99_999, 100_000)
    ('12.5%', '99.9%', '>99.9%')
    """
    if not whole:
        return "–"
    # Nearly all is not all.
    nearly = part < whole and part / whole >= 0.9995
    return ">99.9%" if nearly else f"{part / whole:.1%}"


def show_duration(length: timedelta | None) -> str:
    """A length of time in its largest unit.

    >>> show_duration(timedelta(minutes=90)), show_duration(timedelta(days=1))
    ('1.5 hours', '1 day')
    """
    if length is None:
        return "–"
    seconds = length.total_seconds()
    units = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
    unit, size = next((each for each in units if seconds >= each[1]), units[-1])
    number = f"{seconds / size:.3g}"
    return f"{number} {unit}{'' if number == '1' else 's'}"


def first_words(labels: tuple[str, ...], most: int = 6) -> str:
    """A few of some names, and how many more there are.

    >>> first_words(("a", "b", "c"), 2)
    'a, b and 1 more'
    """
    rest = len(labels) - most
    return ", ".join(labels[:most]) + (f" and {rest} more" if rest > 0 else "")


def run_hours(key: str) -> str:
    """The hours of a run, the day once where it is one.

    >>> run_hours("2013-02-08T05_2013-02-08T06"), run_hours("2013-02-08T05_2013-02-09T00")
    ('2013-02-08 05h to 06h', '2013-02-08 05h to 2013-02-09 00h')
    """
    first, last = (f"{label.replace('T', ' ')}h" for label in key.split("_"))
    return f"{first} to {last.removeprefix(first[:11])}"


#: For templates, by the names they use.
FILTERS = {
    "instant": show_instant,
    "number": show_number,
    "count": shorten_count,
    "count_of": count_of,
    "percent": show_percent,
    "interval": show_interval,
    "length_text": print_length,
    "duration": show_duration,
    "names": first_words,
    "hours": run_hours,
}
