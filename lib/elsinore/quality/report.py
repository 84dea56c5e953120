"""Writes the report of a run or of a day: an HTML page, and a CSV file for each query.

The page loads nothing: no script, font or image. Strings of events and queries are escaped. It
depends only on the ledger, the tables and the validation results, so writing it again gives the
same page.
"""

from __future__ import annotations

import html
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import jinja2
import pandas as pd

from elsinore.catalog.stream import StreamSchema
from elsinore.files.rejection import invalid_records
from elsinore.lake.sharing_metrics import RunTime
from elsinore.lake.views import view_names
from elsinore.ledger.days import LEGEND, Cell
from elsinore.ledger.fold import Fold
from elsinore.ledger.show import duration
from elsinore.places import state as file_state
from elsinore.places import whole_file
from elsinore.quality.charts import Trend, show_size, story_ticks, time_ticks, trends
from elsinore.quality.check_expectations import Severity, ValidationResults
from elsinore.quality.example_trend import find_example
from elsinore.quality.lake import TopResult
from elsinore.quality.open_windows import replay_command, show_minute
from elsinore.quality.report_data import ReportData
from elsinore.quality.result_files import sql_command, write_csv_files
from elsinore.quality.stories import MOST_HOURS, RESULTS, Story, in_words
from elsinore.query.bound import Workload
from elsinore.query.print_query import count_of, print_length
from elsinore.results.published import shorten_count
from elsinore.settings import LakePath
from elsinore.store.regions import run_key
from elsinore.timeline import Instant, Interval, hour_label
from elsinore.wording import escaped, plural, some_of, value_label

#: Counts of Hamlet's observers that are parts of each other.
_PARTS = (("Bursts", "shared", "bursts"), ("Events of bursts", "events shared", "events in bursts"))
#: Names of other counters on the page, in this order; the rest follow under their own names.
_COUNTS = {
    "events beside bursts": "events outside bursts",
    "event snapshots": "snapshots at event level",
    "split": "splits of queries that shared",
    "merged": "merges",
    "pairs": "pairs of events compared",
    "bytes": "bytes of scratch in a task, at most",
}
#: The outcomes of an ingested record.
_OUTCOMES = ("accepted", "repeated", "bad_records")
Level = Literal["good", "warning", "critical"]
#: The verdict of a page, which the index reads from its first `_HEAD` bytes.
_TOLD = re.compile(rb'<meta name="verdict" content="(\w+) ([^"]*)">')
_HEAD = 1_000
#: Characters of a string that a page shows.
_LONGEST_TEXT = 20_000
#: Maximum number of most changed queries, their minimum change, and a size that damps small counts.
_MOVERS, _MOVED, _FEW = 4, math.log2(1.1), 5.0


def write_report(
    lake: LakePath,
    state: Fold,
    out: Path,
    interval: Interval,
    validation: ValidationResults | None = None,
    *,
    stream: StreamSchema | None = None,
    workload: Workload | None = None,
    night: bool = False,
    airflow: str | None = None,
    of_stream: str = "",
) -> Path:
    """Write the report of a run, or replace it, and the index of all reports.

    The page of a run is `<start hour>_<end hour>.html`. The page of a day, which covers all runs
    of the day, is `night_<day>.html`. CSV files are in a directory of the same name.

    Args:
        lake: directory of the Delta tables. Tables of data that no run has created count as empty.
        state: the state of the hours of the workload.
        out: directory of the reports; made if it does not exist.
        interval: the hours.
        validation: the validation results of the run; contains the path of its Data Docs.
        stream: the schema, for NULLs and ranges of fields; None leaves these out.
        workload: the queries, for their texts and CSV files; None leaves these out.
        night: True for the page of a day.
        airflow: address of the run's page in Airflow, if it has one.
        of_stream: name by which commands find the stream; empty for the default stream.

    Raises:
        DataError: a table of records is missing, or a table cannot be read.
        PlanError: the run's plan is damaged.
    """
    out.mkdir(parents=True, exist_ok=True)
    name = f"night_{hour_label(interval.start)[:10]}" if night else run_key(interval)
    page = out / f"{name}.html"
    docs = validation.docs if validation else None
    data = ReportData(lake, state, interval, stream, out if night else None, workload)
    links = Links(quote(os.path.relpath(docs, out)) if docs else None, airflow, of_stream)
    if workload is not None:
        files = write_csv_files(lake, interval, data.published, workload, out / name)
        links = links._replace(csv={query: f"{name}/{file.name}" for query, file in files.items()})
    _write_whole(page, _render(data, validation, links))
    write_index(out)
    return page


