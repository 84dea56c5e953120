"""Keys of queries that run: a query of a workload, one of its steps, or a part of either.

Executors and results match partial rows by these keys. The text of a key is only shown to people.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PartKind(Enum):
    """The kinds of parts of a query."""

    EACH = "each"  #: EACH and DISTINCT
    SUMS = "sums"  #: sums of measures
    EXTREMES = "extremes"  #: minima and maxima of measures
    PANE = "pane"  #: a row of the map of a pane


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a query that runs as a query of its own.

    Attributes:
        kind: the values that it computes.
        numbers: distinguish parts of the same kind; empty if there is only one.
    """

    kind: PartKind
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryKey:
    """The identity of a query that runs.

    Attributes:
        query: the name of the query in its workload.
        step: the number of the step from 1; None if the query is not a step.
        part: the part of the query or step; None if it is not a part.
    """

    query: str
    step: int | None = None
    part: Part | None = None

    def __str__(self) -> str:
        """Return the key as text for people.

        >>> str(QueryKey("q")), str(QueryKey("q", 3, Part(PartKind.SUMS, (2,))))
        ('q', 'q step 3 sums 2')
        """
        step = () if self.step is None else ("step", self.step)
        part = () if self.part is None else (self.part.kind.value, *self.part.numbers)
        return " ".join(map(str, (self.query, *step, *part)))
