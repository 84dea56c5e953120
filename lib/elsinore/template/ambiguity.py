"""Whether a template can match one sequence of events in two ways."""

from __future__ import annotations

from collections.abc import Iterable

from elsinore.template.template import Template

Pair = tuple[int, int]


def is_ambiguous(template: Template) -> bool:
    """Whether some trend has two different paths through the template.

    Two paths over the same event types are a path through the product of the template with
    itself; the template is ambiguous if such a path leads from two starts to two ends and visits a
    pair of different states on its way.
    """
    types = [position.type for position in template.states]
    following: dict[int, list[int]] = {}
    for transition in template.transitions:
        following.setdefault(transition.earlier, []).append(transition.later)

    def alike(lefts: Iterable[int], rights: Iterable[int]) -> set[Pair]:
        rights = tuple(rights)
        return {(p, q) for p in lefts for q in rights if types[p] == types[q]}

    arrows: dict[Pair, set[Pair]] = {}
    pending = list(alike(template.starts, template.starts))
    while pending:
        pair = pending.pop()
        if pair not in arrows:
            arrows[pair] = alike(following.get(pair[0], ()), following.get(pair[1], ()))
            pending += arrows[pair]
    return any(p != q for p, q in _that_reach(arrows, template.ends))


def _that_reach(arrows: dict[Pair, set[Pair]], ends: frozenset[int]) -> set[Pair]:
    """The pairs from which a pair of ends can be reached."""
    backwards: dict[Pair, list[Pair]] = {}
    for pair, nexts in arrows.items():
        for after in nexts:
            backwards.setdefault(after, []).append(pair)
    pending = [pair for pair in arrows if pair[0] in ends and pair[1] in ends]
    reached: set[Pair] = set()
    while pending:
        pair = pending.pop()
        if pair not in reached:
            reached.add(pair)
            pending += backwards.get(pair, [])
    return reached
