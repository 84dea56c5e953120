"""The merged template of a sharable set: each event type once, transitions labeled by queries.

See Hamlet section 3.1, Figure 3(b). If a query has several states with one type, there is a merged
state for each of them. Kleene states are matched first, so that the E+ of all queries share one
merged state.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from elsinore.query.bound import BoundQuery
from elsinore.query.expressions import BoundExpression, turned
from elsinore.template.template import (
    Condition,
    Every,
    Holds,
    State,
    Template,
    Transition,
    leading_to,
)

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
Kind = tuple[str, frozenset[str]]


@dataclass(frozen=True)
class Standing:
    """The requirements on an event at a place."""

    type: str
    #: the names (`BoundQuery.named_keys`) of the partition keys that the events carry.
    keys: frozenset[str]
    needed: frozenset[str]  #: the names of keys whose values must be neither NULL nor NaN
    admission: Admission  #: the conditions on single events


@dataclass(frozen=True)
class Standings(Generic[Place]):
    """The places at which events of some queries can be, and how their keys partition the stream.

    A place is a state of a query's template, or a position of its pattern.
    """

    by_place: Mapping[Place, Standing]  #: the requirements at each place
    #: the places where trends may start and end, and the pairs (earlier, later) of places that may
    #: follow each other.
    starts: frozenset[Place]
    ends: frozenset[Place]
    arrows: frozenset[tuple[Place, Place]]

    @cached_property
    def by_kind(self) -> dict[Kind, list[Place]]:
        """Return the places of each kind of event."""
        found: dict[Kind, list[Place]] = {}
        for place, standing in self.by_place.items():
            found.setdefault((standing.type, standing.keys), []).append(place)
        return found

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the names of the keys that partition the trends."""
        return frozenset(name for standing in self.by_place.values() for name in standing.keys)

    @cached_property
    def useful(self) -> set[Place]:
        """Return the places from which an end can be reached."""
        return leading_to(self.ends, self.arrows)

    def leads_through(self, places: Set[Place]) -> bool:
        """Return whether a path from a start to an end uses only the given places."""
        arrows = ((a, b) for a, b in self.arrows if a in places and b in places)
        return not (self.starts & places).isdisjoint(leading_to(self.ends & places, arrows))


def standings_of(
    queries: Iterable[BoundQuery], templates: Iterable[Template]
) -> Standings[tuple[int, int]]:
    """Return the events that each (query, state) admits; trends skip the states of NOT."""
    by_place: dict[tuple[int, int], Standing] = {}
    starts, ends, arrows = set(), set(), set()
    for q, (query, template) in enumerate(zip(queries, templates, strict=True)):
        names = tuple(query.named_keys)
        for s, state in enumerate(template.states):
            carried = frozenset(names[number] for number in state.keys & template.keys)
            needed = frozenset(names[n] for n in state.keys if query.keys[n].equivalence)
            kind, admission = type_of(query, state), admission_of(query, state)
            by_place[q, s] = Standing(kind, carried, needed, admission)
        trends = frozenset(template.trend_states)
        starts |= {(q, s) for s in trends & template.starts.keys()}
        ends |= {(q, s) for s in trends & template.ends.keys()}
        arrows |= {
            ((q, t.earlier), (q, t.later))
            for t in template.transitions
            if {t.earlier, t.later} <= trends
        }
    return Standings(by_place, frozenset(starts), frozenset(ends), frozenset(arrows))


class MergedState(NamedTuple):
    """A state of the merged template, for events of one type."""

    type: str
    keys: frozenset[str]  #: attributes of the keys that the events carry
    members: Mapping[int, int]  #: by number of the query, the state of its own template


class Link(NamedTuple):
    """A transition between merged states, labeled by the queries that have it, ascending.

    `condition` refers to positions of the first of these queries.
    """

    earlier: int
    later: int
    condition: Condition
    queries: tuple[int, ...]


class Ways(NamedTuple):
    """The paths of trends through merged states, in one direction of time."""

    #: numbers of the queries whose trends may start, and may end, at each state.
    starts: tuple[tuple[int, ...], ...]
    ends: tuple[tuple[int, ...], ...]
    links: tuple[Link, ...]  #: sorted by (later, earlier)

    def turned(self) -> Ways:
        """Return the paths in reverse; conditions must be comparisons, or none."""
        links = [
            Link(link.later, link.earlier, _turned(link.condition), link.queries)
            for link in self.links
        ]
        return Ways(
            self.ends, self.starts, tuple(sorted(links, key=lambda a: (a.later, a.earlier)))
        )


def _turned(condition: Condition) -> Condition:
    if isinstance(condition, Every):
        return Every(tuple(map(_turned, condition.parts)))
    if isinstance(condition, Holds):
        return Holds(turned(condition.condition))
    raise AssertionError(condition)


