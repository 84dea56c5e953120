"""What a sharable set will cost run by Hamlet, and what its queries cost run by greta.

Both are amounts of work (`amounts`) times what a unit of each costs on this engine, measured from
end to end by `python -m benchmarks.auto --calibrate`; the costs of bursts are those that decisions
are made by (`costs`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

from elsinore.engine.hamlet.aggregate_set import LARGEST_SCRATCH
from elsinore.engine.hamlet.amounts import greta_amounts, hamlet_amounts, members_bytes
from elsinore.engine.hamlet.load import Amounts
from elsinore.engine.hamlet.traffic import Stream
from elsinore.lowering.sharable import SharableSet
from elsinore.query.bound import BoundQuery
from elsinore.template.template import Template

#: Kinds of work that both executors do alike: their costs are the same.
BOTH = ("row", "joined")

#: Nanoseconds that no prediction exceeds, so that any number of them adds up to a double.
LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Prediction:
    """Nanoseconds over the span of the statistics.

    Attributes:
        alone: of the set's queries one by one, by greta.
        together: of the set by Hamlet.
        fits: whether Hamlet has the memory that the set takes; it leaves it to greta if not.
    """

    alone: float
    together: float
    fits: bool

    @property
    def pays(self) -> bool:
        """Whether the set should run by Hamlet."""
        return self.fits and self.together < self.alone


def predict_set(found: SharableSet, stream: Stream) -> Prediction:
    """What a set costs both ways.

    Raises:
        ParameterError: the statistics lack a type of the set.
    """
    merged = found.merged
    return Prediction(
        alone=sum(
            predict_alone(query, template, stream)
            for query, template in zip(merged.queries, merged.templates, strict=True)
        ),
        together=total_cost(hamlet_amounts(found, stream), costs_of("hamlet")),
        fits=members_bytes(found, stream) <= LARGEST_SCRATCH,
    )


def predict_alone(query: BoundQuery, template: Template, stream: Stream) -> float:
    """Nanoseconds of a query of one template by greta.

    Raises:
        ParameterError: the statistics lack a type of the query.
    """
    return total_cost(greta_amounts(query, template, stream), costs_of("greta"))


@cache
def costs_of(executor: str) -> dict[str, float]:
    """Nanoseconds for a unit of each kind of work of `greta` or `hamlet`."""
    text = (resources.files(__package__) / "predicted.json").read_text("utf-8")
    found = json.loads(text)
    costs: dict[str, float] = found[executor] | found["both"]
    return costs


def total_cost(amounts: Amounts, costs: dict[str, float]) -> float:
    """Nanoseconds of some work, `LARGEST` at most."""
    total = sum(amount * costs[kind] for kind, amount in amounts.items())
    return total if total < LARGEST else LARGEST  # what is no number is too large as well
