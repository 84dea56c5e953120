"""How every part of the static plan is written and read."""

from __future__ import annotations

import pydantic


class PlanPart(pydantic.BaseModel):
    """Frozen; nothing that is not declared, no number that JSON does not have."""

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_enum_values=False
    )
