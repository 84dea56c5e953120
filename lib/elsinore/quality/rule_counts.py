"""How many rows of a large table break a rule, with examples: what a suite judges of it.

Rows are looked at where they are read, in Arrow, part by part; only counts reach the suites.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

#: Rows that are named for each rule, and characters of each value.
_EXAMPLES, _CHARACTERS = 3, 100


class RuleCounts:
    """The counts of the rules of a table, over all of its parts.

    Args:
        rules: their names, which the suites use.
    """

    def __init__(self, *rules: str) -> None:
        self._rows = dict.fromkeys(rules, 0)
        self._broken = dict.fromkeys(rules, 0)
        self._examples: dict[str, list[str]] = {rule: [] for rule in rules}

    def add(self, rule: str, rows: pa.Table, broken: pa.ChunkedArray, *shown: str) -> None:
        """Count a part of the table.

        Args:
            rule: its name.
            rows: the part.
            broken: whether each row breaks the rule; NULL is taken for broken.
            shown: columns that tell where an example stands and what is wrong with it.
        """
        wrong = pc.fill_null(broken, True)
        number = pc.sum(wrong).as_py() or 0
        self._rows[rule] += rows.num_rows
        self._broken[rule] += number
        examples = self._examples[rule]
        if number and len(examples) < _EXAMPLES:
            few = rows.select(list(dict.fromkeys(shown))).filter(wrong).slice(0, _EXAMPLES)
            examples += [_example(row) for row in few.to_pylist()][: _EXAMPLES - len(examples)]

    def frame(self) -> pd.DataFrame:
        """One row for each rule: `rule`, `rows`, `broken` and `examples`."""
        told = [
            (rule, rows, self._broken[rule], "; ".join(self._examples[rule]))
            for rule, rows in self._rows.items()
        ]
        return pd.DataFrame(told, columns=["rule", "rows", "broken", "examples"])


def is_odd(values: pa.ChunkedArray, fits: Sequence[bool], distinct: pa.Array) -> pa.ChunkedArray:
    """Whether each value is one of the `distinct` ones that do not fit."""
    odd = distinct.filter(pa.array([not fit for fit in fits], pa.bool_()))
    return pc.is_in(values, odd.cast(values.type))


def _example(row: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}"[:_CHARACTERS] for name, value in row.items())
