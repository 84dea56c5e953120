"""The workloads that one run answers: whose results lie apart, and whose queries run together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from elsinore.errors import ElsinoreError, QueryError, UnsupportedQueryError
from elsinore.lake.tables import Lake
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.template.support import require


class Answered(NamedTuple):
    """A workload that a run computes.

    Attributes:
        name: Its name in the settings; empty for the main workload.
        lake: The tables.
        workload: Its queries.
        title: Its name in the ledger.
    """

    name: str
    lake: Lake
    workload: Workload
    title: str = ""

    @property
    def reach(self) -> int:
        """How many hours before their own its windows reach."""
        return max(query.window.hours_back for query in self.workload.queries)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its queries."""
        return workload_fingerprint(self.workload)


def names_of(settings: Settings, names: Sequence[str] = ()) -> Sequence[str]:
    """Names of workloads; without any, of those that the settings are of."""
    return names or ((settings.workload,) if settings.workload else settings.workloads)


def answered_by(settings: Settings, names: Sequence[str] = ()) -> tuple[Answered, ...]:
    """The workloads of some names; without any, those that the settings are of.

    One that is not valid, or that the engine cannot run, is left out, unless it is the only one:
    the others do not wait for it to be mended, and its own tasks say what is wrong with it.

    Raises:
        QueryError, UnsupportedQueryError: none can be run.
        ParameterError: the workload does not exist.
    """
    found, faults = list[Answered](), list[ElsinoreError]()
    for one in map(settings.of_workload, names_of(settings, names)):
        lake = Lake.open(one)
        try:
            workload = load_workload(one.queries, lake.stream)
            require(workload.queries)
        except (QueryError, UnsupportedQueryError) as error:
            faults.append(error)
        else:
            found.append(Answered(one.workload, lake, workload, one.workload_name))
    if not found:
        raise faults[0]
    return tuple(found)


def joined(answered: Sequence[Answered]) -> Workload:
    """All queries as one workload: those of the first by their names, others as `own_name` says."""
    return joined_queries([(one.name, one.workload) for one in answered])


def joined_queries(workloads: Sequence[tuple[str, Workload]]) -> Workload:
    """Return all queries of named workloads as one workload; see `joined`."""
    (_, first), *others = workloads
    queries = [
        replace(query, source=replace(query.source, name=own_name(name, query.name)))
        for name, workload in others
        for query in workload.queries
    ]
    return replace(first, queries=(*first.queries, *queries))


def own_name(workload: str, query: str) -> str:
    """What a query of another workload than the first is called where they run together.

    >>> own_name("ops", "delays")
    'ops/delays'
    """
    return f"{workload}/{query}"
