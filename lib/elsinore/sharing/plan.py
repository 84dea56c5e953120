"""The static plan: a frozen, versioned value that tells the whole story of how it came about."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cached_property
from typing import Literal

import pydantic

from elsinore.choices import Optimizer
from elsinore.sharing.candidates import Place
from elsinore.sharing.fingerprints import Artifact, Part
from elsinore.sharing.sharable import SharableSet
from elsinore.template.template import ALWAYS


class PlannedState(Part):
    """A state of a merged template.

    Attributes:
        event_type: of its events.
        keys: attributes of the keys that they carry, sorted.
        queries: numbers, in the set, of the queries that have the state.
        starts, ends: numbers of those whose trends may start, or end, there.
    """

    event_type: str
    keys: tuple[str, ...]
    queries: tuple[pydantic.NonNegativeInt, ...]
    starts: tuple[pydantic.NonNegativeInt, ...]
    ends: tuple[pydantic.NonNegativeInt, ...]


class PlannedTransition(Part):
    """A transition of a merged template, labelled by queries (Hamlet Figure 3(b)).

    Attributes:
        earlier, later: numbers of states.
        queries: numbers, in the set, of the queries that have it.
        conditional: whether pairs of events must meet an edge predicate.
    """

    earlier: pydantic.NonNegativeInt
    later: pydantic.NonNegativeInt
    queries: tuple[pydantic.NonNegativeInt, ...]
    conditional: bool


class PlannedSet(Part):
    """Queries that can share the aggregation of a Kleene sub-pattern (Hamlet Definition 3.2).

    Attributes:
        id: its name in this plan.
        kleene: the event types E whose E+ several of the queries share, sorted.
        queries: two or more; others name them by their places here.
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
        """What a plan says of a set."""
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
    """What became of a candidate."""

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
        """The positions."""
        return [(self.query, position) for position in range(self.start, self.stop)]


class PlannedCandidate(Part):
    """A sharing candidate and its fate.

    Its conflicts are not listed, since a large workload has millions: they follow from the
    occurrences, as two candidates are in conflict where they meet at a position of a query.

    Attributes:
        id: its name in this plan.
        pattern: event types, from left to right.
        occurrences: one a query, by the queries' names.
        benefit: BValue (Sharon Equation 8) of sharing it among all of its queries, in count updates
            per longest window of the workload.
        degree: number of its conflicts, its edges in the Sharon graph; None for a candidate that is
            not beneficial, since it is no vertex.
        score_max: no plan of whole candidates that holds it scores more (Equation 11); None as
            above. Below the guaranteed weight the reduction prunes it.
        fate: what became of it.
        shared_by: the queries that share it, all of its own or some; none unless it was chosen.
        shared_benefit: BValue of sharing it among those; None unless it was chosen.
        excluded_by: the chosen candidates that it meets in queries that share them; none for a
            candidate that is not beneficial.
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
        """The queries that hold the pattern."""
        return tuple(occurrence.query for occurrence in self.occurrences)

    @property
    def shared_occurrences(self) -> tuple[Occurrence, ...]:
        """Where the queries that share it do so."""
        sharing = frozenset(self.shared_by)
        return tuple(place for place in self.occurrences if place.query in sharing)


class KleenePart(Part):
    """An `E+` that several queries hold, whether or not they can share it."""

    event_type: str
    queries: tuple[str, ...]


class StaticPlan(Artifact):
    """Which queries share the aggregation of what: fixed-length patterns (Sharon Definition 7), E+.

    Whether one that was read fits a workload is for `elsinore.sharing.replan.verify` to say.

    Attributes:
        workload_fingerprint, statistics_fingerprint: what the plan was found for and from.
        queries: fingerprints of the workload's queries by name.
        finder: the algorithm that chose.
        candidates: every candidate, chosen or not, in the order of mining.
        chosen: ids of the candidates that are shared, in the order in which they were chosen; the
            candidates say by which of their queries.
        score: sum of the benefits of what is shared (Equation 9).
        guaranteed_weight: what GWMIN's score can never fall below (Equation 10).
        bound: no plan in the finder's search space scores more; None if the finder knows none.
        proven: whether the score reaches the bound, up to a millionth of it.
        kleene: Kleene sub-patterns that several queries hold.
        sets: sharable sets of queries with Kleene sub-patterns (Hamlet Definition 3.2), disjoint;
            which of them run together the runtime plan says, and their bursts what is shared.
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
        """Candidates by id."""
        return {candidate.id: candidate for candidate in self.candidates}

    @cached_property
    def owners(self) -> dict[Place, str]:
        """The chosen candidate that each shared position of a query is part of."""
        return {
            place: name
            for name in self.chosen
            for occurrence in self.by_id[name].shared_occurrences
            for place in occurrence.places
        }


def plan_schema() -> str:
    """The schema of what `StaticPlan.to_json` writes, generated from the model, as JSON text."""
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
