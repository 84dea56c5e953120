"""What a graph's states need kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from elsinore.kernels.upkeep import find_upkeep
from elsinore.kernels.work import entries_to_hold
from tests.unit.kernels.cases import Case, Condition, Entry, Floor, Step

STREAM = [[Entry(time, 0, x=time) for time in (1, 2, 2, 2, 3)]]
PLAIN = Case(STREAM, [-1, -1], {0: -1}, {1: -1}, [Step(0, 0), Step(0, 1)])
SPANS = np.array([[0, 4, 0, 0], [1, 5, 0, 1]])


def test_a_plain_graph_needs_room_for_one_instant() -> None:
    graph = PLAIN.graph()
    upkeep = find_upkeep(graph)
    assert upkeep.plain
    assert upkeep.collected.tolist() == [True, False]
    assert entries_to_hold(graph, SPANS) == 3


def test_closing_states_are_plain() -> None:
    upkeep = find_upkeep(replace(PLAIN, transitions=[Step(0, 0, closes=True)]).graph())
    assert upkeep.plain
    assert upkeep.closing


def test_other_graphs_need_room_for_a_window() -> None:
    transitions = [Step(0, 0, ("less_l",)), Step(0, 1)]
    graph = replace(PLAIN, transitions=transitions).graph()
    upkeep = find_upkeep(graph)
    assert not upkeep.plain
    assert upkeep.kept.tolist() == [True, False]
    assert entries_to_hold(graph, SPANS) == 4


def test_transitions_with_one_floor_share_a_slide() -> None:
    floors = [Floor((), contiguous=True), Floor((), contiguous=True)]
    transitions = [Step(0, 0, floor=0), Step(0, 1, floor=0), Step(1, 0, floor=0)]
    graph = replace(PLAIN, transitions=[*transitions, Step(1, 1, floor=1)], floors=floors).graph()
    upkeep = find_upkeep(graph)  # transitions are in the order 0-0, 1-0, 0-1, 1-1
    assert upkeep.slide_of.tolist() == [0, 1, 0, 2]
    assert upkeep.slide_state.tolist() == [0, 1, 1]
    assert not upkeep.collected.any()


def _retires(condition: Condition) -> bool:
    ways = [Step(0, 0, slot=0), Step(0, 0, slot=1)]
    case = replace(PLAIN, transitions=[Step(0, 0, condition)], ways=ways)
    return bool(find_upkeep(case.graph()).retires[0])


def test_closed_events_retire_where_no_way_out_is_left() -> None:
    assert _retires(("open", 0))
    assert _retires(("and", ("less_l",), ("is_true", ("open", 1))))
    assert _retires(("or", ("open", 1), ("and", ("open", 1), ("less_l",))))
    assert not _retires(("less_l",))
    assert not _retires(("not", ("open", 0)))
    assert not _retires(("or", ("open", 0), ("less_l",)))


def test_floors_wait_for_their_highest_guard() -> None:
    floors = [Floor(), Floor(((0,), (1,))), Floor(((0,),)), Floor(((),))]
    upkeep = find_upkeep(replace(PLAIN, guard_of=[-1, -1, 0, 1], floors=floors).graph())
    assert upkeep.floor_level.tolist() == [0, 2, 1, 0]
    assert upkeep.guards == 2
