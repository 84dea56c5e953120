"""How much work a sweep of a set is, by kind of work; `predicted.json` has what a unit costs."""

from __future__ import annotations

from math import log2

from elsinore.engine.hamlet.load import Amounts, Load, basic_amounts, lanes_of
from elsinore.engine.hamlet.traffic import (
    Stream,
    expected_burst,
    held,
    overlap,
    windows_met,
)
from elsinore.engine.sweep.panes import can_use_panes, pane_costs
from elsinore.kernels.sweep_digits import DIGIT
from elsinore.kernels.sweep_narrow import LARGEST_COUNT
from elsinore.lowering.carriers import carriers_of
from elsinore.lowering.merged import key_attributes, type_of
from elsinore.lowering.sweep import Member, SweepSet
from elsinore.windows import Window

#: Kinds of work; see `sweep_amounts`.
KINDS = (
    *("set", "query", "entry", "keyed", "asked", "burst", "cell", "weighed", "wide"),
    *("panes", "window", "row", "valued", "joined"),
)

#: An event type, and the attributes of the keys that its events carry.
Kind = tuple[str, frozenset[str]]


def sweep_amounts(found: SweepSet, stream: Stream) -> Amounts:
    """What a sweep does for a set.

    | kind | times |
    |---|---|
    | set, query | once; for each query |
    | entry, keyed | events in each partition that they fit; the same where keys partition them |
    | asked | events, for each local predicate on their type |
    | burst | bursts, for each window clause and window that holds them |
    | cell | counts of trends that a burst changes, for each window that holds it |
    | weighed | the same of all numbers of queries that ask for more than COUNT(*) |
    | wide | numbers that a burst changes, by digits, where counts outgrow 64 bits |
    | panes | nanoseconds of panes and their products, where these are quicker (`panes`) |
    | window | windows of all partitions that hold an event, for each query |
    | row, valued | rows; numbers in rows beyond the first |
    | joined | numbers in rows of partitions that share a group with others: they are added up |
    """
    loads = [Load(q, t, stream) for q, t in zip(found.queries, found.templates, strict=True)]
    entries = _entries(loads)
    keyed = bool(key_attributes(found.queries[0], found.templates[0].keys))
    amounts = dict.fromkeys(KINDS, 0.0) | {
        "set": 1.0,
        "query": float(len(loads)),
        "entry": sum(entries.values()),
        "keyed": sum(entries.values()) * keyed,
    }
    names = [query.name for query in found.queries]
    for window in dict.fromkeys(query.window for query in found.queries):
        _add_window(window, [each for each in loads if each.query.window == window], names, amounts)
    for load in loads:
        basic = basic_amounts(load)
        for kind in ("window", "row", "joined"):
            amounts[kind] += basic[kind]
        amounts["valued"] += basic["row"] * (lanes_of(load.query) - 1)
    asked = {(p.condition, q.positions[p.position].type) for q in found.queries
             for p in q.local_predicates}  # fmt: skip
    amounts["asked"] = sum(stream.events(kind) for _, kind in asked)
    return amounts


def _kind(load: Load, state: int) -> Kind:
    found = load.template.states[state]
    return type_of(load.query, found), key_attributes(load.query, found.keys & load.template.keys)


def _entries(loads: list[Load]) -> dict[Kind, float]:
    """Events at any state, in each partition that they fit; those of several queries once."""
    found: dict[Kind, float] = {}
    for load in loads:
        for state, number in zip(load.template.trend_states, load.entries_at, strict=True):
            kind = _kind(load, state)
            found[kind] = max(found.get(kind, 0.0), number)
    return found


def _add_window(window: Window, loads: list[Load], names: list[str], amounts: Amounts) -> None:
    """Add the sweeps of the queries that have one window clause."""
    entries, often = _entries(loads), overlap(window)
    lengths = _burst_lengths(window, entries, loads[0], names)
    if window.slide < window.within:
        members = [Member(each.query, each.template, carriers_of(each.query)) for each in loads]
        number, partitions = sum(entries.values()), loads[0].partitions
        pane = Window(window.pane(), window.pane())
        panes = windows_met(number, partitions, pane, loads[0].stream.span)
        costs = pane_costs(members, window, number, panes, partitions)
        if can_use_panes(members) and costs.by_panes < costs.window_by_window:
            amounts["panes"] += costs.by_panes
            often = 0.0
    amounts["burst"] += often * sum(number / lengths[kind] for kind, number in entries.items())
    for load in loads:
        lanes = lanes_of(load.query)
        cells = lanes * sum(
            number / lengths[_kind(load, state)]
            for state, number in zip(load.template.trend_states, load.entries_at, strict=True)
        )
        amounts["cell" if lanes == 1 else "weighed"] += cells * often
        if load.bits >= log2(LARGEST_COUNT):
            amounts["wide"] += cells * overlap(window) * load.bits / DIGIT


def _burst_lengths(
    window: Window, entries: dict[Kind, float], load: Load, names: list[str]
) -> dict[Kind, float]:
    """Mean lengths of bursts: as profiles say, else as if events came in no order."""
    stream = load.stream
    inside = {
        kind: held(number, load.partitions, window.within, stream.span)
        for kind, number in entries.items()
    }
    found = {}
    for kind, number in inside.items():
        known = stream.burst(names, kind[0])
        guess = expected_burst(number, sum(inside.values()) - number)
        found[kind] = max(1.0, min(guess if known is None else known, number))
    return found
