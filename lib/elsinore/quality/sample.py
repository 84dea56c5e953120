"""Choose the results of a run that are checked against the two-step reference.

The sample is seeded and stratified. It contains single results and whole windows, to also find
missing results:

- Staged results, stratified by query, size and hour.
- Results of the groups of randomly drawn events, whether the engine has a result or not.
- Whole windows, which are searched for missing groups: windows of drawn results, and some windows
  in which a query has no result.
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
from elsinore.lake.stored_events import files_of
from elsinore.ledger.staged import Staged
from elsinore.query.bound import BoundQuery, Workload
from elsinore.results.published import group_text
from elsinore.row_hashes import row_hashes
from elsinore.store.regions import Hours
from elsinore.store.tables import STAGED, Lake
from elsinore.timeline import HOUR, Interval, hour_label, parse_hour
from elsinore.wording import value_label

#: The group of a check of a whole window.
EVERY_GROUP = "*"

#: Maximum number of groups of a whole window. Windows with more results are not searched.
MAX_GROUPS = 5_000

#: Number of sampled results per window without results, and per group of a drawn event.
_SHARE = 4

#: Minimum bytes of the hours from which events are drawn, if the run's own hours have fewer.
_MANY_BYTES = 50_000_000

#: `(exact, value)` of one aggregate, as in the tables.
Number = tuple[str | None, float | None]

#: Width of a size class in bits of the number of trends.
_BITS = 4

#: Limits in bits between the classes of results that the reference cannot build. The engine adds
#: them up in machine words, in pairs of words, and in rows of words.
_WORDS = (63, 127)

#: Estimated steps per trend, as a power of two: one per event of the trend and per tried event.
_STEPS_PER_TREND_LOG2 = 3
_UNKNOWN, _BEYOND = -1, 1_000

#: The key of a result. A result has one row per aggregate.
_KEY = ["window_end_hour", "query", "query_fingerprint", "group_key", "window_start"]


@dataclass(frozen=True, slots=True)
class SampleSize:
    """The size of the sample of a run."""

    #: Maximum number of results. Their windows are searched for missing results, too. Half as many
    #: positions are added from drawn events and from windows without results.
    windows: int
    steps: int  #: maximum number of steps of the reference per check
    seed: int  #: seed of the sample; the same seed and run give the same checks


@dataclass(frozen=True, slots=True)
class Place:
    """A possible position of a result (query, group, window), or a whole window of a query.

    Attributes:
        query: Name of the query.
        group_key: Canonical JSON as in the tables, or `EVERY_GROUP` for a whole window.
        window: Number of the window.
    """

    query: str
    group_key: str
    window: int

    @property
    def whole(self) -> bool:
        """True if this is a whole window."""
        return self.group_key == EVERY_GROUP


@dataclass(frozen=True, slots=True)
class Check:
    """One result to check, or one whole window to search for missing results.

    Attributes:
        place: The position.
        stratum: The size class; None for a position that was not drawn from the results.
        published: The values by label (`results.published.value_label`); empty without a result,
            and for a whole window.
        groups: For a whole window, the groups with a result; None if they are more than
            `MAX_GROUPS`.
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
    """Choose the checks of a run.

    Queries take turns in the returned order, so that checks that stop early cover all queries.

    Args:
        lake: The lake.
        workload: The queries.
        run: The hours of the run.
        results: The results of `read_results`, of the hours of the run at the version of `staged`.
        staged: The version of the staged results.
        size: The size of the sample.
    """
    seed, share = f"{size.seed} {run.start} {run.end}", -(-size.windows // _SHARE)
    strata = {
        Place(query, group, workload.by_name[query].window.number_at(start)): stratum
        for query, group, start, stratum in _sample(results, seed, size.windows)
    }
    read = staged.events_version
    of_events = _in_turn(_of_events(lake, workload, run, read, seed, share), seed)[:share]
    without = _in_turn(_windows_without_result(workload, run, results, seed, share), seed)[:share]
    # A query without groups has at most one result per window, which is already drawn.
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
    """Return the number of steps of a check that may be spent on building trends one by one."""
    return max(steps // 10, 1)


def shows_more(query: BoundQuery, values: Mapping[str, Number], steps: int) -> bool:
    """Return whether a count of a result shows that it has more trends than a number of steps."""
    sizes = query.labels_of(query.size_names)
    counts = [exact or "" for name, (exact, _) in values.items() if name in sizes]
    longest = len(str(steps))
    return any(
        exact.isdecimal() and (len(exact) > longest or int(exact) > steps) for exact in counts
    )


def _bounds(workload: Workload, place: Place) -> Interval:
    return workload.by_name[place.query].window.bounds(place.window)


def _hour(workload: Workload, place: Place) -> str:
    """Return the hour that computes a window."""
    return hour_label(workload.by_name[place.query].window.extent(place.window).end - 1)


def _in_turn(places: Iterable[Place], seed: str) -> list[Place]:
    """Return distinct positions in an order that depends only on the seed; queries take turns."""
    distinct = [*dict.fromkeys(places)]
    order = np.argsort(_seeded(seed, [str(place) for place in distinct])).tolist()
    seen: Counter[str] = Counter()
    ranked = []
    for place in (distinct[at] for at in order):
        ranked.append((seen[place.query], place))
        seen[place.query] += 1
    return [place for _, place in sorted(ranked, key=lambda entry: entry[0])]


def _seeded(seed: str, texts: Sequence[str] | pd.Series) -> np.ndarray:
    """Return a number per string that sorts the strings in an order of the seed."""
    key = f"{_number_of(seed):016x}"
    return pd.util.hash_array(np.asarray(texts, dtype=object), hash_key=key, categorize=False)


def _number_of(seed: str) -> int:
    return int(sha256(seed.encode()).hexdigest()[:16], 16)


def _windows_without_result(
    workload: Workload, run: Interval, results: pd.DataFrame, seed: str, count: int
) -> Iterator[Place]:
    """Yield windows in which a query has no result, at most `count` per query."""
    for query in workload.queries:
        starts = results["window_start"][results["query"] == query.name]
        there = set(query.window.numbers_at(starts.to_numpy()).tolist())
        owned = filter(query.window.exists, query.window.ending_in(run))
        empty = [number for number in owned if number not in there]
        order = np.argsort(_seeded(seed, [f"{query.name} {number}" for number in empty]))
        for at in order[:count].tolist():
            yield Place(query.name, EVERY_GROUP, empty[at])


def _published(
    lake: Lake, workload: Workload, version: int, places: Iterable[Place]
) -> dict[Place, dict[str, Number]]:
    """Return the engine's values by position; positions without a result are left out."""
    wanted = {(p.query, p.group_key, _bounds(workload, p).start): p for p in places}
    if not wanted:
        return {}
    hours = Hours.of(parse_hour(_hour(workload, place)) for place in wanted.values())
    at = pc.field("query").isin([query for query, _, _ in wanted]) & pc.field("group_key").isin(
        [group for _, group, _ in wanted]
    )
    columns = ["query", "group_key", "window_start", "step", "aggregate", "exact", "value"]
    rows = lake.log(STAGED, version).of(hours).to_table(columns=columns, filter=at)
    rows = rows.set_column(2, "window_start", rows["window_start"].cast(pa.int64()))
    published: dict[Place, dict[str, Number]] = {}
    for row in rows.to_pylist():
        place = wanted.get((row["query"], row["group_key"], row["window_start"]))
        if place is not None:
            label = value_label(row["aggregate"], row["step"])
            published.setdefault(place, {})[label] = (row["exact"], row["value"])
    return published


def _groups(
    workload: Workload, results: pd.DataFrame, windows: Iterable[Place]
) -> dict[Place, frozenset[str] | None]:
    """Return the groups with a result by whole window, as in `Check`."""
    groups: dict[Place, frozenset[str] | None] = dict.fromkeys(windows, frozenset())
    wanted = {(place.query, _bounds(workload, place).start): place for place in groups}
    near = results[results["window_start"].isin({start for _, start in wanted})]
    for key, rows in near.groupby(["query", "window_start"], observed=True)["group_key"]:
        if key in wanted:
            groups[wanted[key]] = frozenset(rows) if len(rows) <= MAX_GROUPS else None
    return groups


def read_results(
    lake: Lake, workload: Workload, hours: Hours, version: int, steps: int
) -> pd.DataFrame:
    """Read one row per staged result, with its position and stratum, but without values.

    To save memory, results are read one day at a time, and each distinct string is stored once.

    Args:
        lake: The lake.
        workload: The queries.
        hours: The hours of the results.
        version: The version of `results_staged`.
        steps: Maximum number of steps of the reference per result.
    """
    days = lake.log(STAGED, version).by_day(hours, [*_KEY, "aggregate", "log2"])
    built = built_steps(steps)
    none = lake.schema(STAGED).arrow().empty_table()
    sizes = [f"{query.name} {name}" for query in workload.queries for name in query.size_names]
    sized = [_sized(rows, pa.array(sizes, pa.string()), built) for rows in chain([none], days)]
    frame: pd.DataFrame = pa.concat_tables(sized).unify_dictionaries().to_pandas()
    return frame


def count_strata(results: pd.DataFrame) -> dict[tuple[str, int], int]:
    """Count the results of `read_results` by query and size class."""
    counts = results.groupby(["query", "stratum"], observed=True).size()
    return {(str(query), int(size)): int(n) for (query, size), n in counts.items()}


def is_beyond(stratum: int) -> bool:
    """Return whether results of a class have more trends than can be built one by one."""
    return stratum >= _BEYOND


def _sample(results: pd.DataFrame, seed: str, count: int) -> Iterable[tuple[str, str, int, int]]:
    """Draw at most `count` results in an order that depends only on the seed.

    Queries take turns, then the size classes of a query, then the hours of a size class. If there
    are at most `count` results, all of them are drawn.

    Returns:
        Query, group, window start and stratum of each result.
    """
    ranked = results.assign(rank=_seeded(seed, results["name"])).sort_values("rank")
    for within in (["query", "stratum", "window_end_hour"], ["query", "stratum"], ["query"]):
        turn = ranked.groupby(within, observed=True).cumcount()
        ranked = ranked.assign(turn=turn).sort_values(["turn", "rank"])
    drawn = ranked.head(count)[["query", "group_key", "window_start", "stratum"]]
    return drawn.itertuples(index=False, name=None)


def _sized(staged: pa.Table, sizes: pa.Array, steps: int) -> pa.Table:
    """Join the staged rows of a day to one row per result.

    Args:
        staged: The rows.
        sizes: The values that show the number of trends, as the query's name and the value's.
        steps: Number of trends that can be built one by one.
    """
    values = pc.binary_join_element_wise(staged["query"], staged["aggregate"], " ")
    nothing = pa.scalar(None, pa.float64())
    shown = pc.if_else(pc.is_in(values, sizes), staged["log2"], nothing)
    by_result = staged.append_column("size", shown).group_by(_KEY, use_threads=False)
    found = by_result.aggregate([("size", "max")])
    size = found["size_max"]
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
    """Return the size classes of sizes in bits; a size is NaN if the result has no count."""
    words = sum((size >= bits).astype(int) for bits in _WORDS)
    small = np.nan_to_num(np.floor(size / _BITS))
    beyond = size > log2(steps) - _STEPS_PER_TREND_LOG2
    known = np.where(beyond, _BEYOND + words, small)
    return np.where(np.isnan(size), _UNKNOWN, known).astype(np.int64)


def _of_events(
    lake: Lake, workload: Workload, run: Interval, version: int, seed: str, count: int
) -> Iterator[Place]:
    """Yield positions of the groups of `count` random events that the run can read.

    Each event and query gives at most one position. Queries without groups are skipped, and queries
    with a grouping attribute that the event lacks.
    """
    # Groups of expressions are drawn by their rows only.
    grouped = [
        query
        for query in workload.queries
        if query.group_keys and all(key.value is None for key in query.group_keys)
    ]
    if not grouped or not count:
        return
    for event in _drawn_events(lake, workload, grouped, run, version, seed, count):
        kind = workload.schema.types[event[TYPE_COLUMN]].name
        for query in grouped:
            owned = query.window.ending_in(run)
            near = filter(query.window.exists, query.window.indices(event[TIME_COLUMN]))
            around = [number for number in near if number in owned]
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
    """Read the `count` events of the lowest `rank`, with the grouping attributes of queries."""
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
    """Return the time ranges from which events are drawn.

    If there are many events before the run, these are random hours with as many bytes as the run's
    own hours, or `_MANY_BYTES` if this is more.
    """
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
    """Return whether an event of a type has all grouping attributes at any position."""
    return any(
        all(position.index in key.positions for key in query.group_keys)
        for position in query.positions
        if position.type == kind and not position.negated
    )


def group_json(query: BoundQuery, values: Iterable[Any]) -> str:
    """Return a group as in the tables, from the values of its keys; timestamps are integers."""
    return group_text(query.labelled(v + 0.0 if isinstance(v, float) else v for v in values))
