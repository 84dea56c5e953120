"""The page of the Python API: the public names, whose docstrings mkdocstrings shows."""

from __future__ import annotations

import elsinore
from docs.generate.markdown import blocks
from elsinore.errors import ElsinoreError

_INTRO = """\
These are the public names of the package `elsinore`. The names that are not listed here can change
in any release. [Use Elsinore from Python](../how-to/use-from-python.md) shows them at work."""

_SPARK = """\
`elsinore.spark` runs queries on Spark DataFrames. It needs the packages of the pipeline."""


#: Public names that need the packages of the pipeline, so they are not in `__all__`.
PIPELINE_NAMES = ("connect", "spark")


def page() -> str:
    """Return the page; only the site shows what its directives name."""
    names = sorted([*elsinore.__all__, *PIPELINE_NAMES])
    names.remove("spark")
    errors = sorted(filter(_is_error, names), key=lambda name: name != ElsinoreError.__name__)
    others = [name for name in names if name not in errors]
    return blocks(
        [
            "# Python API",
            _INTRO,
            *(_directive(f"elsinore.{name}") for name in others),
            "## elsinore.spark",
            _SPARK,
            *(_directive(f"elsinore.spark.{name}", level=3) for name in elsinore.spark.__all__),
            "## Errors",
            "All errors derive from `ElsinoreError`. See [Error codes](error-codes.md).",
            *(_directive(f"elsinore.{name}", "members: false", level=3) for name in errors),
        ]
    )


def _is_error(name: str) -> bool:
    value = getattr(elsinore, name)
    return isinstance(value, type) and issubclass(value, ElsinoreError)


def _directive(path: str, *options: str, level: int = 2) -> str:
    lines = [*options, f"heading_level: {level}"]
    return "\n      ".join([f"::: {path}\n    options:", *lines])
