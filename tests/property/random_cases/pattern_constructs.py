"""Which operators a pattern holds, and where its NOT stand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from elsinore.query.automaton import adjacency
from elsinore.query.syntax import (
    Conjunction,
    Disjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Maybe,
    Negation,
    Pattern,
    Sequence,
    event_patterns,
    parts_of,
)

_OPERATORS: dict[type, str] = {
    KleenePlus: "Kleene plus",
    KleeneStar: "star",
    Maybe: "maybe",
    Disjunction: "OR",
    Conjunction: "AND",
}


def pattern_constructs(pattern: Pattern) -> set[str]:
    """Names of the constructs of a pattern in normal form."""
    parts = list(_walk(pattern))
    positive = [part.type for part in parts if isinstance(part, EventPattern)]
    loops = [part for part in parts if isinstance(part, KleenePlus | KleeneStar)]
    found = {_OPERATORS[type(part)] for part in parts if type(part) in _OPERATORS}
    if any(_holds(loop.body, KleenePlus, KleeneStar) for loop in loops):
        found.add("nested Kleene plus")
    if any(isinstance(part, Disjunction) for part in parts[1:]):
        found.add("OR nested")
    if len(set(positive)) < len(positive):
        found.add("repeated type")
        if not isinstance(pattern, Conjunction) and _is_ambiguous(pattern):
            found.add("ambiguous")
    negations = [part for part in parts if isinstance(part, Negation)]
    if not negations:
        return found
    looped = [loop.body for loop in loops if isinstance(loop.body, Sequence)]
    for part in parts:
        if isinstance(part, Sequence):
            found |= _places(part, whole=part is pattern, looped=part in looped)
    for negation in negations:
        found |= _negation_body(negation.body)
    return found | ({"NOT row"} if _holds_row(parts, looped) else set())


def _walk(pattern: Pattern) -> Iterator[Pattern]:
    """All sub-patterns outside of NOT, the whole included; NOT itself is not entered."""
    yield pattern
    if not isinstance(pattern, Negation):
        for part in parts_of(pattern):
            yield from _walk(part)


def _holds(pattern: Pattern, *kinds: type) -> bool:
    return any(isinstance(part, kinds) for part in _walk(pattern))


def _places(sequence: Sequence, *, whole: bool, looped: bool) -> set[str]:
    """Where NOT stands in one sequence."""
    found = set()
    last = len(sequence.parts) - 1
    for index, part in enumerate(sequence.parts):
        if not isinstance(part, Negation):
            continue
        if index not in (0, last):
            found.add("NOT in a loop's middle" if looped else "NOT between")
        elif looped:
            found.add("NOT at a loop's start" if index == 0 else "NOT at a loop's end")
        elif whole:
            found.add("NOT leading" if index == 0 else "NOT trailing")
    return found


def _holds_row(parts: list[Pattern], looped: list[Sequence]) -> bool:
    """Whether nothing, or what may be absent, or a loop's end keeps two NOT apart."""
    for sequence in looped:
        if isinstance(sequence.parts[0], Negation) and isinstance(sequence.parts[-1], Negation):
            return True
    for whole in parts:
        open_since = False
        for part in whole.parts if isinstance(whole, Sequence) else ():
            if isinstance(part, Negation):
                if open_since:
                    return True
                open_since = True
            elif open_since:
                open_since = adjacency(part).nullable
    return False


def _is_ambiguous(pattern: Pattern) -> bool:
    """Whether types alone leave two different ways to match one sequence of events."""
    graph = adjacency(pattern)
    types = {leaf.alias: leaf.type for leaf in event_patterns(pattern)}
    nexts: dict[str, list[str]] = {}
    for earlier, later in graph.pairs:
        nexts.setdefault(earlier, []).append(later)

    def alike(lefts: frozenset[str] | list[str], rights: frozenset[str] | list[str]) -> set[str]:
        return {f"{p} {q}" for p, q in product(lefts, rights) if types[p] == types[q]}

    arrows: dict[str, set[str]] = {}
    pending = list(alike(graph.first, graph.first))
    while pending:
        pair = pending.pop()
        if pair not in arrows:
            p, q = pair.split()
            arrows[pair] = alike(nexts.get(p, []), nexts.get(q, []))
            pending += arrows[pair]
    ending = {pair for pair in arrows if set(pair.split()) <= graph.last}
    while more := {pair for pair in arrows if arrows[pair] & ending} - ending:
        ending |= more
    return any(p != q for p, q in (pair.split() for pair in ending))


def _negation_body(body: Pattern) -> set[str]:
    """What stands inside of NOT."""
    found = _negated_sequence(body) if isinstance(body, Sequence) else set()
    found |= {"NOT with Kleene"} if _holds(body, KleenePlus, KleeneStar) else set()
    return found | ({"NOT with OR"} if _holds(body, Disjunction) else set())


def _negated_sequence(body: Sequence) -> set[str]:
    found = set()
    if sum(not isinstance(part, Negation) for part in body.parts) > 1:
        found.add("NOT multi-event")
    for index, part in enumerate(body.parts):
        if isinstance(part, Negation):
            edge = index in (0, len(body.parts) - 1)
            found.add("NOT with inner NOT at its edge" if edge else "NOT nested")
    return found
