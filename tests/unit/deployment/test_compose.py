"""The compose file, as text: what it names exists, and nothing in it is open or secret."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from elsinore.settings import RENAMED, Settings
from tests.unit.deployment.compose import (
    COMPOSE,
    DOCKER,
    ROOT,
    SERVICES,
    TEXT,
    instructions,
    one_shots,
    variables,
)

EACH = pytest.mark.parametrize("name", sorted(SERVICES))


def test_the_topology_is_whole() -> None:
    assert set(SERVICES) == {
        "database", "airflow-setup", "scheduler", "dag-processor", "api-server", "spark-connect",
        "spark-master", "spark-worker-1", "spark-worker-2", "storage", "storage-copy",
    }  # fmt: skip
    assert one_shots() == {"airflow-setup"}


@EACH
def test_images_are_pinned_or_built_here(name: str) -> None:
    image, _, tag = SERVICES[name]["image"].partition(":")
    if "build" in SERVICES[name]:
        assert (image.split("/")[0], tag) == ("elsinore", "local")
    else:
        assert re.fullmatch(r"[0-9]+(\.[0-9]+)+(-[a-z0-9]+)?(@sha256:[0-9a-f]{64})?", tag), tag


@EACH
def test_health_is_checked_and_means_something(name: str) -> None:
    if name in one_shots():
        assert SERVICES[name]["restart"] == "no"
        return
    assert SERVICES[name]["restart"] == "unless-stopped"
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] in {"CMD", "CMD-SHELL"}
    # Nothing after the check itself that could turn its failure into success.
    assert not re.search(r"\|\| *true|; *exit 0|-le 8", " ".join(check["test"]))
    assert {"interval", "timeout", "retries"} <= set(check)


@EACH
def test_resources_are_limited(name: str) -> None:
    limits = SERVICES[name]["deploy"]["resources"]["limits"]
    assert 0 < float(limits["cpus"]) <= 4
    assert re.fullmatch(r"[1-9][0-9]*[mg]", limits["memory"])


@EACH
def test_ports_are_bound_to_loopback(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:[0-9]+:[0-9]+", port), port


def test_published_ports_differ() -> None:
    ports = [port.split(":")[1] for one in SERVICES.values() for port in one.get("ports", [])]
    assert sorted(ports) == ["8080", "8081", "8333"]


@EACH
def test_nothing_gains_rights(name: str) -> None:
    assert SERVICES[name]["security_opt"] == ["no-new-privileges:true"]
    assert SERVICES[name]["cap_drop"] == ["ALL"]
    # Its volume may belong to another user.
    assert SERVICES[name].get("cap_add", []) == (["DAC_OVERRIDE"] if name == "storage" else [])


@EACH
def test_only_volumes_and_memory_can_be_written_to(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    on_disk = [volume for volume in service.get("volumes", []) if ":" not in volume]
    scratch = [path.partition(":")[0] for path in service.get("tmpfs", [])]
    assert sorted(on_disk + scratch)[:1] == ["/tmp"], "libraries and scripts write there"
    assert all(volume.endswith(":ro") for volume in service.get("volumes", []) if volume[0] == ".")


def test_services_share_networks_with_those_that_they_call() -> None:
    networks = {name: set(service["networks"]) for name, service in SERVICES.items()}
    airflow = {"airflow-setup", "scheduler", "dag-processor", "api-server"}
    spark = {name for name in SERVICES if name.startswith("spark-")}
    members = {net: {name for name, own in networks.items() if net in own}
               for net in COMPOSE["networks"]}  # fmt: skip
    assert members == {
        "metadata": {"database", *airflow},
        "spark": {"scheduler", *spark},
        "store": {"storage", "storage-copy"},
        "web": {"api-server"},
    }
    internal = {net for net, how in COMPOSE["networks"].items() if how and how["internal"]}
    assert internal == {"metadata"}
    for name, service in SERVICES.items():
        assert not service.get("ports") or networks[name] - internal, "else no port is published"


def test_only_the_s3_door_of_the_store_listens_outside() -> None:
    text = (DOCKER / "storage/start").read_text(encoding="utf-8")
    assert re.findall(r"-(\S*ip\S*)=(\S+)", text) == [
        ("ip", "127.0.0.1"), ("ip.bind", "127.0.0.1"), ("s3.ip.bind", "0.0.0.0"),
    ]  # fmt: skip


@EACH
def test_what_a_service_names_is_declared(name: str) -> None:
    service = SERVICES[name]
    assert set(service.get("depends_on", {})) <= set(SERVICES)
    assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])
    assert set(service["networks"]) <= set(COMPOSE["networks"])
    for volume in service.get("volumes", []):
        if volume == "/tmp":
            continue
        source, target, *_ = volume.split(":")
        declared = source in COMPOSE["volumes"]
        assert declared or (DOCKER / source).is_file(), source
        assert target.startswith("/")


@EACH
def test_a_secret_that_is_read_is_given(name: str) -> None:
    """By a variable, or by the script that the service starts with."""
    service = SERVICES[name]
    scripts = [DOCKER / v.split(":")[0] for v in service.get("volumes", []) if v.startswith("./")]
    texts = [*map(str, service.get("environment", {}).values()), *(p.read_text() for p in scripts)]
    read = {found for text in texts for found in re.findall(r"/run/secrets/(\w+)", text)}
    assert read <= set(service.get("secrets", [])), read


def test_no_value_is_a_secret() -> None:
    secret = re.compile(r"PASSWORD|SECRET|TOKEN|_KEY|_CONN")
    for name, values in variables().items():
        if not secret.search(name) or name == "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE":
            continue
        for value in values:
            assert re.fullmatch(r"(cat )?/run/secrets/\w+", value), name
    assert not re.search(r"://[^/\s:]+:[^@\s]+@", TEXT), "an address with a password"


def test_secrets_lie_in_a_folder_that_is_not_committed() -> None:
    for name, source in COMPOSE["secrets"].items():
        assert source == {"file": f"secrets/{name}"}
    assert "/docker/secrets/" in (ROOT / ".gitignore").read_text().splitlines()


def test_settings_are_real_and_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {name: values for name, values in variables().items() if name.startswith("ELSINORE_")}
    assert ours
    for name, values in ours.items():
        assert name.removeprefix("ELSINORE_").lower() in Settings.model_fields.keys() | RENAMED
        for value in values:
            monkeypatch.setenv(name, value)
    assert variables()["ELSINORE_SPARK_MASTER"] == {
        "sc://spark-connect:15002", "spark://spark-master:7077",
    }  # fmt: skip
    assert Settings.load().spark_token_file == Path("/run/secrets/spark_token")


@pytest.mark.dags
def test_airflow_knows_its_options() -> None:
    from airflow.configuration import retrieve_configuration_description

    known = retrieve_configuration_description()
    for name in variables():
        if name.startswith("AIRFLOW__"):
            _, section, option = name.split("__")
            option = option.removesuffix("_CMD").lower()
            assert option in known[section.lower()]["options"], name


@pytest.mark.slow
@EACH
def test_commands_exist(name: str) -> None:
    command: list[Any] = SERVICES[name].get("command", [])
    match command:
        case ["airflow", part, *_]:
            from airflow.cli.cli_parser import ALL_COMMANDS_DICT

            assert part in ALL_COMMANDS_DICT
        case ["python", "-P", "-m", module]:
            assert importlib.util.find_spec(module) is not None
        case ["worker", master]:
            assert master == SERVICES["spark-connect"]["environment"]["ELSINORE_SPARK_MASTER"]
        case ["connect", address]:
            # Its port is not published: what reaches it are the other containers.
            assert (address, SERVICES[name].get("ports")) == ("0.0.0.0", None)
        case ["master", host]:
            assert host == SERVICES[name]["hostname"] == name
        case _:
            assert command == []
    for word in SERVICES[name].get("entrypoint", []):
        if word.startswith("/opt/"):
            assert (DOCKER / word.removeprefix("/opt/")).is_file()


def test_what_the_images_copy_and_start_is_there() -> None:
    ignored = (DOCKER / "Dockerfile.dockerignore").read_text().split()
    kept = [line[1:] for line in ignored if line.startswith("!")]
    sources = [word for words in instructions("COPY") for word in words[:-1]]
    assert set(sources) == set(kept), "what is kept is what is copied"
    assert not [kept for kept in kept if fnmatch("docker/secrets", f"{kept}*")]
    for source in sources:
        assert (ROOT / source).exists(), source
    for words in instructions("ENTRYPOINT"):
        (script,) = json.loads(" ".join(words))
        assert os.access(ROOT / Path(script).relative_to("/opt/elsinore"), os.X_OK), script


def test_images_are_built_from_stages_that_exist_on_a_pinned_base() -> None:
    stages = {words[2]: words[0] for words in instructions("FROM")}
    assert re.fullmatch(
        r"python:3\.11\.[0-9]+-slim-bookworm(@sha256:[0-9a-f]{64})?", stages.pop("base")
    )
    assert set(stages.values()) == {"base"}
    for service in SERVICES.values():
        if build := service.get("build"):
            assert build["target"] in stages
            assert (DOCKER / build["context"] / build["dockerfile"]).is_file()
            assert service["image"] == f"elsinore/{build['target']}:local"


def test_nothing_runs_as_root_in_our_images() -> None:
    assert instructions("USER") == [["10001"]]
    assert SERVICES["storage-copy"]["user"] == "10001"
    assert SERVICES["database"]["user"] == "999", "the image's user postgres"
    assert any("10001" in words for words in instructions("RUN"))
