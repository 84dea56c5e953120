"""Starts the S3 server, or one that refuses all; this process and its children know of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

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
    """The address of a bucket whose store answers all requests with an error."""

    class Refusal(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            said = f"<Error><Code>{code}</Code></Error>".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said if self.command != "HEAD" else b"")

        do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - as its base has them

        def log_message(self, *args: object) -> None:
            """Nothing: it is not what is tested."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            with _known(f"http://127.0.0.1:{server.server_port}"):
                # A process keeps what it knows of a bucket.
                yield f"s3://refused-{server.server_port}"
        finally:
            server.shutdown()


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
