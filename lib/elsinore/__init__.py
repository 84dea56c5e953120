"""Elsinore counts and sums event trends exactly, without building them."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elsinore import spark
    from elsinore.catalog.load_schema import load_schema
    from elsinore.errors import (
        AuthorError,
        BudgetError,
        DataError,
        ElsinoreError,
        ParameterError,
        QueryError,
        SchemaError,
        SetupError,
        UnsupportedQueryError,
    )
    from elsinore.library.infer_schema import infer_schema
    from elsinore.library.results import Results
    from elsinore.library.workload import Workload, workload

__version__ = "0.1.0"

#: Where each name is: what is not used is not imported, and queries take pandas and Numba along.
_PLACES = {
    "Results": "elsinore.library.results",
    "Workload": "elsinore.library.workload",
    "infer_schema": "elsinore.library.infer_schema",
    "load_schema": "elsinore.catalog.load_schema",
    "workload": "elsinore.library.workload",
}

__all__ = [
    "AuthorError",
    "BudgetError",
    "DataError",
    "ElsinoreError",
    "ParameterError",
    "QueryError",
    "Results",
    "SchemaError",
    "SetupError",
    "UnsupportedQueryError",
    "Workload",
    "__version__",
    "infer_schema",
    "load_schema",
    "spark",
    "workload",
]

# Counts have any number of digits; Python would refuse to print or read more than 4,300.
sys.set_int_max_str_digits(0)


if not TYPE_CHECKING:  # which else would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'elsinore' has no attribute {name!r}")
        from importlib import import_module

        if name == "spark":
            return import_module("elsinore.spark")
        found = getattr(import_module(_PLACES.get(name, "elsinore.errors")), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return __all__
