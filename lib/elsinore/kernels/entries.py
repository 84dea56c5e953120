"""Events by partition and time, in few passes."""

from __future__ import annotations

from elsinore.kernels.compiled import kernel


@kernel
def is_sorted(times):
    """Whether times never fall."""
    falls = 0
    for i in range(1, times.size):
        falls += times[i] < times[i - 1]
    return falls == 0


@kernel
def count_owners(owners, codes, meant, counts):
    """Add the events of each partition that mean anything to `counts`, int64[P]."""
    for i in range(owners.size):
        counts[owners[i]] += meant[codes[i]]


@kernel
def group_events(owners, codes, times, meant, order, heads, rows, grouped_codes, grouped_times):
    """Lay out the events that mean anything by partition, in the order given.

    Args:
        owners: int32 or int64[N], the partition of each event.
        codes: int32[N].
        times: int64[N].
        meant: int64[C], 1 for codes that mean anything, else 0.
        order: int64[N], events in the order of time; empty if they are.
        heads: int64[P], where each partition begins; moved on to where it ends.
        rows: int64[M] to write to, the events' rows.
        grouped_codes: int32[M] to write to.
        grouped_times: int64[M] to write to.
    """
    for i in range(owners.size):
        row = order[i] if order.size else i
        if meant[codes[row]]:
            place = heads[owners[row]]
            rows[place], grouped_codes[place], grouped_times[place] = row, codes[row], times[row]
            heads[owners[row]] = place + 1
