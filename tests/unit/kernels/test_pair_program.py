"""Operations of pair programs, by their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from operator import eq, le, lt, ne
from typing import Any

import numpy as np
import pytest

from elsinore.kernels.graph import Graph
from elsinore.kernels.pair_program import Op
from tests.unit.kernels.aggregated import trends_of
from tests.unit.kernels.cases import Case, Entry, Step

SMALLEST, LARGEST = -(2**63), 2**63 - 1
NAN = math.nan
Value = int | float | None
Program = list[tuple[int, int]]


def holds(program: Program, operands: list[Value]) -> bool:
    """Whether a program is true for a pair whose every slot is an operand."""
    entries = [[Entry(1, 0, x=1), Entry(2, 1, x=2)]]
    case = Case(entries, [-1, -1], {0: -1}, {1: -1}, [Step(0, 1, ("less_l",))])
    return trends_of(_with(case.graph(), program, operands)) == 1


def _with(graph: Graph, program: Program, operands: list[Value]) -> Graph:
    longs = [value if isinstance(value, int) else 0 for value in operands]
    doubles = [value if isinstance(value, float) else 0.0 for value in operands]
    known = [value is not None for value in operands]
    return graph._replace(
        program=np.array(program, np.int64),
        program_start=np.array([0, len(program)]),
        slots_l=np.array([longs, longs], np.int64).T.copy(),
        slots_d=np.array([doubles, doubles]).T.copy(),
        known=np.array([known, known]).T.copy(),
    )


def gives(op: Op, operands: list[Value], result: Value) -> bool:
    """Whether an operation gives a result; None is NULL, and NaN is itself."""
    is_double = op.name.endswith("_D")
    push = Op.EARLIER_D if is_double else Op.LATER_L
    steps: Program = [*((int(push), slot) for slot in range(len(operands))), (op, 0)]
    if result is None:
        return holds([*steps, (Op.IS_NULL, 0)], operands)
    if result != result:  # known, but not equal even to itself
        unequal: Program = [*steps, *steps, (Op.EQUAL_D, 0), (Op.IS_NULL, 0)]
        known: Program = [*steps, (Op.IS_NULL, 0), (Op.NOT, 0)]
        return holds([*unequal, *known, (Op.AND, 0)], operands)
    equal = Op.EQUAL_D if is_double else Op.EQUAL_L
    return holds([*steps, (push, len(operands)), (equal, 0)], [*operands, result])


@pytest.mark.parametrize(
    ("op", "operands", "result"),
    [
        (Op.ADD_L, [2, 3], 5),
        (Op.ADD_L, [LARGEST, 1], None),
        (Op.SUBTRACT_L, [SMALLEST, 1], None),
        (Op.MULTIPLY_L, [-4, 5], -20),
        (Op.MULTIPLY_L, [2**32, 2**31], None),
        (Op.REMAINDER_L, [-7, 3], -1),
        (Op.REMAINDER_L, [7, 0], None),
        (Op.NEGATE_L, [SMALLEST], None),
        (Op.NEGATE_L, [7], -7),
        (Op.ADD_D, [0.5, 0.25], 0.75),
        (Op.SUBTRACT_D, [0.5, None], None),
        (Op.MULTIPLY_D, [-0.5, 4.0], -2.0),
        (Op.DIVIDE_D, [1.0, 4.0], 0.25),
        (Op.DIVIDE_D, [1.0, 0.0], None),
        (Op.REMAINDER_D, [-7.5, 2.0], -1.5),
        (Op.NEGATE_D, [1.5], -1.5),
        (Op.ABS_L, [-7], 7),
        (Op.ABS_L, [7], 7),
        (Op.ABS_L, [LARGEST], LARGEST),
        (Op.ABS_L, [SMALLEST], None),
        (Op.ABS_L, [None], None),
        (Op.ABS_D, [-1.5], 1.5),
        (Op.ABS_D, [NAN], NAN),
        (Op.ABS_D, [None], None),
        (Op.LEAST_L, [3, -2], -2),
        (Op.LEAST_L, [-2, 3], -2),
        (Op.LEAST_L, [None, 3], 3),
        (Op.LEAST_L, [3, None], 3),
        (Op.LEAST_L, [None, None], None),
        (Op.GREATEST_L, [3, -2], 3),
        (Op.GREATEST_L, [-2, 3], 3),
        (Op.GREATEST_L, [None, -3], -3),
        (Op.GREATEST_L, [-3, None], -3),
        (Op.GREATEST_L, [None, None], None),
        (Op.LEAST_D, [0.5, -0.5], -0.5),
        (Op.LEAST_D, [NAN, 0.5], 0.5),
        (Op.LEAST_D, [0.5, NAN], 0.5),
        (Op.LEAST_D, [NAN, math.inf], math.inf),
        (Op.LEAST_D, [NAN, None], NAN),
        (Op.LEAST_D, [None, NAN], NAN),
        (Op.LEAST_D, [NAN, NAN], NAN),
        (Op.LEAST_D, [None, None], None),
        (Op.GREATEST_D, [0.5, -0.5], 0.5),
        (Op.GREATEST_D, [-0.5, 0.5], 0.5),
        (Op.GREATEST_D, [NAN, 0.5], NAN),
        (Op.GREATEST_D, [0.5, NAN], NAN),
        (Op.GREATEST_D, [0.5, None], 0.5),
        (Op.GREATEST_D, [None, None], None),
        (Op.COALESCE_L, [1, 2], 1),
        (Op.COALESCE_L, [None, 2], 2),
        (Op.COALESCE_L, [1, None], 1),
        (Op.COALESCE_L, [None, None], None),
        (Op.COALESCE_D, [NAN, 2.0], NAN),
        (Op.COALESCE_D, [None, 2.0], 2.0),
        (Op.COALESCE_D, [None, NAN], NAN),
        (Op.HOUR_L, [None], None),
    ],
)
def test_values(op: Op, operands: list[Value], result: Value) -> None:
    assert gives(op, operands, result)


@pytest.mark.parametrize(
    ("moment", "hour", "weekday"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0, 4),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), 23, 3),
        (datetime(1969, 12, 29, tzinfo=UTC), 0, 1),
        (datetime(1969, 12, 28, 23, 59, 59, tzinfo=UTC), 23, 7),
        (datetime(1900, 2, 28, 12, 30, tzinfo=UTC), 12, 3),
        (datetime(2013, 1, 6, 5, tzinfo=UTC), 5, 7),
        (datetime(2024, 2, 29, 17, 1, tzinfo=UTC), 17, 4),
    ],
)
def test_parts_of_timestamps(moment: datetime, hour: int, weekday: int) -> None:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    assert gives(Op.HOUR_L, [microseconds], hour)
    assert gives(Op.WEEKDAY_L, [microseconds], weekday)


TRUE, FALSE, NULL = 1, 0, None


@pytest.mark.parametrize(
    ("op", "operands", "result"),
    [
        *((Op.AND, [left, FALSE], FALSE) for left in (TRUE, FALSE, NULL)),
        *((Op.OR, [left, TRUE], TRUE) for left in (TRUE, FALSE, NULL)),
        (Op.AND, [TRUE, TRUE], TRUE),
        (Op.AND, [TRUE, NULL], NULL),
        (Op.AND, [NULL, NULL], NULL),
        (Op.OR, [FALSE, FALSE], FALSE),
        (Op.OR, [NULL, FALSE], NULL),
        (Op.NOT, [TRUE], FALSE),
        (Op.NOT, [FALSE], TRUE),
        (Op.NOT, [NULL], NULL),
        (Op.IS_NULL, [NULL], TRUE),
        (Op.IS_NULL, [FALSE], FALSE),
        (Op.IS_TRUE, [TRUE], TRUE),
        (Op.IS_TRUE, [FALSE], FALSE),
        (Op.IS_TRUE, [NULL], FALSE),
        (Op.LESS_L, [1, NULL], NULL),
        (Op.AT_MOST_L, [2, 2], TRUE),
        (Op.UNEQUAL_L, [2, 2], FALSE),
    ],
)
def test_truth_has_three_values(op: Op, operands: list[Value], result: Value) -> None:
    assert gives(op, operands, result)


@pytest.mark.parametrize("op", [Op.EQUAL_D, Op.UNEQUAL_D, Op.LESS_D, Op.AT_MOST_D])
def test_nan_compares_with_nothing(op: Op) -> None:
    pushed: Program = [(Op.EARLIER_D, 0), (Op.LATER_D, 1), (op, 0)]
    for operands in ([NAN, 1.0], [1.0, NAN], [NAN, NAN]):
        assert holds([*pushed, (Op.IS_NULL, 0)], [*operands])


COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "EQUAL": eq,
    "UNEQUAL": ne,
    "LESS": lt,
    "AT_MOST": le,
}


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize(
    ("kind", "values"),
    [("L", [None, SMALLEST, -1, 0, LARGEST]), ("D", [None, NAN, -math.inf, -0.0, 0.5])],
)
def test_one_comparison_of_two_events(name: str, kind: str, values: list[Value]) -> None:
    earlier, later, op = Op[f"EARLIER_{kind}"], Op[f"LATER_{kind}"], Op[f"{name}_{kind}"]
    for left, right in product(values, values):
        unknown = any(value is None or value != value for value in (left, right))
        truth = not unknown and COMPARED[name](left, right)
        assert holds([(earlier, 0), (later, 1), (op, 0)], [left, right]) == truth
        assert holds([(later, 0), (earlier, 1), (op, 0)], [left, right]) == truth


def test_a_long_as_a_double() -> None:
    program: Program = [(Op.EARLIER_L, 0), (Op.TO_DOUBLE, 0), (Op.LATER_D, 1), (Op.LESS_D, 0)]
    assert holds(program, [2, 2.5])
    assert not holds(program, [3, 2.5])
