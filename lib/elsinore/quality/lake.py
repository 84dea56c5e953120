"""Results in the lake by query, and which hours are published for which; read without a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.integers import integer_of
from elsinore.ledger.fold import Fold
from elsinore.ledger.results import published, stale, unsettled
from elsinore.ledger.rows import Longs, State
from elsinore.publish.changed_results import unrecorded_changes
from elsinore.quality.ingested_hours import is_table
from elsinore.quality.measures import Measures, chosen_measures
from elsinore.quality.staged import hours_in, staged_by_day
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.settings import LakePath
from elsinore.store.delta_log import read_by_day, read_rows
from elsinore.store.regions import Hours
from elsinore.store.tables import RESULTS
from elsinore.timeline import Interval
from elsinore.wording import value_label

#: The columns that identify a result.
PLACE = ["query", "group_key", "window_start"]


class TopResult(NamedTuple):
    """The largest count of a group over all windows.

    Attributes:
        aggregate: the count, as RETURN spells it.
        exact: all of its digits.
        log2: its binary logarithm; None for zero.
        group_key: the group, as JSON.
        window_start, window_end: the half-open window, UTC.
        values: each value of this result with its nearest double and, for an integer, all of its
            digits. A string or a boolean has its text instead of digits, and no double.
    """

    aggregate: str
    exact: str
    log2: float | None
    group_key: str
    window_start: datetime
    window_end: datetime
    values: tuple[tuple[str, float | None, str | None], ...] = ()

    def value_of(self, aggregate: str) -> tuple[float | None, str | None]:
        """Return the double and the digits or text of a value; None for both if there is none."""
        found = (one[1:] for one in self.values if one[0] == aggregate)
        return next(found, (None, None))

    @property
    def rank(self) -> tuple[int, str, datetime]:
        """The key by which results are ordered."""
        return integer_of(self.exact), self.group_key, self.window_start


@dataclass(slots=True)
class ResultCounts:
    """One query's results: `rows` are (group, window)s, `values` the aggregates of all of them.

    The steps of a query are values of the same result.

    `tops` are its largest counts, each of another group, the largest first.
    """

    rows: int = 0
    values: int = 0
    tops: tuple[TopResult, ...] = ()


def results_by_day(
    lake: LakePath, hours: Hours, *, columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Return the published results of some hours, a day at a time; none before the first run.

    Raises:
        DataError: the table cannot be read.
    """
    if is_table(lake, RESULTS):
        yield from read_by_day(lake, RESULTS, hours, columns=columns)


def count_results(
    lake: LakePath, hours: Hours, *, tops: int = 0, measures: Measures | None = None
) -> dict[str, ResultCounts]:
    """Return the published results of some hours, by query in the order of names.

    Args:
        lake: directory of the Delta tables.
        hours: the hours.
        tops: number of groups of largest counts to look for.
        measures: the counts to look for.

    Raises:
        DataError: the table cannot be read.
    """
    return _counted(results_by_day(lake, hours, columns=_columns(tops)), tops, measures or {})


def count_staged(lake: LakePath, state: Fold, hours: Hours) -> dict[str, ResultCounts]:
    """Return the staged results of some hours, as `count_results` returns the published ones.

    Raises:
        DataError: the table cannot be read.
    """
    return _counted(staged_by_day(lake, state, hours, columns=_columns(0)), 0, {})


def _columns(tops: int) -> list[str]:
    return [*_KEY[:2], *_TOP_COLUMNS, "value", "step"] if tops else [*_KEY, "step"]


def of_last_step(rows: pa.Table) -> pa.Table:
    """Return rows without earlier steps than the last; a window has rows of all steps."""
    steps = rows["step"]
    if steps.null_count == len(steps):
        return rows
    last = rows.group_by(_KEY[:2], use_threads=False).aggregate([("step", "max")])
    texts = pc.binary_join_element_wise(*_texts(rows, "step"), " ")
    wanted = pc.binary_join_element_wise(*_texts(last, "step_max"), " ")
    return rows.filter(pc.or_(pc.is_null(steps), pc.fill_null(pc.is_in(texts, wanted), False)))


def _texts(rows: pa.Table, step: str) -> list[pa.ChunkedArray]:
    """Return columns of strings: the query, its fingerprint, and the step."""
    return [rows[name].cast(pa.string()) for name in (*_KEY[:2], step)]


def _counted(parts: Iterable[pa.Table], tops: int, measures: Measures) -> dict[str, ResultCounts]:
    """Return the results in parts of a table; results of an hour are in the same part."""
    found: dict[str, ResultCounts] = {}
    for rows in parts:
        last = of_last_step(rows)
        for query, _, _, number in _numbers(rows):
            found.setdefault(query, ResultCounts()).values += number
        most: dict[tuple[str, str], int] = {}  # each result has a row for each aggregate
        for query, text, _, number in _numbers(last):
            most[query, text] = max(number, most.get((query, text), 0))
        for (query, _), number in most.items():
            found[query].rows += number
        for query, largest in _tops(rows, last, tops, measures).items() if tops else ():
            found[query].tops = _largest((*found[query].tops, *largest), tops)
    return dict(sorted(found.items()))


#: Columns by which values are counted; a query may have been reworded.
_KEY = ["query", "query_fingerprint", "aggregate"]
#: Columns that a `TopResult` is read from, with the nearest double of each aggregate.
_TOP_COLUMNS = ("aggregate", "exact", "log2", "group_key", "window_start", "window_end")
#: Below this logarithm no two counts have the same.
_LARGE = 40.0


