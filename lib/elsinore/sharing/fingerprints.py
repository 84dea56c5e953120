"""Fingerprints, sha256 over one canonical JSON spelling of a value, and what is stored with one."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any, ClassVar, Self

import pydantic

from elsinore.errors import PlanError
from elsinore.query.bound import Workload


def canonical_json(value: Any) -> str:
    """The one JSON spelling of a value: keys sorted, no spaces, shortest decimal of each double.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON has no word for.

    >>> canonical_json({"b": [1.50, None], "a": "x"})
    '{"a":"x","b":[1.5,null]}'
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def fingerprint(value: Any) -> str:
    """sha256 of the canonical JSON of a value, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def workload_fingerprint(workload: Workload) -> str:
    """The fingerprint of a workload: of its queries, in whatever order they were written.

    Each query's own fingerprint covers its name, its canonical text and the parts of the schema
    that it uses, so that any of these changes it (a plan for another workload is stale).
    """
    return fingerprint(sorted(query.fingerprint for query in workload.queries))


# ---- what is stored with its fingerprint

_PRINTED = "print a plan with `elsinore plan WORKLOAD --schema SCHEMA --events FILE --json`"

#: How to replace a plan, in a file or in a lake.
NEW_PLAN = f"{_PRINTED}; in the pipeline, run `elsinore aggregate`"


class Part(pydantic.BaseModel):
    """Frozen; nothing that is not declared, no number that JSON does not have."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Artifact(Part):
    """A value with a JSON form."""

    CALLED: ClassVar[str]  #: what it is, for people
    #: whether it is read without a fingerprint, too: earlier builds wrote it so.
    UNSIGNED: ClassVar[bool] = False
    version: int  #: of the JSON form; other versions are refused

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the canonical JSON of everything that it says."""
        return fingerprint(self.model_dump(mode="json"))

    def to_json(self) -> str:
        """Return the canonical JSON with the fingerprint; `from_json` reads it."""
        return canonical_json(self.model_dump(mode="json") | {"fingerprint": self.fingerprint})

    @classmethod
    def is_current(cls, text: str) -> bool:
        """Return whether JSON has the current version; PlanError: it is not a JSON object."""
        return bool(cls._parsed(text).get("version") == cls.model_fields["version"].default)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The value of a JSON text; PlanError: of another version, or not what was written."""
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
            # As JSON text, so that strictness admits arrays for tuples and names for fates.
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
