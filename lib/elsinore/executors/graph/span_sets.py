"""Run queries with a span that are partitioned alike together: one order of events, one call.

See `span_counts`. Queries whose counts exceed 64 bits run separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from elsinore.events import EventTable
from elsinore.executors.aggregates import accumulators_of
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.graph.span_counts import FEW, Counted, Place, count_trends, is_linear
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import key_codes, latest_entries
from elsinore.executors.output.partial_rows import PartialRows, by_shape
from elsinore.executors.output.window_rows import Groups, Reading, partial_rows
from elsinore.executors.row_bound import RowBound
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Conjunction
from elsinore.template.build import build_templates
from elsinore.template.placement import Placements, partition_signature, placements_of
from elsinore.template.support import greta_refusals
from elsinore.template.template import Template
from elsinore.timeline import Interval

#: Maximum number of queries of a set.
LARGEST_SET = 512


@dataclass(frozen=True, eq=False)
class SpanSet:
    """Two or more queries with a span that are partitioned alike; compared by identity."""

    queries: tuple[BoundQuery, ...]
    templates: tuple[Template, ...]  #: the template of each query

    @cached_property
    def placements(self) -> Placements[Place]:
        """Return the (query, state) pairs in which events can be."""
        return placements_of(self.queries, self.templates)


def span_sets(queries: Sequence[BoundQuery]) -> tuple[SpanSet, ...]:
    """Return the sets of queries with a span that run together; other queries are in none."""
    alike: dict[object, list[tuple[BoundQuery, Template]]] = {}
    for query in queries:
        template = _counted_template(query)
        if template is not None and query.window.span is not None:
            mark = query.window.span.by_first, partition_signature(query, template)
            alike.setdefault(mark, []).append((query, template))
    return tuple(
        SpanSet(*zip(*members[first : first + LARGEST_SET], strict=True))
        for members in alike.values()
        for first in range(0, len(members), LARGEST_SET)
        if len(members) > first + 1
    )


def _counted_template(query: BoundQuery) -> Template | None:
    """Return the template of a query whose trends are only counted (`span_counts`); else None."""
    if query.window.span is None or isinstance(query.pattern, Conjunction):
        return None
    attributes = [key.attribute for key in query.keys]
    if len(set(attributes)) < len(attributes) or not _only_counts(query):
        return None
    if greta_refusals(query):
        return None
    templates = build_templates(query)
    if len(templates) != 1 or not is_linear(templates[0]):
        return None
    return templates[0] if len(Counted(query, templates[0]).followed) <= FEW else None


def _only_counts(query: BoundQuery) -> bool:
    """Return whether the number of trends is the only accumulator of a query."""
    accumulators = accumulators_of(query)
    others = *accumulators.weighed, accumulators.lists, accumulators.exact
    return query.refinement is None and not any(others)


def aggregate_span_set(
    found: SpanSet, events: EventTable | EventColumns, owned: Interval | None = None
) -> list[PartialRows]:
    """Return partial rows of queries with a span that run together.

    Args:
        found: the queries.
        events: events in any order, of all partitions.
        owned: only periods that end in this interval; None for every period.
    """
    columns, query = EventColumns.of(events), found.queries[0]
    codes = key_codes(query, columns)
    entries = latest_entries(found.placements, codes, columns, query.window)
    members = zip(found.queries, found.templates, strict=True)
    counted = [Counted(*member, number) for number, member in enumerate(members)]
    rows, outgrown = count_trends(counted, entries, owned)
    wide = np.unique(rows.owners[outgrown])
    if wide.size:
        rows = rows.where(~np.isin(rows.owners, wide))
    rows = rows.with_trend()
    RowBound(found.queries).add(rows.owners)
    groups = Groups.of(entries.group_texts(query, codes))
    parts = partial_rows([rows], [Reading(each, groups, []) for each in found.queries])
    for number in wide.tolist():
        parts += aggregate_query(found.queries[number], columns, owned=owned)
    return by_shape(parts)
