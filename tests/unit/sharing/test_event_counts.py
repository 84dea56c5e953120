"""Counts of events and of distinct keys: the same however events are cut; exact, then estimated."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.sharing import observe
from elsinore.sharing.observe import MOST_HASHES, EventCounts
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import Interval
from tests.unit.sharing.support import bind

WORKLOAD = bind(["RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE [k, m] WITHIN 10"])
FEW = 8

values = st.none() | st.integers(0, 5)
events = st.lists(st.tuples(st.integers(0, 3), values, values), max_size=60)


def counted(*tables: pa.Table) -> EventCounts:
    counts = EventCounts(WORKLOAD)
    for table in tables:
        counts.add(table)
    return counts


def table_of(rows: list[tuple[int, int | None, int | None]]) -> pa.Table:
    types, keys, others = zip(*rows, strict=True) if rows else ((), (), ())
    columns = [
        pa.array(types, pa.int32()),
        pa.array(keys, pa.int64()),
        pa.array(others, pa.int64()),
    ]
    return pa.table(columns, ["_type", "k", "m"])


def statistics(counts: EventCounts) -> Statistics:
    return counts.statistics(Interval(0, 10))


@pytest.mark.slow
@given(events, st.lists(st.integers(0, 60), max_size=3), st.randoms())
def test_any_cut_counts_as_the_whole(
    rows: list[tuple[int, int | None, int | None]], cuts: list[int], dice: Random
) -> None:
    borders = [0, *sorted(cuts), len(rows)]
    parts = [rows[a:b] for a, b in pairwise(borders)]
    dice.shuffle(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observe, "MOST_HASHES", FEW)
        whole, joined = counted(table_of(rows)), EventCounts(WORKLOAD)
        in_turn = counted(*map(table_of, parts))
        kept = [counted(table_of(part)).to_table() for part in parts]
        for table in (pa.concat_tables(kept[:2]), *kept[2:]):
            joined.add_table(table)
        found = statistics(whole)
        for counts in (in_turn, joined):
            assert counts.to_table() == whole.to_table()
            assert statistics(counts) == found
    types = [kind for kind, _, _ in rows]
    assert found.events == {"A": types.count(0), "B": types.count(1)}
    pairs = {(k, m) for a, k, m in rows if a < 2 and None not in (k, m)}
    if len(pairs) < FEW:
        assert found.by_keys == ({("k", "m"): len(pairs)} if pairs else {})
    else:
        assert found.by_keys[("k", "m")] >= FEW - 1


@pytest.mark.parametrize("number", [MOST_HASHES - 1, 2 * MOST_HASHES, 10 * MOST_HASHES])
@pytest.mark.parametrize("seed", [1, 2])
def test_many_values_are_estimated(number: int, seed: int) -> None:
    """Within four standard errors, also where one key says all, or both lie close together."""
    kinds, order = np.zeros(number, np.int32), np.random.default_rng(seed).permutation(number)
    for keys in ([order * seed, order % 7], [order // 1000, order % 1000]):
        table = pa.table([kinds, *keys], ["_type", "k", "m"])
        found = statistics(counted(table, table)).by_keys[("k", "m")]
        assert abs(found / number - 1) <= (4 * MOST_HASHES**-0.5 if number > MOST_HASHES else 0)
