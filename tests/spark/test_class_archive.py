"""An archive that does not fit is passed over in silence; so this looks whether it is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from elsinore.settings import Settings
from elsinore.spark.session import CLASS_ARCHIVE


def test_a_session_maps_the_archive_of_classes(spark: SparkSession) -> None:
    archive = Settings.load().jars / CLASS_ARCHIVE
    if not archive.exists():
        pytest.skip("this Java keeps no classes")
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    assert str(archive) in Path(f"/proc/{process}/maps").read_text(encoding="utf-8")
