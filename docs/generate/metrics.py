"""The page of metrics, from `elsinore.orchestration.metric_names`."""

from __future__ import annotations

from docs.generate.markdown import blocks, code, plain, table
from elsinore.orchestration.metric_names import METRICS

_INTRO = """\
Airflow sends these metrics with its own, to OpenTelemetry or StatsD. Use them for dashboards and
alerts on freshness and data quality. Airflow's prefix, `airflow` by default, precedes each name."""

_TAGS = """\
Every metric has the tags `dag_id` and `step` (the module of `jobs/`). For a workload other than the
stream's first, it also has the tag `workload`."""

_RECORDED = """\
The table [`run_metrics`](tables.md#run_metrics) stores further metrics of each step: row counts,
seconds, and the executor of each query."""


def page() -> str:
    """Return the page."""
    rows = [
        (code(m.name), m.kind, m.unit, code(m.step) if m.step else "all", plain(m.meaning))
        for m in METRICS
    ]
    return blocks(
        [
            "# Metrics",
            _INTRO,
            table(["metric", "kind", "unit", "step", "meaning"], rows),
            "## Tags",
            _TAGS,
            "## Metrics in the lake",
            _RECORDED,
        ]
    )
