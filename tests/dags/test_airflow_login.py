"""Who can use the embedded Airflow: users with a password, by a name of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

pytestmark = pytest.mark.dags

#: Asks the API server as a stranger, and then with the password of the file.
PROGRAM = """
import json, os, warnings
warnings.simplefilter("ignore")
from airflow.api_fastapi.app import create_app
from fastapi.testclient import TestClient

client = TestClient(create_app("core"), base_url="http://127.0.0.1:8080", follow_redirects=False)
variable = {"key": "k", "value": "v"}

def code(method, path, **more):
    return client.request(method, path, **more).status_code

kind = {"Content-Type": "application/json"}
bad = ["[" * 5_000, "9" * 5_000, '{"a":' + "9" * 5_000 + "}", "{}" + " " * 70_000, "not JSON"]
def pieces():
    yield from [b"[]," * 100_000] * 20
places = ["POST /api/v2/variables", "PATCH /api/v2/variables", "POST /execution/variables/keys",
          "PUT /execution/variables/k", "POST /elsinore/reports/x", "POST /auth/login"]
long = {f"{place} {how}": code(*place.split(), headers=kind, content=body())
        for place in places for how, body in [("whole", lambda: b"[]," * 2_000_000),
                                              ("in pieces", pieces)]}
file = os.environ["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"]
given = {"username": "admin", "password": json.load(open(file))["admin"]}
said = {
    "long": long,
    "short": code("POST", places[0][5:], content=b"[" + b"0," * 1_000_000 + b"0]", headers=kind),
    "token": code("GET", "/auth/token"),
    "wrong": code("POST", "/auth/token", json=given | {"password": "admin"}),
    "variable": code("POST", "/api/v2/variables", json=variable),
    "page": code("GET", "/elsinore/reports/index.html"),
    "other host": code("POST", "/auth/token", json=given, headers={"Host": "evil.example:8080"}),
    "right": code("POST", "/auth/token", json=given),
    "right for the command line": code("POST", "/auth/token/cli", json=given),
    "form": code("POST", "/auth/token", data=given),
    **{body[:9]: code("POST", "/auth/token", content=body, headers=kind) for body in bad},
    "mode": os.stat(file).st_mode & 0o777,
    "home": os.stat(os.environ["AIRFLOW_HOME"]).st_mode & 0o777,
}
print(json.dumps(said))
"""


def test_strangers_get_nothing(root: Path, tmp_path: Path) -> None:
    """In the environment of `make ui`, but for a home of its own; the umask is of no matter."""
    unset = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    environment = unset | {"AIRFLOW_HOME": str(tmp_path / "airflow"), "ELSINORE_ROOT": str(root)}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "elsinore.orchestration.airflow_environment",
         sys.executable, "-c", PROGRAM],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, umask=0,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said.pop("token") in (401, 403)
    long = said.pop("long")
    assert {code for place, code in long.items() if place.endswith("whole")} == {413}
    # Where no body is expected, none is read.
    assert {code for place, code in long.items() if place.endswith("pieces")} <= {413, 405}
    assert long["POST /api/v2/variables in pieces"] == 413
    assert said.pop("short") == 401
    assert said == {
            "right for the command line": 201, "form": 201, "[[[[[[[[[": 422, "999999999": 422,
        '{"a":9999': 422, "{}       ": 422, "not JSON": 422,
        "wrong": 401, "variable": 401, "page": 401, "other host": 400, "right": 201,
        "mode": 0o600, "home": 0o700,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("listens", "named", "host", "code"),
    [
        ("127.0.0.1", "", "127.0.0.1:8080", 200),
        ("127.0.0.1", "", "localhost:8080", 200),
        ("127.0.0.1", "", "evil.example", 400),
        ("127.0.0.1", "", "localhost.evil.example", 400),
        ("localhost", "", "evil.example", 400),
        # Behind a proxy, which passes on the name that people use.
        ("127.0.0.1", "https://airflow.example/x", "airflow.example", 200),
        ("127.0.0.1", "https://airflow.example/x", "evil.example", 400),
        ("0.0.0.0", "", "airflow-api", 200),
    ],
)
def test_a_server_on_the_loopback_answers_to_its_own_names(
    listens: str, named: str, host: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page in the owner's browser comes under another name, by DNS rebinding."""
    from elsinore.orchestration.airflow_pages import Pages, trusted_hosts

    monkeypatch.setenv("AIRFLOW__API__HOST", listens)
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", named)
    checks: list[Any] = Pages.fastapi_root_middlewares
    check = checks[0]
    app = FastAPI()
    app.get("/")(lambda: "home")
    app.add_middleware(check["middleware"], allowed_hosts=trusted_hosts())
    assert TestClient(app).get("/", headers={"Host": host}).status_code == code


@pytest.mark.parametrize("path", ["%00", "a/%00.html", "x" * 6_000, "x/" * 3_000, "%f0%90"])
def test_a_name_that_no_file_can_have_is_not_found(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from elsinore.orchestration import airflow_pages

    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path))
    app: Any = FastAPI()
    app.mount("/elsinore", airflow_pages.served)
    app_of = airflow_pages.served
    monkeypatch.setitem(app_of.dependency_overrides, airflow_pages._signed_in, lambda: None)
    for place in ("reports", "quality"):
        assert TestClient(app).get(f"/elsinore/{place}/{path}").status_code == 404
