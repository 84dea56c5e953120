"""Decides which queries are swept together: where that is quicker by rule, or predicted to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from elsinore.engine.hamlet.predict import predict_alone, predict_set
from elsinore.engine.hamlet.traffic import Stream
from elsinore.engine.sweep.predict import predict_sweep
from elsinore.lowering.sharable import sharable_sets
from elsinore.lowering.sweep import SweepSet, sweep_refusals, sweep_sets
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.plan import cost_text
from elsinore.sharing.statistics import Statistics
from elsinore.template.support import aseq_refusals

#: Bits that a count is expected to take at most: it is to fit 64, and no window is like the mean.
_NARROW = 48

#: Windows that hold an instant.
_FEW = 2

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


def quicker_swept(workload: Workload, statistics: Statistics) -> tuple[BoundQuery, ...]:
    """The queries of fixed length that the sweep answers in less time than the segments.

    Their windows overlap twice at most, they ask for nothing but COUNT(*), and counts fit 64 bits:
    2 to 6 times as quick then, and else up to 5 times as slow (`benchmarks.fixed_length`).

    Raises:
        ParameterError: the statistics lack a type of the workload.
    """
    return tuple(
        query
        for query in workload.queries
        if query.window.within <= _FEW * query.window.slide
        and all(aggregate.counts_trends for aggregate in query.aggregates)
        and _expected_bits(query, statistics) <= _NARROW
        and not sweep_refusals(query)
    )


def _expected_bits(query: BoundQuery, statistics: Statistics) -> float:
    """Of the combinations of a window's events, one at each position."""
    bits = 0.0
    for position in query.positions:
        keys = [key.attribute for key in query.keys if position.index in key.positions]
        events = statistics.rate(position.type, query.window.within)
        bits += log2(max(1.0, events / statistics.partition_count(keys)))
    return bits


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
