"""Find the queries that count by doublings, and build their tables (`linear.kernels.doublings`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from elsinore.executors.linear.kernels.doublings import Doublings
from elsinore.executors.linear.sweep_sets import Member, Place


def counts_by_doublings(member: Member, n: int, classes: Sequence[frozenset[Place]]) -> bool:
    """Return whether query `n` only counts trends, and has `+` only at the end of trends.

    No event may be in a state and in one right before it, because then a burst has no closed form.
    `classes` are, for each event class, the (member, state) pairs in which its events can be.
    """
    if any(member.accumulators.weighed) or not member.cyclic:
        return False
    if any(member.after[state] != {state} for state in member.cyclic):
        return False
    own = [{state for m, state in each if m == n} for each in classes]
    return not any(here.intersection(member.sources[s]) for here in own for s in here)


def make_doublings(members: Sequence[Member], classes: Sequence[frozenset[Place]]) -> Doublings:
    """Return the tables of such queries; `classes` as in `counts_by_doublings`."""
    places = [(n, s) for n, member in enumerate(members) for s in sorted(member.states)]
    sums = [place for place in places if place[1] in members[place[0]].cyclic]
    sum_of = {place: number for number, place in enumerate(sums)}
    cell_of = {place: 1 + k for k, place in enumerate(p for p in places if p not in sum_of)}
    classes_of = {p: tuple(y for y, each in enumerate(classes) if p in each) for p in sums}
    group_of = {each: g for g, each in enumerate(dict.fromkeys(classes_of.values()))}
    listed: list[int] = []

    def write(numbers: Iterable[int]) -> tuple[int, int]:
        begin = len(listed)
        listed.extend(numbers)
        return begin, len(listed)

    def sources(place: Place) -> tuple[int, int]:
        n, state = place
        return write(cell_of[n, before] for before in members[n].sources[state])

    heads: list[tuple[int, ...]] = []
    steps: list[tuple[int, ...]] = []
    groups: list[int] = []
    for y, each in enumerate(classes):
        begin, first = len(groups), len(steps)
        groups += [g for which, g in group_of.items() if y in which]
        for n, state in sorted(each & cell_of.keys()):
            member = members[n]
            after = [sum_of[n, s] for s in sorted(member.after[state]) if (n, s) in sum_of]
            before = [0] if member.starts(state) else []
            before += [cell_of[n, s] for s in member.sources[state]]
            steps.append((cell_of[n, state], *write(before), *write(after)))
        heads.append((begin, len(groups), first, len(steps)))
    rows = [(group_of[classes_of[p]], int(members[p[0]].starts(p[1])), *sources(p)) for p in sums]
    totals = []
    for n, member in enumerate(members):
        ends = [(n, s) for s in sorted(member.template.ends) if s in member.states]
        cells = write(cell_of[end] for end in ends if end in cell_of)
        totals.append((*cells, *write(sum_of[end] for end in ends if end in sum_of)))
    return Doublings(
        _table(heads, 4), _table(steps, 5), _table(rows, 4), _table(totals, 4),
        np.array(groups, np.uint64), np.array(listed, np.uint64), 1 + len(cell_of),
    )  # fmt: skip


def _table(rows: Iterable[tuple[int, ...]], width: int) -> np.ndarray:
    return np.array(list(rows), np.uint64).reshape(-1, width)
