"""The metrics that a deployment sends, without Airflow, which sends them."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Metric(NamedTuple):
    """A metric of the pipeline; its tags are `dag_id`, `step` and, for named ones, `workload`."""

    name: str
    kind: Literal["counter", "gauge", "timer"]
    unit: str
    meaning: str
    figure: str = ""  #: the value in a step's result that it shows; empty if it is computed
    step: str = ""  #: the only step, a module of `jobs`, that sends it; empty for all


PUBLISHED_AGE = Metric(
    "elsinore.published.age",
    "gauge",
    "seconds",
    "Freshness: the time since the end of the latest published hour. Steps `ingest_events` and "
    "`publish_results` send it.",
)
STEP_DURATION = Metric(
    "elsinore.step.duration",
    "timer",
    "milliseconds",
    "How long a step took. The tag `state` is `success` or `failed`.",
)

#: All metrics, in the order of the reference page.
METRICS = (
    Metric(
        "elsinore.records.ingested",
        "counter",
        "records",
        "Records in the files of a run's own hours.",
        "records",
        "ingest_events",
    ),
    Metric(
        "elsinore.records.repeated",
        "counter",
        "records",
        "Records of events that other records contain, too.",
        "repeated",
        "ingest_events",
    ),
    Metric(
        "elsinore.records.invalid",
        "counter",
        "records",
        "Invalid records, which are in the table `quarantine`.",
        "bad_records",
        "ingest_events",
    ),
    Metric(
        "elsinore.hours.recomputed",
        "counter",
        "hours",
        "Stale and missed hours that a run recomputed together with its own hours.",
        "recomputed_hours",
        "ingest_events",
    ),
    Metric(
        "elsinore.hours.left",
        "gauge",
        "hours",
        "Stale and missed hours that the latest run left to the DAG `catch_up`.",
        "hours_left",
    ),
    Metric(
        "elsinore.hours.provisional",
        "gauge",
        "hours",
        "Published hours whose results are provisional, because an input hour has no file.",
        "provisional_hours",
    ),
    PUBLISHED_AGE,
    Metric(
        "elsinore.mismatches",
        "counter",
        "values",
        "Sampled values that differ from the reference, at most 100 per run.",
        "mismatches",
        "validate_results",
    ),
    STEP_DURATION,
)
