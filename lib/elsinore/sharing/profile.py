"""What a stream looked like to a workload: rates, bursts, selectivities, skew.

For people to read, and stored beside the plan: a plan is found from `Statistics` alone, and whether
a stored one still stands does not depend on a profile.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pydantic
from numpy.typing import ArrayLike

from elsinore.sharing.fingerprints import Artifact, Part


class Spread(Part):
    """How whole numbers are spread: `number` of them, 1 or more, with `total` as their sum."""

    number: pydantic.PositiveInt
    total: int
    least: int
    median: float
    most: int

    @classmethod
    def of(cls, values: ArrayLike, zeros: int = 0) -> Spread:
        """The spread of whole numbers above zero, and of so many zeros.

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
        """The sum by the number."""
        return self.total / self.number


class TypeRate(Part):
    """Events of a type in each pane of the interval, empty panes included."""

    event_type: str
    events: Spread


class BurstLengths(Part):
    """Events in each burst (Hamlet Definition 4.1) of a type, for one set of sharable queries.

    A burst is a maximal run of events of one type within a pane and a partition, among the events
    of the set's types that pass the local predicates of some position of some query. Events of
    equal time count in the order of their types in the schema.
    """

    event_type: str
    kleene: str  #: the type E of the set's common E+
    queries: tuple[str, ...]
    #: the attributes whose values partition; those that every type of the set carries.
    keys: tuple[str, ...]
    pane: pydantic.PositiveInt  #: the gcd of the set's WITHIN and SLIDE
    lengths: Spread


class LocalSelectivity(Part):
    """How many events of a type pass a predicate on single events.

    In `condition` the type stands in place of the alias; `queries` are those that have it.
    """

    event_type: str
    condition: str
    queries: tuple[str, ...]
    events: int
    passed: int

    @property
    def share(self) -> float | None:
        """What passes; None where there are no events."""
        return self.passed / self.events if self.events else None


class EdgeSelectivity(Part):
    """How many pairs of events that could be adjacent pass an edge predicate.

    Pairs are those of one partition (by the keys that both positions carry) and of one of the
    intervals `[k * WITHIN, (k + 1) * WITHIN)`, the earlier strictly before the later, each passing
    the local predicates of its position; as under skip-till-any-match.
    """

    earlier: str
    later: str
    condition: str  #: the predicate, with the types in place of the aliases
    queries: tuple[str, ...]  #: those that have it, alike in keys, WITHIN and local predicates
    keys: tuple[str, ...]
    within: pydantic.PositiveInt
    pairs: int
    sampled: int  #: how many pairs were looked at; all of them where there are few
    #: estimate of what passes, exact where all pairs were looked at; None without pairs.
    share: float | None


class PartitionSkew(Part):
    """Events of the workload's types in each partition by some key attributes.

    NULL and NaN are no values: events that lack one of the attributes are in no partition.
    """

    keys: tuple[str, ...]
    sizes: Spread

    @property
    def largest_share(self) -> float:
        """The part of the partitioned events that the largest partition holds."""
        return self.sizes.most / self.sizes.total


class StreamProfile(Artifact):
    """The events of an interval, as a workload meets them."""

    CALLED = "stream profile"
    version: Literal[1] = 1
    workload_fingerprint: str
    observed: tuple[int, int]
    #: length of the panes of `rates`: the gcd of all WITHIN and SLIDE of the workload.
    pane: pydantic.PositiveInt
    rates: tuple[TypeRate, ...]  #: by type, in alphabetical order
    bursts: tuple[BurstLengths, ...]  #: of the types that have any, set by set
    #: selectivities, in the order of the workload.
    local: tuple[LocalSelectivity, ...]
    edges: tuple[EdgeSelectivity, ...]
    #: by set of key attributes, in alphabetical order; sets without values are left out.
    partitions: tuple[PartitionSkew, ...]
