"""Trends of contiguous queries, read off the definition in docs/reference/language/semantics.md.

Every subsequence of a tiny stream is tried with every choice of aliases, and each is checked
against the definition. Nothing here is shared with the reference or with the engine, not even the
syntax tree or the binding of keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any

#: Attributes of each type. D has no key attribute, and F is part of no pattern.
TYPES: dict[str, dict[str, str]] = {
    "A": {"k": "string", "g": "string", "v": "long"},
    "B": {"k": "string", "v": "long"},
    "C": {"g": "string"},
    "D": {},
    "F": {"k": "string", "g": "string"},
    "N": {"k": "string", "v": "long"},
}

#: `(type, time, attributes)`, as in `tests.property.random_cases`.
Event = tuple[str, int, dict[str, Any]]
#: An event and the alias that it is bound to.
Step = tuple[Event, str]
#: The value of each key that binds an event of a trend, by the key's number.
Values = Mapping[int, Any]


@dataclass(frozen=True)
class Node:
    """A pattern: `op` is `E` (an event), `SEQ`, `OR`, `NOT`, or one of `+*?`."""

    op: str
    parts: tuple[Node, ...] = ()
    type: str = ""
    alias: str = ""

    @property
    def text(self) -> str:
        """The pattern as a query has it."""
        inside = [part.text for part in self.parts]
        match self.op:
            case "E":
                return f"{self.type} {self.alias}"
            case "SEQ":
                return f"SEQ({', '.join(inside)})"
            case "OR":
                return f"({' OR '.join(inside)})"
            case "NOT":
                return f"NOT {inside[0]}"
        return f"({inside[0]}){self.op}"

    def types(self, *, negated: bool) -> dict[str, str]:
        """The types of the aliases that are part of trends, or of those under NOT."""
        if self.op == "E":
            return {} if negated else {self.alias: self.type}
        if self.op == "NOT":
            body = self.parts[0]
            return body.types(negated=False) | body.types(negated=True) if negated else {}
        found: dict[str, str] = {}
        for part in self.parts:
            found |= part.types(negated=negated)
        return found

    def words(self) -> set[tuple[str, ...]]:
        """Aliases of trends that run through each loop twice at most, whatever NOT says."""
        inside = [part.words() for part in self.parts]
        match self.op:
            case "E":
                return {(self.alias,)}
            case "NOT":
                return {()}
            case "OR":
                return set().union(*inside)
            case "SEQ":
                return {sum(words, ()) for words in product(*inside)}
        once = inside[0] | (set() if self.op == "+" else {()})
        return once if self.op == "?" else once | {a + b for a, b in product(*inside * 2)}


@dataclass(frozen=True)
class Key:
    """A key as written, in WHERE, in GROUP-BY or in both: `scope` is an alias, a type or empty.

    No two keys of a query bind the same aliases by the same attribute.
    """

    attribute: str
    scope: str = ""
    equivalence: bool = True
    grouping: bool = False

    @property
    def text(self) -> str:
        """The key as a query has it."""
        return f"{self.scope}.{self.attribute}" if self.scope else self.attribute


@dataclass(frozen=True)
class Case:
    """A contiguous query and its stream; `positive` are aliases whose events need v > 0.

    Those of `negative` need v <= 0; both lists hold aliases.
    """

    pattern: Node
    keys: tuple[Key, ...]
    rows: tuple[Event, ...]
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The query, from RETURN to SEMANTICS."""
        where = [f"[{key.text}]" for key in self.keys if key.equivalence]
        where += [f"{alias}.v > 0" for alias in self.positive]
        where += [f"{alias}.v <= 0" for alias in self.negative]
        groups = [key.text for key in self.keys if key.grouping]
        return (
            f"RETURN COUNT(*) PATTERN {self.pattern.text}"
            + (f" WHERE {' AND '.join(where)}" if where else "")
            + (f" GROUP-BY {', '.join(groups)}" if groups else "")
            + " WITHIN 100 SEMANTICS contiguous"
        )

    # ---- what the query's names mean

    @cached_property
    def types(self) -> dict[str, str]:
        """The types of all aliases, of trends and under NOT."""
        return self.in_trends | self.pattern.types(negated=True)

    @cached_property
    def in_trends(self) -> dict[str, str]:
        """The types of the aliases that are part of trends."""
        return self.pattern.types(negated=False)

    @cached_property
    def bound(self) -> list[set[str]]:
        """The aliases that each key binds."""
        return [
            {
                alias
                for alias, kind in self.types.items()
                if key.attribute in TYPES[kind] and key.scope in ("", alias, kind)
            }
            for key in self.keys
        ]

    # ---- the definition

    def trends(self) -> dict[tuple[Event, ...], set[tuple[Any, ...]]]:
        """Every trend with the groups that its matches give it; more than one is ambiguous."""
        found: dict[tuple[Event, ...], set[tuple[Any, ...]]] = {}
        for steps in self._chains(self.in_trends):
            values = self._values(steps, {})
            if values is None or not self._matches(self.pattern, steps, values, None, None):
                continue
            if all(self._adjacent(p[1], e[1], values) for (p, _), (e, _) in pairwise(steps)):
                events = tuple(event for event, _ in steps)
                found.setdefault(_identity(events), set()).add(self._group(values))
        return found

    def _adjacent(self, earlier: int, later: int, values: Values) -> bool:
        """Whether no event of the partition lies strictly between two times."""
        return not any(
            earlier < event[1] < later and self.in_partition(event, values) for event in self.rows
        )

    def in_partition(self, event: Event, values: Values) -> bool:
        """Whether an event lies in the partition of a trend whose keys have some values."""
        for number, key in enumerate(self.keys):
            if number in self.partition_keys and self._applies(number, event[0]):
                value = event[2][key.attribute]
                if value is None and key.equivalence:
                    return False
                if number in values and values[number] != value:
                    return False
        return True

    @cached_property
    def partition_keys(self) -> set[int]:
        """The keys that group, or bind two events of some trend."""
        words = self.pattern.words()
        return {
            number
            for number, key in enumerate(self.keys)
            if key.grouping
            or any(sum(alias in self.bound[number] for alias in word) > 1 for word in words)
        }

    def _applies(self, number: int, kind: str) -> bool:
        """Whether a key binds every part of the trend that an event of a type could stand for.

        Where it could stand for none, these are all parts whose events have the attribute.
        """
        attribute = self.keys[number].attribute
        parts = {alias for alias, other in self.in_trends.items() if other == kind}
        if not parts:
            parts = {a for a, other in self.in_trends.items() if attribute in TYPES[other]}
        return attribute in TYPES[kind] and parts <= self.bound[number]

    # ---- matches of a pattern, of the query or of NOT

    def _chains(self, aliases: Mapping[str, str]) -> Iterator[list[Step]]:
        """Events of strictly increasing times, each bound to an alias of its type."""
        kinds = {*aliases.values()}
        rows = sorted((row for row in self.rows if row[0] in kinds), key=lambda row: row[1])
        for size in range(1, len(rows) + 1):
            for some in combinations(rows, size):
                if any(p[1] == e[1] for p, e in pairwise(some)):
                    continue
                choices = [[a for a, kind in aliases.items() if kind == e[0]] for e in some]
                for names in product(*choices):
                    steps = list(zip(some, names, strict=True))
                    if all(self._meets(*step) for step in steps):
                        yield steps

    def _meets(self, event: Event, alias: str) -> bool:
        v = event[2].get("v")
        if alias in self.positive or alias in self.negative:
            return v is not None and (v > 0) == (alias in self.positive)
        return True

    def _values(self, steps: Sequence[Step], values: Values) -> Values | None:
        """The keys' values with those of some steps; None if they differ, or one has none."""
        found = dict(values)
        for event, alias in steps:
            for number, key in enumerate(self.keys):
                if alias in self.bound[number]:
                    value = event[2][key.attribute]
                    if value is None and key.equivalence:
                        return None
                    if found.setdefault(number, value) != value:
                        return None
        return found

    def _matches(
        self,
        pattern: Node,
        steps: Sequence[Step],
        values: Values,
        after: int | None,
        before: int | None,
    ) -> bool:
        """Whether steps match a pattern, and nothing that it forbids lies in the gaps.

        `after` and `before` are the bounds of the first and of the last gap; None is the window's.
        """
        times = [event[1] for event, _ in steps]
        starts, ends = [after, *times], [*times, before]
        names = [alias for _, alias in steps]
        return any(
            end == len(names)
            and all(self._absent(body, starts[gap], ends[gap], values) for gap, body in forbidden)
            for end, forbidden in _ways(pattern, names, 0)
        )

    def _absent(self, body: Node, after: int | None, before: int | None, values: Values) -> bool:
        """Whether no match of a pattern lies strictly between two times."""
        for steps in self._chains(body.types(negated=False)):
            first, last = steps[0][0][1], steps[-1][0][1]
            if (after is None or first > after) and (before is None or last < before):
                agreed = self._values(steps, values)
                if agreed is not None and self._matches(body, steps, agreed, None, None):
                    return False
        return True

    def _group(self, values: Values) -> tuple[Any, ...]:
        return tuple(values.get(n) for n, key in enumerate(self.keys) if key.grouping)


