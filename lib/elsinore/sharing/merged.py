"""The merged template of a sharable set: each event type once, transitions labeled by queries.

See Hamlet section 3.1, Figure 3(b). If a query has several states with one type, there is a merged
state for each of them. Kleene states are matched first, so that the E+ of all queries share one
merged state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from elsinore.query.bound import BoundQuery
from elsinore.query.expressions import turned
from elsinore.template.placement import (
    Admission,
    Placements,
    admission_of,
    key_attributes,
    placements_of,
    type_of,
)
from elsinore.template.template import (
    Condition,
    Every,
    Holds,
    State,
    Template,
    Transition,
)

#: An event type, and the attributes of the keys that its events carry at a state.
Kind = tuple[str, frozenset[str]]


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
    def placements(self) -> Placements[tuple[int, int]]:
        """Return the events that each (query, state of its template) admits."""
        return placements_of(self.queries, self.templates)

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
