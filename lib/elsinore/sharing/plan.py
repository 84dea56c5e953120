"""The static plan: a frozen, versioned value that records what is shared and why."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cached_property
from typing import Literal

import pydantic

from elsinore.choices import Optimizer
from elsinore.query.segments import Place
from elsinore.sharing.artifact import Artifact, Part
from elsinore.sharing.sharable import SharableSet
from elsinore.template.template import ALWAYS


class PlannedState(Part):
    """A state of a merged template.

    Attributes:
        event_type: type of its events.
        keys: attributes of the keys that its events carry, sorted.
        queries: numbers, in the set, of the queries that have the state.
        starts, ends: numbers of the queries whose trends may start, or end, at the state.
    """

    event_type: str
    keys: tuple[str, ...]
    queries: tuple[pydantic.NonNegativeInt, ...]
    starts: tuple[pydantic.NonNegativeInt, ...]
    ends: tuple[pydantic.NonNegativeInt, ...]


class PlannedTransition(Part):
    """A transition of a merged template, labeled by queries (Hamlet Figure 3(b)).

    Attributes:
        earlier, later: numbers of states.
        queries: numbers, in the set, of the queries that have the transition.
        conditional: whether pairs of events must meet an edge predicate.
    """

    earlier: pydantic.NonNegativeInt
    later: pydantic.NonNegativeInt
    queries: tuple[pydantic.NonNegativeInt, ...]
    conditional: bool


class PlannedSet(Part):
    """Queries that can share the aggregation of a Kleene sub-pattern (Hamlet Definition 3.2).

    Attributes:
        id: name of the set in this plan.
        kleene: the event types E whose E+ several of the queries share, sorted.
        queries: names of two or more queries; their positions here are their numbers in the set.
        keys: attributes that partition the trends, sorted.
        pane: length of a pane: the gcd of all WITHIN and SLIDE (section 3.1), in ticks.
        states, transitions: the merged template.
    """

    id: str
    kleene: tuple[str, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    pane: pydantic.PositiveInt
    states: tuple[PlannedState, ...]
    transitions: tuple[PlannedTransition, ...]

    @classmethod
    def of(cls, number: int, found: SharableSet) -> PlannedSet:
        """Return the record of a set, numbered from 1."""
        merged = found.merged
        return cls(
            id=f"s{number}",
            kleene=tuple(sorted(merged.shared_types)),
            queries=tuple(query.name for query in merged.queries),
            keys=merged.keys,
            pane=found.pane,
            states=tuple(
                PlannedState(
                    event_type=state.type,
                    keys=tuple(sorted(state.keys)),
                    queries=tuple(sorted(state.members)),
                    starts=tuple(sorted(merged.starts(at))),
                    ends=tuple(sorted(merged.ends(at))),
                )
                for at, state in enumerate(merged.states)
            ),
            transitions=tuple(
                PlannedTransition(
                    earlier=link.earlier,
                    later=link.later,
                    queries=link.queries,
                    conditional=link.condition != ALWAYS,
                )
                for link in merged.links
            ),
        )


class Fate(StrEnum):
    """The outcome of a candidate."""

    CHOSEN = "chosen"
    PRUNED = "pruned by the reduction"
    IN_CONFLICT = "in conflict"
    NOT_BENEFICIAL = "not beneficial"


class Occurrence(Part):
    """Positions `start` to `stop - 1` of a query's pattern."""

    query: str
    start: pydantic.NonNegativeInt
    stop: pydantic.NonNegativeInt

    @property
    def places(self) -> list[Place]:
        """Return the positions."""
        return [(self.query, position) for position in range(self.start, self.stop)]


