"""Random workloads: fixed lengths with common sub-patterns, Kleene types in common, and both."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from elsinore.errors import QueryError
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.given_values import given_in_mapping
from elsinore.query.load_workload import read_workload
from elsinore.query.print_query import print_query
from elsinore.query.segments import Segment
from elsinore.sharing.candidates import mine_candidates
from elsinore.template.support import greta_refusals
from tests.property.calendar_workloads import on_a_calendar
from tests.property.every_construct import every_construct, returning
from tests.property.random_cases import SCHEMA, RandomCase
from tests.property.random_cases.dice import Dice, Item
from tests.property.random_cases.shape import TYPES
from tests.property.random_cases.signed import with_signed
from tests.property.random_cases.streams import VALUES, Event, draw_attributes


def random_workload(name: str) -> RandomCase:
    """The case of a name, which is a kind and a number: several queries over one stream.

    `fixed:7` has queries of fixed length. In `short:7` and, with a long stream, `long:7` queries
    share a Kleene type; in `ordered:7` and `long ordered:7` besides all conditions on pairs are
    comparisons, and most queries can share order trees. `mixed:7` holds both, and `repeated:7` each
    query several times under other names, returning other things. `thresholds:7` has queries once
    per value of a list. `every:7` has queries of any constructs, each also with other values, and
    `returning:7` queries that share, with all kinds of values (`every_construct`). `calendar:7` has
    queries that share, with windows of a calendar (`calendar_workloads`).
    """
    kind, _, number = name.rpartition(":")
    if kind == "thresholds":
        return _thresholds(name, number)
    if kind == "fixed":
        return _fixed(name, number)
    if kind == "every":
        return every_construct(name, int(number))
    if kind == "calendar":
        return on_a_calendar(_mixed(name, number), name)
    if kind == "returning":
        return returning(_mixed(name, number), name)
    if kind in ("mixed", "repeated"):
        mixed = _mixed(name, number)
        return mixed if kind == "mixed" else _repeated(mixed)
    return _kleene(name)


def _mixed(name: str, number: str) -> RandomCase:
    """A sharable workload beside one of fixed length, whose queries are called f0, f1, ..."""
    kleene, fixed = random_workload(f"short:{number}"), random_workload(f"fixed:{number}")
    named = (
        replace(query, source=replace(query.source, name=f"f{n}"))
        for n, query in enumerate(fixed.workload.queries[:3])
    )
    queries = [*(q for q in kleene.workload.queries if not greta_refusals(q)), *named]
    Dice(f"order {number}").shuffle(queries)
    return RandomCase(name, Workload(SCHEMA, tuple(queries)), (*kleene.rows, *fixed.rows))


def _repeated(mixed: RandomCase) -> RandomCase:
    """Each query several times, under other names; one returns what another does, or COUNT(*)."""
    dice = Dice(mixed.name)
    texts = []
    for number, query in enumerate(mixed.workload.queries):
        for copy in range(dice.number(1, 3)):
            lines = print_query(query.source).split("\n")
            every = lines[1] if "COUNT(*)" in lines[1] else f"{lines[1]}, COUNT(*)"
            returned = dice.pick([lines[1], "RETURN COUNT(*)", every])
            texts += [f"QUERY r{9 - copy}_{number}", returned, *lines[2:]]
    return replace(mixed, workload=read_workload("\n".join(texts), SCHEMA))


# ---- queries of fixed length with sub-patterns in common
_PREDICATES = ("{p}.x >= 0", "{p}.x < 2", "{p}.x IS NOT NULL", "{p}.x % 2 = 1", "1 <= {p}.x")
_WINDOWS = ("WITHIN 100", "WITHIN 12", "WITHIN 12 SLIDE 4", "WITHIN 10 SLIDE 3", "WITHIN 5 SLIDE 8")
_KEYS = (
    *("", "", "[k]", "[g]", "[k, g]", "GROUP k", "GROUP g", "[k] GROUP g", "[FIRST.k]"),
    *("GROUP FIRST.k, LAST.k", "[k] GROUP LAST.k", "[FIRST.k] GROUP LAST.k"),
)


def _fixed(name: str, number: str) -> RandomCase:
    dice = Dice(f"workload {number}")
    while True:
        text = _draw_text(dice)
        try:
            workload = read_workload(text, SCHEMA)
        except QueryError:  # say, a key that no type of a pattern carries
            continue
        rows = with_signed(Dice(f"signed doubles of {number}"), _draw_stream(dice, workload))
        return RandomCase(name, workload, tuple(rows))


#: Patterns of a local condition on the first event, with types K and L.
_LISTED = (
    "SEQ(K e+, L)",
    "SEQ(L, K e+)",
    "SEQ(K e, L)",
    "K e+",
    "SEQ(K e, NOT L)",
    "(SEQ(K e, L))+",
)


def _some(dice: Dice, items: Sequence[Item], number: int) -> list[Item]:
    found = list(items)
    dice.shuffle(found)
    return found[:number]


def _thresholds(name: str, number: str) -> RandomCase:
    """Queries with conditions on single events, each once per value of one or two lists."""
    dice = Dice(f"thresholds {number}")
    window, key = dice.pick(_WINDOWS[:-1]), dice.pick(("", " AND [k]", " AND e.x < NEXT(e).x"))
    texts = ["PARAM least long; PARAM most long DEFAULT 9;"]
    for query in range(dice.number(1, 3)):
        kind, other = _some(dice, "AB", 2)
        pattern = dice.pick(_LISTED).replace("K", kind).replace("L", other)
        more = dice.pick((" AND e.x <= $most", ""))
        own = key if "NEXT" not in key or "e+" in pattern else ""
        items = ("COUNT(*)", "COUNT(e), SUM(e.x)", "COUNT(EACH e), MAX(e.x)")
        returned = dice.pick(items[:-1] if "NEXT" in own else items)
        texts.append(
            f"QUERY q{query} RETURN {returned} PATTERN {pattern} "
            f"WHERE e.x >= $least{more}{own} {window};"
        )
    params = {"least": _some(dice, (-3, -1, 0, 1, 2, 5), dice.number(2, 6))}
    params |= {"most": _some(dice, (1, 2, 3, 4), 2)} if dice.chance(0.4) else {}
    workload = read_workload("\n".join(texts), SCHEMA, given=given_in_mapping(params, str))
    return RandomCase(name, workload, tuple(_draw_stream(dice, workload)))


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
    return "\n".join(_with_offsets(queries))


def _with_offsets(queries: Sequence[str]) -> list[str]:
    """Return the queries of one in five workloads with an OFFSET each or none, else unchanged."""
    dice = Dice(f"offsets of {queries}")
    if not dice.chance(0.2):
        return list(queries)
    return [text.replace(";", dice.pick((";", " OFFSET 2;", " OFFSET 1;"))) for text in queries]


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
    function = dice.pick(("COUNT", "SUM", "AVG", "MIN", "MAX", "STDDEV", "VAR_POP"))
    if function == "COUNT":
        return f"COUNT({target})"
    carried = [name for name in "xy" if name in TYPES[types[place]]]
    if function in ("MIN", "MAX"):
        carried.append("time")
    return f"{function}({target}.{dice.pick(carried)})"


def _draw_stream(dice: Dice, workload: Workload) -> list[Event]:
    spread = dice.pick((12, 25, 40))
    start = dice.pick((0, -7, 1_000))
    plain = dice.chance(0.8)
    found = []
    for _ in range(dice.number(6, 26)):
        kind = dice.pick("AABBCCDDN")
        values = draw_attributes(dice, kind, plain)
        found.append((kind, start + dice.number(0, spread), values))
    for _ in range(dice.number(0, 3)):  # a match, if the predicates let it pass
        time = start
        for position in dice.pick(workload.queries).positions:
            friendly = {name: VALUES[name][0] for name in TYPES[position.type]} | {"x": 1}
            found.append((position.type, time, friendly))
            time += dice.pick((1, 1, 2))
    if dice.chance(0.3):  # bursts: long runs of one type
        found.sort(key=lambda event: (event[0], event[1]))
        found = [(kind, start + n // 2, v) for n, (kind, _, v) in enumerate(found)]
    return found


def random_plan(dice: Dice, queries: Sequence[BoundQuery]) -> list[list[Segment]]:
    """A valid plan: no position of a query is shared twice, two queries share or more."""
    candidates = list(mine_candidates(Workload(SCHEMA, tuple(queries))))
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


# ---- queries that share a Kleene type, with bursty streams
#: Patterns around the Kleene type K, beside types X and Y.
_PATTERNS = (
    *("K+", "K+", "SEQ(X, K+)", "SEQ(X, K+)", "SEQ(X, K+)", "SEQ(K+, X)", "SEQ(X, K+, Y)"),
    *("(SEQ(X, K+))+", "(SEQ(K+, X))+", "SEQ(X+, K+)", "SEQ(K+, X+, Y)", "SEQ(X OR Y, K+)"),
    *("SEQ(X, K+, Y)", "SEQ(K k1+, X, K k2)", "SEQ(K k1, X, K k2+)", "SEQ(X?, K+)", "(K OR X)+"),
    *("SEQ(K+, Y*)", "SEQ(K k1+, K k2)", "SEQ(X, Y, K+)", "(SEQ(X, (SEQ(K+, Y))+))+"),
    *("SEQ(X+, K+, Y+)", "SEQ(K k1+, K k2+)", "(SEQ(K+, X?))+"),
    *("K{2,}", "SEQ(X, K{2,})", "K{2,3}", "(SEQ(X, K+)){2}", "SEQ(K{3,}, X{,2})"),
)
#: What does not share, and runs beside.
_BESIDE = ("SEQ(K+, NOT X, Y)", "SEQ(NOT X, K+)", "SEQ(X, K+, NOT Y)", "SEQ(X, K)", "K+ AND X")
#: Ways to select that share nothing either.
_SEMANTICS = ("SEMANTICS contiguous", "SEMANTICS skip-till-next-match")

_LOCALS = ("K.x > 0", "K.x <= 2", "K.x >= 0", "K.y < 2 OR K.y IS NULL", "K.time % 2 = 0", "X.x < 3")
_EDGES = (
    *("K.x <= NEXT(K).x", "K.x <= NEXT(K).x", "K.x < NEXT(K).x", "K.y >= NEXT(K).y"),
    *("NEXT(K).time - K.time <= 3", "K.x + NEXT(K).x < 4", "X.x <= NEXT(K).x", "K.x = NEXT(X).x"),
    *("K.x * NEXT(K).x >= 0 OR K.x IS NULL", "abs(K.x - NEXT(K).x) <= 1"),
    *("K.x % NEXT(K).x = 0", "greatest(K.x, NEXT(K).x) > 0", "K.y * NEXT(K).y - K.x != 1"),
    *("coalesce(K.x, 0) <= coalesce(NEXT(K).x, 3)", "NOT (K.y + NEXT(K).y > 1 AND K.x = 1)"),
    *("least(K.y, NEXT(K).x) < 2 AND K.x != NEXT(K).x", "-K.x - NEXT(K).x > -4"),
)
_COMPARISONS = (
    *("K.x <= NEXT(K).x", "K.x < NEXT(K).x", "K.y >= NEXT(K).y", "K.x = NEXT(K).x"),
    *("X.x <= NEXT(K).x", "K.x = NEXT(X).x", "K.x > 0 AND K.y < NEXT(K).x"),
)
_RETURNS = (
    *("COUNT(*)", "COUNT(*)", "COUNT(*)", "COUNT(K)", "SUM(K.x)", "AVG(K.y)", "SUM(K.y)"),
    *("MIN(K.x)", "MAX(K.y)", "MAX(X.x)", "AVG(K.x)", "COUNT(X)"),
    *("STDDEV(K.x)", "VARIANCE(K.y)", "VAR_POP(X.x)"),
)
#: What can be an expression over snapshots; half of the workloads ask for nothing else.
_LINEAR = ("COUNT(*)", "COUNT(*)", "COUNT(K)", "SUM(K.x)", "AVG(K.x)", "COUNT(X)", "STDDEV(K.x)")
_SPANS = (
    *("SESSION 2 BY x", "SESSION 3 UP TO 8 BY x"),
    *("WITHIN 8", "WITHIN 20", "WITHIN 20 SLIDE 10", "WITHIN 12 SLIDE 4", "WITHIN 10 SLIDE 3"),
    *("WITHIN 30 SLIDE 1", "WITHIN 1000", "WITHIN 1000"),
)
_CLOSE = {
    "k": (1, 1, 1, 2, None),
    "g": ("p", "p", "q", None),
    "x": (0, 1, 1, 2, 2, 3, -1, None),
    "y": (-1.5, 0.5, 0.5, 1.0, 2.0, None),
}
_ODD = {"x": (2**62, -(2**63), 5), "y": (float("nan"), float("inf"), 1e308)}


def _kleene(name: str) -> RandomCase:
    dice, ordered = random.Random(name), "ordered" in name
    while True:
        kinds = dice.sample("ABC", 3)
        edges = _COMPARISONS if ordered else _EDGES if dice.random() < 0.5 else ()
        clauses = _keys(dice), edges, _LINEAR if ordered else dice.choice((_RETURNS, _LINEAR))
        texts = [_query(dice, f"q{n}", kinds, *clauses) for n in range(dice.randint(2, 12))]
        try:
            workload = read_workload("".join(texts), SCHEMA)
        except QueryError:
            continue
        rows = _events(dice, kinds, name.startswith("long"))
        rows = with_signed(Dice(f"signed doubles of {name}"), rows)
        return RandomCase(name, workload, tuple(rows))


def _keys(dice: random.Random) -> tuple[str, str]:
    """Equivalence and grouping of all queries of the workload."""
    grouped = ("", "GROUP-BY g"), ("[k]", "GROUP-BY g"), ("[K.k]", ""), ("[K.k]", "GROUP-BY K.g")
    return dice.choice([("", ""), ("", ""), ("", ""), ("[k]", ""), *grouped])


def _query(
    dice: random.Random,
    name: str,
    kinds: list[str],
    keys: tuple[str, str],
    edges: tuple[str, ...],
    aggregates: tuple[str, ...],
) -> str:
    pattern = dice.choice(_BESIDE if dice.random() < 0.08 else _PATTERNS)
    where = [keys[0]] if keys[0] else []
    if dice.random() < (0.05 if edges is _COMPARISONS else 0.3):
        where.append(f"({dice.choice(_LOCALS)})")
    if edges and dice.random() < 0.75:
        where.append(f"({dice.choice(edges[:3] if dice.random() < 0.5 else edges)})")
    where = [w for w in where if "X" not in w or "X" in pattern]
    returns = list(dict.fromkeys(dice.choices(aggregates, k=dice.choice((1, 1, 2, 3)))))
    returns = [r for r in returns if "X" not in r or "X" in pattern] or ["COUNT(*)"]
    if " AND " in pattern:
        returns = ["COUNT(*)"]
    body = f"RETURN {', '.join(returns)} PATTERN {pattern} "
    body += f"WHERE {' AND '.join(where)} " if where else ""
    body += f"{keys[1]} {dice.choice(_SPANS[-3:] if edges is _COMPARISONS else _SPANS)}"
    if dice.random() < 0.04:
        body += f" {dice.choice(_SEMANTICS)}"
    if "K k1" in pattern:  # the type occurs twice: what is said of K means all of them
        body = body.replace("K.", "k1.").replace("NEXT(K)", "NEXT(k1)")
        body = body.replace("(K)", "(k1)")
    types = dict(zip("KXY", kinds, strict=True))
    body = re.sub(r"\b[KXY]\b", lambda found: types[found[0]], body)
    return f"QUERY {name} {body};"


def _events(dice: random.Random, kinds: list[str], long: bool) -> list[Event]:
    """Bursts of one type; a few events of equal time, a few odd values."""
    events: list[Event] = []
    time = dice.choice((0, 0, -7, 1_000))
    odd = dice.random() < 0.15
    for _ in range(dice.randint(3, 12) if long else dice.randint(2, 5)):
        kind = dice.choice([kinds[0], kinds[0], *kinds, "D"])
        for _ in range(dice.choice((1, 2, 8, 20, 40)) if long else dice.randint(1, 4)):
            events.append((kind, time, _attributes(dice, odd)))
            time += 0 if dice.random() < 0.12 else dice.choice((1, 1, 1, 2))
        # Every fourth burst begins with a tie across types.
        time = events[-1][1] if dice.random() < 0.25 else time + dice.choice((0, 1, 3))
    return events


def _attributes(dice: random.Random, odd: bool) -> dict[str, object]:
    found: dict[str, object] = {name: dice.choice(values) for name, values in _CLOSE.items()}
    if odd and dice.random() < 0.3:
        name = dice.choice(("x", "y"))
        found[name] = dice.choice(_ODD[name])
    return found