@dataclass(frozen=True)
class MergedTemplate:
    """The templates of several queries as one.

    Attributes:
        queries: the queries, which are numbered in this order.
        templates: the template of each query.
        states: the merged states.
        links: the transitions, sorted by (later, earlier).
        keys: attributes that partition the trends, sorted.
    """

    queries: tuple[BoundQuery, ...]
    templates: tuple[Template, ...]
    states: tuple[MergedState, ...]
    links: tuple[Link, ...]
    keys: tuple[str, ...]

    @cached_property
    def sharers(self) -> dict[int, tuple[int, ...]]:
        """Return the queries with E+ at each merged state that several have (Definition 3.1)."""
        users: dict[int, set[int]] = {}
        for link in self.links:
            if link.earlier == link.later:
                users.setdefault(link.later, set()).update(link.queries)
        return {s: tuple(sorted(users[s])) for s in sorted(users) if len(users[s]) > 1}

    @property
    def shared_types(self) -> tuple[str, ...]:
        """Return the event types E whose E+ several queries have, in the order of the states."""
        return tuple(dict.fromkeys(self.states[state].type for state in self.sharers))

    def starts(self, state: int) -> tuple[int, ...]:
        """Return the numbers of the queries whose trends may start at a merged state."""
        return tuple(
            q for q, own in self.states[state].members.items() if own in self.templates[q].starts
        )

    def ends(self, state: int) -> tuple[int, ...]:
        """Return the numbers of the queries whose trends may end at a merged state."""
        return tuple(
            q for q, own in self.states[state].members.items() if own in self.templates[q].ends
        )

    @property
    def ways(self) -> Ways:
        """Return the paths from starts to ends."""
        states = range(len(self.states))
        return Ways(tuple(map(self.starts, states)), tuple(map(self.ends, states)), self.links)

    @cached_property
    def admissions(self) -> tuple[Mapping[int, Admission], ...]:
        """Return the conditions on single events at each merged state, by number of the query."""
        return tuple(
            {
                q: admission_of(self.queries[q], self.templates[q].states[own])
                for q, own in state.members.items()
            }
            for state in self.states
        )

    @cached_property
    def class_of(self) -> tuple[Mapping[int, int], ...]:
        """Return the class of each query at each merged state; a class has one admission."""
        found = []
        for asked in self.admissions:
            bits: dict[Admission, int] = {}
            found.append({q: bits.setdefault(what, len(bits)) for q, what in asked.items()})
        return tuple(found)

    @cached_property
    def standings(self) -> Standings[tuple[int, int]]:
        """Return the events that each (query, state of its template) admits."""
        return standings_of(self.queries, self.templates)

    @cached_property
    def merged_places(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Return the merged state and the class of each (query, state of its template)."""
        return {
            (q, own): (s, self.class_of[s][q])
            for s, state in enumerate(self.states)
            for q, own in state.members.items()
        }

    def as_template(self, ways: Ways) -> Template:
        """Return a template with the trends of all queries.

        Its keys are positions in `self.keys`. Its states have no positions, because positions
        belong to one query.
        """
        none: frozenset[int] = frozenset()
        carried = [frozenset(map(self.keys.index, state.keys)) for state in self.states]
        return Template(
            keys=none.union(*carried),
            states=tuple(State(none, none, none, keys) for keys in carried),
            transitions=tuple(
                Transition(link.earlier, link.later, link.condition) for link in ways.links
            ),
            starts=dict.fromkeys(state for state, queries in enumerate(ways.starts) if queries),
            ends=dict.fromkeys(state for state, queries in enumerate(ways.ends) if queries),
        )


def merge_templates(queries: Sequence[BoundQuery], templates: Sequence[Template]) -> MergedTemplate:
    """Return the merged template of queries whose trends carry keys of the same attributes."""
    members: dict[tuple[Kind, int], dict[int, int]] = {}
    numbers: dict[tuple[Kind, int], int] = {}
    links: dict[tuple[int, int, Condition], list[int]] = {}
    for number, (query, template) in enumerate(zip(queries, templates, strict=True)):
        places = _places(query, template)
        for own, place in enumerate(places):
            members.setdefault(place, {})[number] = own
        merged = [numbers.setdefault(place, len(numbers)) for place in places]
        for arrow in template.transitions:
            link = merged[arrow.later], merged[arrow.earlier], arrow.condition
            links.setdefault(link, []).append(number)
    ordered = sorted(links.items(), key=lambda item: item[0][:2])
    return MergedTemplate(
        tuple(queries),
        tuple(templates),
        tuple(MergedState(*kind, found) for (kind, _), found in members.items()),
        tuple(Link(earlier, later, asked, tuple(q)) for (later, earlier, asked), q in ordered),
        tuple(sorted(key_attributes(queries[0], templates[0].keys))),
    )


def key_attributes(query: BoundQuery, keys: frozenset[int]) -> frozenset[str]:
    """Return the attributes of some of a query's keys."""
    return frozenset([query.keys[number].attribute for number in keys])


def type_of(query: BoundQuery, state: State) -> str:
    """Return the event type of a state; all its positions have the same type."""
    return query.positions[min(state.meets)].type


def _places(query: BoundQuery, template: Template) -> list[tuple[Kind, int]]:
    """Return the kind and the occurrence of each state of a template.

    Kleene states are counted first.
    """
    taken: dict[Kind, int] = {}
    found: dict[int, tuple[Kind, int]] = {}
    for number in dict.fromkeys([*template.loops, *range(len(template.states))]):
        state = template.states[number]
        kind = type_of(query, state), key_attributes(query, state.keys & template.keys)
        found[number] = kind, taken.get(kind, 0)
        taken[kind] = found[number][1] + 1
    return [found[number] for number in range(len(found))]
