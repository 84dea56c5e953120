"""Views with the table names and columns of release 0.2, for one release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

#: Names of the views. Queries with these names have views with other names.
OLD_NAMES = ("trend_aggregates", "trend_aggregates_staged", "landings", "publications")

_RESULTS = (
    "window_end_day AS owned_day", "window_end_hour AS owned_hour", "query", "query_fingerprint",
    "group_key", "window_start", "window_end", "aggregate", "value", "exact", "log2",
)  # fmt: skip

_LANDINGS = (
    "h.hour AS landing", "h.file_count AS files", "h.bytes", "h.records AS lines",
    "COALESCE(e.accepted, 0) AS accepted",
    "h.records - h.bad_records - COALESCE(e.accepted, 0) AS duplicates",
    "h.bad_records AS quarantined", "h.first_event", "h.last_event",
)  # fmt: skip


def old_views(workload: str, quoted: Callable[[str], str]) -> Iterator[str]:
    """Yield a SQL statement per old name that defines its view over the current tables.

    `duplicates` of `landings` includes superseded records, and `awaited` of `publications` is a
    list of hours. Columns without an equivalent are left out.

    Args:
        workload: Name of the workload whose publications are shown.
        quoted: Quotes a name in the dialect of the engine.
    """
    own, place = workload.replace("'", "''"), "WHERE h.place = 1"
    lineage = (
        "h.hour AS owned_hour", "h.workload", "h.workload_fingerprint", "h.plan_fingerprint",
        "h.events_version", "h.run", f"h.{quoted('rows')}", "h.checked_rows AS validated",
        f"h.{quoted('time')} AS published_at", "h.results_version AS published_version",
        "h.missing_inputs AS awaited",
    )  # fmt: skip
    accepted = f"SELECT file_hour, COUNT(*) AS accepted FROM {quoted('events')} GROUP BY file_hour"  # noqa: S608 - a declared name
    counted = f"LEFT JOIN ({accepted}) e ON e.file_hour = h.hour"
    hours = quoted("hours")
    selects = {
        "trend_aggregates": _select(_RESULTS, quoted("results")),
        "trend_aggregates_staged": _select(_RESULTS, quoted("results_staged")),
        "landings": _select(_LANDINGS, f"{_last(hours, 'ingested', '')} {counted} {place}"),
        "publications": _select(lineage, f"{_last(hours, 'published', own)} {place}"),
    }
    for name in OLD_NAMES:
        yield f"CREATE OR REPLACE VIEW {quoted(name)} AS {selects[name]}"


def _select(columns: Sequence[str], source: str) -> str:
    return "\n".join(["SELECT", ",\n".join(f"  {one}" for one in columns), f"FROM {source}"])


def _last(hours: str, state: str, workload: str) -> str:
    """Return a subquery `h` that ranks an hour's rows with a state; `place` 1 is the last."""
    place = "ROW_NUMBER() OVER (PARTITION BY hour ORDER BY version DESC) AS place"
    of_state = f"state = '{state}' AND workload = '{workload}'"
    return f"(SELECT *, {place} FROM {hours} WHERE {of_state}) h"  # noqa: S608 - escaped above
