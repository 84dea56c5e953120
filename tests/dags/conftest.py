"""Gives Airflow a home in the checkout's before anything imports it, which makes one up."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

os.environ.setdefault("AIRFLOW_HOME", str(ROOT / ".airflow"))
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def load_dag() -> Callable[[str], Any]:
    """Loads the DAG of a file by its name, once."""
    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        if name not in loaded:
            spec = importlib.util.spec_from_file_location(name, ROOT / f"dags/{name}.py")
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            loaded[name] = module.dags[0]
        return loaded[name]

    return load


@pytest.fixture(scope="session")
def intervals() -> Callable[..., list[Any]]:
    """The data intervals of a DAG's scheduled runs between two instants, as the scheduler sees."""
    from airflow.serialization.serialized_objects import DagSerialization

    def between(dag: Any, first: Any, last: Any) -> list[Any]:
        scheduled = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
        return [info.data_interval for info in scheduled.iter_dagrun_infos_between(first, last)]

    return between
