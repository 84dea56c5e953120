"""The user's options of Spark: their file is read as Spark reads it, and some are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.errors import ElsinoreError, ParameterError, SetupError
from elsinore.settings import Settings
from elsinore.spark.options import parse_options, session_options, user_options


def options_of(folder: Path, text: str) -> Settings:
    """Settings with a file of options."""
    (folder / "options.conf").write_text(text, encoding="utf-8")
    return Settings(home=folder, spark_options=folder / "options.conf", shuffle_partitions=3)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ("# a comment\n\n! another\n  # indented\n", {}),
        ("spark.a x\nspark.b=y\nspark.c : z \r\nspark.d\t\tw", dict(zip(
            ("spark.a", "spark.b", "spark.c", "spark.d"), "xyzw", strict=True))),
        ("spark.a one two  \n", {"spark.a": "one two"}),
        ("spark.a\nspark.b=\n", {"spark.a": "", "spark.b": ""}),
        ("spark.a 1\nspark.a 2\n", {"spark.a": "2"}),
        ("spark.a 1,\\\n  2,\\\n  3\nspark.b 4", {"spark.a": "1,2,3", "spark.b": "4"}),
        ("spark.a C:\\\\x\\=y # kept", {"spark.a": "C:\\x=y # kept"}),
        ("spark.a x\\\\\nspark.b y", {"spark.a": "x\\", "spark.b": "y"}),
        ("spark.\\u0061\\:b c", {"spark.a:b": "c"}),
    ],
)  # fmt: skip
def test_a_file_is_read_as_java_reads_properties(text: str, options: dict[str, str]) -> None:
    assert parse_options(text) == options


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("spark.authenticate false", "spark.authenticate"),
        ("spark.authenticate.secret x", "spark.authenticate.secret"),
        ("spark.\\u0061uthenticate false", "spark.authenticate"),
        ("spark.plugins org.example.Mine", "spark.plugins"),
        ("spark.connect.grpc.binding.address 0.0.0.0", "spark.connect.grpc.binding.address"),
        ("spark.driver.bindAddress 0.0.0.0", "spark.driver.bindAddress"),
        ("spark.python.unix.domain.socket.enabled false", "spark.python.unix.domain.socket"),
        ("spark.sql.extensions x.Y", "spark.sql.extensions"),
        ("spark.sql.catalog.spark_catalog x.Y", "spark.sql.catalog.spark_catalog"),
        ("spark.sql.session.timeZone CET", "spark.sql.session.timeZone"),
        ("spark.local.dir /tmp", "spark.local.dir"),
        ("spark.jars x.jar", "spark.jars"),
        ("spark.master local[8]", "ELSINORE_SPARK_MASTER"),
        ("spark.driver.memory 8g", "ELSINORE_SPARK_MEMORY"),
        ("spark.sql.shuffle.partitions 8", "ELSINORE_SHUFFLE_PARTITIONS"),
        ("my.option 8", "my.option"),
    ],
)
def test_an_option_that_elsinore_needs_is_refused_by_its_name(
    tmp_path: Path, line: str, named: str
) -> None:
    settings = options_of(tmp_path, f"spark.ui.enabled true\n{line}\n")
    with pytest.raises(ParameterError, match=r"ELSINORE_SPARK_OPTIONS: ") as refused:
        user_options(settings)
    assert named in str(refused.value)
    assert "spark.ui.enabled" not in str(refused.value)
    assert str(settings.spark_options) in str(refused.value.hint)


def test_other_options_are_the_users(tmp_path: Path) -> None:
    settings = options_of(
        tmp_path,
        "spark.eventLog.enabled true\nspark.hadoop.fs.s3a.access.key k\n"
        "spark.jars.packages a:b:1\nspark.sql.catalog.unity x.Y\n",
    )
    assert [*user_options(settings)] == [
        "spark.eventLog.enabled", "spark.hadoop.fs.s3a.access.key", "spark.jars.packages",
        "spark.sql.catalog.unity",
    ]  # fmt: skip


def test_a_session_prefers_the_users_value(tmp_path: Path) -> None:
    settings = options_of(tmp_path, "spark.sql.codegen.wholeStage true\nspark.ui.enabled true\n")
    options = session_options(settings)
    assert options["spark.sql.codegen.wholeStage"] == "true"
    assert options["spark.sql.codegen.factoryMode"] == "NO_CODEGEN"
    assert options["spark.sql.shuffle.partitions"] == "3"
    assert options["spark.sql.session.timeZone"] == "UTC"
    assert "spark.ui.enabled" not in options


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_a_matter_of_set_up(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "options.conf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ElsinoreError, match=r"cannot read .*options.conf") as refused:
        user_options(Settings(home=tmp_path, spark_options=file))
    assert isinstance(refused.value, SetupError)
    assert "ELSINORE_SPARK_OPTIONS" in str(refused.value.hint)
