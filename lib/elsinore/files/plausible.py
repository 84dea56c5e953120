"""Check for impossible and suspicious event times, and report them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import Otherwise, StreamSchema
from elsinore.events import TIME_COLUMN
from elsinore.files.rejection import Fault, Reason
from elsinore.files.typed import LIKELY, doubt_of_unit, ticks_text
from elsinore.timeline import (
    CALENDAR,
    DAY,
    NUMBER_LENGTHS,
    TICKS,
    Interval,
    TimeUnit,
    format_instant,
)

_HINT = "change this check with time.plausible in the schema"
_Mask = npt.NDArray[np.bool_]
#: Maximum number of events that a warning names.
_NAMED = 3
#: A cluster of several events is suspicious if it has at most this share of its file's events.
_SMALL_SHARE = 0.2
_YEAR = 365.2425 * DAY


# ---- single times


def possible_times(schema: StreamSchema) -> Interval:
    """Return the valid times of events of a stream: years 1 to 9999, or ticks.

    If the schema quarantines times beyond its limits, these are the limits.
    """
    if not schema.time_unit.is_calendar:
        return TICKS
    rule = schema.plausible
    if rule.otherwise is not Otherwise.QUARANTINE:
        return CALENDAR
    return _limits(schema)


def _limits(schema: StreamSchema) -> Interval:
    rule = schema.plausible
    low = CALENDAR.start if rule.minimum is None else rule.minimum
    high = CALENDAR.end if rule.maximum is None else rule.maximum + 1
    return Interval(low, high)


def usable_times(times: pa.Array, schema: StreamSchema) -> pa.BooleanArray:
    """Return whether each time is allowed for an event; NULL for NULL.

    A number counts as a mix-up of units, and is not usable, if it means 1970 in its own unit and
    one of the years 1971 to 2399 in a coarser one. A schema that gives `plausible.min`, or accepts
    all times, allows such numbers.
    """
    possible = possible_times(schema)
    inside = pc.and_(pc.greater_equal(times, possible.start), pc.less(times, possible.end))
    for mixed in _mixed_up(schema):
        is_mixed = pc.and_(pc.greater_equal(times, mixed.start), pc.less(times, mixed.end))
        inside = pc.and_not(inside, is_mixed)
    return inside


def _mixed_up(schema: StreamSchema) -> Iterator[Interval]:
    """Return which times would be likely if their numbers were in a coarser unit."""
    rule, unit = schema.plausible, schema.time_unit
    if unit is TimeUnit.ISO or rule.otherwise is Otherwise.ACCEPT or rule.minimum is not None:
        return
    for coarser, length in NUMBER_LENGTHS.items():
        ratio = length // NUMBER_LENGTHS[unit]
        if coarser.is_calendar and unit.is_calendar and ratio > 1:
            yield Interval(LIKELY.start // ratio, LIKELY.end // ratio)


def time_faults(times: pa.Array, schema: StreamSchema) -> Iterator[tuple[int, Fault]]:
    """Yield each time that no event may have, as (index, fault)."""
    least, most = pc.min_max(times).as_py().values()
    possible = possible_times(schema)
    # One pass suffices for nearly all columns: mix-ups of units are times of 1970.
    start = max([possible.start, *(mixed.end for mixed in _mixed_up(schema))])
    if least is None or (least >= start and most < possible.end):
        return
    unusable = pc.fill_null(pc.invert(usable_times(times, schema)), False)
    for index in np.flatnonzero(unusable.to_numpy(zero_copy_only=False)).tolist():
        yield index, _time_fault(times[index].as_py(), schema)


def _time_fault(time: int, schema: StreamSchema) -> Fault:
    unit = schema.time_unit
    if not unit.is_calendar:
        return Fault(Reason.TIME_OUT_OF_RANGE, f"{time} is not in {ticks_text(TICKS)}")
    text, doubt = format_instant(time), ""
    if unit is not TimeUnit.ISO:
        length = NUMBER_LENGTHS[unit]
        number = time / length if time % length else time // length
        text, doubt = f"{number} in {unit}", doubt_of_unit(number)
    if not CALENDAR.contains(time):
        text = "the time" if unit is TimeUnit.ISO else f"the time in {unit}"
        return Fault(Reason.TIME_OUT_OF_RANGE, f"{text} is not in the years 1 to 9999{doubt}")
    if any(mixed.contains(time) for mixed in _mixed_up(schema)):
        accept = "if it is really in 1970, add plausible: {min: 1970-01-01}"
        problem = f"{text} is {format_instant(time)}{doubt}; {accept}"
        return Fault(Reason.TIME_OUT_OF_RANGE, problem)
    return Fault(Reason.IMPLAUSIBLE_TIME, f"{format_instant(time)} {_beyond(time, schema)}")


def _beyond(time: int, schema: StreamSchema) -> str:
    """Return the limit of the schema that a time exceeds."""
    rule = schema.plausible
    if rule.minimum is not None and time < rule.minimum:
        return f"is before {_short(rule.minimum)} (time.plausible.min)"
    assert rule.maximum is not None, "a time beyond no limit is plausible"
    return f"is after {_short(rule.maximum)} (time.plausible.max)"


def _short(time: int) -> str:
    text = format_instant(time)
    return text.replace(".000000Z", "Z")


# ---- the times of files


class OddTimes(NamedTuple):
    """Suspicious times among events."""

    rows: _Mask  #: which events have a suspicious time
    faults: dict[int, Fault]  #: by row, for quarantine
    warnings: tuple[str, ...]  #: one line per file, or limit


def odd_times(events: pa.Table, schema: StreamSchema) -> OddTimes:
    """Return suspicious times of events, by the rule `time.plausible` of the schema.

    Args:
        events: columns of `decoded_schema`.
        schema: the stream; one of integer times has no suspicious ones.

    Returns:
        Events beyond `min` or `max`; events that are far from the others of their file: sorted
        times are split at each gap longer than `within`, and every part but the largest (the
        latest of equally large ones) is suspicious if it is a single event, or a fifth of the
        file's events or less. And a warning if all times are numbers of 1970.
    """
    rule = schema.plausible
    odd = OddTimes(np.zeros(len(events), np.bool_), {}, ())
    if not schema.time_unit.is_calendar or rule.otherwise is Otherwise.ACCEPT or not len(events):
        return odd
    limits, warnings = _limits(schema), list[str]()
    # Most files need no look at single times.
    first, last = pc.min_max(events[TIME_COLUMN]).as_py().values()
    if not (limits.contains(first) and limits.contains(last)):
        times = events[TIME_COLUMN].to_numpy()
        beyond = np.flatnonzero((times < limits.start) | (times >= limits.end))
        for row in beyond.tolist():
            text = f"{_short(int(times[row]))} {_beyond(int(times[row]), schema)}"
            odd.faults[row] = Fault(Reason.IMPLAUSIBLE_TIME, text)
        warnings.append(_warning(events, beyond, odd.faults, "events beyond the limits"))
    if rule.within is not None and last - first > rule.within:
        times = events[TIME_COLUMN].to_numpy()
        warnings += _far(events, times, rule.within, odd.faults)
    odd.rows[list(odd.faults)] = True
    is_number = schema.time_unit is not TimeUnit.ISO
    if is_number and rule.minimum is None and first >= 0 and last < LIKELY.start:
        warnings.append(
            f"all times are in 1970: check time.unit: {schema.time_unit}, or accept them with "
            "time.plausible: {min: 1970-01-01}"
        )
    return odd._replace(warnings=tuple(f"{warning} ({_HINT})" for warning in warnings))


def _far(
    events: pa.Table, times: npt.NDArray[np.int64], within: int, faults: dict[int, Fault]
) -> Iterator[str]:
    """Add the faults of events that are far from the others of their file; a warning per file."""
    files = events["file"].combine_chunks().dictionary_encode()
    codes = files.indices.to_numpy()
    order = np.lexsort((times, codes))
    borders = np.searchsorted(codes[order], np.arange(1, len(files.dictionary)))
    for rows in np.split(order, borders):
        far = _far_from_others(times[rows], within)
        if not far.any():
            continue
        others = times[rows[~far]]
        others_of = f"the other {len(others)} event{'s' * (len(others) > 1)} of its file"
        gaps = _distances(times[rows[far]], others)
        for row, gap in zip(rows[far].tolist(), gaps.tolist(), strict=True):
            apart = f"{gap // _YEAR:.0f} years" if gap >= 2 * _YEAR else f"{gap // DAY} days"
            text = f"{_short(int(times[row]))} is {apart} from {others_of}"
            faults[row] = Fault(Reason.IMPLAUSIBLE_TIME, text)
        name = files.dictionary[int(codes[rows[0]])].as_py()
        yield _warning(events, rows[far], faults, f"events of {name} far from the others")


def _distances(
    times: npt.NDArray[np.int64], others: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return how far each time is from the nearest of some others, which ascend."""
    after = np.searchsorted(others, times)
    nearest_before = others[np.maximum(after - 1, 0)]
    nearest_after = others[np.minimum(after, len(others) - 1)]
    return np.minimum(np.abs(times - nearest_before), np.abs(times - nearest_after))


def _warning(
    events: pa.Table, rows: npt.NDArray[np.int64], faults: dict[int, Fault], what: str
) -> str:
    """Return a line about some events, with the first events by file and position."""
    places = events.select(["file", "record_number"]).take(pa.array(rows[:_NAMED])).to_pylist()
    named = [
        f"{place['file']}:{place['record_number']}: {faults[int(row)].text}"
        for place, row in zip(places, rows[:_NAMED], strict=True)
    ]
    if len(rows) == 1:
        return named[0]
    more = [f"{len(rows) - _NAMED} more"] * (len(rows) > _NAMED)
    return f"{len(rows)} {what}: {'; '.join([*named, *more])}"


def _far_from_others(ordered: npt.NDArray[np.int64], within: int) -> _Mask:
    """Return which times, in ascending order, are in small parts beyond a gap."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(ordered) > within]))
    sizes = np.diff(np.append(starts, len(ordered)))
    main = len(sizes) - 1 - int(np.argmax(sizes[::-1]))
    small = (sizes == 1) | (sizes <= _SMALL_SHARE * len(ordered))
    small[main] = False
    return np.repeat(small, sizes)
