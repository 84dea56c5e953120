"""Random streams: matches of the pattern planted among other events; ties, NULL, odd values."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from elsinore.catalog.stream import ORDER, Attribute, AttributeType, StreamSchema
from elsinore.query.syntax import (
    Conjunction,
    Disjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Maybe,
    Negation,
    Pattern,
    Quantified,
    Sequence,
)
from tests.golden_cases import stream_schema
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.shape import CONTIGUOUS_KEYS, TYPES, Shape, negations

SCHEMA = stream_schema(TYPES)
CALENDAR = stream_schema(TYPES, "us")


def _ordered(schema: StreamSchema) -> StreamSchema:
    """The same stream, with an order of events with equal times."""
    order = Attribute(ORDER, AttributeType.LONG, field="seq")
    types = tuple(replace(kind, attributes=(*kind.attributes, order)) for kind in schema.types)
    return replace(schema, types=types, then_field="seq")


#: By a schema, the same with an order of events with equal times.
ORDERED = {SCHEMA: _ordered(SCHEMA), CALENDAR: _ordered(CALENDAR)}
#: Constructs of an order: events at one time that it parts, and some that still tie.
THEN, THEN_TIES = "then", "then with ties"

#: Values that let most events fit together; the last two of `x` and `y` are rare.
VALUES: dict[str, tuple[Any, ...]] = {
    "k": (1, 1, 1, 1, 1, 2, None),
    "g": ("p", "p", "p", "p", "q", "", None),
    "x": (0, 1, 1, 2, 2, 3, -1, None, 2**62, -(2**63)),
    "y": (-1.5, 0.0, 0.5, 0.5, 1.0, 2.0, -0.0, None, float("nan"), float("inf")),
    "s": ("u", "v", "v", "w", "", None),
    "t": (0, 5, 5, 1_000_000, None),
    "f": (True, True, False, None),
}

#: Of keys under `contiguous`: more events of several partitions between others, or of none.
_SEVERAL: dict[str, tuple[Any, ...]] = {
    "k": (1, 1, 1, 2, 2, None),
    "g": ("p", "p", "p", "q", "q", None),
}

Event = tuple[str, int, dict[str, Any]]

#: The first and the last integer time that an event may have.
FIRST_TIME, LAST_TIME = -(2**62), 2**62 - 1


def draw_events(dice: Dice, shape: Shape, within: int) -> list[Event]:
    """About 5 to 12 events in any order; sometimes none."""
    if dice.number(1, 60) == 1:
        return []
    start = -within // 2 - 3 if dice.chance(0.12, "before epoch") else dice.pick((0, 0, 1, 1_000))
    spread = min(within, 12)
    types = [leaf.type for leaf in shape.every]
    planted = _planted(dice, shape.pattern, start, spread)
    noise = dice.pick((0, 1, 2, 3, 4, 5))
    for _ in range(max(0, min(noise, 11 - len(planted)))):
        inside = 0.5 if dice.aims("contiguous with types outside the pattern") else 0.85
        kind = _one_of(dice, dice.pick(types)) if dice.chance(inside) else dice.pick("ABCDN")
        planted.append((kind, start + dice.number(0, spread + 3)))
    if dice.chance(0.3, "ties") and len(planted) > 1:
        planted.append((_one_of(dice, dice.pick(types)), dice.pick(planted)[1]))
    if dice.aims("extreme times"):
        planted = _at_the_end(dice, planted)
    plain = dice.chance(0.8)  # most streams have neither NaN nor giants
    return [(kind, time, draw_attributes(dice, kind, plain)) for kind, time in planted]


def _at_the_end(dice: Dice, planted: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The same as late or as early as times may be, or a little less."""
    times = [time for _, time in planted] or [0]
    ends = FIRST_TIME - min(times), LAST_TIME - max(times)
    shift = dice.pick((ends[0], ends[0] + dice.number(0, 5), ends[1], ends[1] - dice.number(0, 5)))
    return [(kind, time + shift) for kind, time in planted]


def _planted(dice: Dice, pattern: Pattern, start: int, spread: int) -> list[tuple[str, int]]:
    """Words of the pattern, and of what it forbids, each at increasing times."""
    words = [_word(dice, side) for side in _sides(pattern)]
    if dice.chance(0.35):
        words.append(_word(dice, dice.pick(_sides(pattern))))
    forbidden = negations(pattern)
    if forbidden and dice.chance(0.65):
        words.append(_word(dice, dice.pick(forbidden).body))
    placed: list[tuple[str, int]] = []
    for word in words:
        time = start + dice.number(0, max(0, spread - 2 * len(word)))
        for kind in word[:8]:
            placed.append((kind, time))
            time += dice.pick((1, 1, 2))
    return placed[:12]


def _sides(pattern: Pattern) -> tuple[Pattern, ...]:
    return pattern.parts if isinstance(pattern, Conjunction) else (pattern,)


def _word(dice: Dice, pattern: Pattern) -> list[str]:
    """Types of one match of the positive part of a pattern."""
    match pattern:
        case EventPattern(type=kind):
            return [_one_of(dice, kind)]
        case Sequence(parts):
            return [kind for part in parts for kind in _word(dice, part)]
        case Disjunction(parts) | Conjunction(parts):
            return _word(dice, dice.pick(parts))
        case Negation():
            return []
        case KleenePlus(body):
            times = dice.pick((1, 1, 2))
        case KleeneStar(body):
            times = dice.pick((0, 1, 2))
        case Maybe(body):
            times = dice.pick((0, 1))
        case Quantified(body, least, most):
            times = dice.pick((least, least, least + 1 if most is None else most))
    return [kind for _ in range(times) for kind in _word(dice, body)]


def _one_of(dice: Dice, kind: str) -> str:
    """One of the types of an ANY, or the type itself."""
    return dice.pick(kind.split("|")) if "|" in kind else kind


def draw_attributes(dice: Dice, kind: str, plain: bool) -> dict[str, Any]:
    """Values of an event's attributes; neither NaN nor giants in a plain stream."""
    drawn = {}
    for name in TYPES[kind]:
        several = dice.aims(*CONTIGUOUS_KEYS) and name in _SEVERAL
        choices = _SEVERAL[name] if several else VALUES[name]
        drawn[name] = dice.pick(choices[:-2] if plain and name in "xy" else choices)
    return drawn


def with_order(dice: Dice, rows: list[Event]) -> list[Event]:
    """The events at fewer times, with numbers that order events with equal times, or most."""
    most = dice.pick((1, 2, 20)) if dice.chance(0.5, THEN_TIES) else 10**6
    joined = dice.pick((1, 2, 3))
    return [
        (kind, time - time % joined, values | {ORDER: dice.number(-most, most)})
        for kind, time, values in rows
    ]


def order_in(rows: tuple[Event, ...]) -> set[str]:
    """Which constructs of an order a stream holds."""
    places = Counter((time, values[ORDER]) for _, time, values in rows if ORDER in values)
    times = Counter(time for time, _ in places)
    found = {THEN} if any(number > 1 for number in times.values()) else set()
    return found | ({THEN_TIES} if found and max(places.values()) > 1 else set())
