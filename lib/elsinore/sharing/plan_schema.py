"""The JSON schema of the static plan, as kept in `schemas/plans/static_plan.json`.

`python -m elsinore.sharing.plan_schema > schemas/plans/static_plan.json` writes it anew.
"""

from __future__ import annotations

import json

from elsinore.sharing.plan import StaticPlan


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