class Links(NamedTuple):
    """The targets of a page's links.

    Attributes:
        docs: relative path of the Data Docs, if there are any.
        airflow: address of the run's page in Airflow, if it has one.
        stream: name by which commands find the stream; empty for the default stream.
        csv: relative path of each query's CSV file.
    """

    docs: str | None = None
    airflow: str | None = None
    stream: str = ""
    csv: Mapping[str, str] = MappingProxyType({})


def _write_whole(path: Path, text: str) -> None:
    with whole_file(path) as out:
        out.write(text.encode())


def write_index(out: Path) -> None:
    """Write `index.html`: links to all reports of a directory, newest hours first."""
    found = (_line(page, *file_state(page)) for page in out.glob("*[0-9].html"))
    lines = [line for line in found if line]
    months: dict[str, list[tuple[str, ...]]] = {}
    for line in sorted(lines, reverse=True):
        months.setdefault(line[0][:7], []).append(line)
    text = templates().get_template("index.html.j2").render(months=months)
    _write_whole(out / "index.html", text)


@lru_cache(maxsize=10_000)  # each report asks for all pages, which take 0.1 s in 90 days
def _line(page: Path, size: int, changed: int) -> tuple[str, ...]:
    """Return a page's line of the index; empty if the page contains no verdict."""
    del size, changed
    with page.open("rb") as file:
        told = _TOLD.search(file.read(_HEAD))
    if not told:
        return ()
    level, headline = (part.decode() for part in told.groups())
    return page.stem.removeprefix("night_"), page.name, level, html.unescape(headline)


def _render(data: ReportData, validation: ValidationResults | None, links: Links) -> str:
    """Return the page as text."""
    first_day, of_open = hour_label(data.interval.start)[:10], data.open_windows.hours
    by_day = trends(data.days, first_day)
    shown = [one for one in data.stories if one.found_some]
    reasons = sum(map(Counter, data.hours["reasons"]), Counter[str]())
    workload = data.workload
    commands = (
        {
            name: sql_command(view, data.interval, workload.by_name[name].window, links.stream)
            for name, view in view_names(workload).items()
        }
        if workload
        else {}
    )
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            data=data,
            links=links,
            commands=commands,
            trends=[one for one in by_day if any(bar.value for bar in one.bars)],
            flat=[one.title for one in by_day if not any(bar.value for bar in one.bars)],
            stories=shown,
            example=workload and find_example(data.lake, data.state, workload, shown),
            quiet=[one.query for one in data.stories if one not in shown],
            movers=movers(data.stories),
            own_days=[day for day in data.days.index if day >= first_day],
            why_nothing=why_nothing(data),
            open_windows=data.open_windows,
            open_command=of_open and replay_command(of_open, stream=links.stream),
            verdict=decide(data, validation),
            observed=data.stream and Interval(*data.stream.observed),
            validation=validation,
            records=_records(data),
            legend=_legend(data),
            size=show_size,
            totals=_totals(data),
            shares=_shares(data.run_time),
            counts=_other_counts(data.run_time),
            reasons=reasons.most_common(),
        )
    )


@cache
def templates() -> jinja2.Environment:
    """Return the templates of the pages, which escape all values."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("elsinore.quality", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_readable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    return environment


def _readable(value: Any) -> Any:
    """Return a value of a page: a string has no control characters, and is cut if it is long."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    if len(value) > _LONGEST_TEXT:
        value = f"{value[:_LONGEST_TEXT]} …[cut, {len(value):,} characters]"
    return escaped(value)


def _legend(data: ReportData) -> dict[Cell, str]:
    """Return the states in the calendar, with their meanings."""
    there = {cell for day in data.calendar for _, _, cell in day.cells}
    return {cell: meaning for cell, meaning in LEGEND.items() if cell in there}


def _records(data: ReportData) -> list[Trend]:
    """Return records by hour, or by day if there are many hours; no chart that is empty."""
    by = "hour" if len(data.hours) <= MOST_HOURS else "day"
    labels = data.hours["file_hour"].str[: 10 if by == "day" else None]
    counts = data.hours[["records", "bad_records"]].groupby(labels.to_list()).sum()
    titles = (
        ("records", f"Records per {by}"),
        ("bad_records", f"Quarantined records per {by}"),
    )
    return [Trend.of(title, counts[name]) for name, title in titles if counts[name].any()]


