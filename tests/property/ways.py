"""Every way to work out a workload: all executors, all they can decide, all widths of numbers."""

from __future__ import annotations

import importlib
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, filterfalse
from math import gcd
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import elsinore.executors.graph.climb as ladder
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate_ordered import lower_ordered, only_compares, ordered_sets
from elsinore.executors.graph.layout import lay_out
from elsinore.executors.graph.span_sets import span_sets
from elsinore.executors.hamlet.decisions import ALWAYS, DYNAMIC, NEVER, Decisions
from elsinore.executors.hamlet.kernels.ways import BESIDE
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.linear.cached_panes import CachedPanes, cache_refusals
from elsinore.executors.linear.sweep import aggregate_sweep
from elsinore.executors.linear.sweep_sets import sweep_sets
from elsinore.executors.output.finish import finish
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.session_bounds import bounded
from elsinore.executors.plan import (
    REFUSALS,
    AloneUnit,
    CachedPanesUnit,
    Executor,
    HamletUnit,
    Request,
    RuntimePlan,
    plan_for,
)
from elsinore.executors.plan.alike import answered_by
from elsinore.executors.plan.runtime_plan import measure_units, ordered_units
from elsinore.executors.plan.units import (
    OrderedUnit,
    ParticipationUnit,
    SegmentsUnit,
    SpanUnit,
    SweepUnit,
    Unit,
)
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.steps import with_steps
from elsinore.results.row import ResultRow
from elsinore.sharing.sharable import sharable_sets
from elsinore.template.build import template_parts
from elsinore.template.measures import measure_queries
from elsinore.template.support import aseq_refusals, counts_trends, greta_refusals
from elsinore.template.template import Template
from elsinore.timeline import Interval
from tests.property.random_cases.dice import Dice
from tests.property.random_workloads import random_plan

_SETS = importlib.import_module("elsinore.executors.hamlet.aggregate_set")
_RUN = importlib.import_module("elsinore.executors.linear.run")
_SPANS = importlib.import_module("elsinore.executors.graph.spans")
_SPAN_COUNTS = importlib.import_module("elsinore.executors.graph.span_counts")
_COMPARED = importlib.import_module("elsinore.executors.graph.compared_spans")
_ANCHORS = importlib.import_module("elsinore.executors.input.anchors")
_PARTIAL = importlib.import_module("elsinore.executors.output.partial_rows")


@dataclass(frozen=True)
class Way:
    """A plan of all queries of a workload that can be run so.

    Attributes:
        name: begins with the executor's.
        plan: who runs what.
        swept: how sweeps are run, by the arguments of `aggregate_sweep`.
        block: the length of the blocks whose panes are computed; None: no cached panes.
        folded: whether blocks are put together into panes first.
        constants: of modules, that lead another way through the code: module, name, value.
    """

    name: str
    plan: RuntimePlan
    swept: Mapping[str, Any] = field(default_factory=dict)
    block: int | None = None
    folded: bool = False
    constants: Sequence[tuple[ModuleType, str, object]] = ()

    def rows(self, events: EventTable, owned: Interval | None = None) -> list[ResultRow]:
        """The finished rows of its queries, of the windows that end in an interval."""
        workload = Workload(events.schema, self.queries)
        with pytest.MonkeyPatch.context() as patched:
            for module, name, value in self.constants:
                patched.setattr(module, name, value)
            parts = list(self._parts(events, owned))
        return finish(workload, parts, answered_by(self.plan.row_classes))

    @property
    def queries(self) -> tuple[BoundQuery, ...]:
        """The queries that it answers; the plan has their steps."""
        asked = (
            query if query.step_of is None else query.step_of[0] for query in self.plan.queries
        )
        return tuple({query.name: query for query in asked}.values())

    def _parts(self, events: EventTable, owned: Interval | None) -> Iterator[PartialRows]:
        if self.block is not None:
            cut, whole = (CachedPanes(self.plan.queries, n) for n in (self.block, 2**61))
            panes = list(cut.pane_rows(events))
            if self.folded:
                panes = list(cut.folded(panes, whole.block))
            yield from (whole if self.folded else cut).window_rows(panes, owned)
            return
        if not self.swept:
            yield from chain.from_iterable(self.plan.run(events, Request(owned)))
            return
        columns = EventColumns.of(events)
        for unit in ordered_units(self.plan.units, columns):
            if isinstance(unit, SweepUnit):
                parts = aggregate_sweep(unit.swept, columns, owned=owned, **self.swept)
            else:
                parts = unit.run(columns, Request(owned))
            yield from bounded(parts, columns, owned)

    def shared(self) -> Counter[str]:
        """What its queries share, how many compare pairs, and how many return several things."""
        queries = self.queries
        return Counter(
            {
                "sets": sum(len(names) > 1 for names in self.plan.sets),
                "segments": len(self.plan.segments),
                "sweeps": len(self.plan.sweeps),
                "orders": len(self.plan.ordered),
                "comparing": sum(bool(query.edge_predicates) for query in queries),
                "returning several": sum(len(query.aggregates) > 1 for query in queries),
            }
        )


