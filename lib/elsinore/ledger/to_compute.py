"""The hours that a run has to compute or recompute, each with its reason in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from elsinore.ledger.fold import Fold, is_in, lookup, reached
from elsinore.ledger.inputs import arrived
from elsinore.ledger.results import (
    failed_unchanged,
    lost,
    provisional,
    provisional_rows,
    published,
    stale,
    unpublished,
    unsettled,
    waiting,
)
from elsinore.ledger.rows import Longs, State, hours_from, hours_in
from elsinore.timeline import HOUR, Interval, hour_label, stretches
from elsinore.wording import plural, some_of

_NONE: Longs = np.array([], np.int64)

#: Characters of the reason of a failure.
_SHOWN = 120


class Why(StrEnum):
    """Reasons to compute an hour; if several apply, the first one."""

    UNPUBLISHED = "unpublished"  #: it has inputs, and was not published
    UNSETTLED = "unsettled"  #: its published rows are not the recorded ones
    WAITING = "waiting"  #: it is provisional, and a missing input has arrived
    STALE = "stale"  #: events of its windows changed
    OTHER_QUERIES = "other_queries"  #: it was published for other queries
    PROVISIONAL = "provisional"  #: it is provisional, and its missing inputs are still missing
    REQUESTED = "requested"  #: the run was asked for it, and its inputs are unchanged


class Planned(NamedTuple):
    """An hour to compute."""

    hour: int  #: its first instant, in microseconds
    why: Why
    text: str  #: the reason, in words
    #: when it last failed with the same inputs, in microseconds since 1970; None if it has not
    failed_at: int | None = None


@dataclass(frozen=True, kw_only=True)
class Question:
    """Parameters of `to_compute`.

    Attributes:
        reach: how many hours before their own the windows of the workload reach.
        until: end of the hours that could have been published, a whole hour.
        since: start of the hours that are looked for if they are not published; see `unpublished`.
        fingerprint: fingerprint of the workload. Hours that were published for other queries stay
            as they are; None: they are recomputed, too.
        own: hours that the run computes anyway, which are left out.
        now: current time in microseconds since 1970; see `unpublished`.
        changed: hours whose published results changed, ascending, with the version of `results`
            that changed each; see `unsettled`.
    """

    reach: int
    until: int
    since: int
    fingerprint: str | None = None
    own: Interval | None = None
    now: int | None = None
    changed: tuple[Longs, Longs] = (_NONE, _NONE)


def to_compute(state: Fold, ask: Question) -> list[Planned]:
    """Return the hours to compute, in the order in which they should be computed.

    Hours that failed before with the same inputs come last, so that they keep no other hour from
    being published. Among them, the hour that has waited longest since its last attempt comes
    first. Hours whose events were removed (`lost`) are left out.
    """
    found = _reasons(state, ask)
    hours = np.array(sorted(found), np.int64)
    hours = np.setdiff1d(hours, lost(state, hours, ask.reach))
    if ask.own is not None:
        hours = hours[(hours < ask.own.start) | (hours >= ask.own.end)]
    failed, is_same = state.failed, failed_unchanged(state, ask.reach)
    failing = failed.last.hours[is_same]
    times = lookup(failing, failed.last.longs("time")[is_same], hours)
    texts = _Texts(state, ask)
    planned = [
        Planned(hour, found[hour], texts.of(hour, found[hour]), at if at >= 0 else None)
        for hour, at in zip(hours.tolist(), times.tolist(), strict=True)
    ]
    return _in_order(planned)


def requested(state: Fold, ask: Question) -> list[Planned]:
    """Return the hours that a run was asked for, ascending, each with the best reason.

    The run computes them with or without one of the reasons of `to_compute`. Hours whose events
    were removed (`lost`) are left out.
    """
    if ask.own is None:
        return []
    reasons = _reasons(state, ask)
    hours = hours_in(ask.own)
    hours = np.setdiff1d(hours, lost(state, hours, ask.reach))
    others: dict[Why, Longs] = {
        Why.UNPUBLISHED: np.setdiff1d(hours, published(state).hours),
        Why.OTHER_QUERIES: np.setdiff1d(hours, published(state, ask.fingerprint).hours),
        Why.PROVISIONAL: provisional(state),
        Why.REQUESTED: hours,
    }
    for why, found in others.items():  # the first reason stays
        reasons = dict.fromkeys(found.tolist(), why) | reasons
    texts = _Texts(state, ask)
    return [Planned(hour, reasons[hour], texts.of(hour, reasons[hour])) for hour in hours.tolist()]


def merge(planned: Iterable[Sequence[Planned]]) -> list[Planned]:
    """Return the hours to compute for any of several workloads, in order, each hour once.

    An hour that failed for one workload and is new for another counts as new.
    """
    found: dict[int, Planned] = {}
    for one in sorted(chain.from_iterable(planned), key=_rank):
        found.setdefault(one.hour, one)
    return _in_order(found.values())


def _in_order(planned: Iterable[Planned]) -> list[Planned]:
    return sorted(planned, key=_rank)


def _rank(one: Planned) -> tuple[int, int]:
    return -1 if one.failed_at is None else one.failed_at, one.hour


def lost_hours(state: Fold, ask: Question) -> Longs:
    """Return the hours that `to_compute` leaves out because their events were removed."""
    return lost(state, np.array(sorted(_reasons(state, ask)), np.int64), ask.reach)


def _reasons(state: Fold, ask: Question) -> dict[int, Why]:
    own = published(state, ask.fingerprint).hours
    by_reason = {
        Why.UNPUBLISHED: unpublished(state, ask.reach, ask.until, since=ask.since, now=ask.now),
        Why.UNSETTLED: np.intersect1d(unsettled(state, *ask.changed), own),
        Why.WAITING: np.intersect1d(waiting(state), own),
        Why.STALE: stale(state, ask.reach, fingerprint=ask.fingerprint),
    }
    found: dict[int, Why] = {}
    for why in reversed(by_reason):
        found |= dict.fromkeys(by_reason[why].tolist(), why)
    return found


class _Texts:
    """The reasons in words."""

    def __init__(self, state: Fold, ask: Question) -> None:
        self._state, self._ask = state, ask
        self._changed = state[State.REFRESHED]
        self._versions = self._changed.longs("events_version")
        self._done = state[State.PUBLISHED]
        inputs, last = provisional_rows(state), state.failed.last
        lists = inputs.rows["missing_inputs"].combine_chunks()
        awaited = hours_from(pc.list_flatten(lists))
        came = is_in(arrived(state), awaited)
        waiting_hours = inputs.hours[np.asarray(pc.list_parent_indices(lists))]
        self._arrived = waiting_hours[came], awaited[came]
        self._absent = waiting_hours[~came], awaited[~came]
        self._place_of_failure = {hour: at for at, hour in enumerate(last.hours.tolist())}

    def of(self, hour: int, why: Why) -> str:
        """Return the reason of an hour, and its failures."""
        text = {
            Why.UNPUBLISHED: self._unpublished, Why.UNSETTLED: self._unsettled,
            Why.WAITING: self._waiting, Why.STALE: self._stale,
            Why.OTHER_QUERIES: self._other_queries, Why.PROVISIONAL: self._provisional,
            Why.REQUESTED: self._requested,
        }[why](hour)  # fmt: skip
        at, failed = self._place_of_failure.get(hour), self._state.failed
        if at is None:
            return text
        row = {name: failed.last.rows[name][at].as_py() for name in ("step", "reason")}
        tries = int(failed.tries[at])
        times = "once" if tries == 1 else f"{tries:,} times"
        reason = " ".join((row["reason"] or "no reason recorded").split())[:_SHOWN]
        return f"{text}; failed {times}, last in {row['step']}: {reason}"

    def _unpublished(self, _hour: int) -> str:
        return "not published yet"

    def _unsettled(self, _hour: int) -> str:
        return "its published rows changed after their publication was recorded"

    def _waiting(self, hour: int) -> str:
        return f"files arrived for {_inputs_of(hour, *self._arrived)}"

    def _provisional(self, hour: int) -> str:
        return f"provisional; no file arrived for {_inputs_of(hour, *self._absent)}"

    def _other_queries(self, _hour: int) -> str:
        return "published for other queries of the workload"

    def _requested(self, _hour: int) -> str:
        return "requested; its inputs are unchanged"

    def _stale(self, hour: int) -> str:
        starts, ends = reached(self._changed.hours, np.array([hour]), self._ask.reach)
        at = np.arange(starts[0], ends[0])
        version = lookup(self._done.hours, self._done.longs("events_version"), np.array([hour]))[0]
        newer = self._changed.hours[at[self._versions[at] > version]]
        return f"events of {named(newer)} changed"


def _inputs_of(hour: int, waiting_hours: Longs, inputs: Longs) -> str:
    """Return the inputs of an hour in words, from pairs of an hour and one of its inputs."""
    start, end = np.searchsorted(waiting_hours, [hour, hour + 1])
    return named(inputs[start:end])


def named(hours: Longs) -> str:
    """Return hours in words, for messages.

    >>> named(np.array([0, HOUR, 5 * HOUR]))
    '1970-01-01T00 to 1970-01-01T01, 1970-01-01T05'
    """
    parts = [
        hour_label(one.start)
        if one.length == HOUR
        else f"{hour_label(one.start)} to {hour_label(one.end - HOUR)}"
        for one in stretches(hours.tolist())
    ]
    return some_of(parts, 3)


class Chosen(NamedTuple):
    """The hours that a run computes in addition to its own."""

    taken: tuple[Interval, ...]  #: time ranges to compute separately, in this order
    hours: int  #: how many hours they have
    left: int  #: how many hours are too many for the run
    catch_up: tuple[Interval, ...]  #: the first range of these for the next run; empty if none


def choose(
    planned: Sequence[Planned], *, most: int, next_most: int, apart: Iterable[int] = ()
) -> Chosen:
    """Choose the hours that a run computes in addition to its own.

    The run takes the latest hours, and `catch_up` begins with the first of the others. Consecutive
    hours are one range; an hour that failed before is a range of its own, so that it can fail
    without the others.

    Args:
        planned: the result of `to_compute`.
        most: how many hours the run takes.
        next_most: how many hours `catch_up` takes.
        apart: hours at which a new range begins.
    """
    new = [one.hour for one in planned if one.failed_at is None]
    again = [one.hour for one in planned if one.failed_at is not None]
    # From the hour to take last to the hour to take first.
    order = [*reversed(again), *sorted(new)]
    cut = max(len(order) - most, 0)
    fresh, borders = set(new), set(apart)
    following = _ranges(order[:cut], fresh, borders)[:1]
    catch_up = tuple(
        Interval(one.start, min(one.end, one.start + next_most * HOUR)) for one in following
    )
    taken = _ranges(order[cut:], fresh, borders)
    return Chosen(tuple(taken), len(order) - cut, cut, catch_up)


def _ranges(hours: Sequence[int], new: set[int], borders: set[int]) -> list[Interval]:
    """Return new hours as ranges, in order, then each other hour, the last first."""
    found: list[Interval] = []
    for hour in sorted(hour for hour in hours if hour in new):
        if found and found[-1].end == hour and hour not in borders:
            found[-1] = Interval(found[-1].start, hour + HOUR)
        else:
            found.append(Interval(hour, hour + HOUR))
    return [*found, *(Interval(hour, hour + HOUR) for hour in reversed(hours) if hour not in new)]


def in_words(planned: Sequence[Planned]) -> list[str]:
    """Return a line per hour to compute, consecutive hours with equal reasons in one line.

    >>> in_words([Planned(hour * HOUR, Why.UNPUBLISHED, "not published yet") for hour in (0, 1)])
    ['1970-01-01T00 to 1970-01-01T01 (2 hours): not published yet']
    """
    groups: list[list[Planned]] = []
    for one in planned:
        last = groups[-1][-1] if groups else None
        if last is not None and one.hour == last.hour + HOUR and one.text == last.text:
            groups[-1].append(one)
        else:
            groups.append([one])
    lines = []
    for group in groups:
        hours = np.array([one.hour for one in group])
        count = f" ({len(group)} {plural('hour', len(group))})" if len(group) > 1 else ""
        lines.append(f"{named(hours)}{count}: {group[0].text}")
    return lines
