"""Who shares what under a plan, what it saves, and what is not shared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.table import Table
from rich.text import Text

from elsinore.console import SafeConsole
from elsinore.executors.plan import RuntimePlan
from elsinore.library.arguments import path_of
from elsinore.library.shown import Drawn
from elsinore.query.bind_calendar import is_of_calendar
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.print_query import print_length, print_windows
from elsinore.sharing.candidates import shared_kleene
from elsinore.sharing.explain import (
    Cut,
    SharedCandidate,
    UnsharedCandidate,
    explain_cuts,
    explain_savings,
    figure_text,
    reason,
)
from elsinore.sharing.plan import PlannedSet, StaticPlan
from elsinore.sharing.sharable import SharableSet, Sharing, sets_of
from elsinore.sharing.statistics import Statistics
from elsinore.wording import some_of

#: Rows of what is not shared that are printed; JSON holds them all.
_MOST_ROWS = 40
#: Queries of a list that are named; JSON holds them all.
_MOST_NAMES = 8
#: Reported fields of a plan.
_OF_PLAN = {"finder", "score", "guaranteed_weight", "bound", "proven"}


class Explained(Drawn):
    """Who shares what under a plan, what that saves, and why other things are not shared."""

    def __init__(
        self,
        workload: Workload,
        plan: StaticPlan,
        statistics: Statistics | None,
        runtime: RuntimePlan,
    ) -> None:
        self._plan, self._runtime = plan, runtime
        self._cuts = explain_cuts(plan, workload)
        self._savings = explain_savings(plan, workload, statistics)
        self._sharing = sets_of(workload)
        self._is_calendar = workload.schema.time_unit.is_calendar
        self._found = self._described(workload)

    def to_dict(self) -> dict[str, Any]:
        """The same as a mapping that JSON can hold.

        Lengths of windows and panes are in microseconds, or in ticks of a stream without a unit;
        gains, costs and benefits are count updates per longest window of the workload.
        """
        return self._found

    def print(self, console: Console) -> None:
        """Print the cut of each query, what is shared and not, Kleene sets, and executors."""
        _print(self._found, console)

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Draw the queries and what they share; see `Drawn.draw`."""
        from elsinore.plot.draw_sharing import save_sharing  # matplotlib takes its time

        save_sharing(
            self._plan, self._cuts, self._savings, self._sharing, path_of("path", path),
            runtime=self._runtime, calendar=self._is_calendar,
        )  # fmt: skip

    def _described(self, workload: Workload) -> dict[str, Any]:
        plan, calendar = self._plan, self._is_calendar
        chosen = zip(workload.queries, self._cuts, self._runtime.choices, strict=True)
        return {
            "plan": {"fingerprint": plan.fingerprint} | plan.model_dump(include=_OF_PLAN),
            "queries": [
                _query(query, cut, calendar) | {"executor": choice.executor, "why": choice.why}
                for query, cut, choice in chosen
            ],
            "shared": [_told(c, "id", "pattern", "shared_by") for c in self._savings.shared],
            "not_shared": [
                _told(c, "id", "pattern", "queries", "benefit", "fate")
                | {"why": reason(c, plan.guaranteed_weight)}
                for c in self._savings.unshared
            ],
            "kleene": _kleene(workload, self._sharing),
            "sets": [
                _set(PlannedSet.of(number, found), found, self._runtime, calendar)
                for number, found in enumerate(self._sharing.sets, 1)
            ],
        }


# ---- as plain data


def _query(query: BoundQuery, cut: Cut, calendar: bool) -> dict[str, Any]:
    return {
        "query": query.name,
        "cut": str(cut),
        "parts": [
            {
                "shared": stretch.candidate,
                "start": stretch.start,
                "stop": stretch.stop,
                "pattern": [box.text for box in stretch.boxes],
            }
            for stretch in cut.stretches
        ],
        "keys": _keys(query),
        "within": None if query.window.session else query.window.within,
        "slide": None if query.window.session else query.window.slide,
        "window": _window(query, calendar=calendar),
    }


def _keys(query: BoundQuery) -> str:
    """Return the keys that partition the trends and group the rows."""
    equal, groups = [], []
    counted = {position.index for position in query.positions if not position.negated}
    for key in query.keys:
        carriers = query.labels(counted & key.positions)
        part = f" of {', '.join(carriers)}" if counted - key.positions else ""
        if key.equivalence:
            equal.append(f"{key.attribute}{part}")
        if key.group_label is not None:
            groups.append(f"{key.group_label}{part}")
    texts = [f"[{', '.join(equal)}]"] if equal else []
    texts += [f"GROUP-BY {', '.join(groups)}"] if groups else []
    return " ".join(texts) or "no key"


