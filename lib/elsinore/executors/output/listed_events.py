"""List the events that participate in a window, for commands that explain a result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.events import EventTable
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.order_events import in_order
from elsinore.executors.output.participation import Pass, Sought
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery
from elsinore.query.expressions import TIME
from elsinore.query.query_keys import Part, PartKind
from elsinore.template.build import position_templates
from elsinore.template.template import Template
from elsinore.timeline import Interval

#: The events of some positions (their rows in the table) by the group's values as a JSON array.
Listed = dict[tuple[str, frozenset[int]], np.ndarray]


def list_events(
    query: BoundQuery,
    events: EventTable,
    number: int,
    wanted: Collection[frozenset[int]],
    make: Callable[[Sought, Sequence[Template]], Pass],
) -> Listed:
    """Return the events that participate in a window at any of some positions.

    Args:
        query: a query without `participation_refusals`.
        events: the events of the window, or more, in any order; only these if it is a session.
        number: the number of the window; ignored if it is a session.
        wanted: sets of positions.
        make: returns the pass of a template of the query.

    Returns:
        By group and set of positions, the rows of the events, ascending.

    Raises:
        QueryError: there are too many events.
    """
    places = list(dict.fromkeys(wanted))
    asked = replace(
        query, part=Part(PartKind.EACH), aggregates=tuple(map(_times_at, places)), outputs=()
    )
    columns = EventColumns.of(events)
    [asked] = in_order([asked], columns)
    sought = Sought([asked], columns)
    listing = [each.of.positions for each in sought.accumulators]
    owned = None
    if query.window.session is None:
        end = query.window.extent(number).end
        owned = Interval(end - 1, end)
    found: dict[tuple[str, frozenset[int]], list[np.ndarray]] = {}
    for template in position_templates(asked):
        one = make(sought, [template])
        groups = one.groups.to_pylist()
        for rows, listed in one.run(owned, several=True):
            partitions = rows.keys[listed[:, 0], 0]
            for partition in np.unique(partitions).tolist():
                mine = listed[partitions == partition]
                for k, positions in enumerate(listing):
                    part = mine[mine[:, 1] == k, 2]
                    found.setdefault((groups[partition], positions), []).append(part)
    return {place: np.unique(np.concatenate(parts)) for place, parts in found.items()}


def _times_at(positions: frozenset[int]) -> BoundAggregate:
    """Return an aggregate whose accumulator lists every event at some positions."""
    function = AggregateFunction.MEDIAN
    return BoundAggregate(str(sorted(positions)), function, positions, TIME, AttributeType.LONG)
