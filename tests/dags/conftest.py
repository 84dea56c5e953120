"""Gives Airflow a home in the checkout's before anything imports it, which makes one up."""

from __future__ import annotations

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


def load_bag() -> Any:
    """All DAGs, as the environment has them now."""
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(dag_folder=str(ROOT / "dags"))
    assert bag.import_errors == {}
    return bag


@pytest.fixture(scope="session")
def bag() -> Any:
    """All DAGs."""
    return load_bag()


@pytest.fixture(scope="session")
def load_dag(bag: Any) -> Callable[[str], Any]:
    """A DAG by its name."""
    return bag.dags.__getitem__


@pytest.fixture(scope="session")
def intervals() -> Callable[..., list[Any]]:
    """The data intervals of a DAG's scheduled runs between two instants, as the scheduler sees."""
    from airflow.serialization.serialized_objects import DagSerialization

    def between(dag: Any, first: Any, last: Any) -> list[Any]:
        scheduled = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
        return [info.data_interval for info in scheduled.iter_dagrun_infos_between(first, last)]

    return between
