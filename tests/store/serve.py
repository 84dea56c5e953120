"""Starts the S3 server, or one that refuses all; this process and its children know of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUCKET = "lake"


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a bucket; processes started inside of the block find its server."""
    python, server = ROOT / ".tools" / "bin" / "python", Path(__file__).with_name("server.py")
    assert python.exists(), "`make test` sets the S3 server up"
    command: list[str | Path] = [python, server, BUCKET, "careless"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with _known(process.stdout.readline().strip()):
            try:
                yield f"s3://{BUCKET}"
            finally:
                process.terminate()


@contextmanager
def refusing_server(status: int, code: str) -> Iterator[str]:
    """The address of a bucket whose store answers all requests with an error.

    It is another process: some calls of delta-rs hold Python's lock until the store answers.
    """
    server = Path(__file__).with_name("refuse.py")
    command: list[str | Path] = [sys.executable, server, str(status), code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        with _known(f"http://127.0.0.1:{port}"):
            try:
                # A process keeps what it knows of a bucket.
                yield f"s3://refused-{port}"
            finally:
                process.terminate()


@contextmanager
def _known(endpoint: str) -> Iterator[None]:
    own = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
    }
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
