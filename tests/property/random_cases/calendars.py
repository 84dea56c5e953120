"""Random windows and periods of a calendar, near changes of the clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from elsinore.query import syntax
from elsinore.query.bound import BoundQuery
from elsinore.timeline import DAY, EPOCH, HOUR, MAX_INSTANT, MIN_INSTANT, MINUTE, instant_of
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.streams import Event

DAYS, WEEKS, MONTHS = "calendar days", "calendar weeks", "calendar months"
_SLIDING, _OFFSET = "sliding calendar windows", "calendar windows with OFFSET"
_PERIODS = "span with calendar periods"
_CHANGE = "change of the clock"
_TOGETHER = (
    "NOT between", "NOT leading", "next-match", "contiguous", "edge predicate", "EACH", "DURATION",
)  # fmt: skip
_WITH = "calendar with "
#: Constructs of this module.
OF_CALENDARS = (
    DAYS, WEEKS, MONTHS, _SLIDING, _OFFSET, _PERIODS, _CHANGE,
    *(_WITH + name for name in _TOGETHER),
)  # fmt: skip

#: Times near a change of the clock, in UTC, by zone. Apia skipped a day, Sao Paulo and Havana
#: skipped midnight, Lord Howe changes by half an hour, and Juneau repeated a day.
CHANGES = {
    "America/New_York": ("2024-03-10T07:00", "2024-11-03T06:00"),
    "Europe/Berlin": ("2024-03-31T01:00", "2024-10-27T01:00"),
    "Australia/Lord_Howe": ("2024-04-06T15:00", "2024-10-05T15:30"),
    "Pacific/Apia": ("2011-12-30T10:00",),
    "America/Sao_Paulo": ("2018-11-04T03:00", "2018-02-18T02:00"),
    "America/Havana": ("2024-11-03T05:00", "2024-03-10T05:00"),
    "America/Juneau": ("1867-10-19T08:57:41",),
    "UTC": ("2024-03-01T00:00", "1970-01-01T00:00"),
}
_SIZES = {
    "day": ((1, None), (1, None), (2, (1, "day")), (3, (2, "day")), (3, (1, "day"))),
    "week": ((1, None), (2, None), (1, (1, "day")), (2, (1, "week")), (1, (3, "day"))),
    "month": ((1, None), (2, (1, "month")), (3, (2, "month"))),
    "quarter": ((1, None), (1, (1, "month")), (2, (1, "quarter"))),
    "year": ((1, None), (1, (1, "quarter")), (1, (5, "month"))),
}
_STEPS = {
    "day": (30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 25 * HOUR),
    "week": (6 * HOUR, 12 * HOUR, DAY, 2 * DAY),
    "month": (12 * HOUR, DAY, 3 * DAY, 5 * DAY, 10 * DAY),
    "quarter": (DAY, 10 * DAY, 30 * DAY),
    "year": (DAY, 30 * DAY, 61 * DAY),
}
_OFFSETS = (
    (1, "hour"), (6, "hours"), (150, "minutes"), (2, "hours"), (23, "hours"), (0, "minutes"),
)  # fmt: skip


def beside_calendar(aim: str) -> str:
    """Return the construct that a case aims at in addition to a calendar, or its aim."""
    return aim.removeprefix(_WITH)


@dataclass(frozen=True)
class Moved:
    """Times of a random stream, moved to a change of the clock."""

    change: int
    step: int
    before: int

    def events(self, rows: list[Event]) -> list[Event]:
        """Return events whose times are units of a step."""
        first = min((time for _, time, _ in rows), default=0) + self.before
        return [(kind, self.change + (time - first) * self.step, own) for kind, time, own in rows]


def with_calendar(dice: Dice, query: syntax.Query) -> tuple[syntax.Query, Moved | None]:
    """Return the query with windows or periods of a calendar; one in fifteen has them."""
    if not dice.chance(0.07, *OF_CALENDARS):
        return query, None
    aimed = {DAYS: "day", WEEKS: "week", MONTHS: "month"}.get(dice.aim or "")
    unit = aimed or dice.pick(("day", "day", "day", "week", "week", "month", "quarter", "year"))
    zone = dice.pick([*CHANGES])
    sizes = [each for each in _SIZES[unit] if each[1] or not dice.aims(_SLIDING)]
    amount, slide = dice.pick(sizes)
    within = syntax.Duration(amount, unit if amount == 1 else f"{unit}s")
    step = dice.pick(_STEPS[unit])
    offset = None
    if dice.chance(0.3, _OFFSET):
        offset = syntax.Duration(*dice.pick(_OFFSETS))
        if unit in ("quarter", "year") and slide is None and dice.chance(0.5):
            offset = syntax.Duration(1, "month")
    moment = datetime.fromisoformat(dice.pick(CHANGES[zone])).replace(tzinfo=UTC)
    jitter = dice.pick((0, 0, 0, -1, 17 * MINUTE, 12 * HOUR, DAY - 30 * MINUTE))
    moved = Moved(instant_of(moment) + jitter, step, dice.number(0, 12))
    written = syntax.Zone(zone)
    is_utc = zone == "UTC" and unit != "day" and dice.chance(0.5)
    query = replace(query, offset=offset, zone=None if is_utc else written)
    span = query.span
    if span is not None:
        assert isinstance(span.length, syntax.Duration)
        length = syntax.Duration(min(int(span.length.amount), 60) * step // MINUTE, "minutes")
        return replace(query, span=replace(span, length=length, period=within)), moved
    written_slide = syntax.Duration(*slide) if slide else None
    return replace(query, within=within, slide=written_slide), moved


def calendars_in(query: BoundQuery, rows: tuple[Event, ...], others: set[str]) -> set[str]:
    """What a query with windows of a calendar has, given all other constructs."""
    source, window = query.source, query.window
    step = source.span.period if source.span else source.within
    if not isinstance(step, syntax.Duration) or step.unit is None:
        return set()
    unit = step.unit.removesuffix("s")
    if unit not in _SIZES or (unit == "day" and source.zone is None):
        return set()
    kind = {"day": DAYS, "week": WEEKS}.get(unit, MONTHS)
    found = {kind} | {_WITH + name for name in others & set(_TOGETHER)}
    found |= {_SLIDING} if window.slide < window.within else set()
    found |= {_OFFSET} if source.offset else set()
    found |= {_PERIODS} if window.span else set()
    zone = ZoneInfo(source.zone.name if source.zone else "UTC")
    times = [time for _, time, _ in rows if MIN_INSTANT <= time <= MAX_INSTANT]
    moments = (EPOCH + timedelta(microseconds=time) for time in times)
    offsets = {moment.astimezone(zone).utcoffset() for moment in moments}
    return found | ({_CHANGE} if len(offsets) > 1 else set())
