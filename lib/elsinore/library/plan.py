"""The static sharing plan of a workload, how it came about, and the profile of its events."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from elsinore.events import EventTable
from elsinore.executors.profile import measure
from elsinore.library.arguments import path_of
from elsinore.library.shown import Drawn
from elsinore.query.bound import Workload
from elsinore.query.print_query import print_length
from elsinore.sharing.explain import explain_plan
from elsinore.sharing.observe import observed_interval
from elsinore.sharing.plan import Fate, StaticPlan
from elsinore.sharing.profile import EdgeSelectivity, Spread, StreamProfile

_SPREAD = ("mean", "median", "most")


class Planned(Drawn):
    """A static plan and how it came about, with the profile of the events that it was found from.

    Attributes:
        plan: the plan.
        profile: of the events; None where it was found from rates.
    """

    def __init__(self, plan: StaticPlan, workload: Workload, events: EventTable | None) -> None:
        self.plan, self.profile = plan, None
        self._is_calendar = workload.schema.time_unit.is_calendar
        if events is not None:
            self.profile = measure(events, workload, observed_interval(events))

    def print(self, console: Console) -> None:
        """Print the tables of the profile, then the candidates and what became of them."""
        if self.profile is not None:
            length = print_length if self._is_calendar else "{:,} ticks".format
            for table in _tables(self.profile, length):
                if table.row_count:
                    console.print(table)
        _print(self.plan, console)

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Draw the Sharon graph; see `Drawn.draw`."""
        from elsinore.plot.draw_plan import draw_plan  # matplotlib takes its time

        draw_plan(self.plan, path_of("path", path))


def _print(found: StaticPlan, console: Console) -> None:
    table = Table("candidate", "queries", "benefit", "conflicts", "fate", title="Static plan")
    for row, fate in explain_plan(found):
        degree = "-" if row.degree is None else str(row.degree)
        name = f"{row.id} ({', '.join(row.pattern)})"
        style = "bold green" if row.fate is Fate.CHOSEN else None
        queries = ", ".join(row.queries)
        table.add_row(name, queries, f"{row.benefit:,.6g}", degree, fate, style=style)
    if table.row_count:
        console.print(table)
    else:
        console.print("Nothing to share: no two queries have a segment in common")
    console.print(
        f"score {found.score:,.6g} ({found.finder}{_proof(found)}),"
        f" guaranteed {found.guaranteed_weight:,.6g} (GWMIN)"
    )
    console.print(f"fingerprint {found.fingerprint}")


def _proof(found: StaticPlan) -> str:
    if found.bound is None:
        return ""
    if found.proven:
        return ", proven optimal"
    return f", at most {found.bound:,.6g}"


def _tables(profile: StreamProfile, length: Callable[[int], str]) -> Iterator[Table]:
    yield _table(
        f"Events per pane of {length(profile.pane)}", 1, ("type", "least", *_SPREAD),
        [(rate.event_type, str(rate.events.least), *_figures(rate.events))
         for rate in profile.rates],
    )  # fmt: skip
    yield _table(
        "Events per burst", 4, ("bursts of", "by", "pane", "queries", "bursts", *_SPREAD),
        [(burst.event_type, ", ".join(burst.keys) or "-", length(burst.pane),
          ", ".join(burst.queries), f"{burst.lengths.number:,}", *_figures(burst.lengths))
         for burst in profile.bursts],
    )  # fmt: skip
    passed = [(one.condition, one.queries, f"{one.events:,}", one.share) for one in profile.local]
    passed += [(pair.condition, pair.queries, _pairs(pair), pair.share) for pair in profile.edges]
    yield _table(
        "Selectivity of predicates", 2, ("predicate", "queries", "of", "share"),
        [(condition, ", ".join(queries), of, _percent(share))
         for condition, queries, of, share in passed],
    )  # fmt: skip
    yield _table(
        "Events per partition", 1, ("by", "partitions", *_SPREAD, "largest"),
        [(", ".join(found.keys), f"{found.sizes.number:,}", *_figures(found.sizes),
          _percent(found.largest_share)) for found in profile.partitions],
    )  # fmt: skip


def _table(title: str, words: int, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first columns hold words, the others figures; no cell is markup."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < words else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _figures(spread: Spread) -> tuple[str, ...]:
    return f"{spread.mean:,.4g}", f"{spread.median:,.6g}", f"{spread.most:,}"


def _pairs(found: EdgeSelectivity) -> str:
    pairs = f"{found.pairs:,} pair{'' if found.pairs == 1 else 's'}"
    return pairs if found.sampled == found.pairs else f"{pairs}, {found.sampled:,} seen"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
