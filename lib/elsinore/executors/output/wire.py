"""Unfinished result rows: the states of all aggregates, which still can be added up.

Tasks that hold different partitions of one group, or different parts of its keys, each make such
rows; combined they give the result. Integers travel as decimal text, since they have any size.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.executors.aggregates import Accumulator, Accumulators
from elsinore.executors.output.scaled import Scaled
from elsinore.integers import digits_of, integer_of

_SUM = pa.struct([pa.field("mantissa", pa.float64()), pa.field("exponent", pa.int64())])

#: `group` is a JSON array of the group values in the order of GROUP-BY; `counts[0]` is the number
#: of trends, the other states follow `executors.aggregates`. Minima and maxima are decimal integers
#: or hexadecimal doubles, NULL if no event has a value.
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


def state_columns(accumulators: Accumulators) -> tuple[tuple[Accumulator, ...], ...]:
    """Return the accumulators of each column of states: counts, sums, minima and maxima."""
    counts, sums, extremes = accumulators.columns
    least, largest = ([e for e in extremes if e.largest is side] for side in (False, True))
    return counts, sums, tuple(least), tuple(largest)


def merge_partials(table: pa.Table) -> pa.Table:
    """One row per (query, group, window): counts and sums added, extremes combined.

    Single rows pass through unchanged.
    """
    table = table.cast(PARTIAL_SCHEMA).combine_chunks()  # taking from many chunks is slow
    numbered = table.select(_KEY).append_column("row", pa.array(np.arange(table.num_rows)))
    # Without threads, as elsewhere: one that lets go of a NumPy array as Python ends aborts it.
    groups = numbered.group_by(_KEY, use_threads=False).aggregate(
        [("row", "list"), ("row", "count")]
    )
    several = groups.filter(pc.greater(groups["row_count"], 1))
    if not several.num_rows:
        return table
    alone = groups.filter(pc.equal(groups["row_count"], 1))
    single = table.take(pc.list_flatten(alone["row_list"]))
    rows = table.take(pc.list_flatten(several["row_list"])).combine_chunks()
    spans = np.concatenate([[0], np.cumsum(np.asarray(several["row_count"]))])
    merged = {
        "counts": _merged(
            rows["counts"], spans, lambda texts: digits_of(sum(map(integer_of, texts)))
        ),
        "sums": _merged(rows["sums"], spans, _total),
        "minima": _merged(rows["minima"], spans, lambda texts: _extreme(texts, min)),
        "maxima": _merged(rows["maxima"], spans, lambda texts: _extreme(texts, max)),
    }
    keys = {name: several[name] for name in _KEY}
    return pa.concat_tables([single, pa.table(keys | merged, schema=PARTIAL_SCHEMA)])


def _merged(
    column: pa.ChunkedArray, spans: np.ndarray, combine: Callable[[list[Any]], Any]
) -> list[list[Any]]:
    """Lists element by element combined over spans of rows, in each of which they are as long."""
    values = pc.list_flatten(column).to_pylist()
    begins = np.concatenate([[0], np.cumsum(np.asarray(pc.list_value_length(column)))])
    found = []
    for low, high in pairwise(spans.tolist()):
        part = values[begins[low] : begins[high]]
        width = len(part) // (high - low)
        found.append([combine(part[place::width]) for place in range(width)])
    return found


def _total(states: list[dict[str, Any]]) -> dict[str, Any]:
    total = Scaled(0.0)
    for state in states:
        total += Scaled(state["mantissa"], state["exponent"])
    return {"mantissa": total.mantissa, "exponent": total.exponent}


def _extreme(texts: list[str | None], choose: Any) -> str | None:
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
