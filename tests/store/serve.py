"""Starts the S3 server, and has this process and its children know it."""

from __future__ import annotations

import os
import subprocess
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
        own = {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": process.stdout.readline().strip(),
            "AWS_ALLOW_HTTP": "true",
        }
        before = {name: os.environ.get(name) for name in own}
        os.environ.update(own)
        try:
            yield f"s3://{BUCKET}"
        finally:
            process.terminate()
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
