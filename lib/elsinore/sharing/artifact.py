"""Values that are stored as JSON with their fingerprint: plans, statistics and profiles."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, ClassVar, Self

import pydantic

from elsinore.errors import PlanError
from elsinore.query.fingerprints import canonical_json, fingerprint

_PRINTED = "print a plan with `elsinore plan WORKLOAD --schema SCHEMA --events FILE --json`"

#: How to replace a plan, in a file or in a lake.
NEW_PLAN = f"{_PRINTED}; in the pipeline, run `elsinore aggregate`"


class Part(pydantic.BaseModel):
    """A frozen model without undeclared fields, and without NaN or infinities."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Artifact(Part):
    """A value with a versioned JSON form and a fingerprint."""

    CALLED: ClassVar[str]  #: what messages call it
    #: whether JSON without a fingerprint can be read, because earlier builds wrote it.
    UNSIGNED: ClassVar[bool] = False
    version: int  #: version of the JSON form; other versions are rejected

    @cached_property
    def fingerprint(self) -> str:
        """Return the sha256 of the canonical JSON of all fields."""
        return fingerprint(self.model_dump(mode="json"))

    def to_json(self) -> str:
        """Return the canonical JSON with the fingerprint; `from_json` reads it."""
        return canonical_json(self.model_dump(mode="json") | {"fingerprint": self.fingerprint})

    @classmethod
    def is_current(cls, text: str) -> bool:
        """Return whether JSON has the current version.

        Raises:
            PlanError: the text is not a JSON object.
        """
        return bool(cls._parsed(text).get("version") == cls.model_fields["version"].default)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the value of a JSON text that `to_json` wrote.

        Raises:
            PlanError: the text is not JSON of this kind, has another version, or was changed.
        """
        document = cls._parsed(text)
        version, current = document.get("version"), cls.model_fields["version"].default
        if version is None:
            raise PlanError(f"not a {cls.CALLED}", hint=_PRINTED)
        if version != current:
            raise PlanError(
                f"the {cls.CALLED} has version {version!r}; this release reads version {current}",
                hint=NEW_PLAN,
            )
        stated = document.pop("fingerprint", None)
        try:
            # Validate JSON text, because strict mode then accepts arrays for tuples, and strings
            # for enums.
            found = cls.model_validate_json(canonical_json(document), strict=True)
        except ValueError as error:
            raise PlanError(f"the {cls.CALLED} is damaged: {error}", hint=NEW_PLAN) from error
        if found.fingerprint != stated and not (cls.UNSIGNED and stated is None):
            raise PlanError(
                f"the {cls.CALLED} is damaged: its content does not match its fingerprint",
                hint=NEW_PLAN,
                stated=stated,
                found=found.fingerprint,
            )
        return found

    @classmethod
    def _parsed(cls, text: str) -> dict[str, Any]:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"the {cls.CALLED} is not JSON", hint=_PRINTED) from error
        if not isinstance(document, dict):
            raise PlanError(f"the {cls.CALLED} is not a JSON object", hint=_PRINTED)
        return document
