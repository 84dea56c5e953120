"""Options of Spark for tables in an object store.

The connector of Hadoop reads and writes them. Keys are not among these options, because other
users can read command lines: Spark copies `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
`AWS_SESSION_TOKEN` from its environment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from elsinore.errors import SetupError

#: Version of Hadoop in PySpark, which a connector must have, and of the AWS SDK that it needs.
HADOOP, _SDK = "3.5.0", "2.35.4"

#: Packages of the connector by scheme. hadoop-aws needs only some modules of the AWS SDK, with
#: 18 MB in all; by default it downloads a bundle of all modules with about 600 MB.
_PACKAGES = {
    "abfs": (f"org.apache.hadoop:hadoop-azure:{HADOOP}",),
    "gs": (f"org.apache.hadoop:hadoop-gcp:{HADOOP}",),
    "s3": (
        f"org.apache.hadoop:hadoop-aws:{HADOOP}",
        *(f"software.amazon.awssdk:{name}:{_SDK}" for name in ("s3", "s3-transfer-manager", "sts")),
    ),
}
_EXCLUDED = {"s3": "software.amazon.awssdk:bundle"}

_CLASS = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_S3A = "spark.hadoop.fs.s3a"
_NO_SCHEME = re.compile(r'No FileSystem for scheme "?(abfs|gs|s3)\b')
_NO_S3A = re.compile(
    rf"{re.escape(_CLASS)} not found|(?:NoClassDefFound|ClassNotFound)\w+: software.amazon"
)


def connector_options(store: str) -> dict[str, str]:
    """Return the options with which Spark downloads the connector of a store.

    Args:
        store: scheme of its addresses, one of `elsinore.places.STORES`.
    """
    options = {"spark.jars.packages": ",".join(_PACKAGES[store])}
    if store in _EXCLUDED:
        options["spark.jars.excludes"] = _EXCLUDED[store]
    return options


def store_options(store: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Spark for tables in a store, from the variables that delta-rs reads.

    Args:
        store: scheme of its addresses; None: the tables are on this machine.
        environment: variables of the process.

    Raises:
        SetupError: the address of the store has a user or a password.
    """
    if store != "s3":
        return {}
    options = {"spark.hadoop.fs.s3.impl": _CLASS}
    for option, *variables in (
        (f"{_S3A}.endpoint", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
        (f"{_S3A}.endpoint.region", "AWS_REGION", "AWS_DEFAULT_REGION"),
    ):
        if value := next(filter(None, map(environment.get, variables)), None):
            options[option] = value
    if "@" in options.get(f"{_S3A}.endpoint", "").partition("://")[2].partition("/")[0]:
        raise SetupError(
            "the address of the object store has a user or a password, which others could read",
            hint="remove it from AWS_ENDPOINT_URL; keys are read from AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY",
        )
    if f"{_S3A}.endpoint" in options:
        # The default of delta-rs: servers of others rarely have a host name per bucket.
        has_hosts = environment.get("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "").lower() == "true"
        options[f"{_S3A}.path.style.access"] = str(not has_hosts).lower()
    return options


def missing_connector(message: str) -> SetupError | None:
    """Return the error of a Spark without the connector of a store; None: another error."""
    if found := _NO_SCHEME.search(message):
        store = found[1]
    elif _NO_S3A.search(message):
        store = "s3"
    else:
        return None
    lines = " and ".join(f"`{name} {text}`" for name, text in connector_options(store).items())
    return SetupError(
        f"Spark has no connector for {store}:// addresses",
        hint=f"add to the file of ELSINORE_SPARK_OPTIONS: {lines}",
    )