def _totals(data: ReportData) -> dict[str, Any]:
    queries = (
        "rows", "checked", "searched", "mismatches", "results", "results_checked", "absent_checked",
    )  # fmt: skip
    return {
        **data.hours[["records", *_OUTCOMES]].sum(),
        "bad": sum(map(invalid_records, data.hours["reasons"])),
        "empty": data.hours["empty"].sum(),
        **{part: sum(getattr(query, part) for query in data.queries) for part in queries},
        "seconds": any(step.seconds for step in data.steps),
        "first_event": data.hours["first_event"].min(),
        "last_event": data.hours["last_event"].max(),
    }


def _shares(found: RunTime) -> list[tuple[str, float, float, str]]:
    """Return shared work, sharable work and savings: (name, part, whole, unit)."""
    shares: list[tuple[str, float, float, str]] = [
        (name, found.counts.get(part, 0), found.counts[whole], "")
        for name, part, whole in _PARTS
        if found.counts.get(whole)
    ]
    if found.alone:
        name = "Predicted cost, and what sharing saves of it"
        shares.append((name, found.saved, found.alone, " s"))
    return shares


def _other_counts(found: RunTime) -> list[tuple[str, int]]:
    shown = {name for _, *parts in _PARTS for name in parts}
    names = [*_COUNTS, *(name for name in found.counts if name not in _COUNTS)]
    return [
        (_COUNTS.get(name, name), found.counts[name])
        for name in names
        if name in found.counts and name not in shown
    ]


def anchor(name: str) -> str:
    """Return a query's name as an id of HTML, which has no blanks.

    >>> anchor("delays"), anchor("q[a b]")
    ('delays', 'q-5b-a-20-b-5d-')
    """
    return re.sub(r"\W", lambda sign: f"-{ord(sign[0]):x}-", name, flags=re.ASCII)


def movers(stories: Iterable[Story]) -> list[Story]:
    """Return the queries that differ the most from the hours before.

    Counts of trends grow exponentially, so differences are compared relative to the number of
    digits. A few more or fewer trends are ignored.
    """

    def moved(story: Story) -> float:
        now, then = (max(size, -1.0) for size in (story.size, story.before[0] or 0.0))
        by = abs(now - then) if story.before[0] is not None else 0.0
        return by / (_FEW + max(now, then)) if by > _MOVED else 0.0

    return sorted(filter(moved, stories), key=moved, reverse=True)[:_MOVERS]


def why_nothing(data: ReportData) -> str:
    """Return why no query has a result, as far as the tables show; empty if one has."""
    ingested, hours = data.hours, data.publishing.hours
    if any(story.results for story in data.stories):
        return ""
    if len(data.publishing.missing) == hours:
        return "none of these hours is published"
    if ingested.empty or not ingested["records"].any():
        return f"no event arrived: {len(ingested)} of {count_of(hours, 'hour')} have a file"
    if not ingested["accepted"].any():
        records = count_of(ingested["records"].sum(), "record")
        return f"no new event arrived: {records}, none accepted"
    windows = print_length(data.longest_window)
    longest = f"; the longest windows last {windows}" * bool(data.longest_window)
    why = "no window that ended in these hours contains a trend"
    why = why if data.ends_some else "no window of the queries ends in these hours"
    return f"{count_of(ingested['accepted'].sum(), 'event')} arrived, but {why}{longest}"


class RunVerdict(NamedTuple):
    """A headline, and all problems of the run, the worst first."""

    level: Level
    headline: str
    reasons: tuple[str, ...]


def decide(data: ReportData, validation: ValidationResults | None) -> RunVerdict:
    """Return the verdict on a run or a day from its metrics and validation results."""
    critical = [*_figures_wrong(data), *_failed(validation, "critical")]
    warnings = [*_figures_doubtful(data, validation), *_failed(validation, "warning")]
    reasons = (*critical, *warnings)
    if critical:
        return RunVerdict("critical", "Do not use these results", reasons)
    if not any(query.checked or query.searched for query in data.queries):
        return RunVerdict("warning", "Not checked: no result was recomputed", reasons)
    headline = f"Sample passed{', with warnings' if warnings else ''}: {_sample(data)}"
    return RunVerdict("warning" if warnings else "good", headline, reasons)


