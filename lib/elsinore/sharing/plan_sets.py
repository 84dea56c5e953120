"""The Kleene part of the static plan: sharable sets of queries, and whether sharing will pay."""

from __future__ import annotations

import pydantic

from elsinore.sharing.plan_part import PlanPart


def cost_text(nanoseconds: float) -> str:
    """A predicted cost for people.

    >>> cost_text(1_650_000_000.0), cost_text(290_000.0)
    ('1.65 s', '0.29 ms')
    """
    if nanoseconds >= 1e9:
        return f"{nanoseconds / 1e9:,.3g} s"
    return f"{nanoseconds / 1e6:,.3g} ms"


class PlannedState(PlanPart):
    """A state of a merged template.

    Attributes:
        event_type: of its events.
        keys: attributes of the keys that they carry, sorted.
        queries: numbers, in the set, of the queries that have the state.
        starts, ends: numbers of those whose trends may start, or end, there.
    """

    event_type: str
    keys: tuple[str, ...]
    queries: tuple[pydantic.NonNegativeInt, ...]
    starts: tuple[pydantic.NonNegativeInt, ...]
    ends: tuple[pydantic.NonNegativeInt, ...]


class PlannedTransition(PlanPart):
    """A transition of a merged template, labelled by queries (Hamlet Figure 3(b)).

    Attributes:
        earlier, later: numbers of states.
        queries: numbers, in the set, of the queries that have it.
        conditional: whether pairs of events must meet an edge predicate.
    """

    earlier: pydantic.NonNegativeInt
    later: pydantic.NonNegativeInt
    queries: tuple[pydantic.NonNegativeInt, ...]
    conditional: bool


class PlannedSet(PlanPart):
    """Queries that can share the aggregation of a Kleene sub-pattern (Hamlet Definition 3.2).

    Attributes:
        id: its name in this plan.
        kleene: the event types E whose E+ several of the queries share, sorted.
        queries: two or more; others name them by their places here.
        keys: attributes that partition the trends, sorted.
        pane: length of a pane: the gcd of all WITHIN and SLIDE (section 3.1), in ticks.
        states, transitions: the merged template.
        alone: predicted nanoseconds of the queries one by one, over the span of the statistics.
        together: the same if Hamlet runs them.
        pays: whether they are to be run by Hamlet.
    """

    id: str
    kleene: tuple[str, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    pane: pydantic.PositiveInt
    states: tuple[PlannedState, ...]
    transitions: tuple[PlannedTransition, ...]
    alone: pydantic.NonNegativeFloat
    together: pydantic.NonNegativeFloat
    pays: bool
