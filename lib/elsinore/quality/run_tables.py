"""The rows that the suites check for one run, read from the lake and the ledger without a JVM.

For the large tables (events, quarantined records and staged results) these are the number of rows
that break each rule, with examples. They are counted in Arrow, part by part.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import StreamSchema
from elsinore.events import id_keys
from elsinore.ledger.fold import Fold
from elsinore.ledger.results import Publication, publications
from elsinore.ledger.rows import Longs
from elsinore.quality.check_expectations import INGESTED_HOURS, PUBLISHED_HOURS
from elsinore.quality.ingested_hours import ingested_hours, is_table, usual_records
from elsinore.quality.lake import unsettled_hours
from elsinore.quality.staged import aggregated, checks_of_staged, hours_in, staged_by_day
from elsinore.query.bound import Workload
from elsinore.settings import LakePath
from elsinore.store.delta_log import read_rows
from elsinore.store.regions import Hours, Landings
from elsinore.store.tables import STAGED, Lake
from elsinore.timeline import Interval, hour_label

_CODE = "^[a-z][a-z0-9_]*$"
_SHA256 = r"[0-9a-f]{64}\Z"
_INTEGER = "^(0|-?[1-9][0-9]*)$"
#: No integer of more digits has a double (the largest is about 1.8e308).
_DIGITS_OF_LARGEST_DOUBLE = 309
#: A difference in the last place is rounding, not an error.
_ROUNDING = 2.0**-52
_KEY = ["query", "group_key", "window_start", "window_end", "step", "aggregate"]
#: Columns of events and of quarantined records that are checked.
EVENT_COLUMNS = ["event_day", "event_id", "event_type", "event_time", "file_hour"]
_PLACE_OF_EVENT = ["file", "record_number"]
QUARANTINE_COLUMNS = ["file_hour", "file", "record_number", "reason_code"]
#: Maximum number of example rows per rule, and of characters per value.
_EXAMPLES, _CHARACTERS = 3, 100


def read_run_tables(
    lake: Lake,
    ahead: Mapping[str, int],
    state: Fold,
    interval: Interval,
    *,
    ingested: bool = True,
) -> dict[str, pd.DataFrame]:
    """Return the rows that `check_expectations` checks, by table; few, for any number of events.

    For `events`, `quarantine` and `results_staged` these are counts by rule (`RuleCounts`); for
    `validations` and `plans` the rows of the run. `ingested_hours` has the columns of the function
    of this name and `usual_records`; its `reasons` are JSON. `published_hours` has a row per
    published hour with the columns of `Publication` and `settled`. Staged results are read at the
    versions that the ledger names.

    Args:
        lake: the tables. Tables of data that no run has created yet count as empty.
        ahead: see `ahead_of` and `rules_of_staged`.
        state: the state of the hours of the workload.
        interval: the hours of the run.
        ingested: True if the run ingested its hours; otherwise the tables of `INGESTED` are left
            out.

    Raises:
        DataError: a table of records is missing, or a table cannot be read.
    """
    hours = Hours(interval)
    rows = aggregated(state, hours).rows
    plans_by_hour = dict(
        zip(rows["hour"].to_pylist(), rows["plan_fingerprint"].to_pylist(), strict=True)
    )
    plans = _plans_of(lake.root, sorted({plan for plan in plans_by_hour.values() if plan}))
    known = set(plans.filter(pc.equal(plans["kind"], "plan"))["fingerprint"].to_pylist())
    days = staged_by_day(lake.root, state, hours)
    return (_ingested_tables(lake, state, interval) if ingested else {}) | {
        "plans": _frame(plans),
        STAGED: rules_of_staged(
            days,
            {hour: plan in known for hour, plan in plans_by_hour.items()},
            ahead,
        ),
        "validations": _frame(checks_of_staged(lake.root, state, hours)),
        PUBLISHED_HOURS: _published(lake.root, state, hours_in(hours)),
    }


def ahead_of(workload: Workload) -> dict[str, int]:
    """Return `Window.ahead` of queries by fingerprint."""
    return {query.fingerprint: query.window.ahead for query in workload.queries}


def _published(lake: LakePath, state: Fold, hours: Longs) -> pd.DataFrame:
    """Return the last publications of some hours."""
    changed = set(map(hour_label, unsettled_hours(lake, state, hours).tolist()))
    rows = [
        {**one._asdict(), "settled": label not in changed}
        for label, one in publications(state, hours).items()
    ]
    return pd.DataFrame(rows, columns=[*Publication._fields, "settled"])


def _ingested_tables(lake: Lake, state: Fold, interval: Interval) -> dict[str, pd.DataFrame]:
    """Return the tables of what was ingested for the hours of files."""
    stream, own = lake.stream, Landings(interval)
    has_ids = stream.id_field is not None
    columns = EVENT_COLUMNS if has_ids else [*EVENT_COLUMNS, *_PLACE_OF_EVENT]
    events = _rows(lake, "events", columns, own)
    if not has_ids:
        parts = [events["file"], events["record_number"].cast(pa.string())]
        place = pc.binary_join_element_wise(*parts, ":")
        events = events.set_column(columns.index("event_id"), "event_id", place)
    hours = ingested_hours(lake.root, state, interval)
    usual = usual_records(state, list(hours["file_hour"]))
    return {
        INGESTED_HOURS: hours.assign(
            reasons=hours["reasons"].map(json.dumps),
            usual_records=pd.Series(usual, hours.index, dtype="Float64"),
        ),
        "quarantine": rules_of_quarantine(_rows(lake, "quarantine", QUARANTINE_COLUMNS, own)),
        "events": rules_of_events(events, stream),
    }


def _rows(lake: Lake, table: str, columns: Sequence[str], hours: Landings) -> pa.Table:
    """Return rows of a table of data; none if no run has created it."""
    if is_table(lake.root, table):
        return read_rows(lake.root, table, columns=columns, hours=hours)
    return lake.schema(table).arrow().empty_table().select(list(columns))


def _plans_of(lake: LakePath, named: Sequence[str]) -> pa.Table:
    plans = read_rows(lake, "plans", kind=["plan"], fingerprint=named)
    sources = pc.unique(plans["statistics_fingerprint"]).to_pylist()
    return pa.concat_tables(
        [plans, read_rows(lake, "plans", kind=["statistics"], fingerprint=sources)]
    )


def _frame(table: pa.Table) -> pd.DataFrame:
    """Return a DataFrame with masked numbers, so that NaN differs from NULL and longs are exact."""
    masked = {
        pa.int64(): pd.Int64Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    return table.to_pandas(types_mapper=masked.get)


def rules_of_events(events: pa.Table, stream: StreamSchema) -> pd.DataFrame:
    """Count events that break each rule, from rows with `EVENT_COLUMNS`."""
    counts = RuleCounts("has_id", "once", "has_type", "in_its_day")
    ids = events["event_id"]
    counts.add("has_id", events, pc.is_null(ids), "event_time", "file_hour")
    present = events.filter(pc.is_valid(ids))
    counts.add("once", present, _repeated(id_keys(present, stream)), "event_id", "file_hour")
    counts.add("has_type", events, pc.is_null(events["event_type"]), "event_id")
    day = events["event_time"].cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
    other = pc.not_equal(day.cast(pa.date32(), safe=False), events["event_day"])
    counts.add("in_its_day", events, other, "event_id", "event_time", "event_day")
    return counts.frame()


def rules_of_quarantine(lines: pa.Table) -> pd.DataFrame:
    """Count quarantined records that break each rule, from rows with `QUARANTINE_COLUMNS`."""
    counts = RuleCounts("has_file_hour", "has_code", "code_is_name")
    counts.add("has_file_hour", lines, pc.is_null(lines["file_hour"]), "file", "record_number")
    counts.add("has_code", lines, pc.is_null(lines["reason_code"]), "file", "record_number")
    named = lines.filter(pc.is_valid(lines["reason_code"]))
    odd = pc.invert(pc.match_substring_regex(named["reason_code"], _CODE))
    counts.add("code_is_name", named, odd, "reason_code", "file", "record_number")
    return counts.frame()


def rules_of_staged(
    days: Iterable[pa.Table], plan_is_known: Mapping[str, bool], ahead: Mapping[str, int]
) -> pd.DataFrame:
    """Count staged results that break each rule.

    Args:
        days: The staged results, in parts.
        plan_is_known: By hour, whether the plan of its results is stored.
        ahead: By fingerprint of a query, `Window.ahead`. Results of other queries may be in the
            hour in which their window ends, or in a later one.
    """
    counts = RuleCounts(
        "once", "has_query", "group_is_json", "window_runs_forwards", "in_its_hour",
        "exact_is_canonical", "value_is_nearest", "log2_is_finite", "fingerprint_is_sha256",
        "plan_is_stored",
    )  # fmt: skip
    for rows in days:
        _count_places(counts, rows, ahead)
        _count_values(counts, rows)
        known = [hour for hour, is_known in plan_is_known.items() if is_known]
        stored = pc.is_in(rows["window_end_hour"], pa.array(known, pa.string()))
        counts.add("plan_is_stored", rows, pc.invert(stored), "query", "window_end_hour")
    return counts.frame()


def _count_places(counts: RuleCounts, rows: pa.Table, ahead: Mapping[str, int]) -> None:
    # Rows with the same key are in the same part of the table: they are in the hour in which their
    # window is complete, or are counted as misplaced.
    keys = rows.group_by(_KEY, use_threads=False).aggregate([([], "count_all")])
    counts.add("once", keys, pc.greater(keys["count_all"], 1), *_KEY)
    counts.add("has_query", rows, pc.is_null(rows["query"]), "group_key", "window_end_hour")
    counts.add("group_is_json", rows, _is_odd(rows["group_key"], _is_json), *_KEY[:3])
    start, end = (rows[name].cast(pa.int64()) for name in ("window_start", "window_end"))
    counts.add("window_runs_forwards", rows, pc.less_equal(end, start), *_KEY[:4])
    known = pc.index_in(rows["query_fingerprint"], pa.array(list(ahead), pa.string()))
    later = pa.array(list(ahead.values()), pa.int64()).take(known)
    complete = pc.add(end, pc.fill_null(later, 0))
    hours = pc.subtract(complete, 1).dictionary_encode().combine_chunks()
    ends = pc.strftime(hours.dictionary.cast(pa.timestamp("us")), format="%Y-%m-%dT%H")
    day = pc.utf8_slice_codeunits(rows["window_end_hour"], 0, 10)
    hour, least = rows["window_end_hour"], ends.take(hours.indices)
    other = pc.or_(
        pc.if_else(pc.is_valid(later), pc.not_equal(hour, least), pc.less(hour, least)),
        pc.not_equal(day, rows["window_end_day"].cast(pa.string())),
    )
    counts.add("in_its_hour", rows, other, "query", "group_key", "window_end", "window_end_hour")


def _count_values(counts: RuleCounts, rows: pa.Table) -> None:
    shown = ("query", "aggregate", "exact", "value")
    # Rows of earlier versions have no type; their exact values are integers.
    is_text = pc.is_in(rows["type"], pa.array(["string", "boolean"]))
    exact = rows.filter(pc.and_not(pc.is_valid(rows["exact"]), is_text))
    canonical = pc.match_substring_regex(exact["exact"], _INTEGER)
    counts.add("exact_is_canonical", exact, pc.invert(canonical), *shown)
    counts.add("value_is_nearest", exact, _is_far(exact, canonical), *shown)
    log2 = rows["log2"]
    unreal = pc.and_(pc.is_valid(log2), pc.fill_null(pc.invert(pc.is_finite(log2)), False))
    counts.add("log2_is_finite", rows, unreal, "query", "aggregate", "log2")
    odd = _is_odd(rows["query_fingerprint"], re.compile(_SHA256).match)
    counts.add("fingerprint_is_sha256", rows, odd, "query", "query_fingerprint")


def _repeated(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whether each value is there more than once."""
    found = pc.value_counts(values)
    twice = found.field("values").filter(pc.greater(found.field("counts"), 1))
    return pc.is_in(values, twice)


