"""The static plan: a frozen, versioned value that tells the whole story of how it came about."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

import pydantic

from elsinore.errors import PlanError
from elsinore.sharing.fingerprints import canonical_json, fingerprint

#: Version of the JSON form; other versions are refused.
FORMAT = 1


class Fate(StrEnum):
    """What became of a candidate."""

    CHOSEN = "chosen"
    IN_CONFLICT = "in conflict"
    NOT_BENEFICIAL = "not beneficial"


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_enum_values=False
    )


class Occurrence(_Part):
    """Positions `start` to `stop - 1` of a query's pattern."""

    query: str
    start: pydantic.NonNegativeInt
    stop: pydantic.NonNegativeInt


class PlannedCandidate(_Part):
    """A sharing candidate and its fate.

    Attributes:
        id: its name in this plan.
        pattern: event types, from left to right.
        occurrences: one a query, by the queries' names.
        benefit: BValue (Sharon Equation 8), in count updates per longest window of the workload.
        conflicts: the beneficial candidates that it is in conflict with (its edges in the Sharon
            graph); none for a candidate that is not beneficial, since it is no vertex.
        fate: what became of it.
        excluded_by: the chosen candidates among its conflicts.
    """

    id: str
    pattern: tuple[str, ...]
    occurrences: tuple[Occurrence, ...]
    benefit: float
    conflicts: tuple[str, ...]
    fate: Fate
    excluded_by: tuple[str, ...]

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries that hold the pattern."""
        return tuple(occurrence.query for occurrence in self.occurrences)


class KleenePart(_Part):
    """An `E+` that several queries hold; for information, no decision yet."""

    event_type: str
    queries: tuple[str, ...]


class StaticPlan(_Part):
    """Which queries share the aggregation of which fixed-length patterns (Sharon Definition 7).

    Attributes:
        version: of the JSON form.
        workload_fingerprint, statistics_fingerprint: what the plan was found for and from.
        finder: the algorithm that chose.
        candidates: every candidate, chosen or not, in the order of mining.
        chosen: ids of the candidates that are shared, in the order in which they were chosen.
        score: sum of the benefits of the chosen ones (Equation 9).
        guaranteed_weight: what GWMIN's score can never fall below (Equation 10).
        kleene: Kleene sub-patterns that several queries hold.
    """

    version: Literal[1] = 1
    workload_fingerprint: str
    statistics_fingerprint: str
    finder: Literal["gwmin"] = "gwmin"
    candidates: tuple[PlannedCandidate, ...]
    chosen: tuple[str, ...]
    score: float
    guaranteed_weight: float
    kleene: tuple[KleenePart, ...]

    @cached_property
    def by_id(self) -> dict[str, PlannedCandidate]:
        """Candidates by id."""
        return {candidate.id: candidate for candidate in self.candidates}

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the canonical JSON of everything that the plan says."""
        return fingerprint(self.model_dump(mode="json"))

    def to_json(self) -> str:
        """The canonical JSON text, with the fingerprint beside the plan; `from_json` reads it."""
        return canonical_json(self.model_dump(mode="json") | {"fingerprint": self.fingerprint})

    @classmethod
    def from_json(cls, text: str) -> StaticPlan:
        """A plan from its JSON text.

        Whether it fits a workload is for `elsinore.sharing.verify.verify` to say.

        Raises:
            PlanError: the text is no plan, of another version, or not what was written.
        """
        document = _parse(text)
        version = document.get("version")
        if version != FORMAT:
            raise PlanError(
                f"the static plan is of version {version!r}; this build reads version {FORMAT}",
                hint="find the plan anew",
            )
        stated = document.pop("fingerprint", None)
        try:
            # As JSON text, so that strictness admits arrays for tuples and names for fates.
            plan = cls.model_validate_json(canonical_json(document), strict=True)
        except (pydantic.ValidationError, ValueError) as error:
            raise PlanError(f"the static plan is damaged: {error}") from error
        if plan.fingerprint != stated:
            raise PlanError(
                "the static plan is damaged: its content is not what its fingerprint says",
                hint="find the plan anew",
                stated=stated,
                found=plan.fingerprint,
            )
        return plan


def _parse(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"the static plan is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise PlanError("the static plan is no JSON object")
    return document
