"""Shows the profile of a stream: rates, bursts, what predicates let through, partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from elsinore.query.print_query import print_length
from elsinore.sharing.profile import EdgeSelectivity, Spread, StreamProfile

_SPREAD = ("mean", "median", "most")


def describe_stream(profile: StreamProfile, console: Console, *, is_calendar: bool) -> None:
    """Print the tables of a profile; `is_calendar` says that its time is in microseconds."""
    length = print_length if is_calendar else _ticks
    for table in _tables(profile, length):
        if table.row_count:
            console.print(table)


def _tables(profile: StreamProfile, length: Callable[[int], str]) -> Iterator[Table]:
    rates = _table(f"Events per pane of {length(profile.pane)}", 1, "type", "least", *_SPREAD)
    for rate in profile.rates:
        _add(rates, rate.event_type, str(rate.events.least), *_figures(rate.events))
    yield rates
    names = ("bursts of", "by", "pane", "queries")
    bursts = _table("Events per burst", len(names), *names, "bursts", *_SPREAD)
    for burst in profile.bursts:
        place = (", ".join(burst.keys) or "-", length(burst.pane), ", ".join(burst.queries))
        counts = (f"{burst.lengths.number:,}", *_figures(burst.lengths))
        _add(bursts, burst.event_type, *place, *counts)
    yield bursts
    passing = _table("What predicates let through", 2, "predicate", "queries", "of", "share")
    for one in profile.local:
        _add(passing, one.condition, ", ".join(one.queries), f"{one.events:,}", _share(one.share))
    for pair in profile.edges:
        _add(passing, pair.condition, ", ".join(pair.queries), _pairs(pair), _share(pair.share))
    yield passing
    skew = _table("Events per partition", 1, "by", "partitions", *_SPREAD, "largest")
    for found in profile.partitions:
        counts = (f"{found.sizes.number:,}", *_figures(found.sizes))
        _add(skew, ", ".join(found.keys), *counts, _share(found.largest_share))
    yield skew


def _table(title: str, words: int, *columns: str) -> Table:
    """A table whose first columns hold words, the others figures."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < words else "right")
    return table


def _add(table: Table, *cells: str) -> None:
    """Texts of the workload are no markup."""
    table.add_row(*map(Text, cells))


def _figures(spread: Spread) -> tuple[str, ...]:
    return f"{spread.mean:,.4g}", f"{spread.median:,.6g}", f"{spread.most:,}"


def _pairs(found: EdgeSelectivity) -> str:
    pairs = f"{found.pairs:,} pair{'' if found.pairs == 1 else 's'}"
    return pairs if found.sampled == found.pairs else f"{pairs}, {found.sampled:,} seen"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _ticks(count: int) -> str:
    return f"{count:,} ticks"
