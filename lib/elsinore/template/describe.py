"""A template as lines of text."""

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
    """One NOT of a query."""

    number: int  #: counts from 1, the outer one before those inside of it
    body: Pattern  #: what must not be matched
    positions: frozenset[int]  #: the positions of its events, without those of a NOT inside of it
    inside: int | None  #: number of the NOT around it, or None

    @property
    def title(self) -> str:
        """As it stands above its states in texts and pictures: `NOT 2, inside NOT 1: E`."""
        inside = f", inside NOT {self.inside}" if self.inside is not None else ""
        return f"NOT {self.number}{inside}: {print_pattern(self.body)}"


def numbered_nots(query: BoundQuery) -> tuple[NumberedNot, ...]:
    """Every NOT of a query, in the order of its text."""
    found: list[tuple[Pattern, int | None]] = []
    owned: dict[int | None, set[int]] = defaultdict(set)

    def visit(pattern: Pattern, inside: int | None) -> None:
        if isinstance(pattern, Negation):
            found.append((pattern.body, inside))
            inside = len(found)
        elif isinstance(pattern, EventPattern):
            owned[inside].add(query.by_alias[pattern.alias].index)
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
#: What the notes of state names mean.
NOTES = "[meets x], [misses x]: whether the event meets the conditions on x in WHERE"


@dataclass(frozen=True)
class Words:
    """Names and conditions of one template of a query."""

    query: BoundQuery
    template: Template

    @cached_property
    def nots(self) -> dict[int, NumberedNot]:
        """The NOT of each guard, in the order of the text."""
        guards = {min(s.positions): s.guard for s in self.template.states if s.guard != TREND}
        return {
            guards[position]: found
            for found in numbered_nots(self.query)
            for position in found.positions
            if position in guards
        }

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each state is called: its aliases, and what else tells it from its like.

        `x|y` is a state of trends whose last event may stand for either. Trends may carry different
        keys when they get to one place of the pattern; such states are numbered.
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
        """The aliases that an event at a state may stand for."""
        return "|".join(
            self.query.aliases[p] for p in sorted(self.template.states[number].positions)
        )

    def notes(self, number: int) -> str:
        """Which other positions' local predicates an event at a state meets, where that matters."""
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
        """The event type of a state."""
        return self.query.positions[min(self.template.states[number].positions)].type

    def condition(self, condition: Condition) -> str:
        """A condition on two adjacent events, in full."""
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
        """Which NOT must be absent, and where; and whether nothing else may lie in between."""
        parts = [self.absent(floor.ways, where), NOTHING_BETWEEN if floor.contiguous else ""]
        return ", and ".join(part for part in parts if part)

    def absent(self, ways: Ways, where: str) -> str:
        """`no match of NOT 1 is in between`; empty where one way is free of NOT."""
        if frozenset() in ways:
            return ""
        return f"{' or '.join(f'no match of {self.guards(w)}' for w in _sorted(ways))} is {where}"

    def present(self, ways: Ways, where: str) -> str:
        """The opposite of `absent`."""
        return f"{' and '.join(f'a match of {self.guards(w)}' for w in _sorted(ways))} is {where}"

    def guards(self, way: frozenset[int]) -> str:
        """The NOT of one way: each of them shuts it."""
        return " or ".join(f"NOT {n}" for n in sorted(self.nots[g].number for g in way))


def _sorted(ways: Ways) -> list[frozenset[int]]:
    return sorted(ways, key=sorted)


# ---- lines of text


def describe_template(query: BoundQuery, template: Template) -> list[str]:
    """One line a state: what it may be in a trend, and which events may come right before it.

    The states of each NOT stand below a line that names it.
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
        n: words.names[n] if words.plain_name(n) == kind else f"{kind} {words.names[n]}"
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
    """The condition of a transition in words; empty where it has none."""
    parts = [words.condition(transition.condition), STILL_OPEN if transition.closes else ""]
    return " and ".join(filter(None, parts))
