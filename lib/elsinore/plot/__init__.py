"""Pictures of templates, plans and decisions.

The modules of this package load Matplotlib, which is slow: import them only to draw.
"""

from __future__ import annotations

from pathlib import Path

from elsinore.errors import ParameterError

#: Supported endings of file names.
ENDINGS = (".svg", ".png")


def require_picture(path: Path) -> None:
    """Raise an error if a file name does not have an ending of pictures.

    Raises:
        ParameterError: the ending is not `.svg` or `.png`.
    """
    if path.suffix.lower() not in ENDINGS:
        raise ParameterError(
            f"{path} is not a picture", hint=f"use a name that ends in {' or '.join(ENDINGS)}"
        )
