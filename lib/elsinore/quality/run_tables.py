"""What the suites judge of one run, worked out from its tables without a JVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.lake.provenance import STAGED, Publication, read_publications, staged_origins
from elsinore.lake.regions import Hours, Landings
from elsinore.quality.lake import read_by_day, read_rows
from elsinore.quality.rules import (
    EVENT_COLUMNS,
    QUARANTINE_COLUMNS,
    rules_of_events,
    rules_of_quarantine,
    rules_of_staged,
)
from elsinore.timeline import Interval, hour_label, hours_of


def read_run_tables(
    lake: Path,
    interval: Interval,
    also: Sequence[Interval] = (),
    *,
    version: int | None = None,
) -> dict[str, pd.DataFrame]:
    """By table what the suites judge, for `judge`: few rows, however many events there are.

    Of `events`, `quarantine` and `trend_aggregates_staged` these are counts by rule
    (`elsinore.quality.rules`); of the other tables the rows. `landings` has further columns,
    counted in `events` and `quarantine`: `event_rows`, `quarantine_rows`, `earliest_event` and
    `latest_event`. Of `plans` the run's rows are the plans that its results name, and the
    statistics that these were found from.

    Args:
        lake: folder of the Delta tables.
        interval: the run's hours.
        also: further hours whose results the run has made anew.
        version: of the staged results; None: the latest.

    Raises:
        DataError: a table is missing or cannot be read.
    """
    landed, owned = Landings(interval), Hours(interval, tuple(also))
    events = read_rows(lake, "events", columns=EVENT_COLUMNS, where=landed.expression(by_day=False))
    quarantine = read_rows(
        lake, "quarantine", columns=QUARANTINE_COLUMNS, where=landed.expression(by_day=True)
    )
    landings = read_rows(lake, "landings", where=landed.expression(by_day=False))
    origins: dict[str, str] = {}
    for part in owned.intervals:
        found = staged_origins(lake, part, version=version)
        origins |= {label: origin.plan for label, origin in found.items()}
    plans = _plans_of(lake, sorted(set(origins.values())))
    known = set(plans.filter(pc.equal(plans["kind"], "plan"))["fingerprint"].to_pylist())
    days = read_by_day(lake, STAGED, owned, version=version)
    checks = read_rows(lake, "validations", where=owned.expression(by_day=False))
    return {
        "landings": _frame(_with_counts(landings, events, quarantine)),
        "quarantine": rules_of_quarantine(quarantine),
        "events": rules_of_events(events),
        "plans": _frame(plans),
        STAGED: rules_of_staged(days, {label: plan in known for label, plan in origins.items()}),
        "validations": _frame(checks),
        "publications": _publications(lake, owned),
    }


def _publications(lake: Path, hours: Hours) -> pd.DataFrame:
    """What is published so far, with `settled`: whether the results are still those."""
    labels = [hour_label(hour) for part in hours.intervals for hour in hours_of(part)]
    rows = read_publications(lake, labels).values()
    names = [field.name for field in fields(Publication)]
    return pd.DataFrame([asdict(row) for row in rows], columns=names)


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
