"""Summarize the results of each query in a time range, and compare them with earlier hours.

Each query has one measure: a count that it returns (`measures`), otherwise its number of results.
Sizes are binary logarithms, because a count can exceed all doubles; -inf means none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from elsinore.ledger.results import Publication
from elsinore.quality.lake import ResultCounts, TopResult, of_last_step, results_by_day
from elsinore.quality.measures import Measure, Measures, QueryText, chosen_measures, measures_of
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.comments import Headline, Texts, query_texts
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.syntax import Conjunction, single_types
from elsinore.settings import LakePath
from elsinore.store.regions import Hours
from elsinore.timeline import DAY, Interval, hour_label, hours_of

#: How many groups of a query are named.
TOPS = 3
#: More hours are drawn by day.
MOST_HOURS = 72
#: Bars that differ by more than this, as a size, are drawn on a logarithmic scale.
_LINEAR = 10.0
_NONE = -np.inf
#: The measure of a query that returns no count.
RESULTS = Measure("results")
_COLUMNS = [
    "query", "aggregate", "window_end_hour", "query_fingerprint", "value", "log2", "step",
]  # fmt: skip


class Earlier(NamedTuple):
    """Hours that a run is compared with, and the number of published ones."""

    name: str
    interval: Interval
    published: int

    @property
    def is_whole(self) -> bool:
        """Return whether all of them are."""
        return self.published == len(list(hours_of(self.interval)))


class Bar(NamedTuple):
    """A bar of a chart: its hour or day, height (0 to 1, None: no bar), value, and whose it is."""

    label: str
    height: float | None
    value: float
    own: bool


class Story(NamedTuple):
    """The results of one query.

    Attributes:
        query: its name.
        title: a heading: the first sentence of the comment above the query, or its name in words.
        about: the rest of the comment.
        headline: a sentence about the result with the most; empty if the comment has none.
        text: the query as written; empty if the workload file has another query of this name.
        cautions: sentences about what the counts include.
        measure: the count that represents the query, or `RESULTS`.
        size: the measure over all groups and windows of the run: the sum, or the largest value of
            a count that does not add up.
        results: number of pairs of a group and a window with a result.
        bars: the measure by hour or day, for a day at least; none if fewer than two have a value.
        is_linear: True if heights are proportional; False if they are logarithmic from 1 on.
        tops: the largest counts, each of another group.
        labels: the aggregates of the query, in the order of RETURN.
        steps: the numbers of its steps; none if it does not return steps.
        times: the class of the values that are timestamps or lengths of time, by label.
        before: sizes in earlier hours; None if these cannot be compared.
    """

    query: str
    title: str
    about: str
    headline: Headline
    text: str
    cautions: tuple[str, ...]
    measure: Measure
    size: float
    results: int
    bars: tuple[Bar, ...]
    is_linear: bool
    tops: tuple[TopResult, ...]
    labels: tuple[str, ...]
    steps: tuple[int, ...]
    times: Mapping[str, Callable[[int], int]]
    before: tuple[float | None, ...]

    @property
    def number(self) -> float:
        """The number whose logarithm is `size`, at most 2: enough for the form of a noun."""
        return min(float(round(2.0 ** min(self.size, 1.0))), 2.0)

    @property
    def found_some(self) -> bool:
        """Return whether there is anything to show, now or in the hours before."""
        sizes = (size for size in (self.size, *self.before) if size is not None)
        return bool(self.results or self.bars) or any(size > _NONE for size in sizes)


def earlier_hours(
    interval: Interval, publications: Mapping[str, Publication]
) -> tuple[Earlier, ...]:
    """Return the same number of hours right before an interval, and its hours a week earlier."""
    found = {}
    for by, name in ((7 * DAY, "a week before"), (interval.length, "before")):
        hours = Interval(interval.start - by, interval.end - by)
        published = sum(hour_label(hour) in publications for hour in hours_of(hours))
        found[by] = Earlier(name, hours, published)
    return tuple(found.values())[::-1]


def tell(
    lake: LakePath,
    interval: Interval,
    results: Mapping[str, ResultCounts],
    publications: Mapping[str, Publication],
    workload: Workload | None,
) -> tuple[Story, ...]:
    """Return the story of each query that has results in some whole hours or is in their workload.

    Args:
        lake: directory of the Delta tables.
        interval: the hours.
        results: the published results of the hours, by query.
        publications: the publications of all hours, by label.
        workload: the source of texts and of the order of queries; None leaves texts out.

    Raises:
        DataError: a table is missing or cannot be read.
    """
    earlier = earlier_hours(interval, publications)
    shown = Interval(min(interval.start, interval.end - DAY), interval.end)
    hours = Hours(shown, tuple(one.interval for one in earlier if one.is_whole))
    own = _workloads(interval, publications)
    # Another workload may not have had a query.
    of_others = {one for one in earlier if _workloads(one.interval, publications) != own}
    measures, sizes = _sizes(lake, hours, measures_of(workload))
    source = _Source(
        interval=interval,
        shown=shown,
        earlier=earlier,
        of_others=frozenset(of_others),
        known={query.name: query for query in workload.queries} if workload else {},
        texts=query_texts(workload) if workload else {},
        measures=measures,
        sizes=sizes,
    )
    is_theirs = workload is not None and own == {workload_fingerprint(workload)}
    names = [name for name in source.known if is_theirs or name in results]
    names += sorted(results.keys() - source.known.keys())
    return tuple(_story(name, source, results.get(name, ResultCounts())) for name in names)


@dataclass(frozen=True, kw_only=True)
class _Source:
    """The data that the stories of all queries share.

    Attributes:
        interval: the hours of the report.
        shown: the hours of the bars.
        earlier: hours to compare with.
        of_others: the earlier hours that were computed with another workload.
        known: queries of the workload by name.
        texts: texts of the workload by query.
        measures: measures by query and fingerprint.
        sizes: fingerprints and sizes by query and hour.
    """

    interval: Interval
    shown: Interval
    earlier: Sequence[Earlier]
    of_others: frozenset[Earlier]
    known: Mapping[str, BoundQuery]
    texts: Mapping[str, Texts]
    measures: Measures
    sizes: Mapping[str, Mapping[str, tuple[str, float]]]


def _story(name: str, source: _Source, counts: ResultCounts) -> Story:
    """Return the story of a query."""
    of_query, known = source.sizes.get(name, {}), source.known
    inside = [hour for hour in of_query if _is_in(hour, source.interval)]
    current = known[name].fingerprint if name in known else ""
    own_print = of_query[max(inside)][0] if inside else current
    # Results of another text of this name belong to another story.
    sizes = {hour: size for hour, (text, size) in of_query.items() if text == own_print}
    is_known = name in known and current == own_print
    texts = source.texts.get(name, Texts()) if is_known else Texts()
    title = texts.title
    if title and (listed := [one for one in known[name].source.chosen if one.of_list]):
        values = ", ".join(f"{one.parameter} = {one.text}" for one in listed)
        title = f"{title.rstrip('.')} ({values})"
    measure = source.measures.get((name, own_print), RESULTS)
    bars, is_linear = _bars(sizes, measure, source.shown, source.interval)
    labels, times = _labels(known[name] if is_known else None, counts.tops)
    return Story(
        query=name,
        title=title or in_words(name),
        about=texts.about,
        headline=texts.headline,
        text=texts.text,
        cautions=_cautions(known[name]) if is_known else (),
        measure=measure,
        size=_total(sizes, measure, source.interval),
        results=counts.rows,
        bars=bars,
        is_linear=is_linear,
        tops=counts.tops,
        labels=labels,
        steps=tuple(range(1, len(known[name].steps) + 1)) if is_known else (),
        times=times,
        before=tuple(_before(sizes, measure, one, source) for one in source.earlier),
    )


def _before(
    sizes: Mapping[str, float], measure: Measure, hours: Earlier, source: _Source
) -> float | None:
    """Return the size in earlier hours; None if it is unknown."""
    size = _total(sizes, measure, hours.interval)
    is_known = size > _NONE or hours not in source.of_others
    return size if hours.is_whole and is_known else None


def _sizes(
    lake: LakePath, hours: Hours, known: Measures
) -> tuple[dict[QueryText, Measure], dict[str, dict[str, tuple[str, float]]]]:
    """Return measures by query and fingerprint, and sizes with fingerprints by query and hour.

    A query whose text changed may return other aggregates than before.
    """
    key = _COLUMNS[:4]
    wanted = [("value", "sum"), ("value", "max"), ("log2", "max"), ([], "count_all")]
    rows = [
        row
        for part in results_by_day(lake, hours, columns=_COLUMNS)
        for row in of_last_step(part).group_by(key, use_threads=False).aggregate(wanted).to_pylist()
    ]
    aggregates = {((row["query"], row["query_fingerprint"]), row["aggregate"]) for row in rows}
    chosen = chosen_measures(known, aggregates)
    first = dict(sorted(aggregates, reverse=True))
    found: dict[str, dict[str, tuple[str, float]]] = {}
    for row in rows:
        query = row["query"], row["query_fingerprint"]
        measure = chosen.get(query)
        if row["aggregate"] == (measure.name if measure else first[query]):
            size = _size_of(row, measure)
            found.setdefault(query[0], {})[row["window_end_hour"]] = query[1], size
    return chosen, found


def _size_of(row: Mapping[str, Any], measure: Measure | None) -> float:
    """Return the size of an hour; of a query without a measure, the number of its results."""
    if measure is None:
        return float(np.log2(row["count_all"]))
    total = row["value_sum" if measure.adds_up else "value_max"]
    size = float(np.log2(total)) if total else _NONE
    return row["log2_max"] if np.isinf(size) and total else size  # beyond all doubles


def _is_in(hour: str, interval: Interval) -> bool:
    return hour_label(interval.start) <= hour < hour_label(interval.end)


def _total(sizes: Mapping[str, float], measure: Measure, interval: Interval) -> float:
    """Return the size over some hours."""
    parts = [size for hour, size in sizes.items() if _is_in(hour, interval)]
    return float(_join(measure).reduce(parts)) if parts else _NONE


def _join(measure: Measure) -> np.ufunc:
    """Return the function that joins the sizes of a measure."""
    return np.logaddexp2 if measure.adds_up else np.maximum


def _bars(
    sizes: Mapping[str, float], measure: Measure, shown: Interval, interval: Interval
) -> tuple[tuple[Bar, ...], bool]:
    """Return `Story.bars` and `Story.is_linear`."""
    labels = [hour_label(hour) for hour in hours_of(shown)]
    cut = 10 if len(labels) > MOST_HOURS else None
    by: dict[str, float] = {}
    for label in labels:
        size = sizes.get(label, _NONE)
        by[label[:cut]] = float(_join(measure)(by.get(label[:cut], _NONE), size))
    some = [size for size in by.values() if size > _NONE]
    if len(some) < 2:
        return (), True
    top, start = max(some), hour_label(interval.start)[:cut]
    is_linear = top - min(some) <= _LINEAR

    def height(size: float) -> float | None:
        return None if size == _NONE else 2.0 ** (size - top) if is_linear else size / top

    bars = (Bar(label, height(size), size, label >= start) for label, size in by.items())
    return tuple(bars), is_linear


def _workloads(interval: Interval, publications: Mapping[str, Publication]) -> set[str]:
    labels = map(hour_label, hours_of(interval))
    return {publications[label].workload_fingerprint for label in labels if label in publications}


def in_words(name: str) -> str:
    """Return a query's name as a heading.

    >>> in_words("late_all_day")
    'Late all day'
    """
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _labels(
    query: BoundQuery | None, tops: tuple[TopResult, ...]
) -> tuple[tuple[str, ...], Mapping[str, Callable[[int], int]]]:
    """Return `Story.labels` and `Story.times`; without a query, all names of the results."""
    if query is None:
        return tuple(dict.fromkeys(one[0] for top in tops for one in top.values)), {}
    classes = ((one.name, one.time_class) for one in query.outputs)
    return query.value_names, {name: found for name, found in classes if found is not None}


def _cautions(query: BoundQuery) -> tuple[str, ...]:
    """Return sentences about numbers of trends that readers may take for something else."""
    found = []
    if query.size_names and not isinstance(query.pattern, Conjunction):
        single = sorted(single_types(query.pattern))
        if single:
            found.append(f"A trend can be a single {' or '.join(single)}.")
    additive = any(output.additive for output in query.outputs)
    if additive and (windows := query.window.overlapping) > 1:
        found.append(f"Windows overlap: a trend counts in each of up to {windows:,} windows.")
    return tuple(found)
