"""The workloads of the papers' experiments, of which none is printed whole."""

from __future__ import annotations

import random
from functools import cache

from benchmarks.sharon import SLIDE, WITHIN
from benchmarks.sharon import STREAM as PURCHASES
from benchmarks.streams import workload_of
from elsinore.generate.streams import (
    MIDDLE_TYPES,
    ClusterOptions,
    LinearRoadOptions,
    RidesharingOptions,
    StockOptions,
)
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload

#: No single comparison, as order statistics cannot answer it: slower, yet dearer.
EDGE = "T.speed > NEXT(T).speed AND T.price < NEXT(T).price"
#: Types before and after the bursts of `Travel`.
_AROUND = ("Request", "Pickup", *MIDDLE_TYPES)


@cache
def first_workload(
    queries: int, keys: str, *, edge: str = "", own: tuple[str, ...] = ("",), flat: int = 0
) -> Workload:
    """Patterns that differ around the Kleene sub-pattern `Travel T+`; all else is the same.

    "They have different patterns but their sharable Kleene sub-pattern, window, groupby clause,
    predicates, and aggregates are the same."

    Args:
        queries: how many; the first have `SEQ(x, Travel T+)`, the next ones an end of their own.
        keys: equivalence attributes.
        edge: an edge predicate of all queries; none where empty.
        own: local predicates on T, one query after the other, to make events match some of the
            queries only.
        flat: where above 0, each query is flattened, as the paper does for Sharon: to queries of
            fixed length for 1, 2 ... `flat` events T. They are named `<query>_<length>`.
    """
    texts = []
    for number in range(queries):
        begin = _AROUND[number % len(_AROUND)]
        after = number // len(_AROUND)
        end = "" if not after else f", {_AROUND[(number + after) % len(_AROUND)]} y"
        local = own[number % len(own)]
        where = " AND ".join(part for part in (f"[{keys}]" if keys else "", edge, local) if part)
        clause = f"WHERE {where}" if where else ""
        kleene = {"": "Travel T+"} if not flat else _lengths(flat)
        for suffix, travels in kleene.items():
            texts.append(
                f"QUERY q{number}{suffix} RETURN COUNT(*) PATTERN SEQ({begin} x, {travels}{end})"
                f" {clause} WITHIN 1 minute;"
            )
    return read_workload("\n".join(texts), RidesharingOptions.schema)


def _lengths(most: int) -> dict[str, str]:
    return {
        f"_{length}": ", ".join(f"Travel T{place}" for place in range(length))
        for length in range(1, most + 1)
    }


@cache
def second_workload(queries: int) -> Workload:
    """Diverse queries over stock trades, seeded.

    "Sharable Kleene patterns of length ranging from 1 to 3, windows sizes ranging from 5 to 20
    minutes, different aggregates, as well as groupbys and predicates on a variety of event types."
    Here windows have 5 or 10 minutes.
    """
    dice = random.Random("second workload")  # noqa: S311
    texts = []
    for number in range(queries):
        pattern = dice.choice(
            (
                "Stock S+",
                "SEQ(Quote q, Stock S+)",
                "SEQ(News n, Stock S+)",
                "SEQ(Quote q, Stock S+, Halt h)",
                "SEQ(News n, Stock S+, Quote q)",
                "(SEQ(Quote Q, Stock S+))+",
                "(SEQ(News N, Stock S+, Quote Q))+",
            )
        )
        aggregate = dice.choice(
            ("COUNT(*)", "COUNT(S)", "SUM(S.volume)", "AVG(S.volume)", "MAX(S.price)")
        )
        group = dice.choice(("sector", "company"))
        conditions = ["[company, sector]", "S.price > NEXT(S).price * 1.001 + S.volume / 1e9"]
        conditions.append(dice.choice(("", "", "S.volume > 50", "S.kind = 'sell'")))
        if "News n" in pattern:
            conditions.append(dice.choice(("", "n.mood < 0")))
        where = " AND ".join(part for part in conditions if part)
        texts.append(
            f"QUERY q{number} RETURN {group}, {aggregate} PATTERN {pattern} WHERE {where}"
            f" GROUP-BY {group} WITHIN {dice.choice((5, 10))} minutes;"
        )
    return read_workload("\n".join(texts), StockOptions.schema)


# ---- GRETA section 10.1: one of its queries and variations of it

#: Per cent by which a value must rise or fall from one event of a trend to the next.
_PER_CENT = (1, 1.05, 1.1, 1.15, 1.2)


@cache
def stock_variations(*, without: str = "") -> Workload:
    """Q1 and its nine variations, `S.price * X < NEXT(S).price` and the other way round.

    `without` is a type of events that must not lie before the trend in its window.
    """
    pattern = f"SEQ(NOT {without} n, Stock S+)" if without else "Stock S+"
    texts = []
    for number, (sign, per_cent) in enumerate((s, p) for s in (1, -1) for p in _PER_CENT):
        edge = f"S.price * {1 + sign * per_cent / 100:.6f} {'<' if sign > 0 else '>'} NEXT(S).price"
        texts.append(
            f"QUERY q{number} RETURN sector, COUNT(*) PATTERN {pattern} WHERE [company, sector]"
            f" AND {edge} GROUP-BY sector WITHIN 10 minutes SLIDE 1 minute;"
        )
    return read_workload("\n".join(texts), StockOptions.schema)


@cache
def road_variations() -> Workload:
    """Q3 without its NOT, and four variations: speed falls by some per cent at least."""
    texts = [
        f"QUERY q{number} RETURN segment, COUNT(*), COUNT(P) PATTERN Position P+"
        f" WHERE [P.vehicle, segment] AND P.speed * {1 - per_cent / 100:g} > NEXT(P).speed"
        " GROUP-BY segment WITHIN 5 minutes SLIDE 1 minute;"
        for number, per_cent in enumerate((0, *_PER_CENT[:4]))
    ]
    return read_workload("\n".join(texts), LinearRoadOptions.schema)


@cache
def cluster_variations() -> Workload:
    """Q2 and four variations: load rises by 0 to 4 at least."""
    texts = [
        f"QUERY q{number} RETURN mapper, COUNT(*), SUM(M.cpu)"
        f" PATTERN SEQ(Start S, Measurement M+, End E)"
        f" WHERE [job, mapper] AND M.load + {number} < NEXT(M).load"
        " GROUP-BY mapper WITHIN 1 minute SLIDE 30 seconds;"
        for number in range(5)
    ]
    return read_workload("\n".join(texts), ClusterOptions.schema)


#: Items that are drawn for queries whose plan is looked for, so that they meet often enough.
POPULAR = 12


@cache
def drawn_chains(queries: int, length: int = 10) -> Workload:
    """Queries of fixed length over the purchases of `benchmarks.sharon`, of items drawn evenly."""
    dice = random.Random("chains")  # noqa: S311
    texts = []
    for _ in range(queries):
        items = dice.sample(range(POPULAR), length)
        pattern = ", ".join(f"I{item} e{place}" for place, item in enumerate(items))
        texts.append(f"PATTERN SEQ({pattern}) WHERE [customer] WITHIN {WITHIN} SLIDE {SLIDE}")
    return workload_of(PURCHASES, texts)
