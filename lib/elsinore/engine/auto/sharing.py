"""What `auto` decided for a workload: plain values, which travel to workers."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.sharing.candidates import Segment

#: Segments by their places in the queries that share them.
Shared = tuple[tuple[Segment, ...], ...]

#: Executors that `auto` chooses from. The last is for queries that no compiled executor can run;
#: `aggregate_auto` leaves them to its caller.
SEGMENTS, SWEEP, HAMLET, GRETA = "segments", "sweep", "hamlet", "greta"
TWOSTEP = "twostep"


@dataclass(frozen=True, slots=True)
class Choice:
    """Who runs a query, and why.

    Attributes:
        query: its name.
        executor: `SEGMENTS`, `SWEEP`, `HAMLET`, `GRETA` or `TWOSTEP`.
        why: in words, for people.
    """

    query: str
    executor: str
    why: str


@dataclass(frozen=True, slots=True)
class Sharing:
    """Which queries run together.

    Attributes:
        segments: the segments of queries of fixed length that pay, each with its places.
        sets: the names of the queries that Hamlet runs together, set by set.
        choices: one for each query of the workload, in its order.
        alone: predicted nanoseconds of all queries that could share, each by itself, over the span
            of the statistics.
        together: the same as they are run.
        sweeps: the names of the queries that are swept together, set by set.
    """

    segments: Shared = ()
    sets: tuple[tuple[str, ...], ...] = ()
    choices: tuple[Choice, ...] = ()
    alone: float = 0.0
    together: float = 0.0
    sweeps: tuple[tuple[str, ...], ...] = ()

    @property
    def saved(self) -> float:
        """The share of the predicted cost that sharing saves, from 0 to 1."""
        return 1 - self.together / self.alone if self.alone else 0.0

    def in_words(self) -> str:
        """For people: how many queries share how much, and what that saves.

        >>> NOTHING_SHARED.in_words()
        'nothing is shared'
        >>> Sharing(sets=(("q1", "q2"), ("q3", "q4", "q5")), alone=8.0, together=2.0).in_words()
        'Kleene sub-patterns in 2 sets of 5 queries; saves 75.0%'
        """
        parts = []
        if self.segments:
            queries = {place.query for places in self.segments for place in places}
            parts.append(f"{_counted(len(self.segments), 'segment')} in {len(queries)} queries")
        if self.sets:
            queries_of_sets = sum(map(len, self.sets))
            parts.append(
                f"Kleene sub-patterns in {_counted(len(self.sets), 'set')}"
                f" of {queries_of_sets} queries"
            )
        if self.sweeps:
            swept = sum(map(len, self.sweeps))
            parts.append(f"{_counted(swept, 'query')} in {_counted(len(self.sweeps), 'sweep')}")
        if not parts:
            return "nothing is shared"
        return f"{' and '.join(parts)}; saves {self.saved:.1%}"


NOTHING_SHARED = Sharing()


def _counted(number: int, thing: str) -> str:
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{number} {plural if number > 1 else thing}"
