"""`elsinore why`: what a published result comes from, and the trends behind it.

Read from the tables without a JVM; trends are built by the two-step reference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import BudgetError, DataError, ParameterError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.lake.delta_log import read_rows
from elsinore.lake.event_files import event_table, micros
from elsinore.lake.provenance import PUBLISHED, Publication, read_publications
from elsinore.lake.sample import Place, group_json
from elsinore.lake.validate import MAX_EVENTS, may_matter
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.query.syntax import Conjunction
from elsinore.reference.budget import Budget, Meter
from elsinore.reference.event import read_events
from elsinore.reference.keys import Keys
from elsinore.reference.match import Matcher
from elsinore.reference.trends import Trend, group_of, trend_of
from elsinore.results.row import plain_value
from elsinore.settings import Settings
from elsinore.timeline import EPOCH, format_instant, instant_of, parse_instant

#: Columns that the titles of lines take.
_MARGIN = 11


def why(
    query: Annotated[str, typer.Argument(help="Name of the query.")],
    group: Annotated[
        str, typer.Argument(help="The group: name=value,... or a JSON object; {} where none.")
    ],
    window: Annotated[str, typer.Argument(help="Start of the window, ISO 8601, UTC.")],
    lake: Annotated[Path | None, typer.Option(help="Folder of the Delta tables.")] = None,
    workload: Annotated[Path | None, typer.Option(help="The queries, a .sase file.")] = None,
    schema: Annotated[Path | None, typer.Option(help="How to read an event, a .yaml file.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many trends to list.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say where a published result comes from, how far it was checked, and what its trends are."""
    settings = Settings.load()
    wanted, start = _group(group), _instant(window)
    queries = load_workload(
        workload or settings.workload_file, load_schema(schema or settings.schema_file)
    )
    tables = lake or settings.lake
    found = _find(tables, query, wanted, start)
    trends = _trends_of(tables, queries, found, limit=limit)
    if as_json:
        told = _as_json(found, trends)
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2, allow_nan=False))
        return
    for title, lines in _lines(found, trends):
        for number, line in enumerate(lines):
            typer.echo(f"{title if number == 0 else '':<{_MARGIN}}{line}")


def _group(text: str) -> dict[str, Any]:
    """The group that an argument names.

    >>> _group("carrier=UA,hub=EWR") == _group('{"carrier": "UA", "hub": "EWR"}')
    True
    """
    if text.lstrip().startswith("{"):
        try:
            found: dict[str, Any] = json.loads(text)
        except ValueError as error:
            raise ParameterError(f"the group is no JSON object: {error}") from error
        return found
    parts = [part.partition("=") for part in text.split(",") if part]
    if any(not equals for _, equals, _ in parts):
        raise ParameterError(
            f"not a group: {text[:60]!r}", hint="write name=value,name=value or a JSON object"
        )
    return {name.strip(): value for name, _, value in parts}