def _numbers(rows: pa.Table) -> list[tuple[str, str, str, int]]:
    """Return the query, its fingerprint, a value and its number of rows, for all values."""
    numbers = rows.group_by(_KEY, use_threads=False).aggregate([([], "count_all")])
    return list(zip(*numbers.to_pydict().values(), strict=True))


def _tops(
    rows: pa.Table, last: pa.Table, number: int, measures: Measures
) -> dict[str, list[TopResult]]:
    """Return the groups of the largest counts of each query by logarithm; digits break ties.

    Args:
        rows: values of results.
        last: the same without steps before the last one, which decides.
        number: number of groups.
        measures: the counts that are compared.
    """
    texts = [((query, text), name) for query, text, name, _ in _numbers(last)]
    chosen = chosen_measures(measures, texts)
    wanted = [(*query, measure.name) for query, measure in chosen.items()]
    columns = zip(*wanted, strict=True) if wanted else [()] * len(_KEY)
    table = pa.table([pa.array(column, pa.string()) for column in columns], _KEY)
    counts = last.join(table, _KEY, join_type="inner", use_threads=False)
    if not counts.num_rows:  # of no rows pandas does not know the types
        return {}
    counts = counts.append_column("size", pc.fill_null(counts["log2"], -1.0))
    best = (
        counts.group_by(["query", "group_key"], use_threads=False)
        .aggregate([("size", "max")])
        .to_pandas()
    )
    best = best.sort_values(["size_max", "group_key"], ascending=False)
    of_query = best.groupby("query")["size_max"]
    # Large counts can differ and have the same logarithm.
    may_tie = (best["size_max"] >= _LARGE) & (of_query.rank("min", ascending=False) <= number)
    best = best[may_tie | (of_query.cumcount() < number)]
    best = pa.Table.from_pandas(best, preserve_index=False)
    near = counts.join(best, ["query", "group_key"], join_type="inner", use_threads=False)
    near = near.filter(pc.equal(near["size"], near["size_max"]))
    values = _values_of(rows, near)
    found: dict[str, list[TopResult]] = {}
    for row in near.select(["query", *_TOP_COLUMNS]).to_pylist():
        of_result = values[tuple(row[name] for name in PLACE)]
        found.setdefault(row.pop("query"), []).append(TopResult(**row, values=of_result))
    return found


def _values_of(
    rows: pa.Table, near: pa.Table
) -> dict[tuple[str, ...], tuple[tuple[str, float | None, str | None], ...]]:
    """Return `TopResult.values` by query, group and window start.

    Values of steps have the labels of `value_label`. Values of the last step have their names, too.
    """
    places = near.select(PLACE)
    of_results = rows.join(places, PLACE, join_type="left semi", use_threads=False)
    found: dict[tuple[str, ...], dict[str, tuple[float | None, str | None]]] = {}
    of_results = of_results.select([*PLACE, "step", "aggregate", "value", "exact"])
    for row in sorted(of_results.to_pylist(), key=lambda row: row["step"] or 0):
        of_result = found.setdefault(tuple(row[name] for name in PLACE), {})
        of_result[row["aggregate"]] = row["value"], row["exact"]
        of_result[value_label(row["aggregate"], row["step"])] = row["value"], row["exact"]
    return {
        place: tuple((name, *value) for name, value in of_result.items())
        for place, of_result in found.items()
    }


def _largest(tops: Iterable[TopResult], number: int) -> tuple[TopResult, ...]:
    by_group = {top.group_key: top for top in sorted(tops, key=lambda top: top.rank)}
    return tuple(sorted(by_group.values(), key=lambda top: top.rank, reverse=True)[:number])


# ---- what is published


def unsettled_hours(lake: LakePath, state: Fold, hours: Longs | None = None) -> Longs:
    """Return the hours, of some or of all, whose results changed after their publication.

    See `ledger.results.unsettled`.

    Raises:
        DataError: the log of the table is damaged.
    """
    rows = state[State.PUBLISHED]
    if hours is not None:
        rows = rows.where(np.isin(rows.hours, hours))
    return np.intersect1d(unsettled(state, *unrecorded_changes(lake, rows)), rows.hours)


def published_hours(
    lake: LakePath, state: Fold, workload: Workload, interval: Interval
) -> dict[str, Any]:
    """Return what is published for the hours of an interval; before the first run, nothing is.

    Args:
        lake: directory of the Delta tables.
        state: the state of the hours of the workload.
        workload: the queries.
        interval: whole hours.

    Returns:
        For JSON: `hours`, the number of hours of the interval; `published_hours`, the number of
        these that are published for the queries, are not stale and have not changed since;
        `other_queries`, names of queries with results there that the workload does not have, or not
        with the same text.

    Raises:
        DataError: a table cannot be read.
    """
    hours, fingerprint = hours_in(Hours(interval)), workload_fingerprint(workload)
    reach = max((query.window.hours_back for query in workload.queries), default=0)
    done = np.intersect1d(published(state, fingerprint).hours, hours)
    wrong = np.union1d(stale(state, reach), unsettled_hours(lake, state, hours))
    others: set[tuple[str, str]] = set()
    if is_table(lake, RESULTS):
        columns = ["query", "query_fingerprint"]
        rows = read_rows(lake, RESULTS, columns=columns, hours=Hours(interval))
        texts = rows.group_by(columns, use_threads=False).aggregate([]).to_pylist()
        others = {(row["query"], row["query_fingerprint"]) for row in texts}
    known = {(query.name, query.fingerprint) for query in workload.queries}
    return {
        "hours": len(hours),
        "published_hours": len(np.setdiff1d(done, wrong)),
        "other_queries": sorted({name for name, _ in others - known}),
    }
