"""A morning of flights whose every figure is worked out by hand, for `StreamProfile`."""

from __future__ import annotations

from typing import Any

from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.sharing.profile import (
    BurstLengths,
    EdgeSelectivity,
    LocalSelectivity,
    PartitionSkew,
    Spread,
    StreamProfile,
    TypeRate,
)
from elsinore.timeline import HOUR, Interval

QUERIES = """
QUERY runs RETURN COUNT(*) PATTERN Departure D+
WHERE [carrier] AND D.dep_delay >= 10 AND D.dep_delay < NEXT(D).dep_delay
WITHIN 2 hours SLIDE 1 hour;
QUERY after RETURN COUNT(*) PATTERN SEQ(Cancellation C, Departure D+)
WHERE [carrier] AND D.dep_delay >= 10 AND D.dep_delay < NEXT(D).dep_delay
WITHIN 2 hours;
QUERY legs RETURN COUNT(*) PATTERN SEQ(Departure D, Arrival A)
WHERE [tailnum] AND D.dep_delay < NEXT(A).arr_delay
WITHIN 3 hours;
"""

#: A run over [11:00, 12:00) reads three hours more.
RUN = Interval.parse("2013-01-01T11:00Z", "2013-01-01T12:00Z")
OBSERVED = Interval.parse("2013-01-01T08:00Z", "2013-01-01T12:00Z")

#: Hour, minute, event type, carrier, aircraft, delay (of departure, or of arrival).
FLIGHTS: tuple[tuple[int, int, str, str, str | None, int | None], ...] = (
    (7, 59, "Departure", "UA", "N1", 99),  # before
    (8, 10, "Departure", "UA", "N1", 20),
    (8, 20, "Departure", "UA", "N2", 30),
    (8, 30, "Cancellation", "UA", "N1", None),
    (8, 40, "Departure", "UA", "N1", 5),  # not late enough to be matched
    (8, 50, "Departure", "UA", "N1", 40),
    (9, 10, "Departure", "UA", "N1", 15),
    (9, 20, "Departure", "AA", "N3", 50),
    (9, 30, "Arrival", "UA", "N1", 60),
    (10, 5, "Departure", "AA", "N3", 60),
    (10, 15, "Cancellation", "AA", None, None),  # of no aircraft
    (10, 25, "Departure", "AA", "N3", 70),
    (10, 35, "Departure", "AA", "N4", 80),
    (10, 45, "Arrival", "AA", "N3", 65),
    (12, 0, "Departure", "UA", "N1", 99),  # after
)


def delays(kind: str, delay: int | None) -> dict[str, Any]:
    """The delay under the name that it has for an event type."""
    names = {"Departure": "dep_delay", "Arrival": "arr_delay"}
    return {names[kind]: delay} if kind in names else {}


def expected(workload: Workload) -> StreamProfile:
    """The profile of the flights observed, by hand."""
    runs = ("runs", "after")
    return StreamProfile(
        workload_fingerprint=workload_fingerprint(workload),
        observed=(OBSERVED.start, OBSERVED.end),
        pane=HOUR,
        rates=(
            # 08 to 11 o'clock: 0, 1, 1, 0; 1, 0, 1, 0; 4, 2, 3, 0.
            TypeRate(event_type="Arrival", events=spread(4, 2, 0, 0.5, 1)),
            TypeRate(event_type="Cancellation", events=spread(4, 2, 0, 0.5, 1)),
            TypeRate(event_type="Departure", events=spread(4, 9, 0, 2.5, 4)),
        ),
        bursts=(
            BurstLengths(
                event_type="Cancellation", kleene="Departure", queries=runs, keys=("carrier",),
                pane=HOUR, lengths=spread(2, 2, 1, 1, 1),
            ),
            # UA: 20 30, C, 40 and, in the next pane, 15. AA: 50; 60, C, 70 80.
            BurstLengths(
                event_type="Departure", kleene="Departure", queries=runs, keys=("carrier",),
                pane=HOUR, lengths=spread(6, 8, 1, 1, 2),
            ),
        ),
        local=(
            LocalSelectivity(
                event_type="Departure", condition="Departure.dep_delay >= 10", queries=runs,
                events=9, passed=8,
            ),
        ),
        edges=(
            # From 08 to 10, UA: of 20 30 40 15 three of six pairs grow; AA has 50 alone. From 10 to
            # 12, AA: all three pairs of 60 70 80.
            EdgeSelectivity(
                earlier="Departure", later="Departure",
                condition="Departure.dep_delay < NEXT(Departure).dep_delay",
                queries=runs, keys=("carrier",), within=2 * HOUR, pairs=9, sampled=9, share=6 / 9,
            ),
            # From 09 to 12, N1: 15 < 60; N3: 50 and 60 before 65, but not 70.
            EdgeSelectivity(
                earlier="Departure", later="Arrival",
                condition="Departure.dep_delay < NEXT(Arrival).arr_delay",
                queries=("legs",), keys=("tailnum",), within=3 * HOUR, pairs=4, sampled=4,
                share=3 / 4,
            ),
        ),
        partitions=(
            # UA 7, AA 6; N1 6, N2 1, N3 4, N4 1.
            PartitionSkew(keys=("carrier",), sizes=spread(2, 13, 6, 6.5, 7)),
            PartitionSkew(keys=("tailnum",), sizes=spread(4, 12, 1, 2.5, 6)),
        ),
    )  # fmt: skip


def spread(number: int, total: int, least: int, median: float, most: int) -> Spread:
    return Spread(number=number, total=total, least=least, median=median, most=most)
