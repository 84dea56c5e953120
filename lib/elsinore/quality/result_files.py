"""Writes the results of a report's queries as CSV files, and prints the SQL that reads them."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.lake.views import view_names
from elsinore.places import whole_file
from elsinore.quality.lake import ResultCounts, results_by_day
from elsinore.query.bound import BoundQuery, Workload
from elsinore.settings import LakePath
from elsinore.store.regions import Hours
from elsinore.timeline import Interval, format_instant
from elsinore.windows import Window
from elsinore.wording import FORMULA

#: A query with more results has no CSV file: the report would keep a copy of the table.
MOST_RESULTS = 10_000
_FORMULA = re.compile(FORMULA)
_COLUMNS = [
    "query", "group_key", "window_start", "window_end", "step", "aggregate", "value", "exact",
]  # fmt: skip


def write_csv_files(
    lake: LakePath,
    interval: Interval,
    results: Mapping[str, ResultCounts],
    workload: Workload,
    directory: Path,
) -> dict[str, Path]:
    """Write a CSV file for each query with published results in some whole hours.

    A file has a row for each group, window and step, ordered by window. Its columns are the group,
    the window, the step if there is one, and the aggregates as RETURN spells them. Earlier files in
    the directory are removed.

    Args:
        lake: directory of the Delta tables.
        interval: the hours.
        results: the published results of the hours, by query.
        workload: the queries; others get no file.
        directory: where the files are written; made if it does not exist.

    Returns:
        The file of each query; queries with more than `MOST_RESULTS` results have none.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    wanted = [
        query
        for query in workload.queries
        if query.name in results and 0 < results[query.name].rows <= MOST_RESULTS
    ]
    if directory.is_dir():
        shutil.rmtree(directory)
    rows = _read(lake, interval, wanted) if wanted else {}
    names = view_names(workload, tables=())
    files = {
        query.name: directory / f"{names[query.name]}.csv" for query in wanted if query.name in rows
    }
    for query in wanted:
        if query.name in files:
            directory.mkdir(parents=True, exist_ok=True)
            with whole_file(files[query.name]) as out:
                out.write(_as_csv(query, rows[query.name]).encode())
    return files


#: Window, group, and step from 1 (0: the query returns no steps).
_Place = tuple[datetime, datetime, str, int]


def _read(
    lake: LakePath, interval: Interval, wanted: list[BoundQuery]
) -> dict[str, dict[_Place, dict[str, Any]]]:
    """Return aggregates by query and by window and group."""
    names = pa.array([query.name for query in wanted], pa.string())
    fingerprints = pa.array([query.fingerprint for query in wanted], pa.string())
    found: dict[str, dict[_Place, dict[str, Any]]] = {}
    columns = [*_COLUMNS, "query_fingerprint"]
    for part in results_by_day(lake, Hours(interval), columns=columns):
        is_own = pc.and_(
            pc.is_in(part["query"].cast(pa.string()), names),
            pc.is_in(part["query_fingerprint"].cast(pa.string()), fingerprints),
        )
        for row in part.filter(is_own).select(_COLUMNS).to_pylist():
            place = row["window_start"], row["window_end"], row["group_key"], row["step"] or 0
            of_place = found.setdefault(row["query"], {}).setdefault(place, {})
            of_place[row["aggregate"]] = _value(row["value"], row["exact"])
    return found


def _as_csv(query: BoundQuery, rows: Mapping[_Place, Mapping[str, Any]]) -> str:
    groups = [str(key.group_label) for key in query.group_keys]
    labels, has_steps = query.value_names, bool(query.steps)
    instants = {one.name for one in query.outputs if one.type is AttributeType.TIMESTAMP}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*groups, "window_start", "window_end", *["step"] * has_steps, *labels])
    for (start, end, group, step), values in sorted(rows.items()):
        key = json.loads(group)
        cells = [_cell(values.get(label), label in instants) for label in labels]
        names = [_without_formula(key[name]) for name in groups]
        writer.writerow([*names, _time(start), _time(end), *[step] * has_steps, *cells])
    return text.getvalue()


def _value(value: float | None, exact: str | None) -> float | str | None:
    """Return the digits of an integer, a double, or the text of a string or boolean.

    >>> _value(7.0, "7"), _value(0.5, None), _value(None, "=1+1")
    ('7', 0.5, "'=1+1")
    """
    if exact is None:
        return value
    return _without_formula(exact) if value is None else exact


def _cell(value: float | str | None, is_instant: bool) -> float | str | None:
    return format_instant(int(value)) if is_instant and value is not None else value


def _without_formula(value: Any) -> Any:
    """Return a value of a result; a string that looks like a formula gets a quote before it.

    >>> _without_formula("=1+1"), _without_formula("UA"), _without_formula(-7)
    ("'=1+1", 'UA', -7)
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def sql_command(view: str, interval: Interval, window: Window, stream: str = "") -> str:
    """Return the command that prints the results of some hours from a query's view.

    >>> sql_command("delays", Interval(0, 10**9), Window(9, 9), "rides")[:52]
    'ELSINORE_STREAM=rides elsinore sql "SELECT * FROM de'
    """
    of_stream = f"ELSINORE_STREAM={stream} " if stream else ""
    first, last = (
        format_instant(at - window.ahead)[:19].replace("T", " ")
        for at in (interval.start, interval.end)
    )
    return (
        f'{of_stream}elsinore sql "SELECT * FROM {view}'  # noqa: S608 - a query's name, for people to run
        f" WHERE window_end > TIMESTAMPTZ '{first}+00'"
        f" AND window_end <= TIMESTAMPTZ '{last}+00'\""
    )
