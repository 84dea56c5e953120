"""The profile of a stream for a workload: rates, bursts, selectivities, skew.

Profiles are for people, and are stored next to the plan. They do not affect plans: a plan is found,
and checked for changes, by `Statistics` only.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pydantic
from numpy.typing import ArrayLike

from elsinore.sharing.artifact import Artifact, Part


class Spread(Part):
    """The distribution of whole numbers: `number` of them, 1 or more, with the sum `total`."""

    number: pydantic.PositiveInt
    total: int
    least: int
    median: float
    most: int

    @classmethod
    def of(cls, values: ArrayLike, zeros: int = 0) -> Spread:
        """Return the distribution of some positive whole numbers, and `zeros` zeros.

        >>> Spread.of([1, 9, 1, 4])
        Spread(number=4, total=15, least=1, median=2.5, most=9)
        """
        ordered = np.sort(values).tolist()
        number = zeros + len(ordered)
        middle = [ordered[n - zeros] if n >= zeros else 0 for n in ((number - 1) // 2, number // 2)]
        return cls(
            number=number,
            total=sum(ordered),
            least=0 if zeros else ordered[0],
            median=sum(middle) / 2,
            most=max(ordered, default=0),
        )

    @property
    def mean(self) -> float:
        """Return the mean."""
        return self.total / self.number


class TypeRate(Part):
    """Events of a type per pane of the interval, including empty panes."""

    event_type: str
    events: Spread


class BurstLengths(Part):
    """Events per burst (Hamlet Definition 4.1) of a type, for one set of sharable queries.

    A burst is a maximal run of events of one type within a pane and a partition. It is found among
    the events of the set's types that pass the local predicates of some position of some query.
    Events of equal time are ordered by the order of their types in the schema.
    """

    event_type: str
    kleene: str  #: the type E of the set's common E+
    queries: tuple[str, ...]
    #: the key attributes that every type of the set carries; their values partition the events.
    keys: tuple[str, ...]
    pane: pydantic.PositiveInt  #: the gcd of the set's WITHIN and SLIDE
    lengths: Spread


class LocalSelectivity(Part):
    """Number of events of a type that pass a predicate on single events.

    `condition` contains the type instead of the alias. `queries` are the queries with the
    predicate.
    """

    event_type: str
    condition: str
    queries: tuple[str, ...]
    events: int
    passed: int

    @property
    def share(self) -> float | None:
        """Return the share of the events that pass; None if there were none."""
        return self.passed / self.events if self.events else None


class EdgeSelectivity(Part):
    """Number of pairs of events that could be adjacent, and the share that passes a predicate.

    Both events of a pair are in one partition (by the keys that both positions carry), and in one
    of the intervals `[k * WITHIN, (k + 1) * WITHIN)`. The earlier event is strictly before the
    later one. Each passes the local predicates of its position. Other events are ignored, as under
    skip-till-any-match.
    """

    earlier: str
    later: str
    condition: str  #: the predicate, with the types in place of the aliases
    queries: tuple[str, ...]  #: queries that have it, with equal keys, WITHIN and local predicates
    keys: tuple[str, ...]
    within: pydantic.PositiveInt
    pairs: int
    sampled: int  #: number of evaluated pairs; all of them if there are few
    #: estimated share that passes, exact if all pairs were evaluated; None without pairs.
    share: float | None


class PartitionSkew(Part):
    """Events of the workload's types per partition by some key attributes.

    Events in which one of the attributes is NULL or NaN are in no partition.
    """

    keys: tuple[str, ...]
    sizes: Spread

    @property
    def largest_share(self) -> float:
        """Return the share of the partitioned events that are in the largest partition."""
        return self.sizes.most / self.sizes.total


class StreamProfile(Artifact):
    """The events of an interval from the view of a workload."""

    CALLED = "stream profile"
    version: Literal[1] = 1
    workload_fingerprint: str
    observed: tuple[int, int]
    #: length of the panes of `rates`: the gcd of all WITHIN and SLIDE of the workload.
    pane: pydantic.PositiveInt
    rates: tuple[TypeRate, ...]  #: by type, in alphabetical order
    bursts: tuple[BurstLengths, ...]  #: per set, of the types that have any
    #: selectivities, in the order of the workload.
    local: tuple[LocalSelectivity, ...]
    edges: tuple[EdgeSelectivity, ...]
    #: by set of key attributes, in alphabetical order; sets without values are left out.
    partitions: tuple[PartitionSkew, ...]
