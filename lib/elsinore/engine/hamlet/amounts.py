"""How much work greta has with a query, and Hamlet with a set, by kind of work.

The kinds are what times were found to depend on; `predicted.json` has what one unit of each costs.
"""

from __future__ import annotations

from math import log2

from elsinore.engine.climb import BY_ORDER
from elsinore.engine.hamlet.costs import NAMES, load_costs
from elsinore.engine.hamlet.load import (
    Amounts,
    Load,
    basic_amounts,
    lanes_of,
    limbs_for,
    steps_of,
    width_of,
)
from elsinore.engine.hamlet.traffic import Stream, expected_burst, held, overlap
from elsinore.lowering.merged import MergedTemplate
from elsinore.lowering.sharable import SharableSet
from elsinore.query.bound import BoundQuery
from elsinore.template.template import Template

#: Kinds of greta's work; see `greta_amounts`.
GRETA = (
    *("call", "idle", "entry", "keyed", "window", "row", "joined", "step", "wide"),
    *("compared", "ordered", "program", "added"),
)

#: Steps of a pair program that only compares.
_COMPARISON = 3


def greta_amounts(query: BoundQuery, template: Template, stream: Stream) -> Amounts:
    """What greta does for a query of one template.

    | kind | times |
    |---|---|
    | call, idle | once: for a query that finds events for a trend, and for one that does not |
    | entry, keyed | events at states; the same where keys partition them |
    | window | windows of all partitions that hold an event |
    | row | rows |
    | joined | numbers in rows of partitions that share a group with others: they are added up |
    | step | events at states, for each window that holds them |
    | wide | steps with wide counts, by the limbs of all rungs |
    | compared | pairs whose program is one comparison, looked at in each small window and rung |
    | ordered | in larger ones, by order: events by the logarithm of those before |
    | program | steps of the other programs over pairs |
    | added | pairs that are adjacent, by the limbs of all rungs, but for those by order |
    """
    load = Load(query, template, stream)
    if load.idle:
        return dict.fromkeys(GRETA, 0.0) | {"idle": 1.0}
    steps = load.entries * overlap(query.window)
    amounts = basic_amounts(load)
    limbs = limbs_for(load.bits)
    carriers = lanes_of(query)
    amounts |= {
        "call": 1.0,
        "idle": 0.0,
        "step": steps * carriers,
        "wide": steps * carriers * sum(limbs[1:]),
    }
    amounts |= dict.fromkeys(("compared", "ordered", "program", "added"), 0.0)
    for arrow in template.transitions:
        if arrow.condition is None:
            continue
        arriving = load.entries_at[arrow.later] * overlap(query.window) * len(limbs)
        members = load.held_at[arrow.earlier] / 2
        length = steps_of(arrow)
        if length == _COMPARISON and sum(load.held_at) >= BY_ORDER:
            # Trees hold words as wide as their counts have become, and large windows climb on.
            amounts["ordered"] += arriving / len(limbs) * log2(1.0 + members)
            amounts["wide"] = steps * carriers * limbs[-1] / 2 * (len(limbs) > 1)
            continue
        if length == _COMPARISON:
            amounts["compared"] += arriving * members
        else:
            amounts["program"] += arriving * members * length
        adjacent = load.share(arrow) * arriving * members / len(limbs)
        amounts["added"] += adjacent * carriers * sum(limbs)
    return amounts


def hamlet_amounts(found: SharableSet, stream: Stream) -> Amounts:
    """What Hamlet does for a set.

    | kind | times |
    |---|---|
    | set, query | once; for each query |
    | entry, keyed | events at merged states; the same where keys partition them |
    | window, row, joined | of all queries |
    | bursts | bursts of all types |
    | burst | nanoseconds of bursts without edge predicates, by the costs of decisions |
    | wide | lanes of these bursts with wide counts, by the limbs of all rungs |
    | arrival | events at states with edge predicates, for each run of alike queries |
    | lane | lanes of these, by the limbs of all rungs |
    | compared, program | as for greta, once for all queries that ask alike |
    | added | lanes of pairs that are adjacent, by the limbs of all rungs |
    """
    merged = found.merged
    loads = [Load(q, t, stream) for q, t in zip(merged.queries, merged.templates, strict=True)]
    sums = [basic_amounts(load) for load in loads]
    limbs = limbs_for(max(load.bits for load in loads))
    entries = _merged_entries(merged, loads)
    keyed = bool(merged.keys)
    amounts = {
        "set": 1.0,
        "query": float(len(loads)),
        "entry": sum(entries),
        "keyed": sum(entries) * keyed,
        "window": sum(each["window"] for each in sums),
        "row": sum(each["row"] for each in sums),
        "joined": sum(each["joined"] for each in sums),
    }
    amounts |= dict.fromkeys(
        ("burst", "wide", "arrival", "lane", "compared", "program", "added"), 0.0
    )
    paired = {n for link in merged.links if link.condition for n in (link.earlier, link.later)}
    lengths = [_burst_length(found, state, entries, loads) for state in range(len(entries))]
    amounts["bursts"] = sum(n / b for n, b in zip(entries, lengths, strict=True))
    for state, number in enumerate(entries):
        if state in paired:
            runs = len(merged.admissions(state))
            lanes = sum(lanes_of(merged.queries[q]) * width_of(loads[q])
                        for q in merged.states[state].members)  # fmt: skip
            amounts["arrival"] += number * runs * len(limbs)
            amounts["lane"] += number * lanes * sum(limbs)
        else:
            _add_bursts(
                merged, state, number / lengths[state], lengths[state], loads, limbs, amounts
            )
    for link in merged.links:
        if link.condition is not None:
            _add_pairs(merged, link.queries, (link.earlier, link.later), loads, limbs, amounts)
    return amounts