def _sample(data: ReportData) -> str:
    """Return how much was compared with the reference, and with which outcome."""
    totals = _totals(data)
    mismatches = count_of(totals["mismatches"], "mismatch")
    if totals["results"]:
        checked = f"{totals['results_checked']:,} of {count_of(totals['results'], 'result')}"
        return f"{checked} recomputed, {mismatches}"
    windows = count_of(totals["searched"], "window")
    return f"no result expected, {windows} searched for missing results, {mismatches}"


def _figures_wrong(data: ReportData) -> list[str]:
    found = [
        f"{query.query}: {count_of(query.mismatches, 'mismatch')} with the reference in "
        f"{count_of(query.checked, 'checked value')}"
        for query in data.queries
        if query.mismatches
    ]
    found += [
        f"hour {hour.file_hour}: {count_of(hour.records, 'record')}, but {hour.accepted} accepted "
        f"+ {hour.bad_records} quarantined"
        for hour in data.hours.itertuples()
        if hour.repeated < 0
    ]
    missing = sum(query.staged != query.aggregates for query in data.queries)
    if missing:
        queries = count_of(missing, "query")
        found.append(f"the staged results of {queries} differ from the published results")
    return found


def _figures_doubtful(data: ReportData, validation: ValidationResults | None) -> list[str]:
    missing, unsettled = data.publishing.missing, data.publishing.unsettled
    provisional = data.publishing.provisional
    unchecked = tuple(one.query for one in data.queries if one.results and not one.results_checked)
    others = len(unchecked) < sum(one.has_results for one in data.queries)
    doubts = {
        "no file was ingested in these hours": data.hours.empty,
        f"fields that had values in the week before have none: {_emptied(data)}": data.emptied,
        f"files may be copies, so their events count twice: {some_of(data.copies)}": data.copies,
        **dict.fromkeys(data.lost, True),
        **{
            f"fields without values and lost corrections were not looked for: {reason}": True
            for reason in data.unchecked_doubts
        },
        f"unrecognized files in the landing zone: {data.unread}": data.unread,
        f"no query has a result: {why_nothing(data)}": not any(q.aggregates for q in data.queries),
        "no result was compared with the reference": not any(
            query.checked or query.searched for query in data.queries
        ),
        f"not published: {len(missing)} of {count_of(data.publishing.hours, 'hour')}: "
        f"{some_of(missing)}": missing,
        f"results changed after their publication was recorded; publish again: "
        f"{some_of(unsettled)}": unsettled,
        f"stale, because events of their windows changed since: "
        f"{some_of(data.publishing.stale)}": data.publishing.stale,
        f"provisional, because raw files of their windows are missing: "
        f"{some_of(provisional)}": provisional,
        f"no result was recomputed for: {some_of(unchecked)}": unchecked and others,
        "no expectation was checked for this run": validation is None,
    }
    return [text for text, is_so in doubts.items() if is_so]


def _emptied(data: ReportData) -> str:
    """Return the hours in which fields have lost their values, with the fields."""
    hours = data.emptied.items()
    return some_of(f"{show_hour(label)} {', '.join(names)}" for label, names in hours)


def _failed(validation: ValidationResults | None, severity: Severity) -> list[str]:
    failed = validation.failed(severity) if validation else ()
    return [f"{v.table}: {v.description} Found: {v.observed}" for v in failed]


# ---- figures as people read them in cells


def show_instant(moment: datetime | None) -> str:
    """Return a timestamp to the second, or a dash."""
    return "–" if pd.isna(moment) else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def show_window(top: TopResult) -> str:
    """Return the window of a result, with the date once if it ends on the same day.

    >>> day = datetime(2013, 2, 8)
    >>> show_window(TopResult("COUNT(*)", "1", 0.0, "{}", day, day + timedelta(hours=6)))
    '2013-02-08 00:00 to 06:00 UTC'
    >>> show_window(TopResult("COUNT(*)", "1", 0.0, "{}", day, day + timedelta(days=1)))
    '2013-02-08 00:00 to 24:00 UTC'
    """
    return show_times(top.window_start, top.window_end)


def show_times(start: datetime, end: datetime) -> str:
    """Return a time range, with seconds only if it needs them.

    >>> show_times(datetime(2013, 2, 8, 23, 59, 30), datetime(2013, 2, 9, 1))
    '2013-02-08 23:59:30 to 2013-02-09 01:00:00 UTC'
    """
    clock = "%H:%M" if start.second == end.second == 0 else "%H:%M:%S"
    if end - start <= timedelta(days=1) and f"{end:%H:%M:%S}" == "00:00:00":
        last = f"{end:{clock}}".replace("00", "24", 1)
    else:
        last = f"{end:{clock}}" if end.date() == start.date() else f"{end:%Y-%m-%d {clock}}"
    return f"{start:%Y-%m-%d {clock}} to {last} UTC"


