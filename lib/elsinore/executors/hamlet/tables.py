"""Compile a sharable set into the tables of the Hamlet kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from elsinore.errors import ParameterError
from elsinore.executors.aggregates import WeightColumns, accumulators_of
from elsinore.executors.hamlet.kernels.graph import (
    BEGIN,
    END,
    KIND,
    LINK,
    NO_LOOP,
    OWN,
    RUN,
)
from elsinore.executors.input.conditions import Programs
from elsinore.query.bound import BoundQuery
from elsinore.sharing.merged import MergedTemplate
from elsinore.sharing.sharable import SharableSet, sharable_set


@dataclass(frozen=True)
class Tables:
    """The compiled form of a set; see `hamlet.kernels.graph.MergedGraph` for the arrays."""

    found: SharableSet  #: the set
    arrays: Mapping[str, np.ndarray]  #: fields of the graph by name
    columns: WeightColumns  #: the columns of weights, numbered
    programs: Programs  #: the compiled conditions on pairs


def make_tables(queries: SharableSet | Sequence[BoundQuery]) -> Tables:
    """Return the tables of one sharable set.

    Args:
        queries: the set, or its queries.

    Raises:
        ParameterError: the queries are not one sharable set.
    """
    found = queries if isinstance(queries, SharableSet) else sharable_set(queries)
    if found is None:
        hint = "`elsinore explain` lists the sharable sets"
        raise ParameterError("the queries are not one sharable set", hint=hint)
    merged = found.merged
    class_of, programs, columns = merged.class_of, Programs(), WeightColumns()
    arrays = _links(merged, class_of, programs) | _own(merged, class_of, columns)
    arrays |= _runs("begin", _by_class(class_of, merged.starts), BEGIN)
    arrays |= _runs("end", _by_class(class_of, merged.ends), END)
    arrays |= _loops(merged, class_of, programs)
    arrays = _states(merged, arrays) | programs.arrays
    return Tables(found, arrays, columns, programs)


#: The bit of each query of each state.
_ClassOf = Sequence[Mapping[int, int]]


def _by_class(
    class_of: _ClassOf, queries: Callable[[int], Iterable[int]]
) -> list[dict[int, tuple[int, ...]]]:
    return [{q: (bits[q],) for q in queries(s)} for s, bits in enumerate(class_of)]


def _runs(
    name: str, states: Sequence[Mapping[int, tuple[int, ...]]], kind: np.dtype
) -> dict[str, np.ndarray]:
    """Return a table with the runs of neighboring queries that agree, per state."""
    return _table(name, [_agreeing(marks) for marks in states], kind)


def _agreeing(marks: Mapping[int, tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return `(low, high, *mark)` of each run of neighboring queries with equal marks.

    The keys of `marks` are numbers of queries, ascending.

    >>> _agreeing({0: (7,), 1: (7,), 3: (7,)})
    [(0, 2, 7), (3, 4, 7)]
    """
    found, low = [], 0
    for q, mark in marks.items():
        if marks.get(q - 1) != mark:
            low = q
        if marks.get(q + 1) != mark:
            found.append((low, q + 1, *mark))
    return found


def _table(
    name: str, states: Sequence[Sequence[tuple[int, ...]]], kind: np.dtype
) -> dict[str, np.ndarray]:
    """Return the rows of all states, and the first row of each state."""
    rows = np.array([tuple(row) for rows in states for row in rows], kind)
    starts = np.cumsum([0, *(len(rows) for rows in states)], dtype=np.int64)
    return {f"{name}s": rows, f"{name}_start": starts}


def _links(merged: MergedTemplate, class_of: _ClassOf, programs: Programs) -> dict[str, np.ndarray]:
    states: list[list[tuple[int, ...]]] = [[] for _ in merged.states]
    for link in merged.links:
        program = programs.program(link.condition, link.earlier, link.later)
        marks = {q: (class_of[link.later][q], link.earlier, program) for q in link.queries}
        states[link.later] += _agreeing(marks)
    for later, rows in enumerate(states):
        rows.sort(key=lambda row: (row[4] >= 0, row[3] == later))
    return _table("link", states, LINK)


def _loops(merged: MergedTemplate, class_of: _ClassOf, programs: Programs) -> dict[str, np.ndarray]:
    own: list[dict[int, int]] = [{} for _ in merged.states]
    for link in merged.links:
        if link.earlier == link.later:
            program = programs.program(link.condition, link.earlier, link.later)
            own[link.later] |= dict.fromkeys(link.queries, program)
    linear = [accumulators_of(query).are_integers for query in merged.queries]
    marks = [_run_marks(bits, own[s], linear) for s, bits in enumerate(class_of)]
    return _runs("run", marks, RUN)


def _run_marks(
    bits: Mapping[int, int], own: Mapping[int, int], linear: Sequence[bool]
) -> dict[int, tuple[int, ...]]:
    """Return the fields of `RUN` after low and high, for each query of a state."""
    if len(bits) == 1:  # the case of most states of a large set
        ((q, bit),) = bits.items()
        return {q: (bit, own.get(q, NO_LOOP), 1, linear[q], linear[q], True)}
    loops = {q: own.get(q, NO_LOOP) for q in bits}
    company, classes = Counter(loops.values()), Counter(bits.values())
    able = Counter(loop for q, loop in loops.items() if linear[q])
    common = max(able, key=able.__getitem__, default=None)
    largest = max(classes, key=classes.__getitem__)
    return {
        q: (
            *(bit, loops[q], company[loops[q]], linear[q]),
            *(linear[q] and loops[q] == common, bit == largest),
        )
        for q, bit in bits.items()
    }


def _states(merged: MergedTemplate, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays with the table of states, which replaces the `_start` arrays."""
    size = len(merged.states)
    links = arrays["links"]
    programmed = links["program"] >= 0
    later = np.repeat(np.arange(size), np.diff(arrays["link_start"]))
    kept = np.bincount(links["from"][programmed], minlength=size) > 0
    states_of = Counter(state.type for state in merged.states)
    kinds = np.zeros(size + 1, KIND)
    for name in ("begin", "end", "link", "own", "run"):
        kinds[f"{name}_start"] = arrays.pop(f"{name}_start")
    bare, outside = ~programmed, ~programmed & (links["from"] != later)
    for name, before in (("loop_start", outside), ("pair_start", bare)):
        counts = np.bincount(later[before], minlength=size)
        kinds[name][:size] = kinds["link_start"][:size] + counts
    kinds["kept"][:size] = kept
    kinds["plain"][:size] = ~kept & (np.bincount(later[programmed], minlength=size) == 0)
    kinds["alone"][:size] = [states_of[state.type] == 1 for state in merged.states]
    foreign = programmed & (links["from"] != later)
    kinds["foreign"][:size] = np.bincount(later[foreign], minlength=size) > 0
    return arrays | {"kinds": kinds}


def _own(
    merged: MergedTemplate, class_of: _ClassOf, columns: WeightColumns
) -> dict[str, np.ndarray]:
    states = [
        [
            (q, class_of[s][q], accumulator.kind, index, columns.number(accumulator))
            for q, own in state.members.items()
            for found in accumulators_of(merged.queries[q]).columns
            for index, accumulator in enumerate(found)
            if accumulator.counts_at(merged.templates[q].states[own].positions)
        ]
        for s, state in enumerate(merged.states)
    ]
    return _table("own", states, OWN)