def members_bytes(found: SharableSet, stream: Stream) -> float:
    """What Hamlet keeps of events that edge predicates may ask for, by the widest counts."""
    merged = found.merged
    loads = [Load(q, t, stream) for q, t in zip(merged.queries, merged.templates, strict=True)]
    paired = {link.earlier for link in merged.links if link.condition is not None}
    lanes = sum(lanes_of(load.query) * width_of(load) for load in loads)
    reach = max(load.query.window.within for load in loads)
    entries = _merged_entries(merged, loads)
    live = sum(held(number, loads[0].partitions, reach, stream.span) for number in entries)
    limbs = max(limbs_for(max(load.bits for load in loads)))
    return len(paired) * 3 * live * lanes * 8 * limbs


def _merged_entries(merged: MergedTemplate, loads: list[Load]) -> list[float]:
    """Events at each merged state: what any of its queries takes."""
    found = []
    for state in merged.states:
        taken = [loads[q].entries_at[own] for q, own in state.members.items()]
        own_attributes = state.keys & frozenset(merged.keys)
        stream = loads[0].stream
        parts = max(1.0, stream.partitions(merged.keys) / stream.partitions(own_attributes))
        found.append(min(sum(taken), stream.events(state.type) * parts))
    return found


def _add_bursts(
    merged: MergedTemplate,
    state: int,
    bursts: float,
    length: float,
    loads: list[Load],
    limbs: list[int],
    amounts: Amounts,
) -> None:
    """Bursts of a state without edge predicates, each shared where the costs say so."""
    if not bursts:
        return
    stream = loads[0].stream
    members = merged.states[state].members
    alike: dict[object, list[int]] = {}
    for q in members:
        alike.setdefault(merged.admission(state, q), []).append(q)
    costs = dict(zip(NAMES, load_costs().tolist(), strict=True))
    for queries in alike.values():
        events = stream.events(merged.states[state].type)
        taken = length * min(1.0, loads[queries[0]].entries_at[members[queries[0]]] / events)
        lanes = sum(lanes_of(merged.queries[q]) * width_of(loads[q]) for q in queries)
        shared = costs["burst"] + length * costs["coefficient"] + lanes * costs["product"]
        alone = taken * (len(queries) * costs["step"] + lanes * costs["addition"])
        amounts["burst"] += bursts * min(shared, alone)
        amounts["wide"] += bursts * lanes * sum(limbs[1:])


def _burst_length(found: SharableSet, state: int, entries: list[float], loads: list[Load]) -> float:
    """Mean length of a burst: as the profile says, else as if events came in no order."""
    kind, stream = found.merged.states[state].type, loads[0].stream
    known = stream.burst([q.name for q in found.queries], kind)
    if known is not None:
        return known
    in_pane = [held(n, loads[0].partitions, found.pane, stream.span) for n in entries]
    return expected_burst(in_pane[state], sum(in_pane) - in_pane[state])


def _add_pairs(
    merged: MergedTemplate,
    queries: tuple[int, ...],
    ends: tuple[int, int],
    loads: list[Load],
    limbs: list[int],
    amounts: Amounts,
) -> None:
    """Pairs of a link: looked at once for all of its queries, added for each lane."""
    arriving = members = lanes = share = 0.0
    length = 0
    for q in queries:
        load = loads[q]
        own = [merged.states[n].members[q] for n in ends]
        alive = held(
            load.entries_at[own[0]], load.partitions, load.query.window.within, load.stream.span
        )
        alive *= 1.0 - 0.5 / max(1.0, overlap(load.query.window))
        arriving = max(arriving, load.entries_at[own[1]])
        members = max(members, alive)
        lanes += lanes_of(load.query) * width_of(load)
        for arrow in load.template.transitions:
            if (arrow.earlier, arrow.later) == (own[0], own[1]) and arrow.condition is not None:
                share, length = max(share, load.share(arrow)), max(length, steps_of(arrow))
    pairs = arriving * members * len(limbs)
    if length == _COMPARISON:
        amounts["compared"] += pairs
    else:
        amounts["program"] += pairs * length
    amounts["added"] += arriving * members * share * lanes * sum(limbs)
