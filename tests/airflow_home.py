"""Copies the database of Airflow that `make` has prepared: to make one starts Airflow twice."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path


def copy_database(to: Path) -> bool:
    """Copies it without the runs that somebody has made; whether there is one."""
    prepared = Path(os.environ["AIRFLOW_HOME"]) / "airflow.db"
    if not prepared.exists():
        return False
    with closing(sqlite3.connect(prepared)) as source, closing(sqlite3.connect(to)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA foreign_keys = ON")  # what belongs to a run goes with it
        copy.execute("DELETE FROM dag_run")
        copy.commit()
    return True
