"""Check at the start of a run that Spark's Python workers have the same Elsinore.

The function that runs on the workers is sent by value, so it needs neither Elsinore nor Arrow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import StringType

from elsinore.errors import SetupError
from elsinore.settings import Settings
from elsinore.store.task_failures import spark_failures

#: Packages that tasks import.
_NEEDED = ("pyarrow", "numpy", "numba")

_MISSING = re.compile(r"No module named '([\w.]+)'")
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH|different version: ([\d.]+)")


def require_same_elsinore(spark: SparkSession) -> Mapping[str, Any]:
    """Run one small task that reports the versions on the workers.

    Returns:
        The versions of `python`, `elsinore`, `pyarrow`, `numpy` and `numba` on the workers, and the
            `digest` of the sources of Elsinore.

    Raises:
        SetupError: they lack a package, or have another minor version of Python or other sources of
            Elsinore; the message names both versions.
    """
    here = json.loads(_report()())
    # The first session of this thread would parse the name of a type, so it is an object.
    report = F.udf(_report(), StringType(), useArrow=False)
    try:
        with spark_failures():
            rows = spark.range(0, 1, numPartitions=1).select(report("id").alias("found")).collect()
    except PySparkException as error:
        if failure := _failure(str(error), here):
            raise failure from error
        raise
    there = json.loads(rows[0].found)
    compare_versions(here, there)
    return there


def check_workers(spark: SparkSession, settings: Settings) -> None:
    """Check the workers of a cluster or of an external server; see `require_same_elsinore`.

    Workers of a local master belong to this installation and are not checked.

    Raises:
        SetupError: the workers have other versions.
    """
    if not settings.spark_master.startswith("local"):
        require_same_elsinore(spark)


def compare_versions(here: Mapping[str, Any], there: Mapping[str, Any]) -> None:
    """Raise SetupError if workers cannot run what this process sends them."""
    if there["python"].split(".")[:2] != here["python"].split(".")[:2]:
        raise _other_python(there["python"], here)
    for name in _NEEDED:
        if there[name] is None:
            raise _lacking(name, here)
    if there["elsinore"] is None:
        raise _lacking("elsinore", here)
    if there["digest"] != here["digest"]:
        raise SetupError(
            f"Spark's Python workers have another Elsinore: {_named(there)} there, {_named(here)} "
            "here",
            hint=_install("elsinore", here),
            here=dict(here),
            there=dict(there),
        )


def _failure(text: str, here: Mapping[str, Any]) -> SetupError | None:
    """Return the error of workers that could not run the function."""
    if found := _OTHER_PYTHON.search(text):
        return _other_python(found[1] or "another version", here)
    if found := _MISSING.search(text):
        return _lacking(found[1].split(".")[0], here)
    return None


def _other_python(there: str, here: Mapping[str, Any]) -> SetupError:
    minor = ".".join(here["python"].split(".")[:2])
    return SetupError(
        f"Spark's Python workers run Python {there}, and this process Python {here['python']}",
        hint=f"set spark.pyspark.python of the cluster to a Python {minor}",
    )


def _lacking(name: str, here: Mapping[str, Any]) -> SetupError:
    return SetupError(
        f"Spark's Python workers have no {name}; this process has {name} {here.get(name)}",
        hint=_install(name, here),
    )


def _install(name: str, here: Mapping[str, Any]) -> str:
    return f"on the hosts of the workers: pip install --force-reinstall {name}=={here.get(name)}"


def _named(versions: Mapping[str, Any]) -> str:
    return f"{versions['elsinore']} (sources {versions['digest']})"


def _report() -> Callable[..., str]:
    """Return the function that reports versions, as JSON; pickled by value, as it is local."""

    def report(_: object = None) -> str:
        import hashlib
        import json
        import platform
        from importlib import import_module, util
        from importlib.metadata import PackageNotFoundError, version
        from pathlib import Path

        versions: dict[str, Any] = {"python": platform.python_version()}
        for name in ("pyarrow", "numpy", "numba"):
            try:
                versions[name] = version(name)
            except PackageNotFoundError:
                versions[name] = None
        spec, digest = util.find_spec("elsinore"), hashlib.sha256()
        for directory in (spec.submodule_search_locations or ()) if spec else ():
            files = [file for kind in ("*.py", "*.lark") for file in Path(directory).rglob(kind)]
            for file in sorted(files):
                digest.update(f"{file.relative_to(directory)}\0".encode() + file.read_bytes())
        versions["digest"] = digest.hexdigest()[:12] if spec else None
        found = import_module("elsinore") if spec else None
        versions["elsinore"] = getattr(found, "__version__", None)
        return json.dumps(versions)

    return report
