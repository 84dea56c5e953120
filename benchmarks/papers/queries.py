"""The workloads of the Hamlet paper's experiments (section 5.1), which prints none whole."""

from __future__ import annotations

import random
from functools import cache

from elsinore.generate.streams import MIDDLE_TYPES, RidesharingOptions, StockOptions
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload

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
    return bind_workload(parse_workload("\n".join(texts)), RidesharingOptions.schema)


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
    return bind_workload(parse_workload("\n".join(texts)), StockOptions.schema)
