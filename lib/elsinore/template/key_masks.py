"""Splits the trends of a pattern by the keys that they carry.

Grouping and equivalence attributes together partition the trends. With optional parts some trends
may carry a key that others lack: each kind is partitioned by its own keys (spec section 1,
grouping).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from elsinore.template.machine import Machine, reached_states

Keys = frozenset[int]


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
    pending = [(state, machine.states[state].keys) for state in sorted(machine.starts)]
    found: dict[tuple[int, Keys], None] = {}
    while pending:
        state, keys = pending.pop()
        if (state, keys) not in found:
            found[state, keys] = None
            pending += [
                (arrow.later, keys | machine.states[arrow.later].keys)
                for arrow in machine.arrows
                if arrow.earlier == state
            ]
    return sorted(found, key=lambda place: (place[0], sorted(place[1])))


def _machine_of(machine: Machine, carried: list[tuple[int, Keys]], keys: Keys) -> Machine:
    number = {place: index for index, place in enumerate(carried)}
    ends = {
        number[state, keys]: ways for state, ways in machine.ends.items() if (state, keys) in number
    }
    arrows = tuple(
        replace(arrow, earlier=index, later=number[after])
        for (state, held), index in number.items()
        for arrow in machine.arrows
        if arrow.earlier == state
        for after in [(arrow.later, held | machine.states[arrow.later].keys)]
    )
    outs = tuple(
        replace(out, earlier=index, later=number[after])
        for (state, held), index in number.items()
        for out in machine.ways_out
        if out.earlier == state
        for after in [(out.later, held | machine.states[out.later].keys)]
    )
    whole = Machine(
        tuple(machine.states[state] for state, _ in carried),
        {number[state, machine.states[state].keys]: ways for state, ways in machine.starts.items()},
        {number[state, machine.states[state].keys]: ways for state, ways in machine.bars.items()},
        ends,
        arrows,
        outs,
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