def _instant(text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise ParameterError(str(error), hint="give the window's start") from error


def _lines(found: Why, trends: Trends) -> Iterator[tuple[str, list[str]]]:
    """Titles, each with its lines."""
    start, end = format_instant(found.window_start), format_instant(found.window_end)
    yield "query", [f"{found.query}  ({found.query_fingerprint[:12]})"]
    yield "group", [found.group]
    yield "window", [f"{start} to {end}"]
    yield "values", [f"{name} = {value}" for name, value in found.values.items()]
    yield from _origin_lines(found)
    checked = found.checked
    if checked["values"]:
        outcome = f"{checked['mismatches']} differ" if checked["mismatches"] else "all agree"
        own = f"{checked['own']} of this result" if checked["own"] else "none of this result"
        text = f"{checked['values']} values of the hour, {outcome}; {own}"
    else:
        text = "no value of the hour: not validated"
    yield "checked", [f"{text}; {checked['skipped']} skipped" if checked["skipped"] else text]
    yield "trends", _trend_lines(trends)


def _origin_lines(found: Why) -> Iterator[tuple[str, list[str]]]:
    publication = found.publication
    if publication is None:
        yield "published", ["by a run that was killed before it said so; publish the hour again"]
        return
    if not publication.settled:
        yield "warning", ["the results are newer than what is said here: publish the hour again"]
    finder = f"found by {found.finder}" if found.finder else "not stored"
    yield "workload", [f"{publication.workload}  ({publication.workload_fingerprint[:12]})"]
    yield "plan", [f"{publication.plan_fingerprint[:12]}, {finder}"]
    yield "events", [f"version {publication.events_version} of the table events"]
    yield "run", [publication.run]
    yield (
        "published",
        [
            f"{publication.published_at:%Y-%m-%dT%H:%M:%SZ}, hour {found.owned_hour}, "
            f"{publication.rows} rows with digest {publication.digest[:12]}"
        ],
    )


def _trend_lines(trends: Trends) -> list[str]:
    lines = [
        " -> ".join(
            f"{event.type} {event.id or ''} {format_instant(event.time)}".replace("  ", " ")
            for event in trend
        )
        for trend in trends.listed
    ]
    left = trends.left_out
    if left is None:
        lines.append(f"and more, not counted: {trends.reason}")
    elif left and trends.listed:
        lines.append(f"and {left} more")
    elif left:
        lines.append(f"{left}, none listed")
    if left is not None and trends.reason:
        lines.append(trends.reason)
    return lines or ["none"]


def _as_json(found: Why, trends: Trends) -> dict[str, Any]:
    told = asdict(found)
    told |= {
        "group": json.loads(found.group),
        "window_start": format_instant(found.window_start),
        "window_end": format_instant(found.window_end),
        "values": {name: plain_value(value) for name, value in found.values.items()},
    }
    if found.publication is not None:
        told["publication"]["published_at"] = found.publication.published_at.isoformat()
    listed = [
        [{"type": e.type, "id": e.id, "time": format_instant(e.time)} for e in trend]
        for trend in trends.listed
    ]
    told["trends"] = {
        "count": trends.count, "listed": listed, "left_out": trends.left_out,
        "reason": trends.reason,
    }  # fmt: skip
    return told


# ---- what leads to a published result


_INSTANT = pa.timestamp("us", tz="UTC")

#: How many of the groups that there are an error names.
_NAMED = 5

#: Steps of the search, some microseconds each.
STEPS = 200_000


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
        checked: values of the whole hour that the reference has checked, `mismatches` of them that
            differ, those `skipped` whose check was given up, and those checked of its `own`.
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
    checked: Mapping[str, int]


def _find(lake: Path, query: str, group: Mapping[str, Any], window_start: int) -> Why:
    """Find a published result and what leads to it; values of a group may be given as text."""
    rows = _rows(lake, query, group, window_start)
    first = rows[0]
    hour = first["owned_hour"]
    publication = read_publications(lake, [hour]).get(hour)
    return Why(
        query=query,
        query_fingerprint=first["query_fingerprint"],
        group=first["group_key"],
        window_start=window_start,
        window_end=instant_of(first["window_end"]),
        owned_hour=hour,
        values={row["aggregate"]: _value(row) for row in rows},
        publication=publication,
        finder=_finder(lake, publication.plan_fingerprint) if publication else None,
        checked=_checked(lake, first),
    )


def _same_group(canonical: str, wanted: Mapping[str, Any]) -> bool:
    """Whether a group key is the group that was asked for.

    >>> _same_group('{"carrier": "UA", "hub": 7}', {"hub": "7", "carrier": "UA"})
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
    rows = read_rows(lake, PUBLISHED, where=of_window).to_pylist()
    found = [row for row in rows if _same_group(row["group_key"], group)]
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
    found = read_rows(lake, "plans", where=wanted)["finder"].to_pylist()
    return str(found[0]) if found else None


def _checked(lake: Path, result: dict[str, Any]) -> dict[str, int]:
    of_hour = ds.field("owned_hour") == result["owned_hour"]
    checks = read_rows(lake, "validations", where=of_hour).to_pylist()
    made = [check for check in checks if check["status"] == "checked"]
    place = ("query", "group_key", "window_start")
    own = [check for check in made if all(check[name] == result[name] for name in place)]
    wrong = sum(check["mismatch"] for check in made)
    skipped = len(checks) - len(made)
    return {"values": len(made), "mismatches": wrong, "skipped": skipped, "own": len(own)}


class TrendEvent(NamedTuple):
    """One event of a trend; `id` is None in a stream without ids."""

    type: str
    time: int
    id: str | None


@dataclass(frozen=True, slots=True)
class Trends:
    """Trends of a result.

    Attributes:
        listed: the first ones by time, or the first found where there are too many to build.
        count: how many there are in all; None where that is not known.
        reason: why not all could be built; None where they could.
    """

    listed: tuple[tuple[TrendEvent, ...], ...]
    count: int | None
    reason: str | None

    @property
    def left_out(self) -> int | None:
        """How many are not listed; None where that is not known."""
        return None if self.count is None else self.count - len(self.listed)


def _trends_of(lake: Path, workload: Workload, found: Why, *, limit: int) -> Trends:
    """Build the trends of a result from the very version of the events that it was computed from.

    Where the workload does not hold the result's query, nothing is built.
    """
    published = found.values.get("COUNT(*)")
    known = published if isinstance(published, int) else None
    query = workload.by_name.get(found.query)
    if query is None or query.fingerprint != found.query_fingerprint:
        return Trends((), known, "the workload at hand has another query of this name, or none")
    if isinstance(query.pattern, Conjunction):
        return Trends((), known, "the query counts pairs of trends")
    if found.publication is None:
        return Trends((), known, "nothing says which version of the events was read")
    try:
        rows = _events(lake, found)
    except DataError as error:
        return Trends((), known, str(error))
    if rows.num_rows > MAX_EVENTS:
        return Trends((), known, f"the window holds more than {MAX_EVENTS} events")
    place = Place(query.name, found.group, found.window_start // query.window.slide)
    events = _event_table(workload.schema, rows)
    matter = may_matter(workload, query, place, events.table)
    rows, events = rows.filter(matter), EventTable(workload.schema, events.table.filter(matter))
    meter = Meter(query.name, Budget(STEPS))
    meter.window = place.window
    keys = Keys(query, workload.schema)
    matcher = Matcher(query, keys, read_events(query, events), meter)
    built: dict[Trend, None] = {}
    reason = None
    try:
        for match in matcher.trends(query.pattern):
            if group_json(query, group_of(query, match.values)) == found.group:
                built.setdefault(trend_of(match))
    except BudgetError:
        reason = f"there are more trends than {STEPS} steps can build"
    told = _by_row(rows)
    listed = [tuple(told[row] for row in trend) for trend in built]
    if reason is None:
        listed.sort(key=lambda trend: [(event.time, event.id or "") for event in trend])
    count = len(built) if reason is None else known
    return Trends(tuple(listed[:limit]), count, reason)


def _events(lake: Path, found: Why) -> pa.Table:
    """The window's events; at most one more than are searched."""
    assert found.publication is not None
    first, last = (
        EPOCH + timedelta(microseconds=t) for t in (found.window_start, found.window_end)
    )
    time, day = ds.field("event_time"), ds.field("event_day")
    inside = (day >= first.date()) & (day <= last.date()) & (time >= first) & (time < last)
    version = found.publication.events_version
    return read_rows(lake, "events", where=inside, version=version)


def _event_table(schema: StreamSchema, rows: pa.Table) -> EventTable:
    """Rows of the table `events` as the engine reads them."""
    codes = [schema.type_codes[name] for name in rows["event_type"].to_pylist()]
    columns = {TIME_COLUMN: micros(rows["event_time"]), TYPE_COLUMN: pa.array(codes, pa.int32())}
    for name, kind in schema.attributes.items():
        columns[name] = micros(rows[name]) if kind is AttributeType.TIMESTAMP else rows[name]
    return event_table(schema, pa.table(columns))


def _by_row(rows: pa.Table) -> list[TrendEvent]:
    columns = rows["event_type"], micros(rows["event_time"]), rows["event_id"]
    return [TrendEvent(*row) for row in zip(*(c.to_pylist() for c in columns), strict=True)]