def _window(query: BoundQuery, *, calendar: bool) -> str:
    if is_of_calendar(query.source) or query.window.session is not None:
        return " ".join(print_windows(query.source))
    lengths = query.window.within, query.window.slide
    within, slide = (print_length(length, calendar=calendar) for length in lengths)
    offset = query.window.offset
    after = f" OFFSET {print_length(offset, calendar=calendar)}" if offset else ""
    if (span := query.window.span) is not None:
        by = " BY FIRST" if span.by_first else ""
        return f"SPAN {print_length(span.length, calendar=calendar)} PER {within}{after}{by}"
    return f"WITHIN {within}{'' if within == slide else f' SLIDE {slide}'}{after}"


def _told(found: SharedCandidate | UnsharedCandidate, *of_candidate: str) -> dict[str, Any]:
    """Some of what the plan says of a candidate, and all that was found of it."""
    own = [item.name for item in fields(found) if item.name != "candidate"]
    told = {name: getattr(found.candidate, name) for name in of_candidate}
    plain: dict[str, Any] = to_jsonable_python(told | {name: getattr(found, name) for name in own})
    return plain


def _kleene(workload: Workload, sharing: Sharing) -> list[dict[str, Any]]:
    """Every E+ of several queries (Definition 3.1): who shares it, and what keeps the others."""
    by_name = workload.by_name
    member: dict[str, str] = {}
    sharers: dict[str, dict[str, list[str]]] = {}
    for number, found in enumerate(sharing.sets, 1):
        member |= {query.name: f"s{number}" for query in found.queries}
        for kind, names in _sharers(found).items():
            sharers.setdefault(kind, {})[f"s{number}"] = names
    reasons = {query.name: why for query, why in sharing.beside}
    holders = {kind: set(names) for kind, names in shared_kleene(workload)}
    told = []
    for kind in sorted(holders.keys() | sharers.keys()):
        sets = sharers.get(kind, {})
        shared = {name for names in sets.values() for name in names}
        alone = []
        for name in sorted(holders.get(kind, set()) - shared):
            why = reasons.get(name) or f"no other query of its set {member[name]} has {kind}+"
            alone.append({"query": name, "keys": _keys(by_name[name]), "why": why})
        told.append({"type": kind, "sets": sets, "apart": _apart(sets, by_name), "alone": alone})
    return told


def _apart(shared: dict[str, list[str]], by_name: dict[str, BoundQuery]) -> str | None:
    """Why the sets that have an E+ in common are not one."""
    if len(shared) < 2:
        return None
    keys = {name: _keys(by_name[queries[0]]) for name, queries in shared.items()}
    if len(set(keys.values())) < len(keys):
        return "they have equal partitions, but their events have other keys, or one set is full"
    return "partitioned differently: " + "; ".join(f"{n} by {text}" for n, text in keys.items())


def _sharers(found: SharableSet) -> dict[str, list[str]]:
    """By event type E, the queries of a set that share E+."""
    sharers: dict[str, list[str]] = {}
    for state, numbers in found.merged.sharers.items():
        names = sharers.setdefault(found.merged.states[state].type, [])
        names += [n for q in numbers if (n := found.queries[q].name) not in names]
    return sharers


def _set(
    planned: PlannedSet, found: SharableSet, runtime: RuntimePlan, calendar: bool
) -> dict[str, Any]:
    def names(numbers: Iterable[int]) -> list[str]:
        return [planned.queries[number] for number in numbers]

    return {
        "id": planned.id,
        "run_by": runtime.executors_of(planned.queries),
        "types": list(_sharers(found)),
        "queries": list(planned.queries),
        "keys": _keys(found.queries[0]),
        "windows": list(dict.fromkeys(_window(q, calendar=calendar) for q in found.queries)),
        "pane": planned.pane,
        "pane_text": print_length(planned.pane, calendar=calendar),
        "states": [
            {
                "type": state.event_type,
                "queries": names(state.queries),
                "starts": names(state.starts),
                "ends": names(state.ends),
            }
            for state in planned.states
        ],
        "transitions": [
            link.model_dump() | {"queries": names(link.queries)} for link in planned.transitions
        ],
    }


# ---- for people


def _print(found: dict[str, Any], console: Console) -> None:
    plan = found["plan"]
    proof = ", proven optimal" if plan["proven"] else ""
    console.print(
        Text(f"Plan {plan['fingerprint'][:12]} by {plan['finder']}: sharing saves"
             f" {figure_text(plan['score'])} count updates per longest window{proof}", "bold")
    )  # fmt: skip
    for title, lines in (
        ("Queries", _query_lines(found["queries"])),
        ("Kleene sub-patterns of several queries", _kleene_lines(found)),
        ("Run by auto", _executor_lines(found["queries"])),
    ):
        console.print(Text(f"\n{title}", "bold cyan"))
        for line in lines:
            console.print(line)
        if title == "Queries":
            _print_candidates(console, found)


