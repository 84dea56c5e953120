"""Staged results at the versions that the ledger names, and the checks of them; without a JVM."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from elsinore.errors import DataError, SetupError
from elsinore.ledger.fold import Fold, LastRows
from elsinore.ledger.rows import Longs, State
from elsinore.settings import LakePath
from elsinore.store.delta_log import read_by_day, read_rows
from elsinore.store.regions import Hours
from elsinore.store.tables import STAGED
from elsinore.timeline import hours_of


def hours_in(hours: Hours) -> Longs:
    """Return the first instants of some hours."""
    return np.array([hour for part in hours.intervals for hour in hours_of(part)], np.int64)


def aggregated(state: Fold, hours: Hours) -> LastRows:
    """Return the last aggregation of each of some hours."""
    rows = state[State.AGGREGATED]
    return rows.where(np.isin(rows.hours, hours_in(hours)))


def staged_by_day(
    lake: LakePath, state: Fold, hours: Hours, *, columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Return the staged results of some hours, in parts of at most a day.

    Each hour is read at the version that its last aggregation wrote. If VACUUM has removed this
    version, or if it is older than a column of this release, the latest version is read, which
    differs only if the hour was computed again since.

    Raises:
        DataError: the table cannot be read.
        SetupError: the table still lacks a column of this release.
    """
    rows, by_version = aggregated(state, hours), defaultdict[int, list[int]](list)
    for hour, version in zip(
        rows.hours.tolist(), rows.longs("results_version").tolist(), strict=True
    ):
        by_version[version].append(hour)
    for version, own in by_version.items():
        yield from _at_version(lake, Hours.of(own), columns, version)


def _at_version(
    lake: LakePath, hours: Hours, columns: Sequence[str] | None, version: int
) -> Iterator[pa.Table]:
    try:
        parts = list(read_by_day(lake, STAGED, hours, columns=columns, version=version))
    except (DataError, SetupError):
        parts = list(read_by_day(lake, STAGED, hours, columns=columns))
    return iter(parts)


def checks_of_staged(lake: LakePath, state: Fold, hours: Hours) -> pa.Table:
    """Return the rows of `validations` of the queries that an hour's results are staged for.

    For hours that were never aggregated there may be rows of several workloads.

    Raises:
        DataError: the table is missing or damaged.
    """
    checks = read_rows(lake, "validations", where=hours.expression(by_day=False))
    rows = aggregated(state, hours).rows
    names = ("hour", "workload_fingerprint")
    own = dict(zip(*(rows[name].to_pylist() for name in names), strict=True))
    keys = zip(*(checks[name].to_pylist() for name in ("window_end_hour", names[1])), strict=True)
    keep = [own.get(hour, workload) == workload for hour, workload in keys]
    return checks.filter(pa.array(keep, pa.bool_()))
