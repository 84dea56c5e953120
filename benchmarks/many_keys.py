"""A million keys of ten events against a thousand keys of ten thousand.

In each window 1,000 keys have ten events each: the same keys in all windows, or new ones in each.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import auto, events_of, medians, stream_of, workload_of

EVENTS, OF_A_WINDOW, OF_A_KEY, ROUNDS = 10_000_000, 10_000, 10, 3
STREAM = stream_of("A", "k")


@benchmark(
    "many-keys",
    "A million keys of ten events cost little more than a thousand keys of ten thousand events",
    "A+ GROUP-BY k over 10,000,000 events; in each window 1,000 keys have ten events each, which"
    " are the same in all windows, or new ones in each",
    "times the cost of a thousand keys",
    at_most=2.0,
)
def many_keys() -> Measured:
    """The same windows and rows; only how often a key comes back differs."""
    number = np.arange(EVENTS)
    here = number % (OF_A_WINDOW // OF_A_KEY)
    per_window = OF_A_WINDOW // OF_A_KEY
    keys = {
        "1,000 keys of 10,000": here,
        "1,000,000 keys of 10": number // OF_A_WINDOW * per_window + here,
    }
    workload = workload_of(STREAM, [f"PATTERN A+ GROUP-BY k WITHIN {OF_A_WINDOW}"])
    seconds = {}
    for name, k in keys.items():
        run = auto(workload, events_of(STREAM, np.zeros(EVENTS, int), k=k))
        _check_groups(run(), k)
        seconds[name] = medians({name: run}, ROUNDS)[name]
    few, many = seconds.values()
    return Measured(
        many / few,
        "every row, by its closed form",
        tuple({"keys": n, "ns per event": s / EVENTS * 1e9} for n, s in seconds.items()),
        "CPU time of the whole call. Both cases have 1,000,000 rows of ten events.",
    )


def _check_groups(rows: pa.Table, keys: np.ndarray) -> None:
    """Each window has each of its keys once, with 2^10 - 1 trends."""
    assert pc.unique(pc.list_flatten(rows.column("counts"))).to_pylist() == [str(2**OF_A_KEY - 1)]
    texts = pc.utf8_slice_codeunits(rows.column("group"), 1, -1)
    found = np.asarray(pc.cast(texts, pa.int64()))
    windows = np.asarray(rows.column("window_start")) // OF_A_WINDOW
    order = np.lexsort((found, windows))
    wanted = keys.reshape(-1, OF_A_WINDOW)[:, : OF_A_WINDOW // OF_A_KEY]
    assert np.array_equal(found[order], np.sort(wanted, axis=1).ravel())
    assert np.array_equal(windows[order], np.repeat(np.arange(len(wanted)), wanted.shape[1]))
