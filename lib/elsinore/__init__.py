"""Elsinore counts and sums event trends exactly, without building them."""

from typing import TYPE_CHECKING, Any

from elsinore.errors import AuthorError as AuthorError
from elsinore.errors import BudgetError as BudgetError
from elsinore.errors import DataError as DataError
from elsinore.errors import ElsinoreError as ElsinoreError
from elsinore.errors import OutOfMemoryError as OutOfMemoryError
from elsinore.errors import ParameterError as ParameterError
from elsinore.errors import QueryError as QueryError
from elsinore.errors import SchemaError as SchemaError
from elsinore.errors import SetupError as SetupError
from elsinore.errors import UnsupportedQueryError as UnsupportedQueryError

__version__ = "0.2.0"

#: The public names that need no package of the pipeline; docs/reference/python.md lists them.
#: `connect` and `spark` are public as well, but `import *` would load Spark and Delta Lake.
__all__ = [
    "AuthorError",
    "BudgetError",
    "DataError",
    "ElsinoreError",
    "OutOfMemoryError",
    "ParameterError",
    "QueryError",
    "Results",
    "SchemaError",
    "SetupError",
    "UnsupportedQueryError",
    "Workload",
    "infer_schema",
    "load_schema",
    "workload",
]

#: Lazy imports: these names load pandas and Numba on first use.
_PLACES = {
    "Results": "elsinore.library.results",
    "Workload": "elsinore.library.workload",
    "connect": "elsinore.lake.views",
    "infer_schema": "elsinore.library.infer_schema",
    "load_schema": "elsinore.catalog.load_schema",
    "spark": "elsinore.spark",
    "workload": "elsinore.library.workload",
}

if TYPE_CHECKING:
    from elsinore import spark as spark
    from elsinore.catalog.load_schema import load_schema as load_schema
    from elsinore.lake.views import connect as connect
    from elsinore.library.infer_schema import infer_schema as infer_schema
    from elsinore.library.results import Results as Results
    from elsinore.library.workload import Workload as Workload
    from elsinore.library.workload import workload as workload
else:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        from elsinore.errors import pipeline_packages

        if name not in _PLACES:
            raise AttributeError(f"module 'elsinore' has no attribute {name!r}")
        with pipeline_packages(f"elsinore.{name}"):
            place = import_module(_PLACES[name])
        return place if name == "spark" else getattr(place, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *_PLACES})