def ways(workload: Workload, events: EventTable, name: str, plans: int = 1) -> list[Way]:
    """All ways for a workload; of each those queries that can take it, if any.

    Args:
        workload: any queries; what only twostep runs takes no way.
        events: to measure what is to be expected.
        name: of the case; draws what is decided at random.
        plans: how many random ones of a kind.
    """
    dice = Dice(f"ways of {name}")
    asked = [query for query in workload.queries if not greta_refusals(query)]
    able = [*with_steps(asked)]
    found = [*alone(asked), *_shared(able, zlib.crc32(name.encode()))]
    found += [*_linear(workload.queries, dice, plans)]
    fixed = [query for query in workload.queries if not REFUSALS[Executor.SHARON](query)]
    named = {Executor.HAMLET: asked, Executor.HAMLET_STATIC: asked, Executor.SHARON: fixed}
    for executor, queries in (named | {Executor.AUTO: asked}).items() if len(events) else ():
        if executor not in (Executor.HAMLET, Executor.HAMLET_STATIC) or sharable_sets(able).sets:
            run = Workload(workload.schema, tuple(queries))
            found.append(Way(executor.value, plan_for(executor, run, events)))
    found += [Way("auto at random", _anything(able, dice)) for _ in range(plans)]
    return [way for way in found if way.plan.queries]


def _plan(
    units: Iterable[Unit], only_events: Iterable[BoundQuery] = (), *, sweeping: bool = True
) -> RuntimePlan:
    """The units, and those of EACH, DISTINCT and measures; `only_events` are in no other."""
    made = tuple(units)
    queries = tuple(query for unit in made for query in unit.queries) + tuple(only_events)
    # A query is answered by all of its steps.
    names, every = (
        {query.name for query in queries},
        {q.step_of[0].name: q.step_of[0] for q in queries if q.step_of},
    )
    others = tuple(q for q in with_steps(every.values()) if q.name not in names)
    made += tuple(AloneUnit((query,)) for query in others)
    queries += others
    each = tuple(ParticipationUnit((query,)) for query in queries if query.participating)
    measured = [part for query in queries for part in measure_queries(query)]
    measures = tuple(measure_units(measured, sweeping=sweeping))
    return RuntimePlan(queries, (), made + each + measures, ())


