"""What the tables of a lake say, so that two lakes can be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import deltalake

from elsinore.places import place
from elsinore.settings import LakePath

#: Rows as canonical text, by table.
Contents = dict[str, list[str]]

#: What users read, and what is replaced in one commit.
PUBLISHED = "results"

#: Say when, by whom, or from which commit, and not what: a retry may make one commit more.
CIRCUMSTANCES = frozenset({
    "run", "time", "version", "events_version", "raw_events_version", "results_version", "files",
    "changed_rows",
})  # fmt: skip
#: States of the ledger that follow from the files, whatever runs did before.
_LASTING = frozenset({"ingested", "published"})
#: The same as metrics: they measure one try.
_MEASURED = (
    "seconds", "bytes_", "events_version", "staged_version", "began_at", "ended_at", "changed_rows",
)  # fmt: skip


def contents(lake: LakePath, tables: Iterable[str] = ()) -> Contents:
    """Every row of some tables, or of all that there are, without its circumstances."""
    chosen = sorted(tables) or sorted(path.name for path in _tables(place(lake)))
    return {table: _rows(lake / table) for table in chosen if _is_table(lake / table)}


def differences(found: Mapping[str, list[str]], expected: Mapping[str, list[str]]) -> list[str]:
    """A line for each table that differs, with the first row that only one side has."""
    told = []
    for table in sorted(set(found) | set(expected)):
        here, there = found.get(table), expected.get(table)
        if here == there:
            continue
        if here is None or there is None:
            told.append(f"{table} is {'missing' if here is None else 'not in the clean lake'}")
            continue
        more, less = _less(here, there), _less(there, here)
        first = f"too much: {more[0]}" if more else f"missing: {less[0]}"
        told.append(f"{table}: {len(more)} rows too many, {len(less)} missing; {first[:400]}")
    return told


def _less(these: list[str], those: list[str]) -> list[str]:
    return sorted((Counter(these) - Counter(those)).elements())


def _tables(lake: Path) -> list[Path]:
    return [path for path in lake.iterdir() if path.is_dir()] if lake.is_dir() else []


def _is_table(path: Path) -> bool:
    return bool(deltalake.DeltaTable.is_deltatable(str(path)))


def _rows(path: Path) -> list[str]:
    rows = deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    if path.name == "hours":
        rows = _last(rows)
    told = (_plain(row) for row in rows if not _is_measured(row))
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in told)


def _last(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last row of each lasting state of each hour."""
    found = {
        (row["workload"], row["hour"], row["state"]): row
        for row in sorted(rows, key=lambda row: row["version"])
        if row["state"] in _LASTING
    }
    return list(found.values())


def _is_measured(row: Mapping[str, Any]) -> bool:
    metric = row.get("metric")
    return isinstance(metric, str) and any(part in metric for part in _MEASURED)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in CIRCUMSTANCES}
