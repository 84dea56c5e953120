"""What is measured: the paper's variables over generated streams (Hamlet section 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.hamlet_paper.measure import EXECUTORS, Found, Task
from benchmarks.hamlet_paper.queries import EDGE, first_workload, second_workload
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.generate.streams import RidesharingOptions, StockOptions
from elsinore.timeline import MINUTE

ONLINE = ("hamlet", "hamlet-static", "greta")
#: Length of the stream and of the longest windows.
STOCK_MINUTES = 10


@dataclass(frozen=True)
class Experiment:
    """One variable of the paper.

    Attributes:
        name: for files.
        title, figures, setting: what it is about, which figures it answers, and what was run.
        variable: what varies, as an axis says it.
        values: its values; every other one is for `--quick`.
        task: a value to what is to be run.
        windows: windows in a row that the stream has; time is given per window.
        executors: who takes part.
        counts: which of hamlet's own counts to show.
        even: whether the values stand at even distances in pictures.
    """

    name: str
    title: str
    figures: str
    setting: str
    variable: str
    values: tuple[float, ...]
    task: Callable[[float], Task]
    windows: int
    executors: tuple[str, ...] = ONLINE
    counts: bool = False
    even: bool = False


@dataclass
class Point:
    """One value of an experiment with what each executor did there; who is missing was too slow."""

    value: float
    events: int
    found: dict[str, Found]


def low_setting(queries: int, rate: float) -> Task:
    """Figures 8 and 9: 200 drivers, each a partition, with few events each."""
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
    """Figure 10 and beyond: 10 districts, each a partition."""
    options = RidesharingOptions(
        events=int(rate), rate=rate, districts=10, burst=burst, fixed_bursts=fixed
    )
    return Task(first_workload(queries, "district", edge=edge, own=own), options.make())


def stock_setting(queries: int, rate: float) -> Task:
    """Figures 11 and 12: bursts of 120 trades on average."""
    options = StockOptions(events=int(STOCK_MINUTES * rate), rate=rate)
    return Task(second_workload(queries), options.make())


def own_predicates(differing: float) -> tuple[str, ...]:
    """Every other query leaves out the share `differing` of `Travel` events."""
    return ("", f"T.duration >= {10 + round(291 * differing)}")  # 10 to 300, uniform


_FIRST = "The paper's first workload: patterns differ around the same `Travel T+`"
EXPERIMENTS = (
    Experiment(
        "events-low",
        "Events per window, low setting, all approaches",
        "Hamlet Fig. 8(a), 8(c), 9(a)",
        f"{_FIRST}; 10 queries, `[driver, rider]`, windows of a minute, ridesharing stream of 200"
        " drivers, bursts of 3.",
        "events a minute",
        (500, 750, 1_000, 1_500, 2_000, 3_000),
        lambda rate: low_setting(10, rate),
        2,
        EXECUTORS,
        even=True,
    ),
    Experiment(
        "queries-low",
        "Number of queries, low setting, all approaches",
        "Hamlet Fig. 8(b), 8(d), 9(b)",
        "As above, with 1,000 events a minute.",
        "queries",
        (5, 10, 15, 20, 25),
        lambda queries: low_setting(int(queries), 1_000),
        2,
        EXECUTORS,
    ),
    Experiment(
        "events",
        "Events per window, edge predicate",
        "Hamlet Fig. 10(a), 10(c)",
        f"{_FIRST}; 50 queries, `[district]`, the edge predicate `{EDGE}`, windows of a minute,"
        " ridesharing stream of 10 districts, bursts of 20 on average.",
        "events a minute",
        (2_500, 5_000, 7_500, 10_000, 15_000),
        lambda rate: high_setting(50, rate),
        1,
    ),
    Experiment(
        "queries",
        "Number of queries, edge predicate",
        "Hamlet Fig. 10(b), 10(d)",
        "As above, with 10,000 events a minute.",
        "queries",
        (10, 25, 50, 75, 100),
        lambda queries: high_setting(int(queries), 10_000),
        1,
    ),
    Experiment(
        "events-plain",
        "Events per window, no edge predicate",
        "Hamlet Fig. 10(a), 10(c)",
        "As above with 50 queries and no edge predicate: counts of hundreds of bits, states in"
        " closed form.",
        "events a minute",
        (2_500, 5_000, 10_000, 20_000, 40_000),
        lambda rate: high_setting(50, rate, edge=""),
        1,
        even=True,
    ),
    Experiment(
        "stock-events",
        "Dynamic and static decisions, events per window",
        "Hamlet Fig. 11(a), 11(c), 12(a)",
        "The paper's second workload: 50 diverse queries over the stock stream (220 companies,"
        " bursts of 120 on average), windows of 5 and 10 minutes, an edge predicate on prices.",
        "events a minute",
        (2_000, 3_000, 4_000),
        lambda rate: stock_setting(50, rate),
        1,
        ("hamlet", "hamlet-static"),
        counts=True,
    ),
    Experiment(
        "stock-queries",
        "Dynamic and static decisions, number of queries",
        "Hamlet Fig. 11(b), 11(d), 12(b)",
        "As above, with 2,000 events a minute.",
        "queries",
        (20, 60, 100),
        lambda queries: stock_setting(int(queries), 2_000),
        1,
        ("hamlet", "hamlet-static"),
        counts=True,
    ),
    Experiment(
        "bursts",
        "Burst length",
        "no figure of its own; Hamlet section 5.2, on bursts of 120 events",
        "The first workload, 20 queries, 5,000 events a minute, the edge predicate, all bursts of"
        " one length.",
        "events of a burst",
        (1, 2, 5, 10, 20, 50, 200),
        lambda burst: high_setting(20, 5_000, burst=burst, fixed=True),
        1,
        counts=True,
        even=True,
    ),
    Experiment(
        "snapshots",
        "Selectivity of predicates that only some queries have",
        "no figure of its own; Hamlet section 5.2, on the number of snapshots",
        "The first workload, 20 queries, 5,000 events a minute, the edge predicate, bursts of 50;"
        " every other query has a local predicate which leaves out some `Travel` events.",
        "share of events left out",
        (0, 0.01, 0.03, 0.1, 0.3, 0.9),
        lambda share: high_setting(20, 5_000, burst=50, fixed=True, own=own_predicates(share)),
        1,
        counts=True,
        even=True,
    ),
)
