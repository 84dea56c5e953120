"""The arrays of a merged template over the events of a sharable set, for the Hamlet kernels.

An entry is an event in one merged state of one partition. Each bit of `accepts` shows whether a
class of queries takes it there. Values are stored in **lanes**: one lane per open window of a
query, for each of its accumulators, followed by the lanes of the next query. So neighboring queries
share an operation as one addition of short vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.kinds import Kind

#: Kinds of accumulators: integers, sums of doubles, ranks of extremes.
LONG, DOUBLE, RANK = map(int, Kind)

#: The loop of a run (`RUN`) without a program, and the loop of queries that do not loop.
FREE_LOOP, NO_LOOP = -1, -2


def table(*fields: str) -> np.dtype:
    """Return a dtype of int64 fields with these names."""
    return np.dtype([(field, np.int64) for field in fields])


#: Queries: window, lanes per accumulator, accumulators by kind (the first integer counts trends),
#: first lane by kind, and the number of event types (t of Hamlet, Table 2). One row more than
#: queries.
QUERY = table(
    *("slide", "within", "width", "longs_of", "doubles_of", "ranks_of"),
    *("long_start", "double_start", "rank_start", "types"),
)
#: Merged states: the first row in each other table; the first link from the state itself without a
#: program (`loop_start`), and the first link with one (`pair_start`). Then four flags, in this
#: order: no program leads to or from the state; no other state has events of the type; a program
#: leads from the state; a program leads to it from another state. One row more than states.
KIND = table(
    *("begin_start", "end_start", "link_start", "own_start", "run_start"),
    *("loop_start", "pair_start"),
    *("plain", "alone", "kept", "foreign"),
)
#: Queries `low` to `high - 1` that take entries with the bit `class` in a START state, or in an
#: END state.
BEGIN = END = table("low", "high", "class")
#: A transition into the state; program -1 means none. First come transitions from other states
#: without a program, then transitions from the state itself without one, then all with a program.
LINK = table("low", "high", "class", "from", "program")
#: Additions of events to an accumulator for each trend that ends at them: the index of the
#: accumulator among its query's accumulators of this kind, and the column of weights.
OWN = table("query", "class", "kind", "index", "column")
#: Queries that take the same entries and loop in the same way: by a program, without one
#: (`FREE_LOOP`), or not (`NO_LOOP`). `company`: how many queries of the state loop in this way.
#: `linear`: whether expressions over snapshots can represent all their values. `common`: whether
#: they are linear and have the most common loop of linear queries. `largest`: whether most queries
#: of the state take the same entries.
RUN = table("low", "high", "class", "loop", "company", "linear", "common", "largest")


class MergedGraph(NamedTuple):
    """N entries by partition, then time; S merged states, k queries, R windows.

    Attributes:
        times, states, accepts: int64[N], int32[N], int64[N].
        offsets: int64[P + 1], the first entry of each partition.
        window_start: int64[P * k + 1], the range of each partition and query in `windows`.
        windows: int64[R], numbers of the windows to aggregate, ascending in each range.
        queries, kinds, begins, ends, links, owns, runs: tables of the types above.
        program_start, program, slots_l, slots_d, known: see `graph.Graph`.
        long_weights, double_weights, ranks: int64[*, N], float64[*, N], int64[*, N].
        no_rank: rank of "no value".
    """

    times: np.ndarray
    states: np.ndarray
    accepts: np.ndarray
    offsets: np.ndarray
    window_start: np.ndarray
    windows: np.ndarray
    queries: np.ndarray
    kinds: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    links: np.ndarray
    owns: np.ndarray
    runs: np.ndarray
    program_start: np.ndarray
    program: np.ndarray
    slots_l: np.ndarray
    slots_d: np.ndarray
    known: np.ndarray
    long_weights: np.ndarray
    double_weights: np.ndarray
    ranks: np.ndarray
    no_rank: int
