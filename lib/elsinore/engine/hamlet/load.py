"""The events of one query, state by state, and the work that both executors have with them."""

from __future__ import annotations

from math import ceil, exp, log2

from elsinore.engine.hamlet.traffic import Stream, held, overlap, windows_met
from elsinore.engine.partitions import leads_through
from elsinore.lowering.carriers import carriers_of
from elsinore.lowering.conditions import Programs
from elsinore.lowering.merged import key_attributes, type_of
from elsinore.query.bound import BoundQuery
from elsinore.template.template import Template, Transition

#: Amounts of work by kind.
Amounts = dict[str, float]

#: Bits of a count that fit into one limb.
_LIMB_BITS = 62

#: Rungs that are told apart; the last holds counts of a million bits.
_MOST_RUNGS = 15


class Load:
    """The events of a query at the states of its template.

    Attributes:
        query, template, stream: whose.
        partitions: of the trends.
        entries_at, held_at: by state, events; those in one window of one partition.
        entries: events at all states.
        idle: whether no trend can exist for want of events.
        bits: that the counts of a window take.
    """

    def __init__(self, query: BoundQuery, template: Template, stream: Stream) -> None:
        self.query, self.template, self.stream = query, template, stream
        self.partitions = stream.partitions(key_attributes(query, template.keys))
        self.entries_at = [self._entries(state) for state in template.trend_states]
        within = query.window.within
        self.held_at = [
            held(n, self.partitions, within, stream.span) for n in self.entries_at
        ]  # fmt: skip
        self.entries = sum(self.entries_at)
        filled = frozenset(state for state, number in enumerate(self.entries_at) if number)
        self.idle = not leads_through(template, filled)
        self.bits = self._bits()

    def _entries(self, number: int) -> float:
        state = self.template.states[number]
        events = self.stream.events(type_of(self.query, state))
        passing = max(self.stream.passing(self.query, p) for p in state.meets)
        own = self.stream.partitions(
            key_attributes(self.query, state.keys & self.template.keys)
        )  # fmt: skip
        return events * passing * max(1.0, self.partitions / own)

    def share(self, arrow: Transition) -> float:
        """The share of pairs of a transition that its condition admits."""
        if arrow.condition is None:
            return 1.0
        states = self.template.states
        ends = (min(states[n].positions) for n in (arrow.earlier, arrow.later))
        return self.stream.adjacent(self.query, *ends)

    def _bits(self) -> float:
        """Each event under a plus multiplies the count of trends by 1 + the share it follows."""
        bits = 0.0
        loops = {a.later: a for a in self.template.transitions if a.earlier == a.later}
        for state, number in enumerate(self.held_at):
            if state in loops:
                bits += number * log2(1.0 + self.share(loops[state]))
            else:
                bits += log2(max(number, 1.0))
        return bits


def basic_amounts(load: Load) -> Amounts:
    """Work of both executors: events at states, windows, rows, and rows that are added up."""
    windows = windows_met(load.entries, load.partitions, load.query.window, load.stream.span)
    grouped = {key.attribute for key in load.query.group_keys}
    likely = 1.0
    for number in load.held_at:
        likely = min(likely, 1.0 - exp(-number))
    return {
        "entry": load.entries,
        "keyed": load.entries * bool(load.template.keys),
        "window": windows,
        "row": windows * likely,
        "joined": windows
        * likely
        * lanes_of(load.query)
        * (len(grouped) < len(load.template.keys)),
    }


def steps_of(arrow: Transition) -> int:
    """Steps of the program of a transition's condition."""
    programs = Programs()
    programs.program(arrow.condition, arrow.earlier, arrow.later)
    return len(programs.programs[0])


def lanes_of(query: BoundQuery) -> int:
    """Numbers that ride along for a window of a query."""
    carriers = carriers_of(query)
    return 1 + sum(map(len, (carriers.counts, carriers.sums, carriers.minima, carriers.maxima)))


def width_of(load: Load) -> float:
    """Windows of a query that are open at once."""
    return max(1, ceil(overlap(load.query.window)))


def limbs_for(bits: float) -> list[int]:
    """Limbs of the counts on each rung of the exact ladder up to the one that holds so many bits.

    >>> limbs_for(60), limbs_for(200)
    ([1], [1, 2, 4])
    """
    rungs = [1]
    while rungs[-1] * _LIMB_BITS < bits and len(rungs) < _MOST_RUNGS:
        rungs.append(2 * rungs[-1])
    return rungs