def _identity(events: tuple[Event, ...]) -> tuple[Any, ...]:
    """The same events as something that can be looked up; two alike stay two."""
    return tuple((id(values), kind, time) for kind, time, values in events)


#: The NOT passed, each with the gap that it bears on: gap n comes before event n.
_Forbidden = tuple[tuple[int, Node], ...]


def _ways(pattern: Node, names: Sequence[str], at: int) -> Iterator[tuple[int, _Forbidden]]:
    """Where a match of a pattern may end that begins at an event, and what it forbids."""
    match pattern.op:
        case "E":
            if names[at : at + 1] == [pattern.alias]:
                yield at + 1, ()
        case "NOT":
            yield at, ((at, pattern.parts[0]),)
        case "OR":
            for part in pattern.parts:
                yield from _ways(part, names, at)
        case "SEQ":
            yield from _in_a_row(pattern.parts, names, at)
        case "?":
            yield at, ()
            yield from _ways(pattern.parts[0], names, at)
        case "*":
            yield at, ()
            yield from _repeated(pattern.parts[0], names, at)
        case "+":
            yield from _repeated(pattern.parts[0], names, at)


def _in_a_row(
    parts: Sequence[Node], names: Sequence[str], at: int
) -> Iterator[tuple[int, _Forbidden]]:
    if not parts:
        yield at, ()
        return
    for middle, passed in _ways(parts[0], names, at):
        for end, more in _in_a_row(parts[1:], names, middle):
            yield end, passed + more


def _repeated(body: Node, names: Sequence[str], at: int) -> Iterator[tuple[int, _Forbidden]]:
    for middle, passed in _ways(body, names, at):
        yield middle, passed
        if middle > at:
            for end, more in _repeated(body, names, middle):
                yield end, passed + more
