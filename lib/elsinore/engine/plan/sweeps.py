"""Decides which collapsed queries are swept together: where that is predicted to cost less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elsinore.engine.hamlet.predict import predict_alone, predict_set
from elsinore.engine.hamlet.traffic import Stream
from elsinore.engine.sweep.predict import predict_sweep
from elsinore.lowering.sharable import sharable_sets
from elsinore.lowering.sweep import SweepSet, sweep_sets
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.plan import cost_text
from elsinore.template.support import aseq_refusals

#: Why a query can be swept.
COLLAPSED = "nothing is asked of pairs of events"


@dataclass(frozen=True)
class SweepChoice:
    """Queries that can be swept together, and what that costs.

    Attributes:
        queries: their names.
        alone: predicted nanoseconds of the queries one by one.
        otherwise: the same by Hamlet, where that pays, and by greta.
        together: the same swept.
    """

    queries: tuple[str, ...]
    alone: float
    otherwise: float
    together: float

    @property
    def pays(self) -> bool:
        """Whether the queries should be swept."""
        return self.together < self.otherwise

    def in_words(self) -> str:
        """For people: who is swept with whom, and what that costs."""
        others = len(self.queries) - 1
        company = f" with {others} other{'s' if others > 1 else ''}" if others else ""
        costs = f"{cost_text(self.together)} against {cost_text(self.otherwise)}"
        return f"{COLLAPSED}; swept{company}: {costs}"


def sweepable(workload: Workload) -> tuple[SweepSet, ...]:
    """The sets that may be swept; the order of the workload's queries does not matter."""
    ordered = sorted(workload.queries, key=lambda query: query.name)
    return sweep_sets([query for query in ordered if aseq_refusals(query)]).sets


def choose_sweeps(workload: Workload, stream: Stream) -> tuple[SweepChoice, ...]:
    """Every set that can be swept, with predictions.

    Raises:
        ParameterError: the statistics lack a type of a set.
    """
    return tuple(_choice(found, stream) for found in sweepable(workload))


def _choice(found: SweepSet, stream: Stream) -> SweepChoice:
    alone = {
        query.name: predict_alone(query, template, stream)
        for query, template in zip(found.queries, found.templates, strict=True)
    }
    return SweepChoice(
        tuple(alone),
        sum(alone.values()),
        sum(alone.values()) - _saved_by_hamlet(found.queries, alone, stream),
        predict_sweep(found, stream),
    )


def _saved_by_hamlet(
    queries: Sequence[BoundQuery], alone: dict[str, float], stream: Stream
) -> float:
    """What Hamlet would save on some queries, each set where that pays."""
    saved = 0.0
    for found in sharable_sets(queries).sets:
        cost = predict_set(found, stream)
        if cost.pays:
            saved += sum(alone[query.name] for query in found.queries) - cost.together
    return saved