def _query_lines(queries: list[dict[str, Any]]) -> Iterator[Text]:
    width = max((len(query["query"]) for query in queries), default=0)
    for query in queries:
        line = Text(f"  {query['query']:<{width}}  ", "bold")
        line.append(_cut_text(query))
        line.append(f"  {query['keys']} {query['window']}", style="not bold dim")
        yield line


def _cut_text(query: dict[str, Any]) -> Text:
    """The cut as `Cut` spells it, what is shared in green."""
    text = Text(query["cut"], style="not bold")
    for part in query["parts"]:
        if part["shared"] is not None:
            spelled = f"shared {part['shared']}: {', '.join(part['pattern'])}"
            start = query["cut"].index(spelled)
            text.stylize("green", start, start + len(spelled))
    return text


def _print_candidates(console: Console, found: dict[str, Any]) -> None:
    """Two tables: what is shared, and what is not."""
    wide = SafeConsole(file=console.file, highlight=False, width=max(console.width, 100))
    shared = Table("candidate", "shared by: gain", "cost once", "net", title="Shared",
                   title_justify="left")  # fmt: skip
    for each in found["shared"]:
        shared.add_row(
            _named(each), "\n".join(_gains(each)), _figure(each["once"]), _figure(each["net"])
        )
    if shared.rows:
        wide.print()
        wide.print(shared)
    missed = Table("candidate", "queries", "benefit", "why not", title="Not shared",
                   title_justify="left")  # fmt: skip
    for each in found["not_shared"][:_MOST_ROWS]:
        queries = ", ".join(each["queries"])
        missed.add_row(Text(_named(each)), queries, _figure(each["benefit"]), each["why"])
    if missed.rows:
        wide.print(missed)
    more = len(found["not_shared"]) - len(missed.rows)
    if more:
        wide.print(f"{more:,} more candidates are not shared; --json lists all")


def _named(each: dict[str, Any]) -> str:
    return f"{each['id']} ({', '.join(each['pattern'])})"


def _gains(each: dict[str, Any]) -> Iterator[str]:
    gains = each["gains"] or {}
    for name in each["shared_by"]:
        yield f"{name}: {_figure(gains[name])}" if name in gains else name
    for name, taken in each["left_out"].items():
        why = (
            f"{', '.join(taken)} shares it instead"
            if taken
            else "sharing it costs more than it saves"
        )
        yield f"not {name}: {why}"


def _figure(value: float | None) -> str:
    return "-" if value is None else figure_text(value)


def _kleene_lines(found: dict[str, Any]) -> Iterator[Text]:
    if not found["kleene"]:
        yield Text("  none")
    for each in found["kleene"]:
        holders = sum(map(len, each["sets"].values())) + len(each["alone"])
        yield Text(f"  {each['type']}+ in {holders} queries", "bold")
        for name, queries in each["sets"].items():
            yield Text(f"    {name} shares it: {', '.join(queries)}", "green")
        if each["apart"]:
            yield Text(f"    not one set: {each['apart']}")
        for alone in each["alone"]:
            yield Text(f"    not {alone['query']} ({alone['keys']}): {alone['why']}")
    for each in found["sets"]:
        yield Text(
            f"  {each['id']}: {len(each['queries'])} queries, {each['keys']};"
            f" panes of {each['pane_text']} from {', '.join(each['windows'])}"
        )
        run = "; ".join(
            f"{some_of(names, _MOST_NAMES)} by {who}" for who, names in each["run_by"].items()
        )
        yield Text(f"    run: {run}")
        for arrow in each["transitions"]:
            yield Text(f"    {_arrow(each, arrow)}", "dim")


def _executor_lines(queries: list[dict[str, Any]]) -> Iterator[Text]:
    """Who runs which queries, and why."""
    alike: dict[tuple[str, str], list[str]] = {}
    for query in queries:
        alike.setdefault((query["executor"], query["why"]), []).append(query["query"])
    for (executor, why), names in alike.items():
        line = Text(f"  {executor}: ", "bold")
        line.append(f"{some_of(names, _MOST_NAMES)}: {why}", style="not bold")
        yield line


def _arrow(found: dict[str, Any], arrow: dict[str, Any]) -> str:
    """A transition of the merged template with the queries that have it."""
    earlier, later = (found["states"][arrow[end]]["type"] for end in ("earlier", "later"))
    names = arrow["queries"]
    queries = "all" if len(names) == len(found["queries"]) else some_of(names, _MOST_NAMES)
    condition = ", with an edge predicate" if arrow["conditional"] else ""
    return f"{earlier} -> {later}: {queries}{condition}"
