"""Chooses how the tasks of an aggregation come by their events."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.query.bound import Workload
from elsinore.spark.aggregate_branches import branches, common_keys
from elsinore.spark.aggregate_events import reach_of
from elsinore.spark.aggregate_parts import Part, cut_into_parts, reads_directly
from elsinore.spark.event_files import event_files
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval

#: Bytes of events (some two million of them) from which comparing pairs may cost more than a
#: shuffle does.
MANY_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class Route:
    """How tasks come by their events.

    Attributes:
        parts: what each task reads straight from files; empty where Spark shuffles.
        why: why Spark shuffles; None where it does not.
    """

    parts: tuple[Part, ...]
    why: str | None = None

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
        return f"files read directly, in {len(self.parts)} part{'s' if len(self.parts) > 1 else ''}"


def choose_route(
    lake: Lake, workload: Workload, owned: Interval, version: int, parts: int
) -> Route:
    """The route that should be quickest, by the bytes that it moves.

    Args:
        lake: the tables.
        workload: the queries.
        owned: the slice.
        version: of `events`.
        parts: tasks, at most.
    """
    reached = reach_of(workload.queries, owned)
    found = event_files(lake, version, reached)
    if found.refusal is not None:
        return Route((), f"files cannot be read directly, {found.refusal}")
    cores = lake.cores
    if found.size > MANY_BYTES and (names := compared_in_few_windows(workload, owned, cores)):
        return Route((), f"{', '.join(names)} compare pairs of events in fewer windows than cores")
    reach = owned.start - reached.start + 1
    cut = cut_into_parts(found.files, owned, reach, most=parts, cores=cores)
    shuffles = len(branches(workload))
    if reads_directly(cut, found.size, shuffles, cores):
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
