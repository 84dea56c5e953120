"""Pictures of templates, plans and decisions.

Its modules load Matplotlib, which takes its time: import them where something is drawn.
"""

from __future__ import annotations

from pathlib import Path

from elsinore.errors import ParameterError

#: Endings of the names of pictures.
ENDINGS = (".svg", ".png")


def require_picture(path: Path) -> None:
    """Refuse a file name that does not end as pictures do (ParameterError)."""
    if path.suffix.lower() not in ENDINGS:
        raise ParameterError(
            f"{path} is not a picture", hint=f"use a name that ends in {' or '.join(ENDINGS)}"
        )
