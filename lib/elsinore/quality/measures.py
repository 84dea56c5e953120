"""Choose the value that represents a query in reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery, Workload
from elsinore.query.comments import Headline, Texts, query_texts
from elsinore.query.expressions import Slot

#: A query's name and fingerprint: results of another text may have other values.
QueryText = tuple[str, str]


class Measure(NamedTuple):
    """The value that represents a query.

    Attributes:
        name: its name in results.
        adds_up: whether it adds up over groups and windows; otherwise the largest value is shown.
    """

    name: str
    adds_up: bool = True


#: The measures that are known, by query.
Measures = Mapping[QueryText, Measure]


def measures_of(workload: Workload | None) -> dict[QueryText, Measure]:
    """Return the measure of each query that returns a count."""
    if workload is None:
        return {}
    texts = query_texts(workload)
    chosen = {
        query: _measure_of(query, texts.get(query.name, Texts()).headline)
        for query in workload.queries
    }
    return {
        (query.name, query.fingerprint): measure for query, measure in chosen.items() if measure
    }


def _measure_of(query: BoundQuery, headline: Headline) -> Measure | None:
    """Return the first count of the headline, or of RETURN; None without a count.

    In RETURN, distinct values come before events, and events before trends.
    """
    places = {name: place for place, name in enumerate(headline.names)}
    last = len(places)
    counts = []
    for output in query.outputs:
        match output.expression:
            case Slot(number) if query.aggregates[number].function is AggregateFunction.COUNT:
                key = places.get(output.name, last), *_preference(query.aggregates[number])
                counts.append((key, output))
    if not counts:
        return None
    _, chosen = min(counts, key=lambda one: one[0])
    return Measure(chosen.name, chosen.additive)


def _preference(item: BoundAggregate) -> tuple[bool, bool, bool]:
    return not item.distinct, not item.each, not item.counts_trends


def chosen_measures(
    known: Measures, names: Iterable[tuple[QueryText, str]]
) -> dict[QueryText, Measure]:
    """Return the measure of each query that has values of some names.

    A query that is not known is represented by COUNT(*), or else by another count.

    >>> q, p, r = ("q", "1"), ("p", "2"), ("r", "3")
    >>> values = [(q, "COUNT(A)"), (q, "COUNT(*)"), (p, "users"), (r, "MAX(A.x)")]
    >>> chosen = chosen_measures({p: Measure("users")}, values)
    >>> [(query, measure.name) for query, measure in chosen.items()]
    [(('q', '1'), 'COUNT(*)'), (('p', '2'), 'users')]
    """
    found = {}
    for query, name in sorted(names, key=lambda one: (one[1] != "COUNT(*)", one[1])):
        if query in known:
            found[query] = known[query]
        elif name.startswith("COUNT("):
            found.setdefault(query, Measure(name))
    return found
