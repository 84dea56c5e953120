"""Placements: the events that each state of a template accepts, and the keys that they carry.

Every executor partitions the events of a table by placements
(`executors.input.entries.make_entries`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from elsinore.query.bound import BoundQuery, KeyName, of_query
from elsinore.query.expressions import BoundExpression
from elsinore.query.syntax import Conjunction, Semantics
from elsinore.template.build import build_templates
from elsinore.template.subsets import NotUnambiguous
from elsinore.template.template import State, Template, leading_to

#: The conditions on an event at a state: conditions that must all hold, and sets of conditions. In
#: each of these sets, at least one condition must not hold.
Admission = tuple[frozenset[BoundExpression], frozenset[frozenset[BoundExpression]]]


def admission_of(query: BoundQuery, state: State) -> Admission:
    """Return the conditions on single events at a state of one of a query's templates."""
    if not query.local_predicates:
        return frozenset(), frozenset()
    return (
        frozenset(p for position in state.meets for p in query.local_conditions(position)),
        frozenset(query.local_conditions(position) for position in state.misses),
    )


Place = TypeVar("Place", bound=Hashable)

#: An event type, and the names of the keys that events of this type carry at a place.
Kind = tuple[str, frozenset[KeyName]]


@dataclass(frozen=True)
class Placement:
    """The requirements on an event at a place."""

    type: str
    #: the names (`BoundQuery.named_keys`) of the partition keys that the events carry.
    keys: frozenset[KeyName]
    needed: frozenset[KeyName]  #: the names of keys whose values must be neither NULL nor NaN
    admission: Admission  #: the conditions on single events


@dataclass(frozen=True)
class Placements(Generic[Place]):
    """The places at which events of some queries can be, and how their keys partition the stream.

    A place is a state of a query's template, or a position of its pattern.
    """

    by_place: Mapping[Place, Placement]  #: the requirements at each place
    #: the places where trends may start and end, and the pairs (earlier, later) of places that may
    #: follow each other.
    starts: frozenset[Place]
    ends: frozenset[Place]
    arrows: frozenset[tuple[Place, Place]]

    @cached_property
    def by_kind(self) -> dict[Kind, list[Place]]:
        """Return the places of each kind of event."""
        found: dict[Kind, list[Place]] = {}
        for place, placement in self.by_place.items():
            found.setdefault((placement.type, placement.keys), []).append(place)
        return found

    @cached_property
    def keys(self) -> frozenset[KeyName]:
        """Return the names of the keys that partition the trends."""
        return frozenset(name for placement in self.by_place.values() for name in placement.keys)

    @cached_property
    def useful(self) -> set[Place]:
        """Return the places from which an end can be reached."""
        return leading_to(self.ends, self.arrows)

    def leads_through(self, places: Set[Place]) -> bool:
        """Return whether a path from a start to an end uses only the given places."""
        arrows = ((a, b) for a, b in self.arrows if a in places and b in places)
        return not (self.starts & places).isdisjoint(leading_to(self.ends & places, arrows))


def placements_of(
    queries: Iterable[BoundQuery], templates: Iterable[Template]
) -> Placements[tuple[int, int]]:
    """Return the events that each (query, state) admits; trends skip the states of NOT."""
    by_place: dict[tuple[int, int], Placement] = {}
    starts, ends, arrows = set(), set(), set()
    for q, (query, template) in enumerate(zip(queries, templates, strict=True)):
        names = tuple(query.named_keys)
        for s, state in enumerate(template.states):
            carried = frozenset(names[number] for number in state.keys & template.keys)
            needed = frozenset(names[n] for n in state.keys if query.keys[n].equivalence)
            kind, admission = type_of(query, state), admission_of(query, state)
            by_place[q, s] = Placement(kind, carried, needed, admission)
        trends = frozenset(template.trend_states)
        starts |= {(q, s) for s in trends & template.starts.keys()}
        ends |= {(q, s) for s in trends & template.ends.keys()}
        arrows |= {
            ((q, t.earlier), (q, t.later))
            for t in template.transitions
            if {t.earlier, t.later} <= trends
        }
    return Placements(by_place, frozenset(starts), frozenset(ends), frozenset(arrows))


def key_attributes(query: BoundQuery, keys: frozenset[int]) -> frozenset[str]:
    """Return the attributes of some of a query's keys."""
    return frozenset([query.keys[number].attribute for number in keys])


def type_of(query: BoundQuery, state: State) -> str:
    """Return the event type of a state; all its positions have the same type."""
    return query.positions[min(state.meets)].type


# ---- what queries need for events to be partitioned once for all of them


@of_query
def plain_template(query: BoundQuery) -> Template | str:
    """Return the template of a query that can be shared, or the reason why it cannot.

    Such a query has a single template, no NOT, no AND and no span, and uses skip-till-any-match.
    """
    if query.window.span is not None:
        return "a span limits the time from the first to the last event"
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


def partition_signature(query: BoundQuery, template: Template) -> object:
    """Return a value that is equal for queries whose events are partitioned alike.

    The times of their events also have the same positions (`windows`).
    """
    return (
        query.window.axis,
        tuple(key.attribute for key in query.group_keys),
        frozenset((key.attribute, key.equivalence) for key in query.keys),
        key_attributes(query, template.keys),
    )
