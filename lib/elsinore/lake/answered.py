"""Load the workloads of a run: they run together, and each has its own tables of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from elsinore.errors import ElsinoreError, QueryError, UnsupportedQueryError
from elsinore.lake.own_workload import load_own_workload
from elsinore.query.bound import Origin, Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from elsinore.template.support import pipeline_refusals, require


class Answered(NamedTuple):
    """A workload that a run computes.

    Attributes:
        name: The name in the settings; empty for the main workload.
        lake: The tables.
        workload: The queries.
        title: The name in the ledger.
    """

    name: str
    lake: Lake
    workload: Workload
    title: str = ""

    @property
    def reach(self) -> int:
        """The maximum number of hours that a window begins before the hour in which it ends."""
        return max(query.window.hours_back for query in self.workload.queries)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the queries."""
        return workload_fingerprint(self.workload)


def names_of(settings: Settings, names: Sequence[str] = ()) -> Sequence[str]:
    """Return the given names of workloads, or by default the workloads of the settings."""
    return names or ((settings.workload,) if settings.workload else settings.workloads)


def answered_by(settings: Settings, names: Sequence[str] = ()) -> tuple[Answered, ...]:
    """Load the named workloads, or by default the workloads of the settings.

    Workloads that are invalid, or that the engine cannot run, are skipped, so that the others do
    not wait for a fix. Their own tasks report the error.

    Args:
        settings: Settings that list the workloads.
        names: Names of workloads.

    Returns:
        The valid workloads, at least one.

    Raises:
        QueryError: No workload can run, and the first one is invalid.
        UnsupportedQueryError: No workload can run, and the engine does not support the first one.
        ParameterError: A workload does not exist.
    """
    found, faults = list[Answered](), list[ElsinoreError]()
    for one in map(settings.of_workload, names_of(settings, names)):
        lake = Lake.open(one)
        try:
            workload = load_own_workload(one, lake.stream)
            require(workload.queries, "the pipeline", pipeline_refusals)
        except (QueryError, UnsupportedQueryError) as error:
            faults.append(error)
        else:
            found.append(Answered(one.workload, lake, workload, one.workload_name))
    if not found:
        raise faults[0]
    return tuple(found)


def joined(answered: Sequence[Answered]) -> Workload:
    """Join the queries of all workloads to one workload.

    Queries of the first workload keep their names; the others are renamed by `joint_name`, and
    `Workload.origins` has their workloads and names.
    """
    return joined_queries([(one.name, one.workload) for one in answered])


def joined_queries(workloads: Sequence[tuple[str, Workload]]) -> Workload:
    """Join the queries of named workloads to one workload; see `joined`."""
    (_, first), *others = workloads
    queries, origins = list(first.queries), dict[str, Origin]()
    for number, (name, workload) in enumerate(others, 1):
        for query in workload.queries:
            joint = joint_name(name, query.name)
            queries.append(replace(query, source=replace(query.source, name=joint)))
            origins[joint] = Origin(number, query.name)
    return replace(first, queries=tuple(queries), origins=origins)


def joint_name(workload: str, query: str) -> str:
    """Return a unique name of a query of a further workload, for messages and plans.

    >>> joint_name("ops", "delays")
    'ops/delays'
    """
    return f"{workload}/{query}"
