"""A lake with results of every kind, and what the library makes of the same rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.library.results import Results, answer
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery, Workload
from elsinore.query.load_workload import load_workload
from elsinore.results.row import ResultRow, sorted_rows
from elsinore.settings import Settings
from elsinore.store.tables import RESULTS, Lake
from elsinore.timeline import HOUR, Instant, Interval
from tests.data_tables import create_all
from tests.draws import draws
from tests.long_rows import to_long
from tests.results_lake import flight_events
from tests.written_tables import write_table

ROOT = Path(__file__).parents[1]
#: What the page on SQL asks, of flights.
SAMPLES = re.findall(
    r"^```sql\n(.*?)^```$",
    (ROOT / "docs" / "how-to" / "query-with-sql.md").read_text(encoding="utf-8"),
    re.M | re.S,
)

SCHEMA = """
stream: odd
time: {field: at, unit: iso}
type: {field: kind}
types:
  A: {order: {type: string, nullable: true}, n: {type: long, nullable: true},
      x: {type: double, nullable: true}, "on": {type: boolean, nullable: true},
      seen: {type: timestamp, nullable: true}, window_start: {type: long, nullable: true},
      trends: {type: string, nullable: true}, a_n: {type: string, nullable: true}}
"""
#: Names that are keywords, taken, or differ by case alone; a query that is called like a table.
WORKLOAD = """
QUERY texts RETURN COUNT(*), COUNT(a), SUM(a.n), AVG(a.n), MIN(a.n), MAX(a.n)
PATTERN A a+ GROUP-BY order, trends WITHIN 1 hour;
QUERY numbers RETURN COUNT(*), SUM(a.x), AVG(a.x), MIN(a.x), MAX(a.x), MIN(a.seen), MAX(a.seen),
  STDDEV(a.n), MAX(a.n * a.n)
PATTERN A a+ GROUP-BY n, x, on, seen, window_start WITHIN 1 hour;
QUERY scoped RETURN COUNT(*), SUM(a.n), SUM(A.n)
PATTERN SEQ(A a, A A) GROUP-BY a.n, A.n, a_n WITHIN 1 hour;
QUERY events RETURN COUNT(*) PATTERN A a WITHIN 1 hour;
"""
#: The views of the workload, in its order.
VIEWS = ("texts", "numbers", "scoped", "events_")
COLUMNS = {
    "texts": ["order", "trends", "window_start", "window_end", "trends_", "trends_digits",
              "trends_log2", "count_a", "count_a_digits", "count_a_log2", "sum_a_n",
              "sum_a_n_digits", "sum_a_n_log2", "avg_a_n", "min_a_n", "max_a_n"],
    "scoped": ["a_n", "A_n_", "a_n__", "window_start", "window_end", "trends", "trends_digits",
               "trends_log2", "sum_a_n", "sum_a_n_digits", "sum_a_n_log2", "sum_a_n_",
               "sum_a_n_digits_", "sum_a_n_log2_"],
}  # fmt: skip

_OPENING = Interval.parse("2013-02-08T00:00", "2013-02-09T00:00")
_LARGE = (0, 1, 2**63 - 1, 2**63, 10**37, 10**38 - 1, 10**38, 10**40, 10**75, 10**400)
_VALUES: dict[str, tuple[Any, ...]] = {
    "string": (None, "", "UA", "a \"b\" \\ 'c'", "é☃𝄞", "a\n\t\x01\x7f", "null", "{}", "$.x", "`"),
    "long": (None, 0, -1, 2**53 + 1, 2**63 - 1, -(2**63)),
    "double": (None, 0.1, -2.5e300, 5e-324, 1e16, math.inf, -math.inf, math.nan),
    "boolean": (None, True, False),
    "timestamp": (None, *map(Instant, (0, -1, 1_500_000, 2**52 + 1, -62_135_596_800_000_000))),
}


def settings_of(folder: Path) -> Settings:
    """Of a home of its own, with the stream and the workload above."""
    schema, workload = folder / "odd.yaml", folder / "odd.sase"
    schema.write_text(SCHEMA)
    workload.write_text(WORKLOAD)
    return Settings(home=folder, schema_file=schema, workload_file=workload)


def publish_odd_rows(settings: Settings) -> tuple[Workload, Results]:
    """Fill a new lake with drawn rows; the workload, and the library's results of these rows."""
    lake = create_all(settings)
    workload = load_workload(settings.workload_file, lake.stream)
    rows = sorted_rows(_rows(workload))
    put(lake, workload, rows)
    return workload, results_of(workload, rows)


