"""A store that answers all requests with an error: `python refuse.py STATUS CODE`."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Refusal(BaseHTTPRequestHandler):
    """Answers with the error of the command line."""

    def do_GET(self) -> None:
        """Answer a request."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        said = f"<Error><Code>{sys.argv[2]}</Code></Error>".encode()
        self.send_response(int(sys.argv[1]))
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said if self.command != "HEAD" else b"")

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - as its base has them

    def log_message(self, *args: object) -> None:
        """Write nothing: it is not what is tested."""


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
        print(server.server_port, flush=True)
        server.serve_forever()
