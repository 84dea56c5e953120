"""Prints the results as tables, or writes tables and pictures into `docs/benchmarks/papers.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pages import replace_results, table
from benchmarks.papers.draw import draw, draw_overview
from benchmarks.papers.factors import Factor, amount, factor, power, short
from benchmarks.papers.figures import Experiment, Point
from benchmarks.papers.measure import MEGABYTES
from benchmarks.papers.online import A_SEQ, GRETA, HAMLET, SHARON, STATIC
from benchmarks.results import machine

_DOCS = Path(__file__).parents[2] / "docs"
_PAGE = _DOCS / "benchmarks" / "papers.md"
_PICTURES = "pictures"
_OVERVIEW = "every-system"

Results = Sequence[tuple[Experiment, list[Point]]]

#: Under the picture of all systems.
_ORIGIN = (
    "GRETA, Hamlet, Sharon and A-Seq are executors of Elsinore; the other systems are"
    " re-implementations."
)
#: The claims of the abstracts: what, the paper's factor, and by which experiment and systems ours.
HEADLINES = (
    ("Hamlet over GRETA", "1,000 to 100,000", "hamlet-queries", GRETA, HAMLET),
    ("Hamlet over GRETA, low setting", "10 to 100", _OVERVIEW, GRETA, HAMLET),
    ("Hamlet over two-step (MCEP)", "7 to 76", _OVERVIEW, "MCEP", HAMLET),
    ("Hamlet, dynamic over static", "1.21 to 1.34", "hamlet-bursts", STATIC, HAMLET),
    ("Sharon over A-Seq", "5 to 18", "sharon-queries", A_SEQ, SHARON),
    ("Sharon over two-step (SPASS)", "100,000", "sharon-two-step", "SPASS", SHARON),
    ("GRETA over two-step (SASE)", "10,000", "greta-events", "SASE", GRETA),
)


@dataclass(frozen=True)
class Budgets:
    """What was allowed: CPU seconds of a system and of the reference, processes a point; above
    `slow` seconds there is one process.
    """

    limit: int
    reference: int
    rounds: int
    slow: float


def print_tables(results: Results) -> None:
    """Show the tables on standard output."""
    for experiment, points in results:
        print(f"\n{experiment.title} ({experiment.figures})\n")
        print("\n".join(table_of(experiment, points)))
        print("; ".join(each.said() for each in factors_of(experiment, points)))


def write_page(results: Results, budgets: Budgets) -> None:
    """Put tables and pictures between the marks of the page; the text around them stays."""
    parts = [*_opening(results, budgets)]
    for experiment, points in results:
        name = f"papers-{experiment.name}.svg"
        draw(experiment, points, _DOCS / _PICTURES / name, budgets.limit)
        parts += [
            f"### {experiment.title}",
            "",
            f"*{experiment.figures}.* The paper: {experiment.claim}",
            "",
            f"![{experiment.title}](../{_PICTURES}/{name})",
            "",
            *(f"- {each.said()}." for each in factors_of(experiment, points)),
            "",
            f"{experiment.why} *Workload:* {experiment.setting}",
            "",
            *table_of(experiment, points),
            "",
        ]
    replace_results(_PAGE, parts)


def _opening(results: Results, budgets: Budgets) -> Iterator[str]:
    found = {experiment.name: (experiment, points) for experiment, points in results}
    if _OVERVIEW in found:
        path = _DOCS / _PICTURES / "papers-overview.svg"
        draw_overview(*found[_OVERVIEW], path, budgets.limit)
        yield from (f"![Every system on one stream](../{_PICTURES}/papers-overview.svg)", "")
        yield from (f"*{_ORIGIN} {found[_OVERVIEW][0].setting}*", "")
    yield from headlines(found)
    yield from (
        "",
        f"Machine: {machine()}, one core. Values are medians of {budgets.rounds} processes, or of"
        f" one process that takes more than {budgets.slow:g} s. A system stops if it takes more"
        f" than {budgets.limit} s of CPU time or {MEGABYTES:,} MB. It is then not measured at"
        f" later points. The reference stops after {budgets.reference} s.",
        "",
        _checked(results),
        "",
        "## Experiments",
        "",
    )


def headlines(found: dict[str, tuple[Experiment, list[Point]]]) -> Iterator[str]:
    """The table of the claims, as far as they were measured."""
    rows = []
    for claim, paper, name, slow, fast in HEADLINES:
        if name in found:
            experiment, points = found[name]
            ours = factor(points, slow, fast)
            if ours is not None:
                rows.append((claim, paper, *_ours(ours, experiment)))
    yield from table(("comparison", "factor in the paper", "measured factor", "experiment"), rows)


def _ours(ours: Factor, experiment: Experiment) -> tuple[str, str]:
    (low, _), (high, at) = ours.least, ours.most
    text = amount(high) if amount(low) == amount(high) else f"{amount(low)} to {amount(high)}"
    if ours.beyond is not None:
        text += f"; extrapolated: {power(ours.beyond[0])}"
    link = f"[{experiment.title}](#{_anchor(experiment.title)})"
    return text, f"{link}, largest at {short(at)} {experiment.variable}"


def _anchor(title: str) -> str:
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def _checked(results: Results) -> str:
    """Return how many points the reference checked."""
    every = [point for _, points in results for point in points if len(point.found) > 1]
    by_it = sum(point.checked for point in every)
    return (
        "Each system returned the rows of the reference for the beginning of each stream. At all"
        f" {len(every)} points, the systems that finished returned the same rows. At {by_it}"
        " points, the reference finished, too; it constructs trends in Python and is the slowest."
    )


def factors_of(experiment: Experiment, points: Sequence[Point]) -> list[Factor]:
    """The factors that the paper's claim is about."""
    found = (factor(points, slow, fast) for slow, fast in experiment.factors)
    return [each for each in found if each is not None]


def table_of(experiment: Experiment, points: Sequence[Point]) -> list[str]:
    """A row a system: milliseconds a window and megabytes at each value; and hamlet's counts."""
    lines = [
        [name, *(_cell(experiment, point, name) for point in points)] for name in experiment.systems
    ]
    if any(point.checked for point in points):
        lines.append(["checked by the reference", *("yes" if p.checked else "–" for p in points)])
    if experiment.counts:
        lines += _counts(points)
    head = [f"{experiment.variable}: ms, MB", *(short(point.value) for point in points)]
    return list(table(head, lines))


def _cell(experiment: Experiment, point: Point, name: str) -> str:
    found = point.found.get(name)
    if found is None:
        return point.lost.get(name, "–")
    return f"{_number(1e3 * found.time / experiment.windows)}, {_number(found.memory)}"


def _counts(points: Sequence[Point]) -> list[list[str]]:
    hamlet = [point.found[HAMLET].counts for point in points]
    static = [point.found[STATIC].counts for point in points]
    return [
        ["bursts", *(f"{each['bursts']:,}" for each in hamlet)],
        ["shared bursts", *(f"{each['shared'] / each['bursts']:.0%}" for each in hamlet)],
        ["snapshots", *(f"{snapshots(each):,}" for each in hamlet)],
        ["snapshots, static", *(f"{snapshots(each):,}" for each in static)],
    ]


def snapshots(counts: dict[str, int]) -> int:
    """Snapshots at graphlet level, one a shared burst, and at event level."""
    return counts["shared"] + counts["event snapshots"]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2f}"