def show_value(top: TopResult, label: str, time_class: Callable[[int], int] | None) -> str:
    """Return one value of a result, or a dash if it has none.

    >>> day = datetime(2013, 2, 8)
    >>> values = (("COUNT(*)", 1e4, "10000"), ("code", None, "007"), ("is_large", None, "true"))
    >>> top = TopResult("COUNT(*)", "10000", 13.3, "{}", day, day + timedelta(hours=1), values)
    >>> [show_value(top, label, None) for label in ("COUNT(*)", "code", "is_large", "none")]
    ['10,000', '007', 'true', '–']

    Args:
        top: the result.
        label: the name of the aggregate.
        time_class: see `Story.times`; None for other values.
    """
    value, digits = top.value_of(label)
    if digits is None:
        return "–" if value is None else f"{value:,.6g}"
    if value is None:  # a string or a boolean
        return digits
    if time_class is None:
        return shorten_count(digits)
    time = str(time_class(int(digits)))
    return time[:16].replace("T", " ") if time_class is Instant else time


class Figure(NamedTuple):
    """The main text of a query's card, what is around it, and whether it is a headline."""

    before: str
    main: str
    after: str
    is_headline: bool = False


def show_figure(story: Story) -> Figure:
    """Return the headline of the result with the most, or else the measure of the query."""
    step = story.steps[-1] if story.steps else None
    name = show_measure(story.measure.name) + (f" of step {step}" if step else "")
    results = count_of(story.results, "result")
    if story.headline.text and story.tops:
        top = story.tops[0]
        of_several = f": the largest of {results}" if story.results > 1 else ""
        place = f"{show_place(top)}{of_several}"
        return Figure("", show_headline(story, top), place, is_headline=True)
    if story.measure == RESULTS:
        return Figure("", show_size(story.size), plural("result", story.number))
    if story.measure.name == "COUNT(*)":
        return Figure("", show_size(story.size), f"{plural('trend', story.number)} in {results}")
    if story.measure.adds_up:
        return Figure(f"{name}:", show_size(story.size), f"in {results}")
    return Figure(f"{name}: at most", show_size(story.size), f"in one of {results}")


def show_headline(story: Story, top: TopResult) -> str:
    """Return the headline of a query with the values of a result."""

    def show(name: str, noun: str | None) -> str:
        value, digits = top.value_of(name)
        text = show_value(top, name, story.times.get(name))
        if digits is None and value is not None and math.isfinite(value):
            text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
        return text if noun is None else f"{text} {plural(noun, 1 if text == '1' else 2)}"

    return story.headline.fill(show)


def show_place(top: TopResult) -> str:
    """Return the group and the window of a result; without GROUP-BY, only the window."""
    window = show_window(top)
    return window if top.group_key == "{}" else f"{show_group(top.group_key)}, {window}"


def show_interval(interval: Interval) -> str:
    """Return whole hours, UTC."""
    start, end = (hour_label(border).replace("T", " ") for border in (interval.start, interval.end))
    return f"{start}:00 to {end}:00 UTC"


def show_hour(label: str) -> str:
    """Return a short form of the label of an hour or a day.

    >>> show_hour("2013-02-08T05"), show_hour("2013-02-08")
    ('02-08 05h', '2013-02-08')
    """
    return f"{label[5:].replace('T', ' ')}h" if "T" in label else label


def show_group(key: str) -> str:
    """Return a group key in words.

    >>> show_group('{"carrier": "B6", "origin": null}'), show_group("{}")
    ('carrier B6, origin none', 'all')
    """
    parts = json.loads(key).items()
    return ", ".join(f"{name} {'none' if v is None else v}" for name, v in parts) or "all"


def show_change(now: float, then: float) -> str:
    """Return how one size compares with an earlier one, in short.

    >>> show_change(3.0, 2.0), show_change(10.0, 4.0), show_change(-math.inf, 3.0)
    ('+100%', '×64', '8 then')
    """
    if math.isinf(then) or math.isinf(now):
        return "as before" if now == then else f"{show_size(then)} then"
    by = now - then
    if abs(by) >= math.log2(10):
        return ("×" if by > 0 else "÷") + show_size(abs(by))
    share = f"{2.0**by - 1:+.0%}"
    return "as before" if share in ("+0%", "-0%") else share


