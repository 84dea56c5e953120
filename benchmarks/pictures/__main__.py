"""Write the pictures of the concept pages: `python -m benchmarks.pictures`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.pictures.draw import PICTURES

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


def main() -> None:
    """Write each picture into `docs/pictures`."""
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw().written(), encoding="utf-8")


if __name__ == "__main__":
    main()
