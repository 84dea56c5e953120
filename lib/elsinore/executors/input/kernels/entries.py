"""Group events by partition and time in few passes, and find the windows that contain them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elsinore.numbers.compiled import kernel


@kernel
def is_sorted(times):
    """Return whether `times` never fall."""
    falls = 0
    for i in range(1, times.size):
        falls += times[i] < times[i - 1]
    return falls == 0


@kernel
def count_owners(owners, codes, meant, counts):
    """Add the number of each partition's relevant events to `counts`, int64[P].

    `owners` are the partitions of the events. `meant` is 1 for codes of relevant events, else 0.
    """
    for i in range(owners.size):
        counts[owners[i]] += meant[codes[i]]


@kernel
def group_events(owners, codes, times, meant, order, heads, rows, grouped_codes, grouped_times):
    """Write the rows, codes and times of relevant events, grouped by partition.

    `meant` is 1 for codes of relevant events, else 0. `order` lists the events in the order of
    time; it is empty if they are in order already. `heads` are the first index of each partition,
    and the kernel advances them to its end.
    """
    for i in range(owners.size):
        row = order[i] if order.size else i
        if meant[codes[row]]:
            place = heads[owners[row]]
            rows[place], grouped_codes[place], grouped_times[place] = row, codes[row], times[row]
            heads[owners[row]] = place + 1


# ---- windows as spans of sorted entries


@kernel
def fill_spans(offsets, times, within, slide, first, last, out):
    """Write `(low, high, partition, window number)` of every window that contains an entry.

    Args:
        offsets: int64[P + 1], the first entry of each partition.
        times: int64[N], ascending in each partition.
        within: length of a window, in the unit of `times`.
        slide: distance of the windows.
        first: the lowest window number to write.
        last: the highest window number to write.
        out: int64[M, 4] to write to; with M = 0 the kernel only counts.

    Returns:
        The number of spans, even if `out` does not hold them all.
    """
    count = 0
    for partition in range(offsets.size - 1):
        low = high = offsets[partition]
        end = offsets[partition + 1]
        if low == end:
            continue
        number = max((times[low] - within) // slide + 1, first)
        while low < end and number <= last:
            start = number * slide
            while low < end and times[low] < start:
                low += 1
            if low == end:
                break
            if times[low] >= start + within:  # a gap: go to the next window with an event
                number = (times[low] - within) // slide + 1
                continue
            high = max(high, low)
            while high < end and times[high] < start + within:
                high += 1
            if count < out.shape[0]:
                out[count, 0] = low
                out[count, 1] = high
                out[count, 2] = partition
                out[count, 3] = number
            count += 1
            number += 1
    return count


def find_spans(
    offsets: np.ndarray, times: np.ndarray, within: int, slide: int, first: int, last: int,
    require: Callable[[int], None] = lambda count: None,
) -> np.ndarray:  # fmt: skip
    """Return all spans of `fill_spans` as int64[M, 4].

    `require` receives their number before memory is allocated, and raises if it is too large.
    """
    arguments = (offsets, times, within, slide, first, last)
    found = np.empty((offsets.size, 4), np.int64)
    count = fill_spans(*arguments, found)
    require(count)
    if count > offsets.size:
        found = np.empty((count, 4), np.int64)
        fill_spans(*arguments, found)
    return found[:count]