def alone(queries: Sequence[BoundQuery]) -> Iterator[Way]:
    """Greta query by query: by pairs in windows as small as those of tests, by order, wide.

    By order only what compares: all else never asks how trees are made.
    """
    different = [*with_steps(_different(queries))]
    counted, others = [*filter(counts_trends, different)], filterfalse(counts_trends, different)
    plan = _plan((AloneUnit((query,)) for query in counted), others, sweeping=False)
    ordered = (AloneUnit((query,)) for query in counted if _by_order(query))
    compared = _plan(ordered, sweeping=False)
    trees, wide = (ladder, "BY_ORDER", 1), (ladder, "_rung", _wide(ladder._rung))
    yield Way("greta", plan)
    yield Way("greta in 128 bits", plan, constants=[(ladder, "BY_ORDER", 10**9), wide])
    yield Way("greta by order", compared, constants=[trees])
    yield Way("greta by order, sorted", compared, constants=[trees, (ladder, "DENSE", 0)])
    spans = _plan((AloneUnit((q,)) for q in counted if q.window.span is not None), sweeping=False)
    anchors = [(_SPANS, name, _never) for name in ("is_linear", "compares")]
    yield Way("greta, spans by anchors", spans, constants=[*anchors, *_LITTLE])
    by_chains = [(_COMPARED, "compares_once", _never), (_COMPARED, "_LEAST", 1)]
    yield Way("greta, spans compared by first events", spans, constants=by_chains)
    yield Way("greta, spans compared in short runs", spans, constants=by_chains[1:])
    again = [(_SPANS, n, _outgrown(getattr(_SPANS, n))) for n in ("_products", "count_trends")]
    little = [(_SPAN_COUNTS, "ROOM", 1)]
    yield Way("greta, spans with little room", spans, constants=little)
    yield Way("greta, spans by states", spans, constants=[(_SPANS, "FEW", 0)])
    yield Way("greta, spans in more bits", spans, constants=again)
    goes_on = [trees, (ladder, "BY_ITSELF", 1)]
    yield Way("greta by order, wide as it goes", compared, constants=goes_on)
    yield Way("greta by order in 128 bits", compared, constants=[trees, wide])


#: Few windows of spans at a time.
_LITTLE = [(_ANCHORS, "_ENTRIES", 2), (_ANCHORS, "_WINDOWS", 3), (_PARTIAL, "_AT_ONCE", 1)]


def _never(template: Template, ordered: object = None) -> bool:
    return False


def _outgrown(products: Callable[..., Any]) -> Callable[..., Any]:
    """Products of which every period needs more bits."""

    def found(*arguments: Any) -> Any:
        rows, outgrown = products(*arguments)
        return rows, np.ones_like(outgrown)

    return found


def _different(queries: Sequence[BoundQuery]) -> list[BoundQuery]:
    """The first of those that are the same but for their names: alone they are run alike."""
    found: dict[Hashable, BoundQuery] = {}
    for query in queries:
        asked = (query.question, query.aggregates, query.outputs, query.having, query.steps)
        found.setdefault(asked, query)
    return list(found.values())


def _by_order(query: BoundQuery) -> bool:
    """Whether trees answer any of its transitions."""
    return any(lay_out(template).orders for _, template in template_parts(query))


def _wide(rung: Callable[..., Any]) -> Callable[..., Any]:
    """The ladder without its first rung."""
    return lambda graph, spans, limbs, orders: rung(graph, spans, 2 * limbs, orders)


def _shared(queries: Sequence[BoundQuery], seed: int) -> Iterator[Way]:
    """Sharable sets by Hamlet, however it decides, and those that only compare by shared trees."""
    queries = [*filter(counts_trends, queries)]
    sets = sharable_sets(queries).sets
    ordered = _ordered(queries)
    yield Way("greta, shared trees", _plan(map(OrderedUnit.of, ordered)))
    for name, backwards in ("forwards", False), ("backwards", True):
        lowered = [lower_ordered(each, backwards=backwards) for each in ordered]
        units = (OrderedUnit(each.found.queries, each) for each in lowered)
        yield Way(f"greta, shared trees, {name}", _plan(units))
    together = span_sets(_different([query for query in queries if query.window.span]))
    yield Way("greta, spans together", _plan(map(SpanUnit.of, together)))
    beside = [HamletUnit.of(each, Decisions.of(((BESIDE,) * len(each.queries),))) for each in sets]
    yield Way("hamlet, side by side", _plan(beside))
    decided = {"dynamic": DYNAMIC, "always": ALWAYS, "never": NEVER}
    for name, by in (decided | {"random": Decisions.random(seed)}).items():
        yield Way(f"hamlet, {name}", _plan(HamletUnit.of(each, by) for each in sets))
    no_room = [(_SETS, "LARGEST_SCRATCH", 0)]
    yield Way("hamlet without room", _plan(map(HamletUnit.of, sets)), constants=no_room)


