"""Breaks a workload into sets of sharable queries (Hamlet Definitions 3.1 and 3.2).

Queries are sharable if their patterns hold a common Kleene sub-pattern E+ and their trends are
partitioned alike. Two conditions of the paper are not needed here. Aggregates: every query of a set
has lanes of its own, and all linear aggregates ride along the same edges, MIN and MAX beside them;
so COUNT(*) shares with SUM, and either with MIN. Windows: bursts end where a window of the set
begins or ends, which is never more often than at the borders of panes as long as the gcd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from elsinore.query.bound import BoundQuery, Workload, of_query
from elsinore.query.syntax import Conjunction, Semantics
from elsinore.sharing.merged import MergedTemplate, key_attributes, merge_templates, type_of
from elsinore.template.build import build_templates
from elsinore.template.subsets import NotUnambiguous
from elsinore.template.template import Template


@of_query
def plain_template(query: BoundQuery) -> Template | str:
    """The one template of a query without NOT under skip-till-any-match; else why it has none."""
    if isinstance(query.pattern, Conjunction):
        return "AND counts pairs of trends"
    if query.semantics is not Semantics.ANY:
        return f"{query.semantics} depends on events in between"
    try:
        templates = build_templates(query)
    except NotUnambiguous as reason:
        return str(reason)
    if len(templates) != 1:
        return "its trends have different keys"
    (template,) = templates
    if template.guards:
        return "NOT depends on events in between"
    attributes = [key.attribute for key in query.keys]
    if len(set(attributes)) < len(attributes):
        return "one attribute occurs in several keys"
    return template


# ---- sharable sets

#: Queries that one set holds at most; more make several sets, since lanes are kept side by side.
LARGEST_SET = 256

#: Ways to choose among the events of a type that one set tells apart; each is a bit of an entry.
MOST_CLASSES = 62


@dataclass(frozen=True)
class SharableSet:
    """Queries that can share the aggregation of a Kleene sub-pattern."""

    kleene: str  #: the event type E of their common E+
    merged: MergedTemplate  #: their merged template

    @property
    def queries(self) -> tuple[BoundQuery, ...]:
        """Two or more; those that ask for the same stand side by side."""
        return self.merged.queries

    @property
    def pane(self) -> int:
        """Length of a pane: the gcd of all WITHIN and SLIDE (section 3.1)."""
        return gcd(*(n for q in self.queries for n in (q.window.within, q.window.slide)))


@dataclass(frozen=True)
class Sharing:
    """What a workload can share."""

    sets: tuple[SharableSet, ...]  #: disjoint sets of sharable queries
    #: the other queries, with the reason why each runs by itself.
    beside: tuple[tuple[BoundQuery, str], ...]


def sharable_sets(queries: Sequence[BoundQuery]) -> Sharing:
    """Partition queries into sharable sets and those that run beside them.

    A query with several Kleene sub-patterns goes where most queries are; E+ that its set has in
    common beside the set's own are shared all the same.
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
    """The sharable sets of a workload; the order of its queries does not matter."""
    return sharable_sets(sorted(workload.queries, key=lambda query: query.name))


def sharable_set(queries: Sequence[BoundQuery]) -> SharableSet | None:
    """All of the queries as one sharable set; None if they are not one."""
    sharing = sharable_sets(queries)
    if sharing.beside or len(sharing.sets) != 1:
        return None
    return sharing.sets[0]


def partition_signature(query: BoundQuery, template: Template) -> object:
    """What must agree for the events of two queries to be partitioned alike."""
    return (
        tuple(key.attribute for key in query.group_keys),
        frozenset((key.attribute, key.equivalence) for key in query.keys),
        key_attributes(query, template.keys),
    )


def _sets_of(
    group: list[BoundQuery], templates: dict[str, Template], beside: dict[str, str]
) -> list[SharableSet]:
    """Sets of queries that are partitioned alike, by their most common Kleene types."""
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
    """As many of the queries as one set can tell apart; those that ask for the same side by side.

    What neighbours have in common is one operation on all of their lanes.
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
    """What a query asks of events at its Kleene states and of pairs of them."""
    loops = [a for a in template.transitions if a.earlier == a.later]
    positions = {p for state in template.loops for p in template.states[state].meets}
    events = frozenset(condition for p in positions for condition in query.local_conditions(p))
    return tuple(a.condition for a in loops), events
