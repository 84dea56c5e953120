"""What is measured: the variables of the papers' figures, over generated streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from benchmarks.hamlet_authors import STREAM, TYPES, make_kinds, make_patterns
from benchmarks.papers.measure import Found
from benchmarks.papers.online import (
    A_SEQ,
    GREEDY,
    GRETA,
    HAMLET,
    OPTIMIZERS,
    SHARON,
    STATIC,
    TWO_STEP,
    Task,
)
from benchmarks.papers.queries import (
    EDGE,
    cluster_variations,
    drawn_chains,
    first_workload,
    road_variations,
    second_workload,
    stock_variations,
)
from benchmarks.sharon import Case
from benchmarks.sharon import make_events as make_purchases
from benchmarks.sharon import make_workload as make_chains
from benchmarks.streams import events_of, workload_of
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.generate.streams import (
    ClusterOptions,
    LinearRoadOptions,
    RidesharingOptions,
    StockOptions,
)
from elsinore.timeline import MINUTE

#: Length of the stock stream for Hamlet, and of its longest windows.
STOCK_MINUTES = 10

EVERY = (*TWO_STEP, A_SEQ, SHARON, GRETA, STATIC, HAMLET)
ONE_QUERY = ("SASE", "Flink", "CET", GRETA)


@dataclass(frozen=True)
class Experiment:
    """One variable of a paper.

    Attributes:
        name: for files.
        title, figures, claim, setting: what it is about, which figures it answers, what the paper
            says of them, and what was run.
        variable: what varies, as an axis says it.
        values: its values; every other one is for `--quick`.
        task: a value to what is to be run.
        windows: windows in a row that the stream has; time is given per window.
        systems: who takes part.
        factors: pairs of a slower and a faster system that the claim is about.
        why: why ours is another factor than the paper's.
        counts: whether to show hamlet's own counts.
        checked: what is held against the reference beforehand, where that cannot do the task.
    """

    name: str
    title: str
    figures: str
    claim: str
    setting: str
    variable: str
    values: tuple[float, ...]
    task: Callable[[float], Task]
    windows: float
    systems: tuple[str, ...]
    factors: tuple[tuple[str, str], ...]
    why: str
    counts: bool = False
    checked: Callable[[], Task] | None = None


@dataclass
class Point:
    """One value of an experiment.

    Attributes:
        value, events: of the variable, and in the stream.
        found: what each system did there; who is missing was given up, there or before.
        lost: who was given up at this value, and for want of what.
        checked: whether the reference gave the same rows; it is given up like a system.
    """

    value: float
    events: int
    found: dict[str, Found]
    lost: dict[str, str] = field(default_factory=dict)
    checked: bool = False


# ---- GRETA


def stock_trades(events: float, *, without: str = "") -> Task:
    """The first events of 19 companies in 10 sectors, within a window of ten minutes."""
    made = StockOptions(events=4_000, rate=400, burst=10, companies=19).make()
    first = EventTable(made.schema, made.table.slice(0, int(events)))
    return Task(stock_variations(without=without), first)


def road(slowing: float) -> Task:
    """Vehicles that report 22 times from a segment, over one window of five minutes."""
    options = LinearRoadOptions(
        events=500, rate=100, burst=22, fixed_bursts=True, vehicles=20, slowing=slowing, accidents=0
    )
    return Task(road_variations(), options.make())


def cluster(groups: float) -> Task:
    """A job on several mappers, each a group, over a window of a minute."""
    options = ClusterOptions(events=1_500, rate=1_500, burst=10, mappers=int(groups), jobs=1)
    return Task(cluster_variations(), options.make())


# ---- Sharon


@cache
def purchases(queries: int, length: int, events: int) -> Task:
    """The e-commerce setting of `benchmarks.sharon`."""
    case = Case(queries=queries, length=length, window_events=events)
    return Task(make_chains(case), make_purchases(case), fixed=True)


# ---- Hamlet


def low_setting(queries: int, rate: float) -> Task:
    """200 drivers, each a partition, with few events each."""
    events = RidesharingOptions(
        events=int(2 * rate), rate=rate, drivers=200, riders=1, burst=3, fixed_bursts=True
    ).make()
    flat = partial(first_workload, queries, "driver, rider", flat=longest_match(events))
    return Task(first_workload(queries, "driver, rider"), events, flat)


def longest_match(events: EventTable) -> int:
    """The most events of type Travel that one driver has in a minute."""
    travel = events.schema.type_codes["Travel"]
    table = events.table.filter(events.table[TYPE_COLUMN].to_numpy() == travel)
    keys = zip(
        table["driver"].to_pylist(), (table[TIME_COLUMN].to_numpy() // MINUTE).tolist(), strict=True
    )
    counts: dict[tuple[str, int], int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return max(counts.values())


def high_setting(
    queries: int,
    rate: float,
    *,
    edge: str = EDGE,
    burst: float = 20,
    fixed: bool = False,
    own: tuple[str, ...] = ("",),
) -> Task:
    """10 districts, each a partition."""
    options = RidesharingOptions(
        events=int(rate), rate=rate, districts=10, burst=burst, fixed_bursts=fixed
    )
    return Task(first_workload(queries, "district", edge=edge, own=own), options.make())


def stock_setting(queries: int, rate: float) -> Task:
    """The second workload over bursts of 120 trades on average."""
    options = StockOptions(events=int(STOCK_MINUTES * rate), rate=rate)
    return Task(second_workload(queries), options.make())


def own_predicates(differing: float) -> tuple[str, ...]:
    """Every other query leaves out the share `differing` of `Travel` events."""
    return ("", f"T.duration >= {10 + round(291 * differing)}")  # 10 to 300, uniform


def authors(events: float) -> Task:
    """The stream that Hamlet's authors published, in shape: its first events, one window."""
    kinds = make_kinds()[: int(events)]
    texts = [
        f"PATTERN SEQ({', '.join(f'T{t}+' if t == 0 else f'T{t}' for t in types)})"
        f" WITHIN {int(events)}"
        for types in make_patterns()
    ]
    return Task(workload_of(STREAM, texts), events_of(STREAM, np.asarray(kinds)))