def _is_far(rows: pa.Table, canonical: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whether `value` is not the double nearest to `exact`.

    Beyond the largest double, `value` must be NULL or infinite. Arrow compares all rows, and Python
    checks the few rows in which Arrow finds a difference.
    """
    nearest = pc.if_else(canonical, rows["exact"], "0").cast(pa.float64())
    same = pc.and_(canonical, pc.equal(nearest, rows["value"]))
    doubtful = pc.invert(pc.fill_null(same, False))
    few = rows.filter(doubtful).select(["value", "exact"]).to_pylist()
    answers = iter([not _agree(row["value"], row["exact"]) for row in few])
    return pa.chunked_array(
        [pa.array([is_doubtful and next(answers) for is_doubtful in doubtful.to_pylist()],
                  pa.bool_())]
    )  # fmt: skip


def _agree(value: float | None, exact: str) -> bool:
    present = math.inf if value is None else value
    if len(exact.lstrip("-")) > _DIGITS_OF_LARGEST_DOUBLE:
        return math.isinf(present)
    try:
        nearest = float(int(exact))
    except OverflowError:
        return math.isinf(present)
    except ValueError:  # no integer at all
        return False
    return math.isclose(present, nearest, rel_tol=_ROUNDING, abs_tol=0.0)


def _is_json(text: str) -> bool:
    with suppress(ValueError):
        json.loads(text)
        return True
    return False


class RuleCounts:
    """The counts of rules, which the suites name, over all parts of a table."""

    def __init__(self, *rules: str) -> None:
        self._rows = dict.fromkeys(rules, 0)
        self._broken = dict.fromkeys(rules, 0)
        self._examples: dict[str, list[str]] = {rule: [] for rule in rules}

    def add(self, rule: str, rows: pa.Table, broken: pa.ChunkedArray, *shown: str) -> None:
        """Count the rows of a part of the table that break a rule.

        Args:
            rule: The rule.
            rows: The rows.
            broken: True for each row that breaks the rule; NULL counts as True.
            *shown: Columns of examples, with their position and the wrong value.
        """
        wrong = pc.fill_null(broken, True)
        number = pc.sum(wrong).as_py() or 0
        self._rows[rule] += rows.num_rows
        self._broken[rule] += number
        examples = self._examples[rule]
        if number and len(examples) < _EXAMPLES:
            few = rows.select(list(dict.fromkeys(shown))).filter(wrong).slice(0, _EXAMPLES)
            for row in few.to_pylist()[: _EXAMPLES - len(examples)]:
                values = (f"{name} {value}"[:_CHARACTERS] for name, value in row.items())
                examples.append(", ".join(values))

    def frame(self) -> pd.DataFrame:
        """Return one row per rule: `rule`, `rows`, `broken` and `examples`."""
        told = [
            (rule, rows, self._broken[rule], "; ".join(self._examples[rule]))
            for rule, rows in self._rows.items()
        ]
        return pd.DataFrame(told, columns=["rule", "rows", "broken", "examples"])


def _is_odd(values: pa.ChunkedArray, fits: Callable[[str], object]) -> pa.ChunkedArray:
    """Return whether each text does not fit; few of them are distinct."""
    distinct = pc.unique(values).to_pylist()
    odd = [text for text in distinct if text is None or not fits(text)]
    return pc.is_in(values, pa.array(odd, values.type))
