"""The sharing benefit model of the Sharon paper: Equations 1 to 8, as published.

Costs are numbers of count updates and multiplications, per window. A rate is the mean number of
events of a type in one window. A type that occurs k times in a pattern stands k times in the sum of
Equation 1, which is the factor k of section 7.3: each of its events updates k counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum

Rates = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Split:
    """The pattern of a query around a shared pattern p (Definition 4), as event types.

    `prefix` or `suffix` is empty where p begins or ends the query's pattern.
    """

    prefix: tuple[str, ...]
    shared: tuple[str, ...]
    suffix: tuple[str, ...]

    @property
    def whole(self) -> tuple[str, ...]:
        """The query's pattern P^i."""
        return self.prefix + self.shared + self.suffix


def rate(pattern: Iterable[str], rates: Rates) -> float:
    """Equation 1: the rate of matched events, the sum of the rates of all types of a pattern."""
    return fsum(rates[event_type] for event_type in pattern)


def non_shared(split: Split, rates: Rates) -> float:
    """Equation 2: each matched event updates one count per START event of the query."""
    return rates[split.whole[0]] * rate(split.whole, rates)


def non_shared_by_all(splits: Iterable[Split], rates: Rates) -> float:
    """Equation 3: the cost of all queries Q_p by the Non-Shared method."""
    return fsum(non_shared(split, rates) for split in splits)


def count_computation(split: Split, rates: Rates) -> float:
    """Equation 4, Comp: the counts of prefix and suffix; a part that is not there costs nothing."""
    parts = (part for part in (split.prefix, split.suffix) if part)
    return fsum(rates[part[0]] * rate(part, rates) for part in parts)


def count_combination(split: Split, rates: Rates) -> float:
    """Equation 5, Comb: the product of the numbers of counts that are multiplied.

    The equation is written for a query with a prefix and a suffix. A part that is not there has no
    counts and stands for no factor; where there is neither, p is the whole query and nothing is
    combined.
    """
    if not split.prefix and not split.suffix:
        return 0.0
    product = rates[split.shared[0]]
    for part in (split.prefix, split.suffix):
        product *= rates[part[0]] if part else 1.0
    return product


def shared(split: Split, rates: Rates) -> float:
    """Equation 6: what one query costs beside p by the Shared method."""
    return count_computation(split, rates) + count_combination(split, rates)


def shared_once(pattern: tuple[str, ...], rates: Rates) -> float:
    """The first term of Equation 7: p, computed once for all of its queries."""
    return rates[pattern[0]] * rate(pattern, rates)


def shared_by_all(splits: tuple[Split, ...], rates: Rates) -> float:
    """Equation 7: p once for all, and what each query costs beside it."""
    once = shared_once(splits[0].shared, rates)
    return once + fsum(shared(split, rates) for split in splits)


def benefit(splits: tuple[Split, ...], rates: Rates) -> float:
    """Equation 8, BValue(p, Q_p): what sharing p saves; p is beneficial if it is above zero."""
    return non_shared_by_all(splits, rates) - shared_by_all(splits, rates)
