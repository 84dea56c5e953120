"""Unfinished result rows: the states of all aggregates, which still can be added up.

Tasks that hold different partitions of one group, or different parts of its keys, each make such
rows; combined they give the result. Integers travel as decimal text, since they have any size.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.algebra.scaled import Scaled

_SUM = pa.struct([pa.field("mantissa", pa.float64()), pa.field("exponent", pa.int64())])

#: `group` is a JSON array of the group values in the order of GROUP-BY; `counts[0]` is the number
#: of trends, the other states are those of `lowering.carriers` in their order. Minima and maxima
#: are decimal integers or hexadecimal doubles, NULL where no event carried a value.
PARTIAL_SCHEMA = pa.schema(
    [
        pa.field("query", pa.string(), False),
        pa.field("group", pa.string(), False),
        pa.field("window_start", pa.int64(), False),
        pa.field("window_end", pa.int64(), False),
        pa.field("counts", pa.list_(pa.string()), False),
        pa.field("sums", pa.list_(_SUM), False),
        pa.field("minima", pa.list_(pa.string()), False),
        pa.field("maxima", pa.list_(pa.string()), False),
    ]
)

_KEY = ["query", "group", "window_start", "window_end"]


def merge_partials(table: pa.Table) -> pa.Table:
    """One row per (query, group, window): counts and sums added, extremes combined.

    Rows that stand alone pass through untouched.
    """
    table = table.cast(PARTIAL_SCHEMA)
    numbered = table.select(_KEY).append_column("row", pa.array(range(table.num_rows), pa.int64()))
    groups = numbered.group_by(_KEY).aggregate([("row", "list"), ("row", "count")])
    several = groups.filter(pc.greater(groups["row_count"], 1))
    if not several.num_rows:
        return table
    alone = groups.filter(pc.equal(groups["row_count"], 1))
    single = table.take(pc.list_flatten(alone["row_list"]))
    merged = []
    for key_row, rows in zip(
        several.select(_KEY).to_pylist(), several["row_list"].to_pylist(), strict=True
    ):
        states = table.take(pa.array(rows)).to_pylist()
        merged.append(key_row | _combine(states))
    return pa.concat_tables([single, pa.Table.from_pylist(merged, schema=PARTIAL_SCHEMA)])


def _combine(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    sums = []
    for column in zip(*(row["sums"] for row in rows), strict=True):
        total = Scaled(0.0)
        for state in column:
            total += Scaled(state["mantissa"], state["exponent"])
        sums.append({"mantissa": total.mantissa, "exponent": total.exponent})
    return {
        "counts": [
            str(sum(int(text) for text in column))
            for column in zip(*(row["counts"] for row in rows), strict=True)
        ],
        "sums": sums,
        "minima": [_extreme(column, min) for column in _columns(rows, "minima")],
        "maxima": [_extreme(column, max) for column in _columns(rows, "maxima")],
    }


def _columns(rows: list[dict[str, Any]], name: str) -> list[tuple[str | None, ...]]:
    return list(zip(*(row[name] for row in rows), strict=True))


def _extreme(texts: tuple[str | None, ...], choose: Any) -> str | None:
    """The extreme of what is there; NaN only where nothing else is."""
    values = [decode_extreme(text) for text in texts if text is not None]
    comparable = [value for value in values if value == value]
    if comparable:
        return encode_extreme(choose(comparable))
    return encode_extreme(values[0]) if values else None


def encode_extreme(value: int | float) -> str:
    """Exact text of a MIN or MAX state."""
    return value.hex() if isinstance(value, float) else str(value)


def decode_extreme(text: str) -> int | float:
    """The value of `encode_extreme`'s text.

    >>> decode_extreme(encode_extreme(0.1)), decode_extreme(encode_extreme(-7))
    (0.1, -7)
    """
    return int(text) if text.lstrip("-").isdigit() else float.fromhex(text)
