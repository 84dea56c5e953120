"""Choose how the tasks of an aggregation split their events: by time and by keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapreplace
from itertools import pairwise, starmap

import numpy as np

from elsinore.lake.event_files import EventFile, Share, reach_of, shares
from elsinore.lake.stored_events import files_of
from elsinore.query.bound import BoundQuery
from elsinore.spark.aggregate_worker import LET_GO, Part
from elsinore.spark.partitions import common_keys
from elsinore.store.tables import Lake
from elsinore.timeline import Interval
from elsinore.windows import Window, joint_reach

#: Minimum bytes of events (about two million events) for which a split by keys is worthwhile.
MANY_BYTES = 50_000_000

#: Groups of queries run separately if this reduces the work of the busiest core below this share.
#: Each group is a separate Spark job.
APART = 0.8

#: Maximum total bytes that all parts read, relative to one part. Windows reach back before their
#: part, so more parts read more events several times.
MOST_READ = 8


@dataclass(frozen=True, slots=True)
class Route:
    """The parts of a slice that tasks read.

    Attributes:
        parts: The parts.
        merged: Several parts can have rows of the same group, which must be merged.
    """

    parts: tuple[Part, ...]
    merged: bool = False

    def in_words(self) -> str:
        """Return a description of the route for reports.

        >>> Route(()).in_words()
        'nothing read: no window ends in these hours'
        """
        if not self.parts:
            return "nothing read: no window ends in these hours"
        bucket = self.parts[0].bucket
        by_key = ", split by key" if bucket and bucket.of > 1 else ""
        by_key += ", their rows merged" if self.merged else ""
        number = len(self.parts)
        return f"files read directly, in {number} part{'s' if number > 1 else ''}{by_key}"


def choose_routes(
    lake: Lake, queries: Sequence[BoundQuery], owned: Interval, version: int, parts: int
) -> list[tuple[tuple[BoundQuery, ...], Route]]:
    """Choose which queries run together, and the parts of their tasks.

    If there are few events, all queries run together. If there are many, queries run together if
    all their events have the keys by which files are laid out. Other queries are grouped by their
    common keys if this uses more cores.

    Args:
        lake: The lake.
        queries: The queries.
        owned: The slice.
        version: The version of `events`.
        parts: Maximum number of parts per group of queries.

    Returns:
        Groups of queries with their routes; groups with the longest windows first.
    """
    files = files_of(lake.path("events"), version, reach_of(queries, owned))
    is_large = sum(file.size for file in files) > MANY_BYTES

    def route(together: Sequence[BoundQuery]) -> Route:
        windows = {query.window for query in together}
        if not any(window.ending_in(owned) for window in windows):
            return Route(())
        grouped = bucket_keys(together)
        keys = _laid_keys(files, together) or grouped or _shared_keys(together)
        cut = cut_into_parts(
            files, owned, windows, keys if is_large else (), most=parts, cores=lake.cores
        )
        bucket = cut[0].bucket if cut else None
        return Route(cut, merged=bucket is not None and not set(bucket.keys) <= set(grouped))

    def work(together: Sequence[BoundQuery]) -> float:
        return busiest(route(together).parts, lake.cores)

    laid = [query for query in queries if is_large and _laid_keys(files, [query])]
    rest = [query for query in queries if query not in laid]
    apart = defaultdict(list)
    for query in rest:
        apart[common_keys(query) if is_large else ()].append(query)
    # Reading costs the same for each group. Aggregation costs more if a group has more queries.
    costs = (work(of) * (LET_GO + (1 - LET_GO) * len(of) / len(rest)) for of in apart.values())
    others = apart.values() if sum(costs) < APART * work(rest) else [rest]
    found = [(tuple(of), route(of)) for of in (laid, *others) if of]
    return sorted(found, key=lambda one: -max(query.window.length for query in one[0]))


def cut_into_parts(
    files: Sequence[EventFile],
    owned: Interval,
    windows: Collection[Window],
    keys: tuple[str, ...] = (),
    *,
    most: int,
    cores: int,
) -> tuple[Part, ...]:
    """Split a slice into parts for tasks, in the order of time.

    More parts use more cores, but each part also reads the events before it that its windows reach.
    The result has the number of parts for which the busiest core reads least, and the fewest parts
    if there are several. A part of time is also split by `keys` into one bucket per core, if this
    uses more cores or if files are laid out by some of the keys.

    Args:
        files: Files with the events of the slice and of the time that its windows reach.
        owned: The slice.
        windows: The windows of the queries.
        keys: Attributes that can split a part; empty: no split.
        most: Maximum number of parts.
        cores: Number of cores.
    """
    choices = []
    for of in sorted({1, min(cores, most) if keys else 1}):
        cut = shares(files, keys, of)
        numbers = range(1, min(most // len(cut), owned.length) + 1)
        found = [_cut(files, owned, windows, number, cut) for number in numbers]
        read = [sum(part.size for part in parts) for parts in found]
        choices += [p for p, size in zip(found, read, strict=True) if size <= MOST_READ * read[0]]
    return min(choices, key=lambda parts: (busiest(parts, cores), len(parts)))


def bucket_keys(queries: Iterable[BoundQuery]) -> tuple[str, ...]:
    """Return the attributes that all events of all queries have, and by which all queries group.

    Events with equal values can be aggregated and finished separately from all others.
    """
    shared = [
        {key.attribute for key in query.group_keys}.intersection(common_keys(query))
        for query in queries
    ]
    return tuple(sorted(set.intersection(*shared)))


def _shared_keys(queries: Iterable[BoundQuery]) -> tuple[str, ...]:
    """Return the key attributes that all events of all queries have."""
    return tuple(sorted(set.intersection(*(set(common_keys(query)) for query in queries))))


def _laid_keys(files: Sequence[EventFile], queries: Iterable[BoundQuery]) -> tuple[str, ...]:
    """Return the keys by which files are laid out, if all events of all queries have them."""
    laid = files[0].bucket if files else None
    return laid.keys if laid and set(laid.keys) <= set(_shared_keys(queries)) else ()


def busiest(parts: Sequence[Part], cores: int) -> float:
    """Return the bytes that the busiest core reads, if each idle core takes the next part."""
    read = [0.0] * cores
    for part in parts:
        heapreplace(read, read[0] + part.size)
    return max(read)


def _cut(
    files: Sequence[EventFile],
    owned: Interval,
    windows: Collection[Window],
    number: int,
    cut: Sequence[Share],
) -> tuple[Part, ...]:
    parts = []
    for part in starmap(Interval, pairwise(_borders(files, owned, number))):
        reached = joint_reach(windows, part)
        for share in cut:
            inside = tuple(file for file in share.files if file.overlaps(reached))
            if inside or not share.bucket:
                parts.append(Part(part, reached, inside, share.bucket))
    return tuple(parts)


def _borders(files: Sequence[EventFile], owned: Interval, number: int) -> list[int]:
    """Return timestamps that split a slice into parts of about equal bytes."""
    ends = sorted({f.first for f in files} | {f.last + 1 for f in files})
    marks = [owned.start, *(e for e in ends if owned.start < e < owned.end), owned.end]
    before = [sum(file.bytes_before(mark) for file in files) for mark in marks]
    # Time has a small weight, so that time ranges without files are also split.
    weights = np.array(before) + np.arange(len(marks)) * 1e-9
    goals = np.linspace(weights[0], weights[-1], number + 1)[1:-1]
    offsets = np.interp(goals, weights, [mark - owned.start for mark in marks])
    inner = {owned.start + round(offset) for offset in offsets.tolist()} - {owned.start, owned.end}
    return [owned.start, *sorted(inner), owned.end]