def _ordered(queries: Sequence[BoundQuery]) -> list[Any]:
    sets = filter(only_compares, sharable_sets(queries).sets)
    return [part for each in sets for part in ordered_sets(each)]


def _linear(queries: Sequence[BoundQuery], dice: Dice, plans: int) -> Iterator[Way]:
    """Fixed lengths with and without segments; what asks nothing of pairs, swept."""
    little = [(_RUN, "_ROWS", 3), (_RUN, "_OUTGROWN", 2)]
    able = [*with_steps(query for query in queries if not REFUSALS[Executor.ASEQ](query))]
    fixed, others = [*filter(counts_trends, able)], [*filterfalse(counts_trends, able)]
    for name in ("aseq", *("sharon at random",) * plans) if able else ():
        unit = (
            SegmentsUnit.of(_different(fixed), [])
            if name == "aseq"
            else SegmentsUnit.of(fixed, random_plan(dice, fixed))
        )
        plan = _plan([unit] if fixed else [], others)
        yield Way(name, plan)
        yield Way(f"{name} with little room", plan, constants=little)
    able = [*with_steps(query for query in queries if not REFUSALS[Executor.SWEEP](query))]
    swept, others = [*filter(counts_trends, able)], [*filterfalse(counts_trends, able)]
    plan = _plan(map(SweepUnit.of, sweep_sets(swept)), others)
    yield Way("sweep", plan)
    yield Way("sweep by panes", plan, {"panes": True})
    yield Way("sweep without panes, in threads", plan, {"panes": False, "threads": 3})
    yield Way("sweep with little room", plan, constants=little)
    yield Way("sweep by panes with little room", plan, {"panes": True}, constants=little)
    able = [query for query in swept if not cache_refusals(query)]
    cached = _plan([CachedPanesUnit.of(able)] if able else [])
    half = _half_pane(cached.queries)
    yield Way("sweep, cached panes without a cache", cached)
    yield Way("sweep, cached panes", cached, block=2**61)
    yield Way("sweep, cached half panes", cached, block=half)
    yield Way("sweep, cached panes of halves", cached, block=half, folded=True)


def _half_pane(queries: Sequence[BoundQuery]) -> int:
    """What leaves several blocks in a pane, if its length allows that."""
    pane = gcd(*(query.window.pane() for query in queries))
    return pane // 2 if pane % 2 == 0 else 1


def _anything(queries: Sequence[BoundQuery], dice: Dice) -> RuntimePlan:
    """Any sharing whatsoever."""
    fixed = [query for query in queries if not aseq_refusals(query)]
    others = [query for query in queries if query not in fixed]
    dice.shuffle(others)
    cut = dice.number(0, len(others))
    sets = [each for part in (others[:cut], others[cut:]) for each in sharable_sets(part).sets]
    swept = [*others, *(query for query in fixed if dice.chance(0.3))]
    return RuntimePlan.of(
        queries,
        segments=random_plan(dice, fixed),
        sweeps=[tuple(query.name for query in swept if dice.chance(0.3))],
        cached=[query.name for query in swept if dice.chance(0.1)],
        ordered=_ordered(others[:cut]) + _ordered(others[cut:]),
        sets=sets,
    )
