"""Keys inside of NOT that the trends themselves do not carry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import BoundQuery, Key
from elsinore.query.expressions import Both, BoundExpression, Comparison, Either, Field, IsNull
from elsinore.template.conditions import Holds, Reaches, every
from elsinore.template.machine import Machine
from elsinore.template.subsets import NotUnambiguous
from elsinore.template.template import State


def bind_guard_keys(
    query: BoundQuery, guard: Machine, inside: Iterable[Machine], carried: frozenset[int]
) -> Machine:
    """A NOT's machine for trends that carry some keys; the events of its match agree in the others.

    Partitions see to the keys that the trends carry. Those that only the events of NOT carry are
    compared from one event to the next.

    Args:
        query: the query.
        guard: the machine of a NOT.
        inside: those of the NOT inside of it.
        carried: numbers of the keys that the trends carry.

    Raises:
        NotUnambiguous: events of one match that are not next to each other would have to agree, or
            events of a match with those of a NOT inside of it.
    """
    bound = guard
    deeper = {n for machine in inside for state in machine.states for n in state.keys}
    for number in sorted({n for state in guard.states for n in state.keys} - carried):
        carriers = [n for n, state in enumerate(guard.states) if number in state.keys]
        alone = len(carriers) == 1 and all(a.earlier not in carriers for a in guard.arrows)
        if alone and number not in deeper:
            continue
        if len(carriers) < len(guard.states) or number in deeper:
            name = query.keys[number].attribute
            raise NotUnambiguous(f"{name} is a key of some events under a NOT, but of no trend")
        bound = _agreeing(query, bound, query.keys[number])
    return bound


def _agreeing(query: BoundQuery, guard: Machine, key: Key) -> Machine:
    arrows = []
    for arrow in guard.arrows:
        ends = (_position(guard.states[n]) for n in (arrow.earlier, arrow.later))
        agree = Holds(_same(key, *ends))
        floor = [Reaches(arrow.floor)] if arrow.floor and not arrow.condition else []
        before = [arrow.condition] if arrow.condition else []
        arrows.append(replace(arrow, condition=every(*before, *floor, agree)))
    return replace(guard, arrows=tuple(arrows))


def _position(state: State) -> int:
    (position,) = state.positions
    return position


def _same(key: Key, earlier: int, later: int) -> BoundExpression:
    """Both events carry the same value; NULL is a value of its own, as in GROUP BY."""
    kind: AttributeType = key.type
    left = Field(earlier, key.attribute, kind)
    right = Field(later, key.attribute, kind, following=True)
    return Either((Comparison("=", left, right), Both((IsNull(left), IsNull(right)))))
