"""Workers without this Elsinore are refused at the start of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from elsinore import __version__
from elsinore.errors import SetupError
from elsinore.settings import Settings
from elsinore.spark.probe import compare_versions, require_same_elsinore
from elsinore.spark.session import open_session

HERE = {
    "python": "3.11.2", "elsinore": "0.2.0", "digest": "aa", "pyarrow": "26.0", "numpy": "2.4",
    "numba": "0.68.0",
}  # fmt: skip


@pytest.mark.spark
def test_workers_of_the_embedded_server_are_the_same(results_session: SparkSession) -> None:
    there = require_same_elsinore(results_session)
    assert there["elsinore"] == __version__
    assert there["python"].split(".")[:2] == [str(part) for part in sys.version_info[:2]]


@pytest.mark.spark
def test_workers_with_another_elsinore(server: Settings, tmp_path: Path) -> None:
    other = tmp_path / "site" / "elsinore"
    (other / "spark").mkdir(parents=True)
    (other / "__init__.py").write_text('__version__ = "0.0.1"\n')
    (other / "spark" / "__init__.py").write_text("")
    (other / "spark" / "worker_daemon.py").write_text(
        'from pyspark.daemon import manager\nif __name__ == "__main__":\n    manager()\n'
    )
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH={other.parent}:$PYTHONPATH exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    with open_session(server) as session:
        session.conf.set("spark.sql.execution.pyspark.python", str(python))
        with pytest.raises(
            SetupError, match=rf"another Elsinore: 0\.0\.1 .*{__version__}"
        ) as error:
            require_same_elsinore(session)
    assert f"pip install --force-reinstall elsinore=={__version__}" in str(error.value.hint)


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"elsinore": None, "digest": None}, "no elsinore; .* 0.2.0", "elsinore==0.2.0"),
        ({"numba": None}, "no numba; .* 0.68.0", "numba==0.68.0"),
        ({"python": "3.10.1"}, "run Python 3.10.1, and this process Python 3.11.2", "Python 3.11"),
        ({"digest": "bb"}, r"0.2.0 \(sources bb\) there, 0.2.0 \(sources aa\)", "elsinore==0.2.0"),
    ],
)
def test_what_differs_is_named(changes: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(SetupError, match=message) as error:
        compare_versions(HERE, HERE | changes)
    assert error.value.hint is not None
    assert hint in error.value.hint


def test_other_versions_of_packages_are_allowed() -> None:
    compare_versions(HERE, HERE | {"numpy": "2.5", "python": "3.11.9"})
