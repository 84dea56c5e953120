"""Validates the staged results of a run: a sample of them against the two-step reference."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.errors import BudgetError, UnsupportedQueryError, ValidationError
from elsinore.events import ARROW_TYPES, TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.lake.event_files import attributes_read, event_table, events_in_order, types_read
from elsinore.lake.provenance import STAGED, RestagedError
from elsinore.lake.regions import Hours, OfWorkload
from elsinore.lake.run_metrics import STAGED_VERSION
from elsinore.lake.sample import (
    EVERY_GROUP,
    MAX_GROUPS,
    Check,
    Number,
    Place,
    SampleSize,
    built_steps,
    choose,
    count_strata,
    is_beyond,
    read_results,
    shows_more,
)
from elsinore.lake.stored_events import files_of
from elsinore.lake.tables import Lake
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.budget import Budget, Meter
from elsinore.reference.tally import tally_trends
from elsinore.reference.two_step import Method, answer_windows, enumerate_trends
from elsinore.results.published import group_text, numbers_of
from elsinore.results.row import Bounds, ResultRow, within
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import Interval, format_instant, hour_label, parse_instant

VALIDATIONS = "validations"

#: A query that went past the budget this often is not tried again in the same run; results and
#: whole windows are counted apart.
MAX_EXHAUSTED = 3

#: All checks of a run together may take as much as so many of them at the end of their budget.
FULL_CHECKS = 20

#: What stands for a value that there is not.
NOTHING: Number = (None, None)

#: What the reference says of one aggregate, and between which doubles it may lie (None: exact).
_Answer = tuple[Number, Bounds | None]
_NO_ANSWER: _Answer = (NOTHING, None)

#: The aggregate of a row that says of a whole window whether it was searched.
EVERY_AGGREGATE = "*"

#: How the reference came by its values: by building every trend, or by counting them.
ENUMERATED, COUNTED = "enumerated", "counted"

#: A check with more events is not made: the reference holds each as an object.
MAX_EVENTS = 20_000

#: Places whose events are in memory at a time.
BATCH = 250


@dataclass(frozen=True, slots=True)
class Compared:
    """One aggregate of one result beside the reference's.

    Of a whole window that was to be searched for missing results there is one, without values;
    what is missing stands beside it. `method` is `ENUMERATED` or `COUNTED`, None for a skipped one.
    `reason` says why that was not checked, or how two values differ.
    """

    query: str
    group_key: str
    window: Interval
    aggregate: str
    published: Number = NOTHING
    reference: Number = NOTHING
    mismatch: bool = False
    method: str | None = None
    reason: str | None = None

    @property
    def checked(self) -> bool:
        """Whether the reference has answered."""
        return self.method is not None

    @property
    def whole(self) -> bool:
        """Whether it is of a whole window."""
        return self.group_key == EVERY_GROUP

    def __str__(self) -> str:
        window = f"[{format_instant(self.window.start)}, {format_instant(self.window.end)})"
        return (
            f"query {self.query}, group {self.group_key}, window {window}, {self.aggregate}: "
            f"{_spell(self.published)} instead of {_spell(self.reference)}"
        )

    def row(self) -> dict[str, object]:
        """As a row of `validations`."""
        return {
            "owned_hour": hour_label(self.window.end - 1),
            "query": self.query,
            "group_key": self.group_key,
            "window_start": self.window.start,
            "window_end": self.window.end,
            "aggregate": self.aggregate,
            "published_exact": self.published[0],
            "published_value": self.published[1],
            "reference_exact": self.reference[0],
            "reference_value": self.reference[1],
            "mismatch": self.mismatch,
            "status": "checked" if self.checked else "skipped",
            "method": self.method,
            "reason": self.reason,
        }


def _spell(number: Number) -> str:
    exact, value = number
    if exact is not None:
        return exact if len(exact) <= 60 else f"{exact[:30]}...{exact[-20:]} ({len(exact)} digits)"
    return "nothing" if value is None else repr(value)


@dataclass(frozen=True)
class Validation:
    """What came of validating a run."""

    staged_version: int  #: the version of the staged results that was validated
    #: how many results there were to draw from, by query and class of size.
    strata: Mapping[tuple[str, int], int]
    covered: Mapping[tuple[str, int], int]  #: of these, how many were checked
    compared: Sequence[Compared]  #: every aggregate of every check once, by query, window and group

    @property
    def mismatches(self) -> tuple[Compared, ...]:
        """The aggregates in which engine and reference differ."""
        return tuple(item for item in self.compared if item.mismatch)

    def figures(self) -> dict[str, int | str]:
        """As plain values, for metrics; without any check, `outcome` is `not validated`.

        `results_of_sample` counts results that are staged; `checked_results` also places where
        nothing is. `searched_windows` are those in which every group was looked for that should
        have a result; `skipped_windows` could not be searched, and the rows of `validations` say
        why.
        """
        windows = [item for item in self.compared if item.whole]
        results = [item for item in self.compared if not item.whole]
        return {
            "outcome": self._outcome(),
            "results": sum(self.strata.values()),
            "results_beyond_enumeration": sum(
                n for (_, stratum), n in self.strata.items() if is_beyond(stratum)
            ),
            "checked_results": _results(item for item in results if item.checked),
            "skipped_results": _results(item for item in results if not item.checked),
            "searched_windows": sum(item.checked for item in windows),
            "skipped_windows": sum(not item.checked for item in windows),
            "results_of_sample": sum(self.covered.values()),
            "strata": len(self.strata),
            "strata_covered": len(self.covered),
            "counted_results": _results(item for item in results if item.method == COUNTED),
            "checked_aggregates": sum(item.checked for item in results),
            "mismatches": len(self.mismatches),
            "queries_checked": len({item.query for item in self.compared if item.checked}),
            STAGED_VERSION: str(self.staged_version),
        }

    def _outcome(self) -> str:
        if self.mismatches:
            return "wrong"
        # That nothing is missing says nothing of the results that there are.
        told = any(item.checked for item in self.compared if not (item.whole and self.strata))
        return "validated" if told else "not validated"


def validate(
    lake: Lake,
    workload: Workload,
    interval: Interval,
    size: SampleSize,
    *,
    run: str,
    version: int | None = None,
) -> Validation:
    """Check a sample of the staged results of an interval and write every check to `validations`.

    The results are those of a version of the staged table, None: the latest.
    The same staged results, events and seed give the same rows. Mismatches raise nothing here, so
    that they can be reported first: see `require_no_mismatch`.

    Raises:
        RestagedError: the staged results are of other queries than the workload's.
        UnsupportedQueryError: the reference finds a query ambiguous.
        ConflictError: worth another try.
    """
    pinned = lake.version(STAGED) if version is None else version
    results = read_results(lake, Hours(interval), pinned, size.steps)
    _require_same_queries(workload, results)
    checks = choose(lake, workload, interval, results, pinned, size)
    # What two checks find missing is one mismatch.
    once = {
        (_place(item), item.aggregate): item
        for item in check_all(lake, workload, checks, Budget(size.steps))
    }
    compared = sorted(once.values(), key=_place)
    own = OfWorkload(Hours(interval), workload_fingerprint(workload))
    rows = [{"workload_fingerprint": own.workload} | item.row() for item in compared]
    lake.record(VALIDATIONS, rows, where=[own], run=run)
    covered = _covered(workload, checks, compared)
    return Validation(pinned, count_strata(results), covered, compared)


def require_no_mismatch(validation: Validation) -> None:
    """Stop here if engine and reference differ; ValidationError has all `mismatches`."""
    mismatches = validation.mismatches
    if not mismatches:
        return
    more = f" (and {len(mismatches) - 1} more)" if len(mismatches) > 1 else ""
    raise ValidationError(
        f"results differ from the reference: {mismatches[0]}{more}",
        hint="see the table validations",
        mismatches=tuple(str(item) for item in mismatches[:100]),
    )


def _require_same_queries(workload: Workload, results: pd.DataFrame) -> None:
    known = {(query.name, query.fingerprint) for query in workload.queries}
    pairs = results[["query", "query_fingerprint"]].drop_duplicates()
    found = set(pairs.itertuples(index=False, name=None))
    if other := sorted(name for name, _ in found - known):
        raise RestagedError(
            f"staged results are of other queries than the workload's: {', '.join(other)}",
            hint="aggregate the interval again",
        )


def _place(item: Compared) -> tuple[str, int, str]:
    return item.query, item.window.start, item.group_key


def _covered(
    workload: Workload, checks: Iterable[Check], compared: Iterable[Compared]
) -> Counter[tuple[str, int]]:
    done = {_place(item) for item in compared if item.checked}
    covered: Counter[tuple[str, int]] = Counter()
    for check in checks:
        place = check.place
        bounds = workload.by_name[place.query].window.bounds(place.window)
        if check.stratum is not None and (place.query, bounds.start, place.group_key) in done:
            covered[place.query, check.stratum] += 1
    return covered


def _results(compared: Iterable[Compared]) -> int:
    return len({(item.query, item.group_key, item.window) for item in compared})


def check_all(
    lake: Lake, workload: Workload, checks: Sequence[Check], budget: Budget
) -> Iterator[Compared]:
    """Compare each check with the reference over the events that the engine read.

    Every trend is built where that takes few steps (`sample.built_steps`); where there are too
    many, the reference counts them in the same search (`reference.tally`), and those of queries
    that cannot be counted are built as far as the budget goes. A check that it cannot make within
    bounds is `skipped`, with the reason. The work is bounded by the budget for each check, by
    `MAX_EXHAUSTED` for each query and by `FULL_CHECKS` for all. That there is no result where there
    is no event is left out: it says nothing of either side.

    Whole windows come after all results, so that searching them takes nothing from these. What a
    search finds missing may have been found by a check of its own too.
    """
    turns: dict[tuple[bool, int], list[Check]] = defaultdict(list)
    for check in checks:
        if check.events_version is None:
            query = workload.by_name[check.place.query]
            yield from skipped(query, check, "no aggregation of its hour is on record")
        else:
            turns[check.place.whole, check.events_version].append(check)
    reference = _Reference(workload, budget)
    for (_, version), members in sorted(turns.items()):
        for first in range(0, len(members), BATCH):
            batch = members[first : first + BATCH]
            events = events_of_places(lake, workload, version, [check.place for check in batch])
            for check, found in zip(batch, events, strict=True):
                yield from reference.check(check, found)


class _Reference:
    """The reference with what it may still spend in this run."""

    def __init__(self, workload: Workload, budget: Budget) -> None:
        self._workload = workload
        self._budget = budget
        self._left = FULL_CHECKS * budget.steps
        self._exhausted: Counter[tuple[str, bool]] = Counter()

    def check(self, check: Check, events: EventTable | None) -> list[Compared]:
        query = self._workload.by_name[check.place.query]
        if events is None:
            return skipped(query, check, f"more than {MAX_EVENTS} events")
        if check.groups is None:
            return skipped(query, check, f"more than {MAX_GROUPS} groups with a result")
        if not len(events) and not check.published:
            return []
        if self._left <= 0:
            return skipped(query, check, "the run's budget for checks is spent")
        if self._exhausted[query.name, check.place.whole] >= MAX_EXHAUSTED:
            reason = f"{MAX_EXHAUSTED} checks of the query went past the budget"
            return skipped(query, check, reason)
        return self._first_answer(query, check, events)

    def _first_answer(self, query: BoundQuery, check: Check, events: EventTable) -> list[Compared]:
        reason = f"more trends than {self._budget.steps} steps can enumerate"
        for method, steps in _ways(check, self._budget.steps):
            meter = Meter(query.name, Budget(steps))
            try:
                rows = answer_windows(query, events, [check.place.window], meter, method)
            except BudgetError as error:
                # A single result has more trends than it says, or than it takes to count them.
                if steps == self._budget.steps:
                    self._exhausted[query.name, check.place.whole] += 1
                    return skipped(query, check, str(error))
            except UnsupportedQueryError as error:
                if method is not tally_trends:
                    raise
                reason += f", and {error.fields['reasons'][0]}"
            else:
                return compare(
                    query, check, rows, COUNTED if method is tally_trends else ENUMERATED
                )
            finally:
                self._left -= meter.steps
        return skipped(query, check, reason)


def _ways(check: Check, steps: int) -> tuple[tuple[Method, int], ...]:
    """How to try to answer, in this order, and steps for it at most.

    A result is judged by its very trends where these are few: a step of building takes several
    times as long as one of counting. Of a whole window it matters which groups have any: counting
    tells it in fewer steps, of the queries that can be counted.
    """
    build, count = (enumerate_trends, steps), (tally_trends, steps)
    if check.place.whole:
        return count, build
    if check.beyond:
        return (count,) if shows_more(check.published, steps) else (count, build)
    return (enumerate_trends, built_steps(steps)), count, build


def skipped(query: BoundQuery, check: Check, reason: str) -> list[Compared]:
    """A check that was not made, for every aggregate of its query."""
    place, window = check.place, query.window.bounds(check.place.window)
    labels = [EVERY_AGGREGATE] if place.whole else [item.label for item in query.aggregates]
    return [
        Compared(
            query.name, place.group_key, window, label,
            published=check.published.get(label, NOTHING), reason=reason,
        )
        for label in labels
    ]  # fmt: skip


def compare(
    query: BoundQuery, check: Check, reference: Iterable[ResultRow], method: str
) -> list[Compared]:
    """A check beside the reference's rows of its window, other groups left aside.

    In a whole window, each group that the reference alone finds is a mismatch; the groups of both
    are compared by checks of their own.
    """
    found = {group_text(row.group): _answers(row) for row in reference}
    place = check.place
    if not place.whole:
        return _compare(query, check, place.group_key, found.get(place.group_key, {}), method)
    assert check.groups is not None, "groups that are not known cannot be told from missing ones"
    window = query.window.bounds(place.window)
    compared = [Compared(query.name, EVERY_GROUP, window, EVERY_AGGREGATE, method=method)]
    for group in sorted(found.keys() - check.groups):
        compared += _compare(query, check, group, found[group], method)
    return compared


def differ(published: Number, reference: Number, bounds: Bounds | None = None) -> bool:
    """Whether two values differ: integers in any digit, doubles beyond what rounding explains.

    `bounds` are those of the reference's value; None where there is nothing to round.
    """
    if published[0] is not None or reference[0] is not None:
        return published[0] != reference[0]
    left, right = published[1], reference[1]
    if left is None or right is None:
        return left is not right
    return not within(left, bounds or (right, right))


def _answers(row: ResultRow) -> dict[str, _Answer]:
    answers = {}
    for (label, found), bounds in zip(row.values, row.bounds, strict=True):
        value, exact, _ = numbers_of(found)
        answers[label] = (exact, value), bounds
    return answers


def _compare(
    query: BoundQuery, check: Check, group: str, reference: Mapping[str, _Answer], method: str
) -> list[Compared]:
    published, window = check.published, query.window.bounds(check.place.window)
    labels = dict.fromkeys([*(item.label for item in query.aggregates), *published])
    missing = _missing(published, reference)
    compared = []
    for label in labels:
        ours, (theirs, bounds) = published.get(label, NOTHING), reference.get(label, _NO_ANSWER)
        wrong = missing or ("the values differ" if differ(ours, theirs, bounds) else None)
        found = Compared(
            query.name, group, window, label, ours, theirs, wrong is not None, method, wrong
        )
        compared.append(found)
    return compared


def _missing(published: Mapping[str, Number], reference: Mapping[str, _Answer]) -> str | None:
    """Why two results cannot be the same whatever their values, if so."""
    if published and not reference:
        return "the reference finds no trend"
    if reference and not published:
        return "the result is missing"
    if published.keys() != reference.keys():
        return "the aggregates are not those of the query"
    return None


def events_of_places(
    lake: Lake, workload: Workload, version: int, places: Sequence[Place]
) -> list[EventTable | None]:
    """For each place the events that can affect it, at a version of `events`.

    Those are the events of its window and of the query's types that do not belong to another group
    for certain. None where there are more than `MAX_EVENTS`.
    """
    by_query = defaultdict(list)
    for number, place in enumerate(places):
        by_query[place.query, place.whole].append((number, place))
    wanted = [Wanted(workload, members) for members in by_query.values()]
    windows = [window for each in wanted for window in each.windows.values()]
    if not windows:
        return []
    hull = Interval(min(w.start for w in windows), max(w.end for w in windows))
    files = [
        file
        for file in files_of(lake.path("events"), version, hull)
        if any(map(file.overlaps, windows))
    ]
    queries = [each.query for each in wanted]
    types, attributes = types_read(workload, queries), attributes_read(queries)
    for batch in events_in_order(files, hull, workload.schema, types, attributes):
        for each in wanted:
            each.add(batch)
        if not any(each.windows for each in wanted):
            break
    found = {number: events for each in wanted for number, events in each.found()}
    return [found.get(number) for number in range(len(places))]


class Wanted:
    """The events that can affect places of one query, all whole windows or none.

    To be certain, an event is wanted where in doubt. Values of grouping attributes are compared as
    the engine does: NULL is NULL, NaN is NaN, and -0.0 is 0.0.
    """

    def __init__(self, workload: Workload, places: Sequence[tuple[int, Place]]) -> None:
        codes, self.query = workload.schema.type_codes, workload.by_name[places[0][1].query]
        #: By the numbers of the places; without those of which there are more than `MAX_EVENTS`.
        self.windows = {n: self.query.window.bounds(place.window) for n, place in places}
        self._schema = workload.schema
        self._types = _among(codes, types_read(workload, [self.query]))
        self._keys: list[tuple[str, np.ndarray, pa.Array, dict[int, int]]] = []
        self._kept: list[pa.RecordBatch] = []
        self._size, self._most = 0, 4 * MAX_EVENTS
        for key in self.query.group_keys if not places[0][1].whole else ():
            # The types whose events carry the key at whatever position they stand.
            free = {p.type for p in self.query.positions if p.index not in key.positions}
            bound = _among(codes, self.query.event_types - free)
            values = [json.loads(place.group_key)[str(key.group_label)] for _, place in places]
            if key.type is AttributeType.TIMESTAMP:
                values = [None if value is None else parse_instant(value) for value in values]
            among = pa.array(values, ARROW_TYPES[key.type])
            own = dict(zip(self.windows, pc.index_in(among, among).to_pylist(), strict=True))
            self._keys.append((key.attribute, bound, among, own))

    def add(self, events: pa.RecordBatch) -> None:
        """Keep those that affect any place; more than a place may have are let go now and then."""
        times = np.asarray(events[TIME_COLUMN])
        windows = self.windows.values()
        if not times.size or not any(w.start <= times[-1] and times[0] < w.end for w in windows):
            return
        rows, _ = self._near(events)
        self._kept.append(events.take(pa.array(rows)))
        self._size += rows.size
        if self._size > self._most:
            table = self._table()
            left = [rows for _, rows in self.by_place(table)]
            every = np.unique(np.concatenate([*left, np.zeros(0, np.int64)]))
            self._kept = table.take(pa.array(every)).combine_chunks().to_batches()
            self._size, self._most = every.size, 4 * MAX_EVENTS + 2 * every.size

    def found(self) -> Iterator[tuple[int, EventTable]]:
        """The events of each place by its number, if they are not too many."""
        events = event_table(self._schema, self._table())
        for number, rows in self.by_place(events.table):
            yield number, EventTable(self._schema, events.table.take(pa.array(rows)))

    def _table(self) -> pa.Table:
        tables = [EventTable.of(self._schema, ()).table, *map(pa.table, self._kept)]
        joined = pa.concat_tables(tables[1:] or tables, promote_options="permissive")
        return joined.unify_dictionaries().combine_chunks()

    def by_place(self, events: pa.Table) -> Iterator[tuple[int, np.ndarray]]:
        """Of each place the indices of events that can affect it; others are wanted no more."""
        rows, near = self._near(events)
        times = np.asarray(events[TIME_COLUMN])[rows]
        for number, window in list(self.windows.items()):
            fits = (times >= window.start) & (times < window.end)
            for at, is_free, own in near:
                fits &= is_free | (at == own[number])
            if np.count_nonzero(fits) <= MAX_EVENTS:
                yield number, rows[fits]
            else:
                del self.windows[number]

    def _near(self, events: pa.RecordBatch | pa.Table) -> tuple[np.ndarray, list[_Near]]:
        """The indices of events that can affect any place, and of these what their keys say."""
        kinds = np.asarray(events[TYPE_COLUMN])
        rows = np.flatnonzero(self._types[kinds])
        near: list[_Near] = []
        for name, bound, among, own in self._keys:
            at, is_free = _places_in(events[name], rows, among), ~bound[kinds[rows]]
            stay = is_free | (at >= 0)
            rows = rows[stay]
            near = [(a[stay], f[stay], o) for a, f, o in [*near, (at, is_free, own)]]
        return rows, near


#: Where a key's values stand among those of places, -1: nowhere; which events need not have it; and
#: where those of the places stand.
_Near = tuple[np.ndarray, np.ndarray, dict[int, int]]


def _among(codes: Mapping[str, int], names: Collection[str]) -> np.ndarray:
    """By code of a type, whether it is among some."""
    return np.array([name in names for name in codes])


def _places_in(column: pa.Array | pa.ChunkedArray, rows: np.ndarray, among: pa.Array) -> np.ndarray:
    """Where in an array each value of some rows of a column stands first; -1: nowhere."""
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if pa.types.is_dictionary(column.type):
        values = pa.concat_arrays([column.dictionary, pa.nulls(1, column.type.value_type)])
        places = np.asarray(pc.fill_null(pc.index_in(values, among), -1))
        return places[np.asarray(pc.fill_null(column.indices, len(values) - 1))[rows]]
    column = column.take(pa.array(rows))
    if pa.types.is_floating(column.type):
        column = pc.add(column, 0.0)
    return np.asarray(pc.fill_null(pc.index_in(column, among), -1))
