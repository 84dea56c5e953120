"""Which results of a run are checked against the two-step reference: seeded and stratified.

What is missing is looked for like what is there. Single results are drawn from the staged ones, by
query and size, and by groups of events drawn at random, whether the engine has a result for them or
not. Whole windows are searched for groups without the result that they should have: those in which
a result was drawn, and some of those in which a query has no result at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from itertools import islice
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.query.bound import Workload
from elsinore.spark.aggregate_origin import STAGED, staged_origins
from elsinore.spark.sample_events import groups_of_events
from elsinore.spark.sample_results import StagedResult, sample_results, seeded_hashes
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval, hour_label

#: The group of a check of a whole window.
EVERY_GROUP = "*"

#: A whole window in which the engine has results of more groups is not searched.
MAX_GROUPS = 5_000

#: To so many results comes one window without results, and one group of a drawn event.
_SHARE = 4

#: `(exact, value)` by aggregate, as in the tables.
_Values = Mapping[str, tuple[str | None, float | None]]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SampleSize:
    """How much is checked.

    Attributes:
        windows: results of a run at most. On top come the windows that these lie in, searched for
            missing results, and half as many places drawn from elsewhere.
        steps: what the reference may take for one of them.
        seed: of the sample; the same seed and run give the same checks.
    """

    windows: int
    steps: int
    seed: int

    @property
    def built(self) -> int:
        """Steps for building the trends of a result one by one."""
        return built_steps(self.steps)


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
        """Whether this is a whole window."""
        return self.group_key == EVERY_GROUP


@dataclass(frozen=True, slots=True)
class Check:
    """One result to be checked, or one whole window to be searched for missing results.

    Attributes:
        place: where it stands.
        events_version: the version of `events` that the engine read; None if that is not known.
        beyond: whether it is known to have more trends than the reference builds one by one, if
            it can count them.
        stratum: the class of its size; None for a place that was not drawn from the results.
        published: `(exact, value)` by aggregate; empty where the engine has no result, and for a
            whole window.
        groups: for a whole window, the groups that the engine has a result of; None where they are
            more than `MAX_GROUPS`.
    """

    place: Place
    events_version: int | None
    beyond: bool
    stratum: int | None
    published: _Values
    groups: frozenset[str] | None = frozenset()


def choose(
    lake: Lake,
    workload: Workload,
    run: Interval,
    results: pd.DataFrame,
    version: int,
    size: SampleSize,
) -> list[Check]:
    """The checks of a run, queries in turn, so that what is cut short has seen all of them.

    Args:
        lake: the tables.
        workload: the queries.
        run: the hours whose results are validated.
        results: those of these hours, as of `read_results`.
        version: of the staged results.
        size: how much to choose.
    """
    seed = f"{size.seed} {run.start} {run.end}"
    share = size.windows // _SHARE
    origins = staged_origins(lake.root, run, version=version)
    versions = {label: origin.events_version for label, origin in origins.items()}
    chosen = {
        Place(r.query, r.group_key, _number(workload, r)): r
        for r in sample_results(results, seed, size.windows)
    }
    of_events = _drawn(_places_of_events(lake, workload, run, versions, seed, share), seed, share)
    without = _drawn(_windows_without_result(workload, run, results, seed, share), seed, share)
    # A query without groups has one result in a window, and that one is drawn.
    grouped = [place for place in chosen if workload.by_name[place.query].group_keys]
    windows = [*(Place(place.query, EVERY_GROUP, place.window) for place in grouped), *without]
    published = _published(lake, workload, version, [*chosen, *of_events])
    checks = [
        _check(workload, place, chosen.get(place), versions, published.get(place, {}), size.built)
        for place in dict.fromkeys([*chosen, *of_events])
    ]
    checks += [
        Check(place, versions.get(_hour(workload, place)), False, None, {}, groups)
        for place, groups in _groups(workload, results, windows).items()
    ]
    return list(_in_turn(checks, lambda c: c.place.query, lambda c: _hash(seed, c.place)))


def _check(
    workload: Workload,
    place: Place,
    result: StagedResult | None,
    versions: Mapping[str, int],
    published: _Values,
    steps: int,
) -> Check:
    return Check(
        place,
        versions.get(_hour(workload, place)),
        result.beyond if result else shows_more(published, steps),
        result.stratum if result else None,
        published,
    )


def built_steps(steps: int) -> int:
    """How many of the steps that a check may take go into building trends one by one."""
    return max(steps // 10, 1)


def shows_more(values: _Values, steps: int) -> bool:
    """Whether a count of a result is more than can be built."""
    counts = [exact or "" for label, (exact, _) in values.items() if label.startswith("COUNT(")]
    longest = len(str(steps))
    return any(
        exact.isdecimal() and (len(exact) > longest or int(exact) > steps) for exact in counts
    )


def _number(workload: Workload, result: StagedResult) -> int:
    return result.window_start // workload.by_name[result.query].window.slide


def _bounds(workload: Workload, place: Place) -> Interval:
    return workload.by_name[place.query].window.bounds(place.window)


def _hour(workload: Workload, place: Place) -> str:
    return hour_label(_bounds(workload, place).end - 1)


def _windows_without_result(
    workload: Workload, run: Interval, results: pd.DataFrame, seed: str, count: int
) -> Iterable[Place]:
    """At most `count` windows of each query."""
    for query in workload.queries:
        starts = results["window_start"][results["query"] == query.name]
        there = set((starts // query.window.slide).tolist())
        empty = [number for number in query.window.ending_in(run) if number not in there]
        order = np.argsort(seeded_hashes(seed, [f"{query.name} {number}" for number in empty]))
        for at in order[:count].tolist():
            yield Place(query.name, EVERY_GROUP, empty[at])


def _places_of_events(
    lake: Lake,
    workload: Workload,
    run: Interval,
    versions: Mapping[str, int],
    seed: str,
    events: int,
) -> Iterable[Place]:
    """For groups of events drawn at random, one window each that holds the event."""
    if not versions:
        return
    version = max(versions.values())
    for drawn in groups_of_events(lake, workload, run, version, seed, events):
        window = workload.by_name[drawn.query].window
        owned = window.ending_in(run)
        around = [number for number in window.indices(drawn.time) if number in owned]
        if around:
            pick = int(_hash(seed, drawn), 16) % len(around)
            yield Place(drawn.query, drawn.group_key, around[pick])


def _published(
    lake: Lake, workload: Workload, version: int, places: Sequence[Place]
) -> dict[Place, dict[str, tuple[str | None, float | None]]]:
    """What the engine has at some places; one that it has nothing at is left out."""
    if not places:
        return {}
    wanted = {(p.query, p.group_key, _bounds(workload, p).start): p for p in places}
    hours = {_hour(workload, place) for place in places}
    at = (
        pc.field("owned_day").isin([date.fromisoformat(hour[:10]) for hour in hours])
        & pc.field("owned_hour").isin(list(hours))
        & pc.field("query").isin([query for query, _, _ in wanted])
        & pc.field("group_key").isin([group for _, group, _ in wanted])
    )
    columns = ["query", "group_key", "window_start", "aggregate", "exact", "value"]
    rows = lake.dataset(STAGED, version).to_table(columns=columns, filter=at)
    rows = rows.set_column(2, "window_start", rows["window_start"].cast(pa.int64()))
    published: dict[Place, dict[str, tuple[str | None, float | None]]] = {}
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


def _drawn(places: Iterable[Place], seed: str, count: int) -> list[Place]:
    """At most `count` places, queries in turn."""
    distinct = dict.fromkeys(places)
    return list(islice(_in_turn(distinct, lambda p: p.query, lambda p: _hash(seed, p)), count))


def _in_turn(
    items: Iterable[_T], stratum: Callable[[_T], Hashable], order: Callable[[_T], str]
) -> Iterable[_T]:
    strata: dict[Hashable, list[_T]] = defaultdict(list)
    for item in items:
        strata[stratum(item)].append(item)
    ranked = [
        (rank, order(item), item)
        for members in strata.values()
        for rank, item in enumerate(sorted(members, key=order))
    ]
    return (item for _, _, item in sorted(ranked, key=lambda entry: entry[:2]))


def _hash(seed: str, item: object) -> str:
    return sha256(f"{seed} {item}".encode()).hexdigest()
