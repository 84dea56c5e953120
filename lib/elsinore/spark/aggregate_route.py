"""Chooses how the tasks of an aggregation come by their events: parts of the slice, or shuffles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import heapreplace
from itertools import pairwise, starmap

import numpy as np

from elsinore.lake.event_files import EventFile, Share, reach_of, shares
from elsinore.lake.stored_events import NotPlainError, files_of
from elsinore.lake.tables import Lake
from elsinore.places import is_here
from elsinore.query.bound import BoundQuery, Workload
from elsinore.spark.aggregate_worker import Part
from elsinore.spark.partitions import branches, common_keys
from elsinore.timeline import Interval
from elsinore.windows import Window, joint_reach

#: Bytes of events (some two million of them) from which comparing pairs may cost more than a
#: shuffle does.
MANY_BYTES = 50_000_000

#: What it costs to read a byte of the table, shuffle it by key and hand it to a Python worker, in
#: bytes that a task reads straight into Arrow and sorts. Measured with a million events and 20
#: queries in CPU seconds of all processes: 6.1 against 1.8, of which the executor takes 1.4 either
#: way, so 4.7 against 0.4; taken lower, since a part of the 4.7 is each job's whatever it moves.
SHUFFLED_BYTE = 8.0


@dataclass(frozen=True, slots=True)
class Route:
    """How tasks come by their events: what each reads from files itself, or why Spark shuffles.

    Where they are `merged`, several parts have rows of one group.
    """

    parts: tuple[Part, ...]
    why: str | None = None
    merged: bool = False

    @property
    def direct(self) -> bool:
        """Whether tasks read files themselves."""
        return self.why is None

    def in_words(self) -> str:
        """For people.

        >>> Route((), "its files are not plain").in_words()
        'shuffled: its files are not plain'
        """
        if self.why is not None:
            return f"shuffled: {self.why}"
        if not self.parts:
            return "nothing read, since no window ends here"
        bucket = self.parts[0].bucket
        by_key = ", cut by key" if bucket and bucket.of > 1 else ""
        by_key += ", their rows merged" if self.merged else ""
        number = len(self.parts)
        return f"files read directly, in {number} part{'s' if number > 1 else ''}{by_key}"


def by_layout(
    lake: Lake, queries: Sequence[BoundQuery], owned: Interval, version: int
) -> list[tuple[BoundQuery, ...]]:
    """Queries whose events all carry the keys by which files are laid out, and the others.

    Those that reach back furthest come first. Of few events they are not told apart.
    """
    groups = [tuple(queries)]
    if lake.stream.buckets is not None:
        with suppress(NotPlainError):
            files = files_of(lake.path("events"), version, reach_of(queries, owned))
            if sum(file.size for file in files) > MANY_BYTES:
                keyed = {query.name: bool(_laid_keys(files, [query])) for query in queries}
                groups = [tuple(q for q in queries if keyed[q.name] is of) for of in (True, False)]
    groups = [group for group in groups if group]
    return sorted(groups, key=lambda group: -max(query.window.within for query in group))


def choose_route(
    lake: Lake, workload: Workload, owned: Interval, version: int, parts: int
) -> Route:
    """The route that should be quickest, by the bytes that it moves; so many parts at most.

    Spark has no jars for object stores: there tasks always read files themselves.

    Raises:
        NotPlainError: the files of such a lake cannot be read directly.
    """
    if not any(query.window.ending_in(owned) for query in workload.queries):
        return Route(())
    reached, in_spark = reach_of(workload.queries, owned), is_here(lake.path("events"))
    try:
        files = files_of(lake.path("events"), version, reached)
    except NotPlainError as error:
        if not in_spark:
            raise
        return Route((), f"files cannot be read directly, {error.fields['refusal']}")
    cores, size = lake.cores, sum(file.size for file in files)
    windows = {query.window for query in workload.queries}
    keys = bucket_keys(workload.queries) if size > MANY_BYTES else ()
    if size > MANY_BYTES and (laid := _laid_keys(files, workload.queries)):
        cut = cut_into_parts(files, owned, windows, laid, most=parts, cores=cores)
        return Route(cut, merged=not set(laid) <= set(keys))
    few = compared_in_few_windows(workload, owned, cores) if size > MANY_BYTES else []
    if few and in_spark:
        return Route((), f"{', '.join(few)} compare pairs of events in fewer windows than cores")
    cut = cut_into_parts(files, owned, windows, keys, most=parts, cores=cores)
    shuffles = len(branches(workload))
    if not in_spark or reads_directly(cut, size, shuffles, cores):
        return Route(cut)
    return Route((), "windows reach far beyond the parts that tasks could read by themselves")


def compared_in_few_windows(workload: Workload, owned: Interval, cores: int) -> list[str]:
    """The queries for which keys keep more cores busy than windows do.

    Their edge predicates compare pairs of events, which costs more than it costs to move events,
    and fewer of their windows end in the slice than there are cores.
    """
    return [
        query.name
        for query in workload.queries
        if query.edge_predicates and common_keys(query)
        if len(query.window.ending_in(owned)) < cores
    ]


def cut_into_parts(
    files: Sequence[EventFile],
    owned: Interval,
    windows: Collection[Window],
    keys: tuple[str, ...] = (),
    *,
    most: int,
    cores: int,
) -> tuple[Part, ...]:
    """The parts of a slice that should be done first, in the order of time.

    More parts keep more cores busy, but each reads again what its windows can hold of the time
    before it; taken is the number for which the busiest core reads least, the smallest of those.
    Files hold the events of the slice and of what its windows reach. A part is cut into as many
    buckets as there are cores where that keeps more of them busy, and where `keys` are in the
    groups of all queries (`bucket_keys`) or files are laid out by some of these.
    """
    choices = [
        _cut(files, owned, windows, number, cut)
        for cut in (shares(files, keys, of) for of in sorted({1, min(cores, most) if keys else 1}))
        for number in range(1, min(most // len(cut), owned.length) + 1)
    ]
    return min(choices, key=lambda parts: (busiest(parts, cores), len(parts)))


def bucket_keys(queries: Iterable[BoundQuery]) -> tuple[str, ...]:
    """The attributes that all events of all queries carry and that all of them group by.

    Events that agree in them can be aggregated and finished by themselves.
    """
    shared = [
        {key.attribute for key in query.group_keys}.intersection(common_keys(query))
        for query in queries
    ]
    return tuple(sorted(set.intersection(*shared)))


def _laid_keys(files: Sequence[EventFile], queries: Iterable[BoundQuery]) -> tuple[str, ...]:
    """The keys by which files are laid out, if all events of all queries carry them."""
    laid = files[0].bucket if files else None
    common = set.intersection(*(set(common_keys(query)) for query in queries))
    return laid.keys if laid and set(laid.keys) <= common else ()


def busiest(parts: Sequence[Part], cores: int) -> float:
    """Bytes that the busiest core reads, where each takes the next part when it is done."""
    read = [0.0] * cores
    for part in parts:
        heapreplace(read, read[0] + part.size)
    return max(read)


def reads_directly(parts: Sequence[Part], size: int, shuffles: int, cores: int) -> bool:
    """Whether tasks should read the files of their parts, rather than Spark shuffle the events.

    Spark would read and shuffle the files of the slice, of so many bytes, a number of times.
    """
    return busiest(parts, cores) <= SHUFFLED_BYTE * shuffles * size / cores


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
    """Instants between which about as many bytes lie, as if files were even inside."""
    ends = sorted({f.first for f in files} | {f.last + 1 for f in files})
    marks = [owned.start, *(e for e in ends if owned.start < e < owned.end), owned.end]
    before = [sum(file.bytes_before(mark) for file in files) for mark in marks]
    # Time counts a little too, so that stretches without files are cut as well.
    weights = np.array(before) + np.arange(len(marks)) * 1e-9
    goals = np.linspace(weights[0], weights[-1], number + 1)[1:-1]
    offsets = np.interp(goals, weights, [mark - owned.start for mark in marks])
    inner = {owned.start + round(offset) for offset in offsets.tolist()} - {owned.start, owned.end}
    return [owned.start, *sorted(inner), owned.end]
