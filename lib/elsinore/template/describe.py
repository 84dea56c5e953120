"""Describe a template as lines of text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from elsinore.query.automaton import Ways
from elsinore.query.bound import BoundQuery
from elsinore.query.print_query import print_bound, print_pattern
from elsinore.query.syntax import EventPattern, Negation, Pattern, parts_of
from elsinore.template.template import (
    TREND,
    Condition,
    Every,
    Floor,
    Holds,
    Never,
    Open,
    Reaches,
    Some,
    Template,
    Transition,
)
from elsinore.wording import listed


@dataclass(frozen=True, slots=True)
class NumberedNot:
    """A NOT of a query, with its number."""

    number: int  #: counts from 1; an outer NOT comes before the NOT inside of it
    body: Pattern  #: the pattern that must not be matched
    positions: frozenset[int]  #: the positions of its events, without any NOT inside of it
    inside: int | None  #: number of the NOT around it, or None

    @property
    def title(self) -> str:
        """Return the heading of its states, such as `NOT 2, inside NOT 1: E`."""
        inside = f", inside NOT {self.inside}" if self.inside is not None else ""
        return f"NOT {self.number}{inside}: {print_pattern(self.body)}"


def numbered_nots(query: BoundQuery) -> tuple[NumberedNot, ...]:
    """Return every NOT of a query, in the order of its text."""
    found: list[tuple[Pattern, int | None]] = []
    owned: dict[int | None, set[int]] = defaultdict(set)

    def visit(pattern: Pattern, inside: int | None) -> None:
        if isinstance(pattern, Negation):
            found.append((pattern.body, inside))
            inside = len(found)
        elif isinstance(pattern, EventPattern):
            owned[inside].add(query.position_of(pattern))
        for part in parts_of(pattern):
            visit(part, inside)

    visit(query.pattern, None)
    return tuple(
        NumberedNot(number, body, frozenset(owned[number]), inside)
        for number, (body, inside) in enumerate(found, start=1)
    )


# ---- the words of texts and pictures

IN_BETWEEN = "in between"
NOTHING_BETWEEN = "no other event of the partition is in between"
STILL_OPEN = "nothing in between could extend it"
#: The legend of the notes in names of states.
NOTES = "[meets x], [misses x]: whether the event meets the conditions on x in WHERE"


@dataclass(frozen=True)
class Words:
    """The names and conditions of one template of a query."""

    query: BoundQuery
    template: Template

    @cached_property
    def nots(self) -> dict[int, NumberedNot]:
        """Return the NOT of each guard, in the order of the text."""
        guards = {min(s.positions): s.guard for s in self.template.states if s.guard != TREND}
        return {
            guards[position]: found
            for found in numbered_nots(self.query)
            for position in found.positions
            if position in guards
        }

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return a unique name of each state: its aliases, and notes if needed.

        `x|y` is a state of trends whose last event may match either alias. States that differ only
        in the keys that their trends carry are numbered.
        """
        plain = [
            f"{self.plain_name(number)} [{notes}]" if notes else self.plain_name(number)
            for number in range(len(self.template.states))
            for notes in [self.notes(number)]
        ]
        uses, seen = Counter(plain), Counter[str]()
        names = []
        for name in plain:
            seen[name] += 1
            names.append(f"{name} ({seen[name]})" if uses[name] > 1 else name)
        return tuple(names)

    def plain_name(self, number: int) -> str:
        """Return the aliases that an event at a state may match, as in `x|y`, or `A x` for ANY."""
        return "|".join(self.query.labels(self.template.states[number].positions))

    def notes(self, number: int) -> str:
        """Return which local predicates of other positions an event at a state meets.

        The text is empty for states of NOT, and if no state of trends of this event type has
        `misses`.
        """
        state = self.template.states[number]
        kind = self.kind(number)
        alike = [
            other
            for n, other in enumerate(self.template.states)
            if other.guard == TREND and self.kind(n) == kind
        ]
        if state.guard != TREND or not any(other.misses for other in alike):
            return ""
        notes = [f"misses {self.query.aliases[p]}" for p in sorted(state.misses)]
        notes += [f"meets {self.query.aliases[p]}" for p in sorted(state.meets - state.positions)]
        return ", ".join(notes)

    def kind(self, number: int) -> str:
        """Return the event type of a state."""
        return self.query.positions[min(self.template.states[number].positions)].type

    def condition(self, condition: Condition) -> str:
        """Return the text of a condition on two adjacent events."""
        match condition:
            case Holds(expression):
                return print_bound(expression, self.query.aliases)
            case Reaches(floor):
                return self.floor(floor, IN_BETWEEN)
            case Open():
                return STILL_OPEN
            case Every(parts):
                return " and ".join(self._inner(part) for part in parts)
            case Some(parts):
                return " or ".join(self._inner(part) for part in parts)
            case Never(Reaches(Floor(ways, contiguous=False))):
                return self.present(ways, IN_BETWEEN)
            case Never(part):
                return f"not ({self.condition(part)})"

    def _inner(self, condition: Condition) -> str:
        text = self.condition(condition)
        return f"({text})" if isinstance(condition, Every | Some) else text

    def floor(self, floor: Floor, where: str) -> str:
        """Return which NOT must be absent, and whether all other events must be.

        `where` is the text for the place, such as `IN_BETWEEN`.
        """
        parts = [self.absent(floor.ways, where), NOTHING_BETWEEN if floor.contiguous else ""]
        return ", and ".join(part for part in parts if part)

    def absent(self, ways: Ways, where: str) -> str:
        """Return `no match of NOT 1 is in between`; empty if one way is free of NOT."""
        if frozenset() in ways:
            return ""
        return f"{' or '.join(f'no match of {self.guards(w)}' for w in _sorted(ways))} is {where}"

    def present(self, ways: Ways, where: str) -> str:
        """Return the opposite of `absent`."""
        return f"{' and '.join(f'a match of {self.guards(w)}' for w in _sorted(ways))} is {where}"

    def guards(self, way: frozenset[int]) -> str:
        """Return the NOT of one way; a match of any of them closes it."""
        return " or ".join(f"NOT {n}" for n in sorted(self.nots[g].number for g in way))


