"""A template as the arrays that the kernels read: a graph without its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from elsinore.executors.input.conditions import Order, Programs, Slot, find_orders
from elsinore.query.bound import EdgePredicate
from elsinore.template.template import Floor, Template


@dataclass(frozen=True)
class Layout:
    """The parts of `executors.graph.kernels.graph.Graph` that a template determines, by name."""

    arrays: Mapping[str, np.ndarray]  #: see `executors.graph.kernels.graph.Graph`
    slots: tuple[Slot, ...]  #: the columns that programs read, by number
    #: the transitions whose condition is one comparison, by number.
    orders: tuple[tuple[int, Order], ...]


def lay_out(template: Template, programs: Programs | None = None) -> Layout:
    """Return the layout of a template.

    Args:
        template: the template.
        programs: the lowered conditions of other templates over the same states, which receive the
            conditions of this one. None for a template of its own.
    """
    programs = Programs() if programs is None else programs
    arrays = _states(template, programs) | _transitions(template, programs)
    arrays |= _ways_out(template, programs)
    orders = find_orders(template, programs)
    arrays |= programs.arrays | _floors(tuple(programs.floors))
    return Layout(arrays, tuple(programs.slots), orders)


def _states(template: Template, programs: Programs) -> dict[str, np.ndarray]:
    numbers = range(len(template.states))

    def floors(bounds: Mapping[int, Floor | None] | Mapping[int, Floor]) -> np.ndarray:
        return _numbers(programs.floor(bounds.get(number)) for number in numbers)

    return {
        "guard_of": _numbers(state.guard for state in template.states),
        "starts": np.array([number in template.starts for number in numbers], np.bool_),
        "ends": np.array([number in template.ends for number in numbers], np.bool_),
        "start_floor": floors(template.starts),
        "start_bar": floors(template.bars),
        "end_floor": floors(template.ends),
    }


def _transitions(template: Template, programs: Programs) -> dict[str, np.ndarray]:
    arrows = template.transitions
    later = [arrow.later for arrow in arrows]
    return {
        "transition_start": _starts(later, len(template.states)),
        "transition_from": _numbers(arrow.earlier for arrow in arrows),
        "transition_program": _numbers(
            programs.program(arrow.condition, arrow.earlier, arrow.later) for arrow in arrows
        ),
        "transition_floor": _numbers(programs.floor_alone(arrow.condition) for arrow in arrows),
        "closes": np.array([arrow.closes for arrow in arrows], np.bool_),
    }


def _ways_out(template: Template, programs: Programs) -> dict[str, np.ndarray]:
    ways = sorted(template.ways_out, key=lambda way: (way.earlier, way.slot, way.later))
    return {
        "open_start": _starts([way.earlier for way in ways], len(template.states)),
        "open_slot": _numbers(way.slot for way in ways),
        "open_state": _numbers(way.later for way in ways),
        "open_program": _numbers(
            programs.program(way.condition, way.earlier, way.later) for way in ways
        ),
        "open_floor": _numbers(programs.floor_alone(way.condition) for way in ways),
    }


def _floors(floors: tuple[Floor, ...]) -> dict[str, np.ndarray]:
    ways = [sorted(sorted(way) for way in floor.ways) for floor in floors]
    sets = [way for floor in ways for way in floor]
    return {
        "floor_set_start": _offsets(len(floor) for floor in ways),
        "set_guard_start": _offsets(len(way) for way in sets),
        "set_guards": _numbers(guard for way in sets for guard in way),
        "floor_contiguous": np.array([floor.contiguous for floor in floors], np.bool_),
    }


def _numbers(numbers: Iterable[int]) -> np.ndarray:
    return np.fromiter(numbers, np.int64)


def _offsets(lengths: Iterable[int]) -> np.ndarray:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _starts(owners: list[int], size: int) -> np.ndarray:
    """Return the start of each owner's run in a sorted list, and the end of the last one."""
    return np.searchsorted(owners, np.arange(size + 1)).astype(np.int64)


def answered_by_order(edge: EdgePredicate, templates: Iterable[Template]) -> bool:
    """Return whether order statistics evaluate an edge predicate, except in small windows.

    False if any transition with the predicate compares pairs, or if no transition has it.
    """
    answers = []
    for template in templates:
        ordered = {number for number, _ in lay_out(template).orders}
        for number, arrow in enumerate(template.transitions):
            earlier, later = template.states[arrow.earlier], template.states[arrow.later]
            if edge.earlier in earlier.positions and edge.later in later.positions:
                answers.append(number in ordered)
    return bool(answers) and all(answers)
