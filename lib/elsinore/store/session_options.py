"""Set options of a Spark session, in one request if the session is one of Spark Connect."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.connect import proto
from pyspark.sql.connect.session import SparkSession as ConnectSession


def set_options(session: SparkSession | ConnectSession, options: Mapping[str, str]) -> None:
    """Set options of a session.

    `session.conf.set` takes a request per option, 10 ms each. The builder ignores errors.

    Raises:
        PySparkException: an option belongs to the whole server, or the server is gone.
    """
    if isinstance(session, ConnectSession):
        pairs = [proto.KeyValue(key=name, value=value) for name, value in options.items()]
        changes = proto.ConfigRequest.Set(pairs=pairs)
        session.client.config(proto.ConfigRequest.Operation(set=changes))
        return
    for name, value in options.items():
        session.conf.set(name, value)


def unset_options(session: SparkSession | ConnectSession, names: Collection[str]) -> None:
    """Give options of a session their defaults again; raises as `set_options` does."""
    if isinstance(session, ConnectSession):
        changes = proto.ConfigRequest.Unset(keys=names)
        session.client.config(proto.ConfigRequest.Operation(unset=changes))
        return
    for name in names:
        session.conf.unset(name)


@contextmanager
def options_set(
    session: SparkSession | ConnectSession, options: Mapping[str, str]
) -> Iterator[None]:
    """Set options of a session for the statements of a block."""
    if not options:
        yield
        return
    try:
        set_options(session, options)
        yield
    finally:
        unset_options(session, options.keys())
