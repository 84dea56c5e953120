"""Stock trades: prices that walk at random, in the setting of GRETA section 10.1 and Hamlet 5.1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.events import EventTable
from elsinore.generate.schemas import Names, double, event_table, long, stream_schema, text
from elsinore.generate.skeleton import (
    MOST_KEYS,
    Script,
    StreamOptions,
    arrival_times,
    draw_skeleton,
    option,
    share,
    walk,
)

_COMPANY = (text("company"), text("sector"))
SCHEMA = stream_schema(
    "stock",
    {
        "Stock": (*_COMPANY, text("kind", "sell", "buy"), double("price"), long("volume", 1)),
        "Quote": (*_COMPANY, double("bid"), double("ask")),
        "News": (*_COMPANY, double("mood", -1.0, 1.0)),
        "Halt": _COMPANY,
    },
)
NOTES = (
    "Trades of companies, generated (`elsinore generate stock`), with quotes, news and halts",
    "of trading between bursts of trades. Prices in dollars.",
)
_LEADS = ("Quote", "News", "Halt")
#: Prices lie within this factor of each other, from a dollar on, before they split.
_PRICES = 1_000.0


@dataclass(frozen=True, kw_only=True)
class StockOptions(StreamOptions):
    """Bursts of trades (`Stock`) of one company each; a quote, news or a halt before each burst.

    A company's price takes a step an event. Beyond 1,000 dollars it goes on at 1 dollar, and the
    other way round, as stocks are split and merged.

    `falling` is the selectivity of `S.price > NEXT(S).price` for trades next to each other; for
    those far apart the selectivity is further from one half. Rate, bursts and companies are those
    of the Hamlet paper, sectors those of GRETA.
    """

    rate: float = option(4_500.0, "Mean number of events a minute.")
    burst: float = option(120.0, "Mean number of events of a burst.", 1, 1_000_000)
    companies: int = option(220, "How many companies.", 1, MOST_KEYS)
    sectors: int = option(10, "How many sectors; companies belong to them in turn.", 1, MOST_KEYS)
    falling: float = share(0.5, "Share of steps by which a price goes down.")
    volatility: float = option(
        0.005, "Mean size of a price's step, relative to the price.", 1e-6, 1
    )
    sell: float = share(0.5, "Share of trades that sell.")


def stock(options: StockOptions) -> EventTable:
    """The events, in order of time."""
    dice = np.random.default_rng(options.seed)
    times = arrival_times(dice, options)
    codes = SCHEMA.type_codes
    script = Script(codes["Stock"], None, tuple(codes[name] for name in _LEADS), (6.0, 3.0, 1.0))
    found = draw_skeleton(dice, options, options.companies, script)
    size = options.events
    steps = walk(dice, found.slots, options.falling, options.volatility, float(np.log(_PRICES)))
    prices = np.exp(steps)
    spreads = prices * 0.0005
    return event_table(
        SCHEMA,
        times,
        found.types,
        {
            "company": Names.numbered("c", found.slots, options.companies),
            "sector": Names.numbered("s", found.slots % options.sectors, options.sectors),
            "kind": Names((dice.random(size) >= options.sell).astype(np.int64), ("sell", "buy")),
            "price": np.round(prices, 4),
            "volume": 1 + np.floor(dice.lognormal(5, 1, size)).astype(np.int64),
            "bid": np.round(prices - spreads, 4),
            "ask": np.round(prices + spreads, 4),
            "mood": np.round(dice.uniform(-1, 1, size), 2),
        },
    )
