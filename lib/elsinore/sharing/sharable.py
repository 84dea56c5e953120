"""Divide a workload into sets of sharable queries (Hamlet Definitions 3.1 and 3.2).

Queries are sharable if their patterns contain a common Kleene sub-pattern E+ and their trends are
partitioned alike. Two conditions of the paper are not needed here:

- Aggregates: each query of a set has separate lanes, and all aggregates propagate along the same
  edges. So COUNT(*) shares with SUM, and both share with MIN.
- Windows: a burst ends where a window of the set begins or ends. This happens at most as often as
  at the borders of panes whose length is the gcd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.merged import MergedTemplate, merge_templates
from elsinore.template.placement import partition_signature, plain_template, type_of
from elsinore.template.template import Template

#: Maximum number of queries of a set, whose lanes are stored next to each other. More queries are
#: divided into several sets.
LARGEST_SET = 256

#: Maximum number of classes of queries at a state. Queries of a class admit the same events. Each
#: class is a bit of an entry.
MOST_CLASSES = 62


@dataclass(frozen=True)
class SharableSet:
    """Queries that can share the aggregation of a Kleene sub-pattern."""

    kleene: str  #: the event type E of their common E+
    merged: MergedTemplate  #: their merged template

    @property
    def queries(self) -> tuple[BoundQuery, ...]:
        """Return the queries, at least two; queries with equal demands are neighbors."""
        return self.merged.queries

    @property
    def pane(self) -> int:
        """Return the length of a pane: the gcd of all WITHIN and SLIDE (section 3.1)."""
        return gcd(*(query.window.pane() for query in self.queries))


@dataclass(frozen=True)
class Sharing:
    """The sharable sets of a workload, and its other queries."""

    sets: tuple[SharableSet, ...]  #: disjoint sets of sharable queries
    #: the other queries, each with the reason why it runs separately.
    beside: tuple[tuple[BoundQuery, str], ...]


def sharable_sets(queries: Sequence[BoundQuery]) -> Sharing:
    """Divide queries into sharable sets, and queries that run separately.

    A query with several Kleene sub-patterns joins the set that most queries can join. The queries
    of a set also share any other E+ that they have in common.
    """
    templates: dict[str, Template] = {}
    beside: dict[str, str] = {}
    alike: dict[object, list[BoundQuery]] = {}
    for query in queries:
        found = plain_template(query)
        if isinstance(found, Template) and not found.loops:
            found = "it has no Kleene plus"
        if isinstance(found, str):
            beside[query.name] = found
        else:
            templates[query.name] = found
            alike.setdefault(partition_signature(query, found), []).append(query)
    sets: list[SharableSet] = []
    for group in alike.values():
        sets += _sets_of(group, templates, beside)
    return Sharing(tuple(sets), tuple((q, beside[q.name]) for q in queries if q.name in beside))


def sets_of(workload: Workload) -> Sharing:
    """Return the sharable sets of a workload; the order of its queries does not matter."""
    return sharable_sets(sorted(workload.queries, key=lambda query: query.name))


def sharable_set(queries: Sequence[BoundQuery]) -> SharableSet | None:
    """Return all of the queries as one sharable set; None if they are not one."""
    sharing = sharable_sets(queries)
    if sharing.beside or len(sharing.sets) != 1:
        return None
    return sharing.sets[0]


def _sets_of(
    group: list[BoundQuery], templates: dict[str, Template], beside: dict[str, str]
) -> list[SharableSet]:
    """Divide queries that are partitioned alike into sets, by their most common Kleene types.

    Queries that cannot share are added to `beside`, with the reason.
    """
    left = list(group)
    found = []
    while left:
        holders: dict[str, list[BoundQuery]] = {}
        for query in left:
            template = templates[query.name]
            for kind in sorted({type_of(query, template.states[s]) for s in template.loops}):
                holders.setdefault(kind, []).append(query)
        kind, sharing = max(holders.items(), key=lambda item: len(item[1]))
        if len(sharing) == 1:
            beside |= {q.name: "no other query has its Kleene types and keys" for q in left}
            break
        merged = _told_apart(sharing[:LARGEST_SET], templates)
        found.append(SharableSet(kind, merged))
        taken = {query.name for query in merged.queries}
        left = [query for query in left if query.name not in taken]
    return found


def _told_apart(sharing: list[BoundQuery], templates: dict[str, Template]) -> MergedTemplate:
    """Return the merged template of some of the queries, few enough for the classes of one set.

    Queries with equal demands become neighbors, because an operation on neighbors with common work
    processes all of their lanes. If there are too many classes, the second half is left out.
    """
    alike: dict[object, list[BoundQuery]] = {}
    for query in sharing:
        alike.setdefault(_demands(query, templates[query.name]), []).append(query)
    ordered = [query for group in alike.values() for query in group]
    while True:
        merged = merge_templates(ordered, [templates[query.name] for query in ordered])
        if all(max(classes.values()) < MOST_CLASSES for classes in merged.class_of):
            return merged
        ordered = ordered[: len(ordered) // 2]


def _demands(query: BoundQuery, template: Template) -> object:
    """Return the conditions of a query on events at its Kleene states, and on pairs of them."""
    loops = [a for a in template.transitions if a.earlier == a.later]
    positions = {p for state in template.loops for p in template.states[state].meets}
    events = frozenset(condition for p in positions for condition in query.local_conditions(p))
    return tuple(a.condition for a in loops), events
