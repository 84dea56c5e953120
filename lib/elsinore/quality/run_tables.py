"""The rows of one run, as the suites judge them: read from Delta without a JVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.quality.lake import read_rows
from elsinore.spark.aggregate_origin import staged_origins
from elsinore.spark.published_origin import Publication, read_publications
from elsinore.timeline import Interval, hour_label, hours_of


def read_run_tables(
    lake: Path, interval: Interval, also: Sequence[Interval] = ()
) -> dict[str, pd.DataFrame]:
    """Rows by table, for `judge`.

    What is told of one table by another stands in columns of its own: `landings` has `event_rows`,
    `quarantine_rows`, `earliest_event` and `latest_event`, counted in `events` and `quarantine`;
    `trend_aggregates_staged` has `plan_is_known`, whether `plans` holds its plan. Of `plans` the
    run's rows are the plans that its results name, and the statistics that these were found from.

    Args:
        lake: folder of the Delta tables.
        interval: the run's hours.
        also: further hours whose results the run has made anew.

    Raises:
        DataError: a table is missing or cannot be read.
    """
    hours = [hour_label(hour) for hour in hours_of(interval)]
    events = read_rows(
        lake, "events",
        columns=["event_day", "event_id", "event_type", "event_time", "landing"],
        landing=hours,
    )  # fmt: skip
    quarantine = read_rows(lake, "quarantine", landing=hours)
    owned = [*hours, *(hour_label(hour) for part in also for hour in hours_of(part))]
    origins: dict[str, str] = {}
    for part in (interval, *also):
        origins |= {label: found.plan for label, found in staged_origins(lake, part).items()}
    plans = _plans_of(lake, sorted(set(origins.values())))
    known = set(plans.filter(pc.equal(plans["kind"], "plan"))["fingerprint"].to_pylist())
    staged = _with_plans(
        read_rows(lake, "trend_aggregates_staged", owned_hour=owned), origins, known
    )
    landings = _with_counts(read_rows(lake, "landings", landing=hours), events, quarantine)
    return {
        "landings": _frame(landings),
        "quarantine": _frame(quarantine),
        "events": _frame(events),
        "plans": _frame(plans),
        "trend_aggregates_staged": _frame(staged),
        "validations": _frame(read_rows(lake, "validations", owned_hour=owned)),
        "publications": _publications(lake, owned),
    }


def _publications(lake: Path, hours: Sequence[str]) -> pd.DataFrame:
    """What is published so far, with `settled`: whether the results are still those."""
    rows = read_publications(lake, hours).values()
    names = [field.name for field in fields(Publication)]
    return pd.DataFrame([asdict(row) for row in rows], columns=names)


def _with_plans(staged: pa.Table, origins: Mapping[str, str], known: set[str]) -> pa.Table:
    """Staged results, and whether the plan of each is among the known ones."""
    hours = staged["owned_hour"].combine_chunks().dictionary_encode()
    is_known = [origins.get(label) in known for label in hours.dictionary.to_pylist()]
    return staged.append_column("plan_is_known", pa.array(is_known, pa.bool_()).take(hours.indices))


def _plans_of(lake: Path, named: Sequence[str]) -> pa.Table:
    plans = read_rows(lake, "plans", kind=["plan"], fingerprint=named)
    sources = pc.unique(plans["statistics_fingerprint"]).to_pylist()
    return pa.concat_tables(
        [plans, read_rows(lake, "plans", kind=["statistics"], fingerprint=sources)]
    )


def _with_counts(landings: pa.Table, events: pa.Table, quarantine: pa.Table) -> pa.Table:
    """Landings with what `events` and `quarantine` really hold of each."""
    held = events.group_by("landing").aggregate(
        [([], "count_all"), ("event_time", "min"), ("event_time", "max")]
    ).rename_columns(["landing", "event_rows", "earliest_event", "latest_event"])  # fmt: skip
    bad = quarantine.group_by("landing").aggregate([([], "count_all")])
    bad = bad.rename_columns(["landing", "quarantine_rows"])
    joined = landings.join(held, "landing").join(bad, "landing")
    for name in ("event_rows", "quarantine_rows"):
        at = joined.column_names.index(name)
        joined = joined.set_column(at, name, pc.fill_null(joined[name], 0))
    return joined.sort_by("landing")


def _frame(table: pa.Table) -> pd.DataFrame:
    """Pandas with masked numbers, so that NaN and NULL stay two things and longs stay exact."""
    masked = {
        pa.int64(): pd.Int64Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    return table.to_pandas(types_mapper=masked.get)