def show_measure(name: str) -> str:
    """Return the name of a value as a heading; the text of a value without AS stays as it is.

    >>> show_measure("late_flights"), show_measure("COUNT(EACH D)")
    ('Late flights', 'COUNT(EACH D)')
    """
    return in_words(name) if name.isidentifier() else name


def show_label(name: str) -> str:
    """Return the name of a value in a list; the text of a value without AS stays as it is.

    >>> show_label("mean_delay"), show_label("COUNT(EACH D)")
    ('mean delay', 'COUNT(EACH D)')
    """
    return name.replace("_", " ") if name.isidentifier() else name


def change_in_words(now: float, then: float, hours: str) -> str:
    """Return how one size compares with the size in earlier hours, as a sentence.

    >>> change_in_words(3.0, 2.0, "the 2 hours before")
    '100% more than in the 2 hours before.'
    >>> change_in_words(4.0, 10.0, "the 2 hours before")
    '64 times fewer than in the 2 hours before.'
    >>> change_in_words(-math.inf, 3.0, "the 2 hours before")
    'The 2 hours before had 8.'
    """
    if math.isinf(then) or math.isinf(now):
        same = f"As in {hours}."
        return same if now == then else f"{hours[:1].upper()}{hours[1:]} had {show_size(then)}."
    by = now - then
    more = "more" if by > 0 else "fewer"
    if abs(by) >= math.log2(10):
        return f"{show_size(abs(by))} times {more} than in {hours}."
    share = f"{abs(2.0**by - 1):.0%}"
    return f"As many as in {hours}." if share == "0%" else f"{share} {more} than in {hours}."


def show_number(value: float | None) -> str:
    """Return a number for a cell: integers in full, others with the decimals that matter."""
    if value is None:
        return "–"
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 0.01 else f"{value:.2g}"


def show_percent(part: float, whole: float) -> str:
    """Return a share with one decimal, or a dash if the whole is 0.

    >>> show_percent(1, 8), show_percent(999, 1000), show_percent(99_999, 100_000)
    ('12.5%', '99.9%', '>99.9%')
    """
    if not whole:
        return "–"
    # Nearly all is not all.
    nearly = part < whole and part / whole >= 0.9995
    return ">99.9%" if nearly else f"{part / whole:.1%}"


def show_duration(length: timedelta) -> str:
    """Return a duration in its largest unit.

    >>> show_duration(timedelta(minutes=90)), show_duration(timedelta(days=1))
    ('1.5 hours', '1 day')
    """
    seconds = length.total_seconds()
    units = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
    unit, size = next((each for each in units if seconds >= each[1]), units[-1])
    number = f"{seconds / size:.3g}"
    return f"{number} {unit}{'' if number == '1' else 's'}"


def show_outcome(outcome: str) -> str:
    """Return the outcome of a run's validation, which claims no more than was checked.

    >>> show_outcome("validated"), show_outcome("wrong")
    ('sample passed', 'wrong')
    """
    return {"validated": "sample passed", "not validated": "not checked"}.get(outcome, outcome)


def run_hours(key: str) -> str:
    """Return the hours of a run, with the date once if it is one day.

    >>> run_hours("2013-02-08T05_2013-02-08T06"), run_hours("2013-02-08T05_2013-02-09T00")
    ('2013-02-08 05h to 06h', '2013-02-08 05h to 2013-02-09 00h')
    """
    first, last = (f"{label.replace('T', ' ')}h" for label in key.split("_"))
    return f"{first} to {last.removeprefix(first[:11])}"


#: For templates, by the names they use.
FILTERS = {
    "anchor": anchor,
    "instant": show_instant,
    "minute": show_minute,
    "plural": plural,
    "number": show_number,
    "count": shorten_count,
    "count_of": count_of,
    "percent": show_percent,
    "interval": show_interval,
    "length_text": print_length,
    "duration": show_duration,
    "age": duration,
    "hours": run_hours,
    "hour": show_hour,
    "group": show_group,
    "outcome": show_outcome,
    "place": show_place,
    "value": show_value,
    "words": show_label,
    "of_step": value_label,
    "figure": show_figure,
    "in_words": change_in_words,
    "measure": show_measure,
    "story_ticks": story_ticks,
    "time_ticks": time_ticks,
    "size": show_size,
    "change": show_change,
}
