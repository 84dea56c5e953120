"""Group queries with EACH or DISTINCT that share a pass over the events."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from elsinore.executors.aggregates import Weight, accumulators_of, participation_query
from elsinore.executors.graph.reach_together import can_reach_together, placed_alike
from elsinore.executors.output.participation import reads_key
from elsinore.query.bound import BoundQuery
from elsinore.template.build import position_templates
from elsinore.template.placement import partition_signature
from elsinore.template.support import needs_pairs
from elsinore.template.template import Template


def participation_sets(queries: Sequence[BoundQuery]) -> list[tuple[BoundQuery, ...]]:
    """Return sets of queries with EACH or DISTINCT that share a pass, each query in one set.

    Queries share a pass if all events have all keys, and if no list of events is needed. Queries
    with conditions on pairs of events also need the same placements (`placed_alike`).

    Args:
        queries: queries without `participation_refusals`.
    """
    alike: dict[Hashable, list[BoundQuery]] = {}
    for query in sorted(queries, key=lambda query: query.name):
        pairs = needs_pairs(query)
        templates = () if pairs and not can_reach_together(query) else position_templates(query)
        key: Hashable = query.name
        if len(templates) == 1 and _needs_no_lists(query, templates[0]):
            key = pairs, query.window, partition_signature(query, templates[0])
        alike.setdefault(key, []).append(query)
    sets = list[tuple[BoundQuery, ...]]()
    for found in alike.values():
        parts = placed_alike(found) if len(found) > 1 and needs_pairs(found[0]) else [found]
        sets += map(tuple, parts)
    return sets


def _needs_no_lists(query: BoundQuery, template: Template) -> bool:
    accumulators = accumulators_of(participation_query(query))
    distinct = (a for kind in accumulators.columns for a in kind if a.weight is Weight.DISTINCT)
    if accumulators.lists or not all(reads_key(query, each) for each in distinct):
        return False
    return all(state.keys >= template.keys for state in template.states)
