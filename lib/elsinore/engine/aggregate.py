"""Runs one query over the events of a table: the greta executor."""

from __future__ import annotations

import pyarrow as pa

from elsinore.engine.columns import EventColumns
from elsinore.engine.conjunction import conjoined_rows
from elsinore.engine.key_codes import KeyCodes
from elsinore.engine.partial_rows import partial_rows
from elsinore.engine.run_template import run_template
from elsinore.events import EventTable
from elsinore.lowering.carriers import carriers_of
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Conjunction
from elsinore.results.partial import PARTIAL_SCHEMA, merge_partials
from elsinore.template.build import build_templates
from elsinore.template.support import require_greta
from elsinore.timeline import Interval


def aggregate_query(
    query: BoundQuery, events: EventTable | EventColumns, *, owned: Interval | None = None
) -> pa.Table:
    """Unfinished rows (`results.partial`) of a query over all events of a table.

    Args:
        query: a query that greta can run.
        events: in any order; all partitions together.
        owned: only the windows that end in this interval; None for every window.

    Raises:
        UnsupportedQueryError: the query needs what greta lacks; see `require_greta`.
    """
    require_greta([query])
    columns, carriers = EventColumns.of(events), carriers_of(query)
    codes = [KeyCodes.of(key, columns) for key in query.keys]
    if isinstance(query.pattern, Conjunction):
        return conjoined_rows(query, codes, columns, owned)
    tables = [PARTIAL_SCHEMA.empty_table()]
    for template in build_templates(query):
        found = run_template(query, template, carriers, codes, columns, owned)
        if found is not None:
            tables += partial_rows(query, carriers, found)
    return merge_partials(pa.concat_tables(tables))
