"""Split the states of a template by what happened so far in a trend.

A **tracker** shows whether an event X has occurred (FIRST), whether the last X has occurred (LAST),
or whether an X with a value has occurred (TOTAL). A refined template has the same trends, and a
position of its own for each position of the pattern and each move of the trackers. So a sum over
the events at some of these positions is a sum of a measure of trends (`template.measures`).

FIRST and TOTAL follow from the events so far. LAST is a guess: at each X, a trend goes on as if it
were the last one, and as if it were not. After a guess no X may follow, and a trend with an X ends
only if it has guessed. So each trend has exactly one guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import product
from typing import NamedTuple

from elsinore.query.bound import BoundQuery, MeasureKind, Tracker
from elsinore.template.subsets import MAX_STATES, NotUnambiguous
from elsinore.template.template import TREND, State, Template, Transition


class Status(IntEnum):
    """The state of a tracker after a part of a trend."""

    NONE = 0  #: no event has occurred
    PENDING = 1  #: LAST: an event has occurred, another one will be the last
    DONE = 2  #: the event has occurred


class Move(NamedTuple):
    """A change of a tracker at an event: the next status, and whether the event is the one.

    `known` is whether its value must not be NULL (True) or must be NULL (False); None: any value.
    """

    status: Status
    is_it: bool = False
    known: bool | None = None


def moves_of(tracker: Tracker, status: Status, *, inside: bool) -> list[Move]:
    """Return the moves of a tracker at an event; none if no trend goes on like this.

    Args:
        tracker: the tracker.
        status: its status before the event.
        inside: whether the event is at its positions.
    """
    if not inside:
        return [Move(status)]
    needed = True if tracker.required and tracker.value is not None else None
    match tracker.kind:
        case MeasureKind.FIRST:
            is_first = status is Status.NONE
            return [Move(Status.DONE, is_first, needed if is_first else None)]
        case MeasureKind.LAST:
            if status is Status.DONE:
                return []
            return [Move(Status.PENDING), Move(Status.DONE, True, needed)]
    if status is Status.DONE:
        return [Move(Status.DONE)]
    return [Move(Status.NONE, False, False), Move(Status.DONE, True, True)]


def may_end(tracker: Tracker, status: Status) -> bool:
    """Return whether a trend can end with a status of a tracker."""
    return status is Status.DONE or (status is Status.NONE and not tracker.required)


#: The moves of all trackers at an event. None for an event that only closes earlier events
#: (skip-till-next-match) and is part of no trend.
Label = tuple[Move, ...] | None


@dataclass(frozen=True)
class Refined:
    """The templates of a query of measures.

    Attributes:
        templates: the templates.
        copies: the position for each position of the base and each label.
    """

    templates: tuple[Template, ...]
    copies: Mapping[tuple[int, Label], int]

    def where(
        self, places: frozenset[int], wanted: Callable[[tuple[Move, ...]], bool]
    ) -> frozenset[int]:
        """Return the copies of some positions in trends, chosen by their moves."""
        return frozenset(
            copy
            for (position, label), copy in self.copies.items()
            if position in places and label is not None and wanted(label)
        )


def refine(
    query: BoundQuery, templates: Sequence[Template], trackers: tuple[Tracker, ...]
) -> Refined:
    """Return templates with the same trends, whose states show the statuses of trackers.

    Args:
        query: the query of the templates.
        templates: its templates.
        trackers: the trackers.

    Raises:
        NotUnambiguous: there are too many states.
    """
    copies: dict[tuple[int, Label], int] = {}
    first = len(query.positions)
    products = (_Product(template, trackers, copies, first) for template in templates)
    return Refined(tuple(product.template() for product in products), copies)


class _Product:
    """One template, refined.

    Attributes:
        states: the number of each state by the original state and the label, in order.
        ending: the states in which trends can end.
    """

    def __init__(
        self,
        base: Template,
        trackers: tuple[Tracker, ...],
        copies: dict[tuple[int, Label], int],
        first: int,
    ) -> None:
        self.base, self.trackers, self.copies, self.first = base, trackers, copies, first
        self.states: dict[tuple[int, Label], int] = {}
        self.arrows: list[Transition] = []
        self.outs: list[Transition] = []

    def template(self) -> Template:
        """Return the refined template."""
        base, begin = self.base, (Status.NONE,) * len(self.trackers)
        trends = {n for n, state in enumerate(base.states) if state.guard == TREND}
        starts = {
            self._number(s, label): floor
            for s, floor in base.starts.items()
            if s in trends
            for label in self._labels(s, begin)
        }
        self._follow(trends)
        places = list(self.states.items())
        ends = {n: base.ends[s] for (s, label), n in places if s in base.ends and self._ends(label)}
        bars = {n: base.bars[s] for (s, _), n in places if s in base.bars and n in starts}
        guards = [n for n in range(len(base.states)) if n not in trends]
        moved = {old: len(places) + new for new, old in enumerate(guards)}
        arrows = self.arrows + [
            replace(arrow, earlier=moved[arrow.earlier], later=moved[arrow.later])
            for arrow in base.transitions
            if arrow.earlier in moved
        ]
        states = [self._state(s, label) for (s, label), _ in places]
        return replace(
            base,
            states=(*states, *(base.states[n] for n in guards)),
            transitions=tuple(sorted(arrows, key=lambda arrow: (arrow.later, arrow.earlier))),
            starts=starts | {moved[n]: base.starts[n] for n in guards if n in base.starts},
            ends=ends | {moved[n]: base.ends[n] for n in guards if n in base.ends},
            bars=bars,
            ways_out=tuple(self.outs),
        )

    def _number(self, state: int, label: Label) -> int:
        place = state, label
        if place not in self.states:
            if len(self.states) >= MAX_STATES:
                raise NotUnambiguous("its measures need too many states")
            self.states[place] = len(self.states)
        return self.states[place]

    def _labels(self, state: int, statuses: Sequence[Status]) -> list[tuple[Move, ...]]:
        positions = self.base.states[state].positions
        moves = [
            moves_of(tracker, status, inside=positions <= tracker.positions)
            for tracker, status in zip(self.trackers, statuses, strict=True)
        ]
        return list(product(*moves))

    def _ends(self, label: Label) -> bool:
        if label is None:
            return False
        moves = zip(self.trackers, label, strict=True)
        return all(may_end(tracker, move.status) for tracker, move in moves)

    def _follow(self, trends: set[int]) -> None:
        """Add all states that can be reached, and the transitions between them."""
        done = 0
        while done < len(self.states):
            (state, label), number = list(self.states.items())[done]
            done += 1
            if label is None:
                continue
            statuses = [move.status for move in label]
            for arrow in self.base.transitions:
                if arrow.earlier == state and state in trends:
                    self._add_arrow(arrow, number, statuses)
            for out in self.base.ways_out:
                if out.earlier == state:
                    later = self._number(out.later, None)
                    self.outs.append(replace(out, earlier=number, later=later))

    def _add_arrow(self, arrow: Transition, number: int, statuses: Sequence[Status]) -> None:
        moves = self._labels(arrow.later, statuses)
        labels: list[Label] = [*moves]
        if arrow.closes and not any(all(m.known is None for m in label) for label in moves):
            labels.append(None)  # events without a way on close earlier events, too
        for label in labels:
            later = self._number(arrow.later, label)
            self.arrows.append(replace(arrow, earlier=number, later=later))

    def _state(self, state: int, label: Label) -> State:
        base = self.base.states[state]
        positions = frozenset(self._copy(position, label) for position in base.positions)
        return replace(base, positions=positions, meets=base.meets | positions)

    def _copy(self, position: int, label: Label) -> int:
        return self.copies.setdefault((position, label), self.first + len(self.copies))
