"""Options of Spark for tables in an object store, and the error of a Spark without a connector."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkException

from elsinore.errors import SetupError, StoreError, storage_error
from elsinore.store.object_store import HADOOP, connector_options, store_options
from elsinore.store.task_failures import translate

#: Variables that delta-rs reads, too.
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"}


def test_connectors_have_the_version_of_sparks_hadoop() -> None:
    jars = Path(pyspark.__file__).parent / "jars"
    assert (jars / f"hadoop-client-api-{HADOOP}.jar").is_file()
    options = connector_options("s3")
    assert f"org.apache.hadoop:hadoop-aws:{HADOOP}," in options["spark.jars.packages"]
    assert options["spark.jars.excludes"] == "software.amazon.awssdk:bundle"


def test_other_homes_need_no_options() -> None:
    assert store_options(None, KEYS) == {}
    assert store_options("gs", KEYS) == {}


@pytest.mark.parametrize(
    ("variables", "options"),
    [
        ({}, {}),
        ({"AWS_DEFAULT_REGION": "eu-central-1"}, {"endpoint.region": "eu-central-1"}),
        (
            {"AWS_REGION": "a", "AWS_DEFAULT_REGION": "b", "AWS_ENDPOINT_URL": "http://h:1"},
            {"endpoint.region": "a", "endpoint": "http://h:1", "path.style.access": "true"},
        ),
        (
            {"AWS_ENDPOINT": "https://h", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "True"},
            {"endpoint": "https://h", "path.style.access": "false"},
        ),
    ],
)
def test_spark_has_the_store_of_the_environment_without_its_keys(
    variables: dict[str, str], options: dict[str, str]
) -> None:
    expected = {f"spark.hadoop.fs.s3a.{name}": value for name, value in options.items()}
    expected["spark.hadoop.fs.s3.impl"] = "org.apache.hadoop.fs.s3a.S3AFileSystem"
    assert store_options("s3", {**KEYS, **variables}) == expected


def test_a_password_in_the_address_of_a_store_is_not_shown() -> None:
    address = "http://ann:s3cret@store:9000"
    with pytest.raises(SetupError, match="a user or a password") as raised:
        store_options("s3", {"AWS_ENDPOINT_URL": address})
    assert "s3cret" not in str(raised.value)
    found = storage_error(OSError(f"Generic S3 error: Error performing HEAD {address}/b/x in 3 s"))
    assert "HEAD http://store:9000/b/x in 3 s" in str(found)


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        (
            "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class "
            "org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            "spark.jars.packages org.apache.hadoop:hadoop-aws:",
        ),
        (
            'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3"',
            "spark.jars.excludes software.amazon.awssdk:bundle`",
        ),
        ('No FileSystem for scheme "gs"', "`spark.jars.packages org.apache.hadoop:hadoop-gcp:"),
    ],
)
def test_a_missing_connector_is_named_with_the_options_to_add(text: str, packages: str) -> None:
    error = translate(PySparkException(text))
    assert isinstance(error, SetupError)
    assert "Spark has no connector for " in str(error)
    assert packages in str(error.hint)
    assert "\n" not in str(error)


def test_a_store_that_refuses_spark_is_a_matter_of_set_up() -> None:
    text = (
        "java.nio.file.AccessDeniedException: s3://lake/t: getFileStatus on s3://lake/t: "
        "software.amazon.awssdk.services.s3.model.S3Exception: Forbidden (Service: S3, Status "
        "Code: 403, Request ID: null):null"
    )
    assert isinstance(translate(PySparkException(text)), SetupError)
    text = (
        "org.apache.hadoop.fs.s3a.AWSClientIOException: getFileStatus on s3://lake/t: "
        "software.amazon.awssdk.core.exception.SdkClientException: Unable to execute HTTP request: "
        "Connect to 127.0.0.1:1 failed: Connection refused"
    )
    assert isinstance(translate(PySparkException(text)), StoreError)
