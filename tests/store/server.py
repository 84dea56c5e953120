"""An S3 server on loopback, moto's: `python server.py PORT BUCKET` in the environment `.moto`.

It takes one request after the other, so that no two writers can both be told that an object is new.
"""

import logging
import os
import sys

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
from werkzeug.test import Client


def main() -> None:
    """Serve until it is ended; the first line of output is the address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", int(sys.argv[1]), app, threaded=False)
    address = f"http://127.0.0.1:{server.server_port}"
    os.environ["MOTO_S3_CUSTOM_ENDPOINTS"] = address
    Client(app).put(f"/{sys.argv[2]}", base_url=address)
    print(address, flush=True)
    server.serve_forever()


main()
