"""The rows of one run, as the suites judge them: read from Delta without a JVM."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.quality.lake import read_rows
from elsinore.timeline import Interval, hour_label, hours_of


def read_run_tables(lake: Path, interval: Interval) -> dict[str, pd.DataFrame]:
    """Rows by table, for `judge`.

    What is told of one table by another stands in columns of its own: `landings` has `event_rows`,
    `quarantine_rows`, `earliest_event` and `latest_event`, counted in `events` and `quarantine`;
    `trend_aggregates_staged` has `plan_is_known`, whether `plans` holds its plan. Of `plans` the
    run's rows are the plans that its results name, and the statistics that these were found from.

    Args:
        lake: folder of the Delta tables.
        interval: the run's hours.

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
    staged = read_rows(lake, "trend_aggregates_staged", owned_hour=hours)
    plans = _plans_of(lake, staged)
    known = plans.filter(pc.equal(plans["kind"], "plan"))["fingerprint"].combine_chunks()
    staged = staged.append_column(
        "plan_is_known", pc.is_in(staged["plan_fingerprint"], value_set=known)
    )
    landings = _with_counts(read_rows(lake, "landings", landing=hours), events, quarantine)
    return {
        "landings": _frame(landings),
        "quarantine": _frame(quarantine),
        "events": _frame(events),
        "plans": _frame(plans),
        "trend_aggregates_staged": _frame(staged),
        "validations": _frame(read_rows(lake, "validations", owned_hour=hours)),
    }


def _plans_of(lake: Path, staged: pa.Table) -> pa.Table:
    named = pc.unique(staged["plan_fingerprint"]).to_pylist()
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