def _sorted(ways: Ways) -> list[frozenset[int]]:
    return sorted(ways, key=sorted)


# ---- lines of text


def describe_template(query: BoundQuery, template: Template) -> list[str]:
    """Return a line per state: its role in a trend, and the states that may directly precede it.

    The states of each NOT are below a line with its title.
    """
    words = Words(query, template)
    lines = _machine_lines(words, TREND, "a trend")
    if any(words.notes(number) for number in template.trend_states):
        lines.append(NOTES)
    for guard, found in words.nots.items():
        lines.append(found.title)
        lines += [f"  {line}" for line in _machine_lines(words, guard, "a match")]
    return lines


def _machine_lines(words: Words, guard: int, whole: str) -> list[str]:
    numbers = [n for n, state in enumerate(words.template.states) if state.guard == guard]
    titles = {
        n: words.names[n] if words.plain_name(n).split()[0] == kind else f"{kind} {words.names[n]}"
        for n in numbers
        for kind in [words.kind(n)]
    }
    width = max(map(len, titles.values()), default=0)
    return [
        f"{titles[n]:<{width}}  {'; '.join(_roles(words, n, whole)) or 'is part of no result'}"
        for n in numbers
    ]


def _roles(words: Words, number: int, whole: str) -> Iterator[str]:
    template = words.template
    starts, ends = number in template.starts, number in template.ends
    start_floor, bar = template.starts.get(number), template.bars.get(number)
    end_floor = template.ends.get(number)
    bounds = [words.floor(start_floor, "before it")] if start_floor else []
    bounds += [words.present(bar.ways, "before it")] if bar else []
    start = " and ".join(bounds)
    end = words.floor(end_floor, "after it") if end_floor else ""
    if starts and ends and start == end == "":
        linked = any(number in (t.earlier, t.later) for t in template.transitions)
        yield f"starts or ends {whole}" if linked else f"is {whole} of one event"
    else:
        if starts:
            yield _if(f"starts {whole}", start)
        if ends:
            yield _if(f"ends {whole}", end)
    by_condition: dict[str, list[str]] = {}
    for arrow in template.predecessors(number):
        by_condition.setdefault(transition_text(words, arrow), []).append(
            words.names[arrow.earlier]
        )
    for condition, before in by_condition.items():
        yield _if(f"comes after {listed(before)}", condition)


def _if(text: str, condition: str) -> str:
    return f"{text} if {condition}" if condition else text


def transition_text(words: Words, transition: Transition) -> str:
    """Return the condition of a transition as text; empty if there is none."""
    parts = [words.condition(transition.condition), STILL_OPEN if transition.closes else ""]
    return " and ".join(filter(None, parts))
