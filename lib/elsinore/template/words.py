"""The words in which texts and pictures speak of a template's states and conditions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from elsinore.query.automaton import Ways
from elsinore.query.bound import BoundQuery
from elsinore.query.print_query import print_bound
from elsinore.template.conditions import (
    Condition,
    Every,
    Floor,
    Holds,
    Never,
    Open,
    Reaches,
    Some,
)
from elsinore.template.negations import NumberedNot, guard_nots
from elsinore.template.template import TREND, Template

IN_BETWEEN = "in between"
NOTHING_BETWEEN = "no other event of the partition lies in between"
STILL_OPEN = "nothing in between could extend it"
#: What the notes of state names mean.
NOTES = "[meets x], [misses x]: whether the event meets the conditions that WHERE has for x alone"


@dataclass(frozen=True)
class Words:
    """Names and conditions of one template of a query."""

    query: BoundQuery
    template: Template

    @cached_property
    def nots(self) -> dict[int, NumberedNot]:
        """The NOT of each guard."""
        return guard_nots(self.query, self.template)

    @cached_property
    def aliases(self) -> dict[int, str]:
        """The alias of each position."""
        return {position.index: position.alias for position in self.query.positions}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each state is called: its aliases, and what else tells it from its like.

        `x|y` is a state of trends whose last event may stand for either. Trends may carry different
        keys when they get to one place of the pattern; such states are numbered.
        """
        plain = [self._noted_name(number) for number in range(len(self.template.states))]
        uses, seen = Counter(plain), Counter[str]()
        names = []
        for name in plain:
            seen[name] += 1
            names.append(f"{name} ({seen[name]})" if uses[name] > 1 else name)
        return tuple(names)

    def plain_name(self, number: int) -> str:
        """The aliases that an event at a state may stand for."""
        return "|".join(self.aliases[p] for p in sorted(self.template.states[number].positions))

    def _noted_name(self, number: int) -> str:
        notes = self.notes(number)
        name = self.plain_name(number)
        return f"{name} [{notes}]" if notes else name

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
        notes = [f"misses {self.aliases[p]}" for p in sorted(state.misses)]
        notes += [f"meets {self.aliases[p]}" for p in sorted(state.meets - state.positions)]
        return ", ".join(notes)

    def kind(self, number: int) -> str:
        """The event type of a state."""
        return self.query.positions[min(self.template.states[number].positions)].type

    def condition(self, condition: Condition) -> str:
        """A condition on two adjacent events, in full."""
        match condition:
            case Holds(expression):
                return print_bound(expression, self.aliases)
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
        """`no match of NOT 1 lies in between`; empty where one way is free of NOT."""
        if frozenset() in ways:
            return ""
        return f"{' or '.join(f'no match of {self.guards(w)}' for w in _sorted(ways))} lies {where}"

    def present(self, ways: Ways, where: str) -> str:
        """The opposite of `absent`."""
        return f"{' and '.join(f'a match of {self.guards(w)}' for w in _sorted(ways))} lies {where}"

    def guards(self, way: frozenset[int]) -> str:
        """The NOT of one way: each of them shuts it."""
        return " or ".join(f"NOT {n}" for n in sorted(self.nots[g].number for g in way))


def _sorted(ways: Ways) -> list[frozenset[int]]:
    return sorted(ways, key=sorted)
