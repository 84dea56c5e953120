"""Divide the events of each owner into sessions, in one pass over the events."""

from __future__ import annotations

from elsinore.numbers.compiled import kernel


@kernel
def find_sessions(order, times, owners, limits, latest, positions, bounds):
    """Write the session of each event, as a position, and the bounds of the sessions.

    Args:
        order: rows of the events by time; empty if the rows are in order already.
        times: int64[N].
        owners: int64[N], what the events of a session share; negative if it is in no session.
        limits: int64[3]: the longest gap, the longest session, the positions of a session.
        latest: int64[P, 3] scratch per owner: number of the last session, its first and last time.
            The numbers must be negative.
        positions: int64[N] to write to: number of the session times positions, plus the rank of the
            time among the distinct times.
        bounds: int64[N, 2] to write to, by session: its first time, and its end.

    Returns:
        The number of sessions.
    """
    gap, longest, size = limits[0], limits[1], limits[2]
    count = rank = 0
    before = times[order[0] if order.size else 0] if times.size else 0
    for i in range(times.size):
        row = order[i] if order.size else i
        owner, time = owners[row], times[row]
        rank += time != before
        before = time
        if owner < 0:
            positions[row] = rank
            continue
        number = latest[owner, 0]
        is_near = number >= 0 and time - latest[owner, 2] <= gap
        if not is_near or time - latest[owner, 1] > longest:
            if is_near:
                bounds[number, 1] = time
            number = count
            count += 1
            latest[owner, 0], latest[owner, 1] = number, time
            bounds[number, 0] = time
        latest[owner, 2] = time
        bounds[number, 1] = time + gap
        positions[row] = number * size + rank
    return count