def results_of(workload: Workload, rows: list[ResultRow]) -> Results:
    """The tables that the library makes of rows."""
    report = SimpleNamespace(
        rejected=pa.table({}), ignored=0, duplicates=0, accepted=0, warnings=()
    )
    return Results(workload, rows, report)  # type: ignore[arg-type]


def publish_flights(settings: Settings) -> None:
    """Fill a new lake with the results of a day and more of flights."""
    lake = create_all(settings)
    workload = load_workload(settings.workload_file, lake.stream)
    put(lake, workload, sorted_rows(answer(workload, flight_events())))


def put(lake: Lake, workload: Workload, rows: list[ResultRow]) -> None:
    """Make rows of results the published ones."""
    long = to_long(workload, rows)
    prints = [workload.by_name[name].fingerprint for name in long["query"].to_pylist()]
    declared = lake.schema(RESULTS)
    days = pc.utf8_slice_codeunits(long["window_end_hour"], 0, 10).cast(pa.date32())
    table = long.append_column("query_fingerprint", pa.array(prints, pa.string()))
    table = table.append_column("window_end_day", days)
    columns = declared.arrow()
    write_table(lake.root, declared, table.select(columns.names).cast(columns), mode="overwrite")


def _rows(workload: Workload) -> Iterator[ResultRow]:
    random = Random(7)
    for query in workload.queries:
        seen = set()
        for number in range(draws(120, 1000)):
            group = tuple(
                (str(key.group_label), random.choice(_VALUES[key.type])) for key in query.group_keys
            )
            start = _OPENING.start + number % 24 * HOUR
            values = tuple((item.label, _value(random, item)) for item in query.aggregates)
            if (repr(group), start) not in seen:
                seen.add((repr(group), start))
                yield ResultRow(query.name, group, Instant(start), Instant(start + HOUR), values)


def _value(random: Random, item: Any) -> Any:
    match item.function:
        case AggregateFunction.COUNT:
            return random.choice(_LARGE)
        case AggregateFunction.SUM | AggregateFunction.MAX if is_wide(item):
            return random.choice((None, *_LARGE, *(-n for n in _LARGE)))
        case AggregateFunction.AVG | AggregateFunction.STDDEV:
            return random.choice(_VALUES["double"])
    return random.choice(_VALUES[item.type])


def expected(query: BoundQuery, table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows that a view must have, given the library's table of its query."""
    before = len(query.group_keys) + 2
    found = []
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        cells = list(row[:before])
        for item, value in zip(query.aggregates, row[before:], strict=True):
            cells += _wide(value) if is_wide(item) else [value]
        found.append(tuple(cells))
    return ordered(found)


def is_wide(item: BoundAggregate) -> bool:
    """Whether an aggregate is an integer of any size."""
    adds_up = item.function in ("COUNT", "SUM")
    is_product = item.function == "MAX" and not isinstance(item.attribute, str)
    return item.type is AttributeType.LONG and (adds_up or is_product)


def _wide(value: Any) -> list[Any]:
    if value is None:
        return [None, None, None]
    whole = int(value)
    size = math.log2(abs(whole)) if whole else None
    return [whole if abs(whole) < 10**38 else None, str(whole), size]


def ordered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows in one order, in values that are equal where they are the same: texts of them."""
    return sorted(tuple(map(_plain, row)) for row in rows)


def _plain(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(int(value))
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return repr(value) if not isinstance(value, int) or isinstance(value, bool) else str(value)