#: Chains that are short enough for the reference, and for few events.
_SHORT = partial(purchases, 20, 4, 2_000)
_ONLINE = (GRETA, STATIC, HAMLET)
_FIRST = "The first workload: patterns differ around the same `Travel T+`"
_VARIATIONS = "and its variations by percentages of a step"
_TRENDS = (
    "Systems that enumerate trends fail if the number of trends explodes. Faster"
    " code only moves that point by a few events per group."
)

EXPERIMENTS = (
    Experiment(
        "every-system",
        "Every system on one stream",
        "Hamlet Fig. 8(a), 8(c), 9(a)",
        "Hamlet is 7 to 76 times faster than MCEP. It is 1 to 2 orders of magnitude"
        " faster than GRETA, and 3 to 5 orders faster than Sharon on flattened queries.",
        f"{_FIRST}; 10 queries, `[driver, rider]`, windows of a minute, ridesharing stream of 200"
        " drivers, bursts of 3. A-Seq, Sharon and SPASS run the queries flattened.",
        "events per minute",
        (500, 1_000, 1_500, 2_000, 2_500, 3_000),
        lambda rate: low_setting(10, rate),
        2,
        EVERY,
        tuple(
            (slow, HAMLET)
            for slow in ("SASE", "Flink", "CET", "SPASS", "MCEP", A_SEQ, SHARON, GRETA)
        ),
        f"{_TRENDS} Sharon's flattened queries run in one pass here, so they take far less than"
        " the paper's 50 minutes. GRETA is compiled, and needs no graph without edge"
        " predicates.",
    ),
    Experiment(
        "every-system-queries",
        "Every system, number of queries",
        "Hamlet Fig. 8(b), 8(d), 9(b)",
        "The same factors, from 5 to 25 queries.",
        "As above, with 1,500 events per minute.",
        "queries",
        (5, 10, 15, 20, 25),
        lambda queries: low_setting(int(queries), 1_500),
        2,
        EVERY,
        (("MCEP", HAMLET), (SHARON, HAMLET), (GRETA, HAMLET)),
        "MCEP constructs a trend once for all queries and completes it for each query,"
        " one step per trend and query. Compiled, that step costs about as much as SASE"
        " needs to construct the trend. So sharing gains nothing over SASE here. An"
        " online system has no such step.",
    ),
    Experiment(
        "greta-events",
        "Events per window, positive patterns",
        "GRETA Fig. 9",
        "GRETA is 4 orders of magnitude faster than Flink, SASE and CET. These do not"
        " finish beyond 100,000, 500,000 and 700,000 events.",
        f"Ten queries: Q1 {_VARIATIONS}, `[company, sector]`, windows of ten minutes that slide by"
        " one; stock stream of 19 companies, bursts of 10.",
        "events per window",
        (100, 200, 300, 800, 1_200, 4_000),
        stock_trades,
        1,
        ONE_QUERY,
        (("SASE", GRETA), ("Flink", GRETA), ("CET", GRETA)),
        f"{_TRENDS} With hundreds of thousands of events, the paper's trends must be short. A"
        " random walk of prices has long trends, so the systems fail at far fewer events"
        " here.",
    ),
    Experiment(
        "greta-not",
        "Events per window, patterns with a negative sub-pattern",
        "GRETA Fig. 10",
        "NOT speeds up every system except Flink, but no two-step system finishes.",
        "As above, `SEQ(NOT News N, Stock S+)`: no trend after the first news of a company in its"
        " window.",
        "events per window",
        (100, 200, 400, 800, 1_200, 4_000),
        partial(stock_trades, without="News"),
        1,
        ONE_QUERY,
        (("SASE", GRETA), ("Flink", GRETA), ("CET", GRETA)),
        "SASE and CET drop the events that NOT excludes before they construct trends."
        " Flink constructs these trends and checks them afterwards.",
    ),
    Experiment(
        "greta-selectivity",
        "Selectivity of edge predicates",
        "GRETA Fig. 11",
        "Two-step systems fail beyond a selectivity of 50 %. GRETA does not depend on"
        " it, and is 2 orders of magnitude faster than CET at 50 %.",
        "Five queries: Q3 without its NOT and four variations, `[P.vehicle, segment]`, windows of"
        " five minutes that slide by one; linear road, 500 events, 22 reports from each segment.",
        "share of steps in which a vehicle slows down",
        (0.1, 0.3, 0.5, 0.7, 0.9),
        road,
        1,
        ONE_QUERY,
        (("SASE", GRETA), ("Flink", GRETA), ("CET", GRETA)),
        "AVG of the paper's Q3 is COUNT(P) here, so that results compare as integers."
        " The stream has 5 % of the paper's size, so a selectivity of 50 % is far less"
        " work.",
    ),
    Experiment(
        "greta-groups",
        "Number of groups",
        "GRETA Fig. 12",
        "Two-step systems are faster with more groups. GRETA does not depend on groups."
        " It is 4 orders of magnitude faster than Flink with 10 groups, and 2 orders"
        " faster than CET and SASE with 5.",
        "Five queries: Q2 and variations of its step, `[job, mapper]`, windows of a minute that"
        " slide by half; cluster stream of 1,500 events over all groups, Poisson loads.",
        "groups",
        (160, 80, 40, 20, 10),
        cluster,
        1,
        ONE_QUERY,
        (("SASE", GRETA), ("Flink", GRETA), ("CET", GRETA)),
        "From left to right, groups become fewer and larger. The stream is small, so"
        " GRETA spends its time on calls.",
    ),
    Experiment(
        "sharon-two-step",
        "Two-step against online, fixed length",
        "Sharon Fig. 13",
        "SPASS is 6 times faster than Flink at 6,000 events, and does not finish beyond"
        " 7,000. The online systems are 5 orders of magnitude faster.",
        "20 queries of length 10 of popular chains, `[customer]`, windows of 20 minutes that slide"
        " by one; 50 items, 20 customers. Sharon by the optimal plan.",
        "events per window",
        (5_000, 7_500, 10_000, 12_000, 15_000),
        lambda events: purchases(20, 10, int(events)),
        1.5,
        ("SASE", "Flink", "SPASS", A_SEQ, SHARON),
        (("Flink", "SPASS"), ("SPASS", SHARON), ("SASE", SHARON)),
        "SPASS constructs shared segments once, but each sequence of a query is a"
        " separate step. If that last step takes most of the time, SPASS gains little."
        " The number of sequences is polynomial, not exponential, so the systems slow"
        " down gradually.",
        checked=_SHORT,
    ),
    Experiment(
        "sharon-events",
        "Online, events per window",
        "Sharon Fig. 14(a), 14(e)",
        "Sharon is 5 to 7 times faster than A-Seq from 200,000 to 1.2 million events.",
        "As above. Whole calls, which include partitioning and sorting.",
        "events per window",
        (50_000, 100_000, 200_000, 400_000),
        lambda events: purchases(20, 10, int(events)),
        1.5,
        (A_SEQ, GREEDY, SHARON),
        ((A_SEQ, SHARON),),
        "Counts are stored per window here, not per START event, so A-Seq repeats less"
        " work than in the paper. In addition, Sharon saves passes over the events.",
        checked=_SHORT,
    ),
    Experiment(
        "sharon-queries",
        "Online, number of queries; greedy and optimal plan",
        "Sharon Fig. 14(b), 14(d), 14(f), 16",
        "Sharon is 5 to 18 times faster than A-Seq from 20 to 120 queries. An optimal"
        " plan is twice as fast as a greedy plan at 180 queries.",
        "As above, with 50,000 events per window.",
        "queries",
        (20, 60, 120, 180),
        lambda queries: purchases(int(queries), 10, 50_000),
        1.5,
        (A_SEQ, GREEDY, SHARON),
        ((A_SEQ, SHARON), (GREEDY, SHARON)),
        "The paper does not print its workloads, so we chose how much is shared: three"
        " popular heads and tails. With them, a greedy plan is nearly as good as an"
        " optimal plan.",
        checked=_SHORT,
    ),
    Experiment(
        "sharon-length",
        "Online, length of patterns",
        "Sharon Fig. 14(c), 14(g), 14(h)",
        "Sharon's gain grows from 4 to 6 times with the length of patterns.",
        "As above, with 20 queries.",
        "events per pattern",
        (10, 20, 30),
        lambda length: purchases(20, int(length), 50_000),
        1.5,
        (A_SEQ, GREEDY, SHARON),
        ((A_SEQ, SHARON),),
        "Each pattern has one shared head and one shared tail at every length.",
        checked=_SHORT,
    ),
    Experiment(
        "sharon-optimizer",
        "Optimizers, number of queries",
        "Sharon Fig. 15",
        "The exhaustive optimizer finishes up to 20 queries. There, Sharon's optimizer"
        " is 3 orders of magnitude faster, the greedy one 4. At 70 queries, Sharon's is"
        " 3 orders slower than the greedy one.",
        "A plan for queries of length 10, with 12 items drawn evenly. No events are read.",
        "queries",
        (6, 10, 13, 16, 20, 24),
        lambda queries: Task(
            drawn_chains(int(queries)), purchases(20, 10, 2_000).events, fixed=True
        ),
        1,
        tuple(OPTIMIZERS),
        (("exhaustive", "Sharon's"), ("Sharon's", "greedy")),
        "The searches of the paper stop at a maximum number of plans. Elsinore's"
        " solver, which finds an optimal plan for 1,000 queries, is not in the paper.",
    ),
    Experiment(
        "hamlet-events",
        "Events per window, edge predicate",
        "Hamlet Fig. 10(a), 10(c)",
        "Hamlet is 3 to 5 orders of magnitude faster than GRETA.",
        f"{_FIRST}; 50 queries, `[district]`, the edge predicate `{EDGE}`, windows of a minute,"
        " ridesharing stream of 10 districts, bursts of 20 on average.",
        "events per minute",
        (2_500, 5_000, 10_000, 15_000),
        lambda rate: high_setting(50, rate),
        1,
        _ONLINE,
        ((GRETA, HAMLET),),
        "Hamlet compares pairs of events once for all queries, so the factor is at most"
        " about the number of queries. GRETA is compiled as well here.",
    ),
    Experiment(
        "hamlet-queries",
        "Number of queries, edge predicate",
        "Hamlet Fig. 10(b), 10(d)",
        "The same, from 10 to 100 queries.",
        "As above, with 7,500 events per minute.",
        "queries",
        (10, 25, 50, 75, 100),
        lambda queries: high_setting(int(queries), 7_500),
        1,
        _ONLINE,
        ((GRETA, HAMLET),),
        "As above.",
    ),
    Experiment(
        "hamlet-plain",
        "Events per window, no edge predicate",
        "Hamlet Fig. 10(a), 10(c)",
        "The same.",
        "As above with 50 queries and no edge predicate: counts of hundreds of bits, states in"
        " closed form.",
        "events per minute",
        (2_500, 10_000, 40_000),
        lambda rate: high_setting(50, rate, edge=""),
        1,
        _ONLINE,
        ((GRETA, HAMLET),),
        "Without pairs of events, GRETA needs one accumulator per state, so there is less to save.",
    ),
    Experiment(
        "authors",
        "A stream modeled on Hamlet's authors",
        "none; their published program",
        "Their program takes 1.9 s for 50,000 events.",
        f"50 queries `SEQ(x, y, Z+, ...)` of 3 to 10 types over one window of {TYPES} types in"
        " bursts of 5 to 7; counts of thousands of bits.",
        "events per window",
        (100, 150, 200, 2_000, 50_000),
        authors,
        1,
        ("SASE", "CET", "MCEP", *_ONLINE),
        (("SASE", HAMLET), ("MCEP", HAMLET), (GRETA, HAMLET)),
        _TRENDS,
    ),
    Experiment(
        "hamlet-stock",
        "Dynamic and static decisions, the paper's variables",
        "Hamlet Fig. 11(a), 11(c), 12(a)",
        "Dynamic decisions are 21 to 34 % faster than static ones and take 25 % less memory.",
        "The second workload: 50 diverse queries over the stock stream (220 companies, bursts of"
        " 120 on average), windows of 5 and 10 minutes, an edge predicate on prices.",
        "events per minute",
        (2_000, 3_000, 4_000),
        lambda rate: stock_setting(50, rate),
        1,
        (STATIC, HAMLET),
        ((STATIC, HAMLET),),
        "These bursts are long. A shared burst costs one row of numbers, and its pairs"
        " of events cost thousands. So sharing makes almost no difference.",
        counts=True,
    ),
    Experiment(
        "hamlet-stock-queries",
        "Dynamic and static decisions, number of queries",
        "Hamlet Fig. 11(b), 11(d), 12(b)",
        "The same, from 20 to 100 queries.",
        "As above, with 2,000 events per minute.",
        "queries",
        (20, 60, 100),
        lambda queries: stock_setting(int(queries), 2_000),
        1,
        (STATIC, HAMLET),
        ((STATIC, HAMLET),),
        "As above.",
        counts=True,
    ),
    Experiment(
        "hamlet-bursts",
        "Dynamic and static decisions, where sharing costs",
        "Hamlet Fig. 11, in another setting",
        "Dynamic decisions are 21 to 34 % faster than static ones, because static ones"
        " make snapshots that cost more than they save.",
        f"{_FIRST}; 50 queries, `[district]`, no edge predicate, 20,000 events per minute;"
        " bursts of different mean length (geometric).",
        "events per burst, on average",
        (1, 2, 5, 20, 100),
        lambda burst: high_setting(50, 20_000, edge="", burst=burst),
        1,
        _ONLINE,
        ((STATIC, HAMLET), (GRETA, HAMLET)),
        "Here the gain appears. A snapshot costs a product of wide numbers per query;"
        " separate queries need only additions. A burst of one or two events does not"
        " repay that. Static decisions pay for every burst. With longer bursts, the cost"
        " is spread over more events, until the gain disappears.",
        counts=True,
    ),
    Experiment(
        "hamlet-own",
        "Selectivity of predicates that only some queries have",
        "none; Hamlet section 5.2, on the number of snapshots",
        "Queries that differ in an event make a snapshot of the event. Dynamic decisions avoid it.",
        f"{_FIRST}; 20 queries, `[district]`, no edge predicate, 20,000 events per minute, bursts"
        " of 5. Every second query has a local predicate that excludes some `Travel` events.",
        "share of excluded events",
        (0, 0.03, 0.3, 0.9),
        lambda share: high_setting(20, 20_000, edge="", burst=5, own=own_predicates(share)),
        1,
        (STATIC, HAMLET),
        ((STATIC, HAMLET),),
        "Without edge predicates, queries that accept the same events have their own"
        " coefficients, so no snapshots of single events are needed.",
        counts=True,
    ),
)
