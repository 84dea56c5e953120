"""Keys and templates: trends split by the keys that they carry, and keys that only NOT carries.

Grouping and equivalence attributes together partition the trends. With optional parts some trends
may carry a key that others lack: each kind is partitioned by its own keys (spec section 1,
grouping).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from elsinore.query.bound import BoundQuery, Key
from elsinore.query.expressions import Both, BoundExpression, Comparison, Either, Field, IsNull
from elsinore.template.machine import Machine, reachable, reached_states
from elsinore.template.subsets import NotUnambiguous
from elsinore.template.template import Holds, Reaches, Transition, WayOut, every

Keys = frozenset[int]
Arrow = TypeVar("Arrow", Transition, WayOut)


def split_by_keys(machine: Machine) -> Iterator[tuple[Keys, Machine]]:
    """The machine of the trends that carry exactly each set of keys.

    Where all trends carry the same, the states stay as they are. Else they are doubled by the
    keys carried so far; states that lead to other sets of keys stay as ends without a way on, since
    under skip-till-next-match their events matter.
    """
    carried = _carried(machine)
    finals = sorted({keys for state, keys in carried if state in machine.ends}, key=sorted)
    if len(finals) == 1:
        yield finals[0], _kept(machine)
        return
    for keys in finals:
        yield keys, _machine_of(machine, carried, keys)


def _carried(machine: Machine) -> list[tuple[int, Keys]]:
    """Every state with every set of keys that a trend may carry when it gets there."""

    def onwards(place: tuple[int, Keys]) -> list[tuple[int, Keys]]:
        later = [arrow.later for arrow in machine.arrows if arrow.earlier == place[0]]
        return [(state, place[1] | machine.states[state].keys) for state in later]

    begin = [(state, machine.states[state].keys) for state in machine.starts]
    return sorted(reachable(begin, onwards), key=lambda place: (place[0], sorted(place[1])))


def _machine_of(machine: Machine, carried: list[tuple[int, Keys]], keys: Keys) -> Machine:
    number = {place: index for index, place in enumerate(carried)}
    first = {state: number[state, machine.states[state].keys] for state in machine.starts}

    def doubled(arrows: tuple[Arrow, ...]) -> tuple[Arrow, ...]:
        return tuple(
            replace(arrow, earlier=index, later=number[arrow.later, held | found.keys])
            for (state, held), index in number.items()
            for arrow in arrows
            if arrow.earlier == state
            for found in [machine.states[arrow.later]]
        )

    whole = Machine(
        tuple(machine.states[state] for state, _ in carried),
        {first[state]: ways for state, ways in machine.starts.items()},
        {first[state]: ways for state, ways in machine.bars.items()},
        {number[s, keys]: ways for s, ways in machine.ends.items() if (s, keys) in number},
        doubled(machine.arrows),
        doubled(machine.ways_out),
    )
    return _kept(whole)


def _kept(machine: Machine) -> Machine:
    """The states that lead to an end, and those whose events close one of them."""
    useful = reached_states(frozenset(machine.ends), machine.arrows, backwards=True)
    arrows = tuple(
        arrow
        for arrow in machine.arrows
        if arrow.earlier in useful and (arrow.later in useful or arrow.closes)
    )
    outs = tuple(out for out in machine.ways_out if out.earlier in useful)
    kept = sorted(useful | {a.later for a in arrows} | {out.later for out in outs})
    number = {state: index for index, state in enumerate(kept)}
    return Machine(
        tuple(machine.states[state] for state in kept),
        {number[s]: ways for s, ways in machine.starts.items() if s in useful},
        {number[s]: ways for s, ways in machine.bars.items() if s in useful},
        {number[s]: ways for s, ways in machine.ends.items()},
        tuple(replace(a, earlier=number[a.earlier], later=number[a.later]) for a in arrows),
        tuple(replace(o, earlier=number[o.earlier], later=number[o.later]) for o in outs),
    )


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
        ends = (min(guard.states[n].positions) for n in (arrow.earlier, arrow.later))
        agree = Holds(_same(key, *ends))
        floor = [Reaches(arrow.floor)] if arrow.floor and not arrow.condition else []
        before = [arrow.condition] if arrow.condition else []
        arrows.append(replace(arrow, condition=every(*before, *floor, agree)))
    return replace(guard, arrows=tuple(arrows))


def _same(key: Key, earlier: int, later: int) -> BoundExpression:
    """Both events carry the same value; NULL is a value of its own, as in GROUP BY."""
    left = Field(earlier, key.attribute, key.type)
    right = Field(later, key.attribute, key.type, following=True)
    return Either((Comparison("=", left, right), Both((IsNull(left), IsNull(right)))))
