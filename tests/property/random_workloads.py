"""Random workloads of fixed-length queries with sub-patterns in common, their streams and plans."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.sharing.candidates import Segment, mine_candidates
from tests.property.random_cases import SCHEMA
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.signed import with_signed
from tests.property.random_cases.streams import TYPES

Event = tuple[str, int, dict[str, Any]]

_PREDICATES = ("{p}.x >= 0", "{p}.x < 2", "{p}.x IS NOT NULL", "{p}.x % 2 = 1", "1 <= {p}.x")
_WINDOWS = ("WITHIN 100", "WITHIN 12", "WITHIN 12 SLIDE 4", "WITHIN 10 SLIDE 3", "WITHIN 5 SLIDE 8")
_KEYS = (
    *("", "", "[k]", "[g]", "[k, g]", "GROUP k", "GROUP g", "[k] GROUP g", "[FIRST.k]"),
    *("GROUP FIRST.k, LAST.k", "[k] GROUP LAST.k", "[FIRST.k] GROUP LAST.k"),
)
_VALUES: dict[str, tuple[Any, ...]] = {
    "k": (1, 1, 1, 1, 2, None),
    "g": ("p", "p", "p", "q", None),
    "x": (0, 1, 1, 2, 3, -1, None, 2**62, -(2**63)),
    "y": (-1.5, 0.0, 0.5, 0.5, 1.0, 2.0, -0.0, None, float("nan"), float("inf")),
    "s": ("u", "v", None),
    "t": (0, 5, 1_000_000, None),
    "f": (True, False, None),
}


@dataclass(frozen=True)
class RandomWorkload:
    """A workload with events in an order of no meaning; `random_workload(name)` draws it again."""

    name: str
    workload: Workload
    rows: tuple[Event, ...]

    @cached_property
    def events(self) -> EventTable:
        """The rows as a table."""
        return EventTable.of(self.workload.schema, self.rows)

    def plans(self, number: int) -> list[list[list[Segment]]]:
        """Random valid plans: no position of a query is shared twice, two queries share or more."""
        dice = Dice(f"plans of {self.name}")
        return [_draw_plan(dice, self.workload) for _ in range(number)]


def random_workload(name: str | int) -> RandomWorkload:
    """The workload of a name; the same on every machine."""
    dice = Dice(f"workload {name}")
    while True:
        text = _draw_text(dice)
        try:
            workload = bind_workload(parse_workload(text), SCHEMA)
        except QueryError:  # say, a key that no type of a pattern carries
            continue
        rows = with_signed(Dice(f"signed doubles of {name}"), _draw_events(dice, workload))
        return RandomWorkload(str(name), workload, tuple(rows))


def _draw_text(dice: Dice) -> str:
    alphabet = dice.pick(("ABCD", "ABC", "ABC", "AB", "AB", "ABCDN"))
    base = [dice.pick(alphabet) for _ in range(dice.number(3, 5))]
    common = {kind: dice.pick(_PREDICATES) for kind in alphabet if dice.chance(0.3)}
    keys, window = dice.pick(_KEYS), dice.pick(_WINDOWS)
    queries = []
    for number in range(dice.number(2, 8)):
        types = _draw_types(dice, base, alphabet)
        own = dict(common)
        if dice.chance(0.2):
            own[dice.pick(alphabet)] = dice.pick(_PREDICATES)
        mine = dice.pick(_KEYS) if dice.chance(0.2) else keys
        clause = dice.pick(_WINDOWS) if dice.chance(0.25) else window
        queries.append(_query_text(dice, number, types, own, mine, clause))
    return "\n".join(queries)


def _draw_types(dice: Dice, base: list[str], alphabet: str) -> list[str]:
    start = dice.number(0, len(base) - 2)
    middle = base[start : dice.number(start + 2, len(base))]
    prefix = [dice.pick(alphabet) for _ in range(dice.pick((0, 0, 1, 2)))]
    suffix = [dice.pick(alphabet) for _ in range(dice.pick((0, 0, 1, 2)))]
    return (prefix + middle + suffix)[:6]


def _query_text(
    dice: Dice, number: int, types: list[str], predicates: dict[str, str], keys: str, window: str
) -> str:
    names = [f"e{place}" for place in range(len(types))]
    pattern = ", ".join(f"{kind} {name}" for kind, name in zip(types, names, strict=True))
    carriers = [n for kind, n in zip(types, names, strict=True) if "k" in TYPES[kind]] or names
    keys = keys.replace("FIRST", carriers[0]).replace("LAST", carriers[-1])
    equivalence, _, group = keys.partition("GROUP")
    where = [
        predicates[k].format(p=n) for k, n in zip(types, names, strict=True) if k in predicates
    ]
    if equivalence.strip():
        where.append(equivalence.strip())
    returns = ["COUNT(*)"] if dice.chance(0.9) else []
    for _ in range(dice.pick((0, 0, 1, 2, 3)) if returns else 1):
        item = _draw_aggregate(dice, types, names)
        returns += [] if item in returns else [item]
    return (
        f"QUERY q{number} RETURN {', '.join(returns)} PATTERN SEQ({pattern})"
        + (f" WHERE {' AND '.join(where)}" if where else "")
        + (f" GROUP-BY {group.strip()}" if group else "")
        + f" {window};"
    )


def _draw_aggregate(dice: Dice, types: list[str], names: list[str]) -> str:
    place = dice.number(0, len(types) - 1)
    target = types[place] if dice.chance(0.3) else names[place]
    function = dice.pick(("COUNT", "SUM", "AVG", "MIN", "MAX"))
    if function == "COUNT":
        return f"COUNT({target})"
    carried = [name for name in "xy" if name in TYPES[types[place]]]
    if function in ("MIN", "MAX"):
        carried.append("time")
    return f"{function}({target}.{dice.pick(carried)})"


def _draw_events(dice: Dice, workload: Workload) -> list[Event]:
    spread = dice.pick((12, 25, 40))
    start = dice.pick((0, -7, 1_000))
    plain = dice.chance(0.8)
    found = []
    for _ in range(dice.number(6, 26)):
        kind = dice.pick("AABBCCDDN")
        values = {}
        for name in TYPES[kind]:
            choices = _VALUES[name]
            values[name] = dice.pick(choices[:-2] if plain and name in "xy" else choices)
        found.append((kind, start + dice.number(0, spread), values))
    for _ in range(dice.number(0, 3)):  # a match, if the predicates let it pass
        time = start
        for position in dice.pick(workload.queries).positions:
            friendly = {name: _VALUES[name][0] for name in TYPES[position.type]} | {"x": 1}
            found.append((position.type, time, friendly))
            time += dice.pick((1, 1, 2))
    if dice.chance(0.3):  # bursts: long runs of one type
        found.sort(key=lambda event: (event[0], event[1]))
        found = [(kind, start + n // 2, v) for n, (kind, _, v) in enumerate(found)]
    return found


def _draw_plan(dice: Dice, workload: Workload) -> list[list[Segment]]:
    candidates = list(mine_candidates(workload))
    dice.shuffle(candidates)
    taken: set[tuple[str, int]] = set()
    plan = []
    for candidate in candidates:
        free = [
            place
            for place in candidate.occurrences
            if not taken & {(place.query, p) for p in range(place.start, place.stop)}
        ]
        some = [place for place in free if dice.chance(0.85)]
        if len(some) > 1 and dice.chance(0.8):
            plan.append(some)
            taken |= {(place.query, p) for place in some for p in range(place.start, place.stop)}
    return plan