class PlannedCandidate(Part):
    """A sharing candidate and its fate.

    Conflicts are not listed, because a large workload has millions. They follow from the
    occurrences: two candidates are in conflict if they have a position of a query in common.

    Attributes:
        id: name of the candidate in this plan.
        pattern: event types, from left to right.
        occurrences: one per query, by name of the query.
        benefit: BValue (Sharon Equation 8) if all of its queries share it, in count updates per
            longest window of the workload.
        degree: number of its conflicts, which are its edges in the Sharon graph; None if the
            candidate is not beneficial, because then it is not a vertex.
        score_max: maximum score of a plan of whole candidates that contains it (Equation 11); None
            if it is not a vertex. The reduction prunes it if this is below the guaranteed weight.
        fate: its outcome.
        shared_by: the queries that share it, all or some of its queries; empty unless it was
            chosen.
        shared_benefit: BValue if these queries share it; None unless it was chosen.
        excluded_by: the chosen candidates that overlap it in queries that share them; empty if the
            candidate is not beneficial.
    """

    id: str
    pattern: tuple[str, ...]
    occurrences: tuple[Occurrence, ...]
    benefit: float
    degree: pydantic.NonNegativeInt | None
    score_max: float | None
    fate: Fate
    shared_by: tuple[str, ...]
    shared_benefit: float | None
    excluded_by: tuple[str, ...]

    @property
    def queries(self) -> tuple[str, ...]:
        """Return the names of the queries that contain the pattern."""
        return tuple(occurrence.query for occurrence in self.occurrences)

    @property
    def shared_occurrences(self) -> tuple[Occurrence, ...]:
        """Return the occurrences in the queries that share it."""
        sharing = frozenset(self.shared_by)
        return tuple(place for place in self.occurrences if place.query in sharing)


class KleenePart(Part):
    """An `E+` that several queries contain, whether or not they can share it."""

    event_type: str
    queries: tuple[str, ...]


class StaticPlan(Artifact):
    """The patterns whose aggregation queries share: fixed sequences (Sharon Definition 7) and E+.

    `elsinore.sharing.replan.verify` checks whether a loaded plan fits a workload.

    Attributes:
        workload_fingerprint, statistics_fingerprint: the workload and the statistics of the plan.
        queries: fingerprints of the workload's queries by name.
        finder: the algorithm that chose.
        candidates: all candidates, in the order of mining.
        chosen: ids of the candidates that are shared, in the order in which they were chosen. The
            candidates list the queries that share them.
        score: sum of the benefits of the chosen candidates (Equation 9).
        guaranteed_weight: minimum of GWMIN's score (Equation 10).
        bound: maximum score of a plan in the finder's search space; None if unknown.
        proven: whether the score reaches the bound, up to a millionth of it.
        kleene: Kleene sub-patterns that several queries contain.
        sets: disjoint sharable sets of queries with Kleene sub-patterns (Hamlet Definition 3.2).
            The runtime plan decides which of them run together, and their bursts decide what is
            shared.
    """

    CALLED = "static plan"
    version: Literal[4] = 4
    workload_fingerprint: str
    statistics_fingerprint: str
    queries: dict[str, str]
    finder: Optimizer
    candidates: tuple[PlannedCandidate, ...]
    chosen: tuple[str, ...]
    score: float
    guaranteed_weight: float
    bound: float | None
    proven: bool
    kleene: tuple[KleenePart, ...]
    sets: tuple[PlannedSet, ...]

    @cached_property
    def by_id(self) -> dict[str, PlannedCandidate]:
        """Return the candidates by id."""
        return {candidate.id: candidate for candidate in self.candidates}

    @cached_property
    def owners(self) -> dict[Place, str]:
        """Return the chosen candidate that shares each position of a query, by position."""
        return {
            place: name
            for name in self.chosen
            for occurrence in self.by_id[name].shared_occurrences
            for place in occurrence.places
        }


def plan_schema() -> str:
    """Return the JSON schema of `StaticPlan.to_json`, generated from the model."""
    schema = StaticPlan.model_json_schema(mode="serialization")
    schema["properties"]["fingerprint"] = {
        "description": "sha256 of the canonical JSON of everything else.",
        "pattern": "^[0-9a-f]{64}$",
        "type": "string",
    }
    schema["required"] = sorted({*schema["required"], "version", "fingerprint"})
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(dialect | schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(plan_schema(), end="")
