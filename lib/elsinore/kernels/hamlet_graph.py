"""The arrays of a merged template over the events of a sharable set, as the Hamlet kernels read it.

One entry is an event at one merged state of one partition; whether a query takes it there is a bit
of the entry. Values stand in **lanes**: the windows that a query has open at once, side by side,
and so for each of its carriers; then come the lanes of the next query. So whatever several
neighbouring queries share is one addition of short vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: What a carrier's own contribution goes to.
LONG, DOUBLE, RANK = range(3)

#: The loop of a run (`RUN`) that asks no program, and that of queries which do not loop.
FREE_LOOP, NO_LOOP = -1, -2


def table(*fields: str) -> np.dtype:
    """Rows of integers, each with a name."""
    return np.dtype([(field, np.int64) for field in fields])


#: Queries: window, lanes at once, carriers by kind (the first long one counts trends), where their
#: lanes begin, and the number of event types (t of Hamlet Table 2). One row more than queries.
QUERY = table(
    *("slide", "within", "width", "longs_of", "doubles_of", "ranks_of"),
    *("long_start", "double_start", "rank_start", "types"),
)
#: Merged states: where their rows of the other tables begin, and of the links those from the state
#: itself without a program (`loop_start`), and those with one (`pair_start`); whether no program
#: leads to or from the state (`plain`), no other state has events of the type (`alone`), a program
#: leads from it (`kept`), or to it from another state (`foreign`). One row more than states.
KIND = table(
    *("begin_start", "end_start", "link_start", "own_start", "run_start"),
    *("loop_start", "pair_start"),
    *("plain", "alone", "kept", "foreign"),
)
#: Queries `low` to `high - 1`, which take the entries that have the bit `class`, at a START state,
#: or an END state.
BEGIN = END = table("low", "high", "class")
#: A transition into the state; a program of -1 is none. From other states without a program come
#: first, then those from the state itself, then those with a program.
LINK = table("low", "high", "class", "from", "program")
#: What events add to a carrier for each trend that they end: the carrier's number among its query's
#: of its kind, and the column of weights.
OWN = table("query", "class", "kind", "index", "column")
#: Queries that take the same entries, and loop at the state alike: by a program, without one
#: (`FREE_LOOP`), or not (`NO_LOOP`). How many queries of the state loop so; whether all that the
#: queries ask for can be expressions over snapshots (`linear`); whether that is so and most such
#: queries loop so (`common`); whether most queries of the state take the same entries (`largest`).
RUN = table("low", "high", "class", "loop", "company", "linear", "common", "largest")


class MergedGraph(NamedTuple):
    """N entries by partition, then time; S merged states, k queries, R windows.

    Attributes:
        times, states, accepts: int64[N], int32[N], int64[N].
        offsets: int64[P + 1], where each partition begins.
        window_start: int64[P * k + 1]; windows: int64[R], numbers of the windows to aggregate by
            partition and query, ascending.
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
