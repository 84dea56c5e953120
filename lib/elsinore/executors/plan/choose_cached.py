"""Choose the queries whose panes are cached between runs (`executors.linear.cached_panes`).

The pipeline computes the windows that end in a slice of time, such as an hour. Windows that are
much longer than the slice would read the same events in each run. If their panes are cached, a run
reads only the events of its slice.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from elsinore.executors.linear.cached_panes import cache_refusals
from elsinore.executors.plan.alike import Alike
from elsinore.executors.plan.units import BLOCK
from elsinore.sharing.statistics import Statistics

#: Minimum expected number of events before a slice for which caching panes is worthwhile: two more
#: Spark jobs take as long as reading them.
FEWEST_EVENTS = 2_000_000

#: Maximum number of panes of a window; the cost of a window grows with it.
MOST_PANES = 200


def choose_cached(
    classes: Iterable[Alike], statistics: Statistics | None, slice_length: int | None
) -> dict[str, str]:
    """Return the names of the queries whose panes should be cached, with the reason.

    These are the queries whose windows reach back over more than a slice and over many events.

    Args:
        classes: the classes of equal queries.
        statistics: rates of the stream; None: no panes are cached.
        slice_length: the length of the slices in microseconds; None: no panes are cached.
    """
    if statistics is None or slice_length is None:
        return {}
    able = [each.run for each in classes if _is_able(each, slice_length)]
    longest = max((query.window.within for query in able), default=0)
    events = sum(statistics.events.values()) * longest / statistics.per
    if events < FEWEST_EVENTS:
        return {}
    why = f"panes are cached: windows reach back over about {events:,.0f} events"
    return {query.name: why for query in able}


def _is_able(found: Alike, slice_length: int) -> bool:
    query = found.run
    return (
        query.window.within > slice_length
        # All steps of a query are finished in one task.
        and not any(each.step_of for each in found.queries)
        and not cache_refusals(query)
        and query.window.within <= MOST_PANES * gcd(query.window.pane(), BLOCK)
    )
