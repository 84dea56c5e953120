"""`elsinore why`: the origin of a published result, its checks, and its trends.

It reads the tables without a JVM. The two-step reference builds the trends.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import AttributeType
from elsinore.errors import DataError, ParameterError
from elsinore.integers import integer_of, text_of, to_json
from elsinore.lake.own_workload import load_own_workload
from elsinore.ledger.fold import Fold
from elsinore.ledger.results import Publication, publication_of
from elsinore.ledger.table import TABLE, Ledger
from elsinore.library.participants import participant_lines
from elsinore.library.told_events import event_words
from elsinore.quality.lake import unsettled_hours
from elsinore.quality.result_trends import build_trends
from elsinore.query.bound import BoundOutput, BoundQuery, Workload
from elsinore.query.given_values import given_in_options
from elsinore.query.load_workload import load_workload
from elsinore.query.print_query import count_of, print_length
from elsinore.query.steps import query_of_step
from elsinore.results.published import exact_text, same_group
from elsinore.results.row import plain_value
from elsinore.settings import LakePath, Settings
from elsinore.store.delta_log import read_rows
from elsinore.store.tables import RESULTS
from elsinore.timeline import Length, format_instant, instant_of, parse_hour, parse_instant
from elsinore.wording import some_of, suggest, value_label, visible

#: Width of the titles of lines.
_MARGIN = 11
_INSTANT = pa.timestamp("us", tz="UTC")
#: Words for NULL if no group has that text: JSON, replays and pages write it so.
_NULLS = ("null", "None", "none")
#: Maximum number of groups that an error names.
_NAMED = 5


@dataclass(frozen=True)
class WhyOptions:
    """Arguments and options of `elsinore why`."""

    query: str
    group: str
    window: str
    lake: LakePath | None
    workload: Path | None
    schema: Path | None
    params: Sequence[str]
    limit: int
    step: int | None
    as_json: bool


def explain_result(options: WhyOptions) -> None:
    """Print a published result with its origin, as text or as JSON."""
    settings = Settings.load()
    wanted = _group(options.group)
    try:
        start = parse_instant(options.window)
    except ValueError as error:
        hint = "write the start of the window, as in 2013-02-08T10:00"
        raise ParameterError(str(error), hint=hint) from error
    schema, given = (
        load_schema(options.schema or settings.schema_file),
        given_in_options(options.params),
    )
    queries = (
        load_workload(options.workload, schema, given)
        if options.workload
        else load_own_workload(settings, schema, given)
    )
    if visible(options.query) != options.query:  # Arrow takes no lone surrogates
        problem = f"query {visible(options.query)} does not exist"
        raise ParameterError(problem, hint=f"queries are {some_of(queries.by_name)}")
    lake = options.lake or settings.require_current().lake
    ledger = Ledger.declared(lake / TABLE, settings.tables_dir / f"{TABLE}.yaml")
    name = options.workload.stem if options.workload else settings.workload_name
    state = ledger.state(name)
    told = _told(lake, state, queries, options, wanted, start)
    if options.as_json:
        plain = plain_value(told)
        typer.echo(
            to_json(
                plain, ensure_ascii=False, indent=2, allow_nan=False, default=datetime.isoformat
            )
        )
        return
    for title, lines in _lines(told):
        for number, line in enumerate(lines):
            typer.echo(f"{title if number == 0 else '':<{_MARGIN}}{line}")


def _group(text: str) -> dict[str, Any]:
    """Return the group of an argument.

    >>> _group("carrier=UA,hub=EWR") == _group('{"carrier": "UA", "hub": "EWR"}')
    True
    """
    if text.lstrip().startswith("{"):
        try:
            found: dict[str, Any] = json.loads(text)
        except (ValueError, RecursionError) as error:
            hint = 'as in {"carrier": "UA"}, or carrier=UA'
            problem = f"the group is not a JSON object: {text[:60]}"
            raise ParameterError(problem, hint=hint) from error
        return found
    parts = [part.partition("=") for part in text.split(",") if part]
    if any(not equals for _, equals, _ in parts):
        raise ParameterError(
            f"not a group: {text[:60]!r}", hint="write name=value,name=value or a JSON object"
        )
    return {name.strip(): value for name, _, value in parts}


def _lines(told: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield titles, each with its lines."""
    yield "query", [f"{told['query']}  ({told['query_fingerprint'][:12]})"]
    yield "group", [json.dumps(told["group"], ensure_ascii=False)]
    yield "window", [f"{told['window_start']} to {told['window_end']}"]
    yield "values", [f"{name} = {text_of(value)}" for name, value in told["values"].items()]
    yield from _origin_lines(told)
    checked = told["checked"]
    if checked["values"]:
        outcome = count_of(checked["mismatches"], "mismatch")
        own = f"{checked['own']} of this result" if checked["own"] else "none of this result"
        text = f"{count_of(checked['values'], 'value')} of the hour, {outcome}; {own}"
    else:
        text = "no value of the hour"
    yield "checked", [f"{text}; {checked['skipped']} skipped" if checked["skipped"] else text]
    title = "trends" if told["step"] is None else f"step {told['step']}"
    yield title, _trend_lines(told["trends"], told["group"])
    lines = participant_lines(told["participants"], told["group"])
    for one, (heading, listed) in zip(told["participants"], lines, strict=True):
        yield "each" if one["kind"] == "events" else "distinct", [heading, *listed]


