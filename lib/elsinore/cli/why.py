"""`elsinore why`: what a published result comes from, and the trends behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import ParameterError
from elsinore.lake.why import Trends, Why, trends_of
from elsinore.lake.why import why as find_why
from elsinore.query.load_workload import load_workload
from elsinore.results.row import plain_value
from elsinore.settings import Settings
from elsinore.timeline import format_instant, parse_instant

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
    found = find_why(tables, query, wanted, start)
    trends = trends_of(tables, queries, found, limit=limit)
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
    if checked.values:
        outcome = f"{checked.mismatches} differ" if checked.mismatches else "all agree"
        own = f"{checked.own} of this result" if checked.own else "none of this result"
        text = f"{checked.values} values of the hour, {outcome}; {own}"
    else:
        text = "no value of the hour: not validated"
    yield "checked", [f"{text}; {checked.skipped} skipped" if checked.skipped else text]
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
