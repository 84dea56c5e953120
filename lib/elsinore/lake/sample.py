"""Which results of a run are checked against the two-step reference: seeded and stratified.

What is missing is looked for like what is there. Single results are drawn from the staged ones, by
query, size and hour, and by groups of events drawn at random, whether the engine has a result for
them or not. Whole windows are searched for groups without the result that they should have: those
in which a result was drawn, and some of those in which a query has no result at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from math import log2
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.lake.event_files import EventFile, events_in_order, reach_of
from elsinore.lake.regions import Hours
from elsinore.lake.staged import Staged
from elsinore.lake.stored_events import files_of
from elsinore.lake.tables import STAGED, Lake
from elsinore.query.bound import BoundQuery, Workload
from elsinore.results.published import group_text
from elsinore.row_hashes import row_hashes
from elsinore.timeline import HOUR, Interval, hour_label, parse_hour

#: The group of a check of a whole window.
EVERY_GROUP = "*"

#: A whole window in which the engine has results of more groups is not searched.
MAX_GROUPS = 5_000

#: To so many results, or fewer, comes one window without results, and one group of a drawn event.
_SHARE = 4

#: Bytes of events from which some are drawn, however few the run's own hours have.
_MANY_BYTES = 50_000_000

#: `(exact, value)` of one aggregate, as in the tables.
Number = tuple[str | None, float | None]

#: Sizes are told apart by how many times 4 bits their count of trends takes.
_BITS = 4

#: Beyond these, results are of one class: the engine adds them up in machine words, in pairs of
#: them, and in rows of them.
_WORDS = (63, 127)

#: A trend takes a step for each of its events and for each event tried.
_STEPS_PER_TREND_LOG2 = 3
_UNKNOWN, _BEYOND = -1, 1_000

#: A result's place; it has one row for each of its aggregates.
_KEY = ["window_end_hour", "query", "query_fingerprint", "group_key", "window_start"]


@dataclass(frozen=True, slots=True)
class SampleSize:
    """How much is checked."""

    #: results of a run at most. On top come the windows that these lie in, searched for missing
    #: results, and half as many places drawn from elsewhere.
    windows: int
    steps: int  #: what the reference may take for one of them
    seed: int  #: of the sample; the same seed and run give the same checks


@dataclass(frozen=True, slots=True)
class Place:
    """A (query, group, window) in which there may be a result, or a whole window of a query.

    `group_key` is canonical JSON as in the tables, or `EVERY_GROUP`; `window` is its number.
    """

    query: str
    group_key: str
    window: int

    @property
    def whole(self) -> bool:
        """Return whether this is a whole window."""
        return self.group_key == EVERY_GROUP


@dataclass(frozen=True, slots=True)
class Check:
    """One result to be checked, or one whole window to be searched for missing results.

    Attributes:
        place: where it stands.
        stratum: the class of its size; None for a place that was not drawn from the results.
        published: by aggregate; empty where the engine has no result, and for a whole window.
        groups: for a whole window, the groups that the engine has a result of; None where they are
            more than `MAX_GROUPS`.
    """

    place: Place
    stratum: int | None
    published: Mapping[str, Number]
    groups: frozenset[str] | None = frozenset()


def choose(
    lake: Lake,
    workload: Workload,
    run: Interval,
    results: pd.DataFrame,
    staged: Staged,
    size: SampleSize,
) -> list[Check]:
    """The checks of a run, queries in turn, so that what is cut short has seen all of them.

    `results` are those of `read_results`, of the run's hours at the version of `staged`.
    """
    seed, share = f"{size.seed} {run.start} {run.end}", -(-size.windows // _SHARE)
    strata = {
        Place(query, group, start // workload.by_name[query].window.slide): stratum
        for query, group, start, stratum in _sample(results, seed, size.windows)
    }
    read = staged.events_version
    of_events = _in_turn(_of_events(lake, workload, run, read, seed, share), seed)[:share]
    without = _in_turn(_windows_without_result(workload, run, results, seed, share), seed)[:share]
    # A query without groups has one result in a window, and that one is drawn.
    grouped = [place for place in strata if workload.by_name[place.query].group_keys]
    windows = [*(Place(place.query, EVERY_GROUP, place.window) for place in grouped), *without]
    single = dict.fromkeys([*strata, *of_events])
    published = _published(lake, workload, staged.version, single)
    checks = {}
    for place in single:
        checks[place] = Check(place, strata.get(place), published.get(place, {}))
    for place, groups in _groups(workload, results, windows).items():
        checks[place] = Check(place, None, {}, groups)
    return [checks[place] for place in _in_turn(checks, seed)]


def built_steps(steps: int) -> int:
    """How many of the steps that a check may take go into building trends one by one."""
    return max(steps // 10, 1)


def shows_more(values: Mapping[str, Number], steps: int) -> bool:
    """Return whether a count of a result is more than can be built."""
    counts = [exact or "" for label, (exact, _) in values.items() if label.startswith("COUNT(")]
    longest = len(str(steps))
    return any(
        exact.isdecimal() and (len(exact) > longest or int(exact) > steps) for exact in counts
    )


def _bounds(workload: Workload, place: Place) -> Interval:
    return workload.by_name[place.query].window.bounds(place.window)


def _hour(workload: Workload, place: Place) -> str:
    return hour_label(_bounds(workload, place).end - 1)


def _in_turn(places: Iterable[Place], seed: str) -> list[Place]:
    """Each place once, in an order that only the seed decides, queries in turn."""
    distinct = [*dict.fromkeys(places)]
    order = np.argsort(_seeded(seed, [str(place) for place in distinct])).tolist()
    seen: Counter[str] = Counter()
    ranked = []
    for place in (distinct[at] for at in order):
        ranked.append((seen[place.query], place))
        seen[place.query] += 1
    return [place for _, place in sorted(ranked, key=lambda entry: entry[0])]


def _seeded(seed: str, texts: Sequence[str] | pd.Series) -> np.ndarray:
    """A number for each text, by which to put them in an order that only the seed decides."""
    key = f"{_number_of(seed):016x}"
    return pd.util.hash_array(np.asarray(texts, dtype=object), hash_key=key, categorize=False)


def _number_of(seed: str) -> int:
    return int(sha256(seed.encode()).hexdigest()[:16], 16)


def _windows_without_result(
    workload: Workload, run: Interval, results: pd.DataFrame, seed: str, count: int
) -> Iterator[Place]:
    """At most `count` windows of each query."""
    for query in workload.queries:
        starts = results["window_start"][results["query"] == query.name]
        there = set((starts // query.window.slide).tolist())
        empty = [number for number in query.window.ending_in(run) if number not in there]
        order = np.argsort(_seeded(seed, [f"{query.name} {number}" for number in empty]))
        for at in order[:count].tolist():
            yield Place(query.name, EVERY_GROUP, empty[at])


def _published(
    lake: Lake, workload: Workload, version: int, places: Iterable[Place]
) -> dict[Place, dict[str, Number]]:
    """What the engine has at some places; one that it has nothing at is left out."""
    wanted = {(p.query, p.group_key, _bounds(workload, p).start): p for p in places}
    if not wanted:
        return {}
    hours = Hours.of(parse_hour(_hour(workload, place)) for place in wanted.values())
    at = pc.field("query").isin([query for query, _, _ in wanted]) & pc.field("group_key").isin(
        [group for _, group, _ in wanted]
    )
    columns = ["query", "group_key", "window_start", "aggregate", "exact", "value"]
    rows = lake.log(STAGED, version).of(hours).to_table(columns=columns, filter=at)
    rows = rows.set_column(2, "window_start", rows["window_start"].cast(pa.int64()))
    published: dict[Place, dict[str, Number]] = {}
    for row in rows.to_pylist():
        place = wanted.get((row["query"], row["group_key"], row["window_start"]))
        if place is not None:
            published.setdefault(place, {})[row["aggregate"]] = (row["exact"], row["value"])
    return published


def _groups(
    workload: Workload, results: pd.DataFrame, windows: Iterable[Place]
) -> dict[Place, frozenset[str] | None]:
    """By whole window the groups that the engine has a result of, as in `Check`."""
    groups: dict[Place, frozenset[str] | None] = dict.fromkeys(windows, frozenset())
    wanted = {(place.query, _bounds(workload, place).start): place for place in groups}
    near = results[results["window_start"].isin({start for _, start in wanted})]
    for key, rows in near.groupby(["query", "window_start"], observed=True)["group_key"]:
        if key in wanted:
            groups[wanted[key]] = frozenset(rows) if len(rows) <= MAX_GROUPS else None
    return groups


def read_results(lake: Lake, hours: Hours, version: int, steps: int) -> pd.DataFrame:
    """One row for each staged result of some hours: its place and its stratum, and no values.

    Read a day at a time; texts are kept once each. The reference may take so many steps for one.
    """
    days = lake.log(STAGED, version).by_day(hours, [*_KEY, "aggregate", "log2"])
    built = built_steps(steps)
    none = lake.schema(STAGED).arrow().empty_table()
    sized = [_sized(rows, built) for rows in chain([none], days)]
    frame: pd.DataFrame = pa.concat_tables(sized).unify_dictionaries().to_pandas()
    return frame


def count_strata(results: pd.DataFrame) -> dict[tuple[str, int], int]:
    """How many results of `read_results` there are, by query and class of size."""
    counts = results.groupby(["query", "stratum"], observed=True).size()
    return {(str(query), int(size)): int(n) for (query, size), n in counts.items()}


def is_beyond(stratum: int) -> bool:
    """Return whether results of a class have more trends than can be built one by one."""
    return stratum >= _BEYOND


def _sample(results: pd.DataFrame, seed: str, count: int) -> Iterable[tuple[str, str, int, int]]:
    """Query, group, window and stratum of at most `count` results, as only the seed decides.

    Queries take turns; in each query the sizes of its results do; in each size the hours. Where
    there are no more than `count` results, these are all of them.
    """
    ranked = results.assign(rank=_seeded(seed, results["name"])).sort_values("rank")
    for within in (["query", "stratum", "window_end_hour"], ["query", "stratum"], ["query"]):
        turn = ranked.groupby(within, observed=True).cumcount()
        ranked = ranked.assign(turn=turn).sort_values(["turn", "rank"])
    drawn = ranked.head(count)[["query", "group_key", "window_start", "stratum"]]
    return drawn.itertuples(index=False, name=None)


def _sized(staged: pa.Table, steps: int) -> pa.Table:
    """The rows of a day as results, one row for each."""
    nothing = pa.scalar(None, pa.float64())
    for name, counts in (
        ("trends", pc.equal(staged["aggregate"], "COUNT(*)")),
        ("counts", pc.starts_with(staged["aggregate"], "COUNT(")),
    ):
        staged = staged.append_column(name, pc.if_else(counts, staged["log2"], nothing))
    found = staged.group_by(_KEY, use_threads=False).aggregate(
        [("trends", "max"), ("counts", "max")]
    )
    size = pc.coalesce(found["trends_max"], found["counts_max"])
    start = found["window_start"].cast(pa.int64())
    named = [found["query_fingerprint"], found["group_key"], start.cast(pa.string())]
    columns = {name: found[name].dictionary_encode() for name in _KEY[:-1]}
    columns |= {
        "window_start": start,
        "stratum": pa.array(_strata(size.to_numpy(zero_copy_only=False), steps)),
        "name": pc.binary_join_element_wise(*named, " "),
    }
    return pa.table(columns)


def _strata(size: np.ndarray, steps: int) -> np.ndarray:
    """Classes of sizes in bits; NaN where a result has no count."""
    words = sum((size >= bits).astype(int) for bits in _WORDS)
    small = np.nan_to_num(np.floor(size / _BITS))
    beyond = size > log2(steps) - _STEPS_PER_TREND_LOG2
    known = np.where(beyond, _BEYOND + words, small)
    return np.where(np.isnan(size), _UNKNOWN, known).astype(np.int64)


def _of_events(
    lake: Lake, workload: Workload, run: Interval, version: int, seed: str, count: int
) -> Iterator[Place]:
    """For `count` events that a run can read, places whose group one event tells, one each.

    A query is passed over for an event that lacks one of its grouping attributes, and a query
    without groups for all events.
    """
    grouped = [query for query in workload.queries if query.group_keys]
    if not grouped or not count:
        return
    for event in _drawn_events(lake, workload, grouped, run, version, seed, count):
        kind = workload.schema.types[event[TYPE_COLUMN]].name
        for query in grouped:
            owned = query.window.ending_in(run)
            around = [n for n in query.window.indices(event[TIME_COLUMN]) if n in owned]
            if around and _tells_group(query, kind):
                group = group_json(query, (event[key.attribute] for key in query.group_keys))
                yield Place(query.name, group, around[event["rank"] % len(around)])


def _drawn_events(
    lake: Lake,
    workload: Workload,
    queries: Sequence[BoundQuery],
    run: Interval,
    version: int,
    seed: str,
    count: int,
) -> list[dict[str, Any]]:
    """Events of the lowest `rank`, with the attributes that some queries group by."""
    attributes = sorted({key.attribute for query in queries for key in query.group_keys})
    types = frozenset().union(*(query.event_types for query in queries))
    reach = reach_of(queries, run)
    files = files_of(lake.path("events"), version, reach)
    drawn: list[pa.Table] = []
    for stretch in _stretches_read(files, reach, run, seed):
        inside = [file for file in files if file.overlaps(stretch)]
        for batch in events_in_order(
            inside, stretch, workload.schema, types, attributes, ahead=True
        ):
            table = pa.table(batch)
            mixed = row_hashes(table, table.column_names) ^ np.uint64(_number_of(seed))
            rank = pa.array(pd.util.hash_array(mixed, categorize=False))
            both = pa.concat_tables([*drawn, table.append_column("rank", rank)])
            lowest = pc.select_k_unstable(both, k=count, sort_keys=[("rank", "ascending")])
            drawn = [both.take(lowest)]
    return [event for table in drawn for event in table.to_pylist()]


def _stretches_read(
    files: Sequence[EventFile], reach: Interval, run: Interval, seed: str
) -> Sequence[Interval]:
    """Where events are drawn: of many before the run, from hours that hold as many as its own."""
    size, own = (sum(file.bytes_in(part) for file in files) for part in (reach, run))
    if size <= max(own, _MANY_BYTES):
        return [reach]
    starts = range(reach.start, reach.end, HOUR)
    hours = [Interval(start, min(start + HOUR, reach.end)) for start in starts]
    order = np.argsort(_seeded(seed, [str(hour) for hour in hours]))
    sizes = np.array([sum(file.bytes_in(hour) for file in files) for hour in hours])[order]
    enough = np.searchsorted(np.cumsum(sizes), max(own, _MANY_BYTES)) + 1
    return [hours[at] for at in order[:enough]]


def _tells_group(query: BoundQuery, kind: str) -> bool:
    """Return whether an event of a type carries every grouping attribute at some position."""
    return any(
        all(position.index in key.positions for key in query.group_keys)
        for position in query.positions
        if position.type == kind and not position.negated
    )


def group_json(query: BoundQuery, values: Iterable[Any]) -> str:
    """A group as in the tables, from the values of its keys; timestamps as integers."""
    return group_text(query.labelled(v + 0.0 if isinstance(v, float) else v for v in values))
