"""What leads to a published result: its values, and everything that they were computed from.

Read from the tables without a JVM.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from elsinore.errors import DataError
from elsinore.spark.published_origin import PUBLISHED, Publication, read_publications

_INSTANT = pa.timestamp("us", tz="UTC")
#: How many of the groups that there are an error names.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Checked:
    """What the reference has checked; values, that is, aggregates of results.

    Attributes:
        values: checked in the whole hour.
        mismatches: of these, how many differ.
        skipped: values of the hour whose check was given up.
        own: checked of the very result.
    """

    values: int
    mismatches: int
    skipped: int
    own: int


@dataclass(frozen=True, slots=True)
class Why:
    """One published result and where it comes from.

    Attributes:
        query, query_fingerprint: the query's name, and which text of it was run.
        group: the group as its canonical JSON object.
        window_start, window_end: microseconds since the epoch.
        owned_hour: the hour whose run computed it.
        values: the published values by aggregate; integers in full, None where there is none.
        publication: where the hour's results come from; None where a killed run never said.
        finder: the algorithm that found the plan; None where the plan is not stored.
        checked: what was validated of the hour.
    """

    query: str
    query_fingerprint: str
    group: str
    window_start: int
    window_end: int
    owned_hour: str
    values: Mapping[str, int | float | None]
    publication: Publication | None
    finder: str | None
    checked: Checked


def why(lake: Path, query: str, group: Mapping[str, Any], window_start: int) -> Why:
    """Find a published result and what leads to it.

    Args:
        lake: folder of the Delta tables.
        query: the query's name.
        group: the group; values may be given as text whatever their type.
        window_start: microseconds since the epoch.

    Raises:
        DataError: there is no such result, or a table is missing or damaged.
    """
    rows = _rows(lake, query, group, window_start)
    first = rows[0]
    hour = first["owned_hour"]
    publication = read_publications(lake, [hour]).get(hour)
    return Why(
        query=query,
        query_fingerprint=first["query_fingerprint"],
        group=first["group_key"],
        window_start=window_start,
        window_end=_micros(first["window_end"]),
        owned_hour=hour,
        values={row["aggregate"]: _value(row) for row in rows},
        publication=publication,
        finder=_finder(lake, publication.plan_fingerprint) if publication else None,
        checked=_checked(lake, first),
    )


def read_version(lake: Path, table: str, where: ds.Expression, version: int | None) -> pa.Table:
    """Rows of a table at a version; None: the latest.

    Raises:
        DataError: the table or the version is missing, or files of it are.
    """
    try:
        found = DeltaTable(str(lake / table), version=version)
        return found.to_pyarrow_dataset().to_table(filter=where)
    except (DeltaError, OSError, pa.ArrowException) as error:
        at = "" if version is None else f" at version {version}"
        raise DataError(f"cannot read the table {table}{at}: {error}") from error


def same_group(canonical: str, wanted: Mapping[str, Any]) -> bool:
    """Whether a group key is the group that was asked for.

    >>> same_group('{"carrier": "UA", "hub": 7}', {"hub": "7", "carrier": "UA"})
    True
    """
    held = json.loads(canonical)
    return {name: _text(value) for name, value in held.items()} == {
        name: _text(value) for name, value in wanted.items()
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _rows(
    lake: Path, query: str, group: Mapping[str, Any], window_start: int
) -> list[dict[str, Any]]:
    start = pa.scalar(window_start, pa.int64()).cast(_INSTANT)
    of_window = (ds.field("query") == query) & (ds.field("window_start") == start)
    rows = read_version(lake, PUBLISHED, of_window, None).to_pylist()
    found = [row for row in rows if same_group(row["group_key"], group)]
    if not found:
        groups = sorted({row["group_key"] for row in rows})
        more = f" and {len(groups) - _NAMED} more" if len(groups) > _NAMED else ""
        named = ", ".join(groups[:_NAMED]) + more if groups else "none of the query at all"
        raise DataError(
            f"nothing is published of query {query} for this group in the window",
            hint=f"published in this window: {named}",
        )
    return sorted(found, key=lambda row: str(row["aggregate"]))


def _value(row: dict[str, Any]) -> int | float | None:
    return int(row["exact"]) if row["exact"] is not None else row["value"]


def _finder(lake: Path, fingerprint: str) -> str | None:
    wanted = (ds.field("kind") == "plan") & (ds.field("fingerprint") == fingerprint)
    found = read_version(lake, "plans", wanted, None)["finder"].to_pylist()
    return str(found[0]) if found else None


def _checked(lake: Path, result: dict[str, Any]) -> Checked:
    of_hour = ds.field("owned_hour") == result["owned_hour"]
    checks = read_version(lake, "validations", of_hour, None).to_pylist()
    made = [check for check in checks if check["status"] == "checked"]
    place = ("query", "group_key", "window_start")
    own = [check for check in made if all(check[name] == result[name] for name in place)]
    wrong = sum(check["mismatch"] for check in made)
    return Checked(len(made), wrong, len(checks) - len(made), len(own))


def _micros(instant: Any) -> int:
    value: int = pa.scalar(instant, _INSTANT).cast(pa.int64()).as_py()
    return value