def _origin_lines(told: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    publication = told["publication"]
    if publication is None:
        yield "published", ["no publication is recorded for the workload; publish the hour again"]
        return
    if not publication["settled"]:
        yield "warning", ["the results changed after their publication: publish the hour again"]
    finder = f"found by {told['finder']}" if told["finder"] else "not stored"
    yield "workload", [f"{publication['workload']}  ({publication['workload_fingerprint'][:12]})"]
    yield "plan", [f"{publication['plan_fingerprint'][:12]}, {finder}"]
    version = publication["events_version"]
    text = "an older version, of release 0.2" if version is None else f"version {version}"
    yield "events", [f"{text} of the table events"]
    yield "run", [publication["run"]]
    when = f"{publication['published_at']:%Y-%m-%dT%H:%M:%SZ}, hour {told['window_end_hour']}"
    what = f"{count_of(publication['rows'], 'row')}, version {publication['results_version']}"
    yield "published", [f"{when}, {what} of the table results"]
    if publication["missing_inputs"]:
        hours = some_of(publication["missing_inputs"])
        yield "provisional", [f"no file of these hours had arrived: {hours}"]


def _trend_lines(trends: dict[str, Any], group: Collection[str]) -> list[str]:
    lines = [
        " -> ".join(event_words(event, group) for event in trend) for trend in trends["listed"]
    ]
    left, reason = trends["left_out"], trends["reason"]
    if left is None:
        lines.append(f"and more, not counted: {reason}")
    elif left:
        number = text_of(left)
        lines.append(f"and {number} more" if lines else f"{number}, none listed")
    if left is not None and reason:
        lines.append(reason)
    return lines or ["none"]


# ---- the origin of a published result


def _told(
    lake: LakePath, state: Fold, workload: Workload, options: WhyOptions,
    group: Mapping[str, Any], window_start: int,
) -> dict[str, Any]:  # fmt: skip
    """Return a published result, its origin, and its trends.

    Returns:
        `publication` is the origin of the hour's results, None if none is recorded; its `settled`
        is False if the results changed afterwards. `finder` found the plan, None if the plan is not
        stored. `checked` has the numbers of `values` of the hour that the reference checked, of
        `mismatches` among them, of `skipped` checks, and of the result's `own` checked values.
        `values` has the values of all steps. If the query returns steps, `trends` is about the step
        `step`. `trends` has the first trends by time as `listed`, or the first that were found if
        there are too many to build; `count` and `left_out` are None if they are unknown, `reason`
        is why not all could be built. `participants` has the events and values that EACH and
        DISTINCT count (see `library.participants.list_participants`).
    """
    query, bound = options.query, workload.by_name.get(options.query)
    rows = _rows(lake, workload, query, group, window_start)
    step = _step(bound, options.step, rows)
    result, hour = rows[0] | {"step": step}, rows[0]["window_end_hour"]
    publication = publication_of(state, parse_hour(hour))
    is_settled = not len(unsettled_hours(lake, state, np.array([parse_hour(hour)])))
    kinds = {output.name: output for output in bound.outputs} if bound else {}
    values = {
        value_label(row["aggregate"], row["step"]): _value(row, kinds.get(row["aggregate"]))
        for row in rows
    }
    rebuilt = build_trends(lake, state, workload, result, publication, options.limit)
    built, reason = rebuilt.trends, rebuilt.reason
    count_name = bound.count_name if bound and bound.count_name else "COUNT(*)"
    known = values.get(value_label(count_name, step))
    if reason is None and len(built) < (known if isinstance(known, int) else 1):
        reason = "the events that are still stored have no more trends"
    count = len(built) if reason is None else known if isinstance(known, int) else None
    listed = built[: options.limit]
    return {
        "query": query,
        "query_fingerprint": result["query_fingerprint"],
        "group": json.loads(result["group_key"]),
        "step": step,
        "window_start": format_instant(window_start),
        "window_end": format_instant(instant_of(result["window_end"])),
        "window_end_hour": hour,
        "values": values,
        "publication": publication and publication._asdict() | {"settled": is_settled},
        "finder": publication and _finder(lake, publication.plan_fingerprint),
        "checked": _checked(lake, result, publication),
        "trends": {
            "count": count,
            "listed": listed,
            "left_out": None if count is None else count - len(listed),
            "reason": reason,
        },
        "participants": rebuilt.participants,
    }


def _rows(
    lake: LakePath, workload: Workload, query: str, group: Mapping[str, Any], window_start: int
) -> list[dict[str, Any]]:
    start = pa.scalar(window_start, pa.int64()).cast(_INSTANT)
    of_window = (ds.field("query") == query) & (ds.field("window_start") == start)
    rows = read_rows(lake, RESULTS, where=of_window).to_pylist()
    found = [row for row in rows if same_group(row["group_key"], group)]
    if not found:  # no such text: then NULL
        or_null = {name: None if value in _NULLS else value for name, value in group.items()}
        found = [row for row in rows if same_group(row["group_key"], or_null)]
    if not found:
        groups = sorted({row["group_key"] for row in rows})
        named = some_of(groups, _NAMED) or _windows(lake, query)
        raise DataError(
            f"query {query} has no published result for this group and window",
            hint=_no_such(workload, query, group, window_start)
            or f"published in this window: {named}",
        )
    # A window of an earlier text of the query may begin there, too: of the text at hand, or last.
    own = query in workload.by_name and workload.by_name[query].fingerprint
    one = max(found, key=lambda row: (row["query_fingerprint"] == own, row["window_end_hour"]))
    found = [row for row in found if row["query_fingerprint"] == one["query_fingerprint"]]
    return sorted(found, key=lambda row: (row["step"] or 0, str(row["aggregate"])))


def _step(
    bound: BoundQuery | None, asked: int | None, rows: Sequence[dict[str, Any]]
) -> int | None:
    """Return the step whose trends are shown, by default the last one."""
    if bound is not None:
        query_of_step(bound, asked)  # raises an error for a step that it does not have
    steps = [row["step"] for row in rows if row["step"] is not None]
    return asked or max(steps, default=None)


def _windows(lake: LakePath, query: str) -> str:
    """Return the range of windows with results of a query."""
    rows = read_rows(lake, RESULTS, columns=["window_start"], query=[query])
    if not len(rows):
        return "no result of the query"
    bounds = pc.min_max(rows["window_start"]).as_py().values()
    return f"none; windows are from {' to '.join(f'{bound:%Y-%m-%dT%H:%M}' for bound in bounds)}"


def _no_such(workload: Workload, query: str, group: Collection[str], start: int) -> str | None:
    """Return what is wrong with the query's name, a key's name, or the window's start."""
    known = workload.by_name
    if query not in known:
        return suggest(query, known) or f"queries are {some_of(known)}"
    keys = [str(key.group_label) for key in known[query].group_keys]
    if wrong := [name for name in group if name not in keys]:
        return f"its groups have {some_of(keys) or 'no attributes'}, not {wrong[0]}"
    window = known[query].window
    number = window.number_at(start)
    if window.bounds(number).start != start:
        nearest = (format_instant(window.bounds(n).start)[:19] for n in (number, number + 1))
        every = "at" if window.clock else f"every {print_length(window.slide)}:"
        return f"a window starts {every} {', '.join(nearest)}"
    return None


def _value(row: dict[str, Any], output: BoundOutput | None) -> Any:
    if row["exact"] is None:
        return row["value"]
    kind = output and output.type
    if kind is AttributeType.STRING:
        return row["exact"]
    if kind is AttributeType.BOOLEAN:
        return row["exact"] == exact_text(True)
    exact = integer_of(row["exact"])
    if kind is AttributeType.TIMESTAMP:
        return format_instant(exact)
    return Length(exact) if output and output.is_duration else exact


def _finder(lake: LakePath, fingerprint: str) -> str | None:
    wanted = (ds.field("kind") == "plan") & (ds.field("fingerprint") == fingerprint)
    found = read_rows(lake, "plans", where=wanted)["finder"].to_pylist()
    return str(found[0]) if found else None


def _checked(
    lake: LakePath, result: dict[str, Any], publication: Publication | None
) -> dict[str, int]:
    where = ds.field("window_end_hour") == result["window_end_hour"]
    if publication is not None:
        where &= ds.field("workload_fingerprint") == publication.workload_fingerprint
    checks = read_rows(lake, "validations", where=where).to_pylist()
    made = [check for check in checks if check["status"] == "checked"]
    place = ("query", "group_key", "window_start")
    own = [check for check in made if all(check[name] == result[name] for name in place)]
    wrong = sum(check["mismatch"] for check in made)
    skipped = len(checks) - len(made)
    return {"values": len(made), "mismatches": wrong, "skipped": skipped, "own": len(own)}
