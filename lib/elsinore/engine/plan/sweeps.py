"""Which queries are swept: the collapsed ones, and those of fixed length that are quicker so."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from elsinore.lowering.sweep import sweep_refusals, sweep_sets
from elsinore.query.bound import BoundQuery
from elsinore.sharing.statistics import Statistics
from elsinore.template.support import aseq_refusals

#: Windows that hold an instant, at most, and bits that a count is expected to take, where queries
#: of fixed length are swept: counts are to fit 64, and no window is like the mean.
_OVERLAP, _NARROW = 2, 48

_COLLAPSED = "nothing is asked of pairs of events"
_QUICKER = "of fixed length; counting in windows that hardly overlap is quicker swept"


def swept_queries(queries: Sequence[BoundQuery], statistics: Statistics | None) -> dict[str, str]:
    """The names of the queries that are swept, each with the reason why, and with how many others.

    Collapsed queries always: by their rows of `benchmarks.auto` that is never slower than greta or
    Hamlet. Those of fixed length by `_is_quicker`, which is not known without statistics.

    Raises:
        ParameterError: the statistics lack a type of the queries.
    """
    reasons = {
        query.name: _QUICKER if not aseq_refusals(query) else _COLLAPSED
        for query in sorted(queries, key=lambda query: query.name)
        if not sweep_refusals(query)
        and (aseq_refusals(query) or (statistics and _is_quicker(query, statistics)))
    }
    for found in sweep_sets([query for query in queries if query.name in reasons]).sets:
        others = len(found.queries) - 1
        for query in found.queries if others else ():
            reasons[query.name] += f"; with {others} other{'s' if others > 1 else ''}"
    return reasons


def _is_quicker(query: BoundQuery, statistics: Statistics) -> bool:
    """Whether a query of fixed length is answered by the sweep in less time than by segments.

    Its windows overlap twice at most, it asks for nothing but COUNT(*), and counts fit 64 bits: 1.6
    to 4 times as quick then, and else up to 6 times as slow (`benchmarks.fixed_length`).
    """
    return (
        query.window.within <= _OVERLAP * query.window.slide
        and all(aggregate.counts_trends for aggregate in query.aggregates)
        and _expected_bits(query, statistics) <= _NARROW
    )


def _expected_bits(query: BoundQuery, statistics: Statistics) -> float:
    """Of the combinations of a window's events, one at each position."""
    bits = 0.0
    for position in query.positions:
        keys = [key.attribute for key in query.keys if position.index in key.positions]
        bits += log2(max(1.0, statistics.rate(position.type, query.window.within, keys)))
    return bits
