"""An S3 server on loopback, moto's: `python server.py BUCKET...` in the environment `.tools`.

It takes one request after the other: with threads several writers could be told that each of them
has made one and the same object. In buckets named `careless` anybody is told so.
"""

import logging
import os
import sys


def main() -> None:
    """Serve until it is ended; the first line of output is the address."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server
    from werkzeug.test import Client

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = DomainDispatcherApplication(create_backend_app)

    def app(environ, start_response):  # type: ignore[no-untyped-def]
        if environ["PATH_INFO"].startswith("/careless/"):
            environ.pop("HTTP_IF_NONE_MATCH", None)
        return moto(environ, start_response)

    server = make_server("127.0.0.1", 0, app, threaded=False)
    address = f"http://127.0.0.1:{server.server_port}"
    os.environ["MOTO_S3_CUSTOM_ENDPOINTS"] = address
    for bucket in sys.argv[1:]:
        Client(app).put(f"/{bucket}", base_url=address)
    print(address, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
