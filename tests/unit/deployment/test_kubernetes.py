"""The manifests, as kubectl renders them: they say what compose.yaml says, and are valid."""

from __future__ import annotations

import base64
import copy
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.deployment.compose import DOCKER, ROOT, SERVICES, one_shots

Object = dict[str, Any]

TOOLS = ROOT / ".tools" / "bin"
#: The oldest and the newest of which there are schemas.
VERSIONS = ("1.25", "1.37")
EACH = pytest.mark.parametrize("name", sorted(SERVICES))

#: What Kubernetes alone needs; why is said beside it.
OF_KUBERNETES = {"PGDATA"}


def render(folder: Path) -> list[Object]:
    """What `kubectl apply -k` would apply."""
    done = subprocess.run([TOOLS / "kubectl", "kustomize", folder], check=True, capture_output=True)
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with secrets of its own."""
    copied = tmp_path_factory.mktemp("kubernetes") / "elsinore" / "docker"
    shutil.copytree(DOCKER, copied, ignore=shutil.ignore_patterns("secrets"))
    subprocess.run([copied / "make_secrets"], check=True, capture_output=True)
    return copied


@pytest.fixture(scope="module")
def objects(docker: Path) -> list[Object]:
    return render(docker)


def of_kind(objects: list[Object], *kinds: str) -> dict[str, Object]:
    """Objects by name, of generated ones without the digest of their contents."""
    found = [one for one in objects if one["kind"] in kinds]
    hashed = {"ConfigMap", "Secret"} & set(kinds)
    return {re.sub("-[^-]+$", "", n) if hashed else n: one
            for one in found for n in [one["metadata"]["name"]]}  # fmt: skip


def pods(objects: list[Object]) -> dict[str, Object]:
    """Specifications of pods by the name of what makes them."""
    makers = of_kind(objects, "Deployment", "StatefulSet")
    return {name: maker["spec"]["template"]["spec"] for name, maker in makers.items()}


def containers(objects: list[Object]) -> Iterator[tuple[Object, Object]]:
    """Each container with its pod, also those that run before the others."""
    for pod in pods(objects).values():
        for container in pod.get("initContainers", []) + pod["containers"]:
            yield pod, container


def data_of(objects: list[Object], kind: str, name: str) -> dict[str, str]:
    """Contents of the one ConfigMap or Secret that a pod names."""
    (found,) = (one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return dict(found["data"])


# ---- the same in the words of either side
def size(text: str) -> int:
    number, unit = re.fullmatch(r"([0-9]+)([mg]|[MG]i)", text).groups()  # type: ignore[union-attr]
    return int(number) << {"m": 20, "g": 30}[unit[0].lower()]


def cores(text: str) -> float:
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def said_by_service(service: Object) -> Object:
    """What both sides must say, of a service of the compose file."""
    limits = service["deploy"]["resources"]["limits"]
    volumes = service.get("volumes", [])
    mounts = [volume.split(":") for volume in volumes if ":" in volume]
    scratch = {volume for volume in volumes if ":" not in volume}
    scratch |= {path.partition(":")[0] for path in service.get("tmpfs", [])}
    said = {
        "image": service["image"],
        "program": service.get("entrypoint"),
        "words": service.get("command"),
        "environment": {
            name: str(value)
            for name, value in service.get("environment", {}).items()
            if value is not None
        },
        "secrets": set(service.get("secrets", [])),
        "volumes": {source: target for source, target, *_ in mounts if source[0] != "."},
        "files": {m[1]: (DOCKER / m[0]).read_text() for m in mounts if m[0][0] == "."},
        "scratch": scratch,
        "read-only": service["read_only"],
        "limits": (float(limits["cpus"]), size(limits["memory"])),
        "reaps children": service["init"],
        "check": None,
    }
    if check := service.get("healthcheck"):
        times = (int(check["interval"][:-1]), int(check["timeout"][:-1]), check["retries"])
        said["check"] = (_asked(check["test"]), *times)
    return said


def _asked(test: list[str]) -> object:
    text = " ".join(test)
    if found := re.search(r"http://127\.0\.0\.1:([0-9]+)(/[a-z0-9/]+)", text):
        return int(found[1]), found[2]
    if found := re.search(r"create_connection\(\('127\.0\.0\.1', ([0-9]+)\)", text):
        return int(found[1])
    return ["/bin/sh", "-c", test[1]] if test[0] == "CMD-SHELL" else test[1:]


def said_by_container(objects: list[Object], pod: Object, container: Object) -> Object:
    """The same of a container."""
    environment = {one["name"]: one["value"] for one in container.get("env", [])}
    for source in container.get("envFrom", []):
        environment |= data_of(objects, "ConfigMap", source["configMapRef"]["name"])
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    said: Object = {
        "image": container["image"],
        "program": container.get("command"),
        "words": container.get("args"),
        "environment": {k: v for k, v in environment.items() if k not in OF_KUBERNETES},
        "secrets": set(),
        "volumes": {},
        "files": {},
        "scratch": set(),
        "read-only": container["securityContext"]["readOnlyRootFilesystem"],
        "limits": (
            cores(container["resources"]["limits"]["cpu"]),
            size(container["resources"]["limits"]["memory"]),
        ),
        "reaps children": pod["shareProcessNamespace"],
        "check": None,
    }
    for mount in container["volumeMounts"]:
        volume, path = volumes.get(mount["name"], {}), mount["mountPath"]
        if "secret" in volume:
            assert path == "/run/secrets"
            said["secrets"] = set(data_of(objects, "Secret", volume["secret"]["secretName"]))
        elif "configMap" in volume:
            files = data_of(objects, "ConfigMap", volume["configMap"]["name"])
            said["files"] = {
                f"{path}/{name}": text for name, text in files.items()
                if f"{path}/{name}" in container["command"]
            }  # fmt: skip
        elif "emptyDir" in volume and mount["name"] != "kernels":
            said["scratch"].add(path)
        else:
            claim = volume.get("persistentVolumeClaim", {"claimName": mount["name"]})
            said["volumes"][claim["claimName"]] = path
    if probe := container.get("livenessProbe"):
        times = (probe[key] for key in ("periodSeconds", "timeoutSeconds", "failureThreshold"))
        match probe:
            case {"httpGet": {"port": port, "path": path}}:
                said["check"] = ((port, path), *times)
            case {"tcpSocket": {"port": port}}:
                said["check"] = (port, *times)
            case {"exec": {"command": command}}:
                said["check"] = (_asked(["CMD", *command]), *times)
    return said


def twin(objects: list[Object], name: str) -> tuple[Object, Object]:
    """Pod and container of a service."""
    wanted = re.sub("(spark-worker)-[0-9]+", r"\1", name)
    (found,) = (both for both in containers(objects) if both[1]["name"] == wanted)
    return found


# ---- both say the same
@EACH
def test_a_container_is_what_its_service_is(objects: list[Object], name: str) -> None:
    said = said_by_service(SERVICES[name])
    assert said_by_container(objects, *twin(objects, name)) == said
    assert bool(said["check"]) == (name not in one_shots())


def test_there_are_no_other_containers(objects: list[Object]) -> None:
    names = [container["name"] for _, container in containers(objects)]
    workers = {name for name in SERVICES if name.startswith("spark-worker-")}
    assert sorted(names) == sorted(
        (SERVICES.keys() - workers) | {"spark-worker"}
    ) + ["wait-for-setup"] * 2  # fmt: skip
    makers = of_kind(objects, "Deployment", "StatefulSet").items()
    several = {name: one["spec"].get("replicas", 1) for name, one in makers}
    assert {n: count for n, count in several.items() if count != 1} == {
        "spark-worker": len(workers)
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(image="elsinore/airflow:other"),
        lambda one: one["environment"].update(ELSINORE_SPARK_CORES="8"),
        lambda one: one["environment"].update(ELSINORE_GRACE_MINUTES="10"),
        lambda one: one["secrets"].append("spark_secret"),
        lambda one: one["volumes"].remove("logs:/logs"),
        lambda one: one["volumes"].remove("/tmp"),
        lambda one: one.update(read_only=False),
        lambda one: one["command"].append("--verbose"),
        lambda one: one["healthcheck"].update(timeout="20s"),
        lambda one: one["deploy"]["resources"]["limits"].update(memory="8g"),
    ],
)
def test_a_change_of_one_side_is_seen(
    objects: list[Object], change: Callable[[Object], None]
) -> None:
    service = copy.deepcopy(SERVICES["scheduler"])
    change(service)
    assert said_by_container(objects, *twin(objects, "scheduler")) != said_by_service(service)


@EACH
def test_a_name_leads_to_the_pod_that_bears_it(objects: list[Object], name: str) -> None:
    """Names in addresses are services; who listens at its own name is called so, too."""
    service, (pod, _) = SERVICES[name], twin(objects, name)
    text = " ".join([*map(str, service.get("environment", {}).values()),
                     *map(str, service.get("command", []))])  # fmt: skip
    text += "".join(said_by_service(service)["files"].values())
    if "database_url" in service.get("secrets", []):
        secret = next(v["secret"]["secretName"] for v in pod["volumes"] if v["name"] == "secrets")
        encoded = data_of(objects, "Secret", secret)["database_url"]
        text += base64.b64decode(encoded).decode()
    found = of_kind(objects, "Service")
    for host in set(re.findall(r"(?://|@)([a-z][a-z-]+)[:/]", text)) & set(SERVICES):
        assert found[host]["spec"]["selector"] == {"app": host}
        assert host in pods(objects)
    if not name.startswith("spark-worker-"):
        assert pod.get("hostname") == service.get("hostname")


def test_the_parts_of_spark_reach_each_other_at_any_port(objects: list[Object]) -> None:
    for name in ("spark-master", "spark-connect"):
        assert of_kind(objects, "Service")[name]["spec"]["clusterIP"] == "None"


# ---- Kubernetes takes them
def refused(objects: list[Object], version: str, folder: Path) -> str:
    """What Kubernetes' schemas say against objects; nothing if all is well."""
    file = folder / "objects.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    judge: list[str | Path] = [
        TOOLS / "kubernetes-validate",
        "--strict",
        "--quiet",
        "-k",
        version,
        file,
    ]
    done = subprocess.run(judge, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "ERROR" in done.stdout, done.stderr
    return "" if done.returncode == 0 else done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_objects_are_valid_by_kubernetes_own_schemas(
    objects: list[Object], version: str, tmp_path: Path
) -> None:
    assert refused(objects, version, tmp_path) == ""


FAULTS: list[Callable[[Object], object]] = [
    lambda spec: spec.update(replica=2),
    lambda spec: spec.pop("selector"),
    lambda spec: spec["template"]["spec"]["securityContext"].update(runAsNonRoot="yes"),
    lambda spec: spec["template"]["spec"]["containers"][0].update(livenessProbe={"get": "/"}),
    lambda spec: spec["template"]["spec"]["containers"][0].pop("name"),
]


def test_what_is_wrong_is_refused(objects: list[Object], tmp_path: Path) -> None:
    wrong = []
    for number, change in enumerate(FAULTS):
        one = copy.deepcopy(of_kind(objects, "Deployment")["api-server"])
        one["metadata"]["name"] = f"wrong-{number}"
        change(one["spec"])
        wrong.append(one)
    said = refused(wrong, VERSIONS[-1], tmp_path)
    assert [n for n in range(len(FAULTS)) if f"/wrong-{n} against" not in said] == []


def test_pods_keep_the_rules_of_their_namespace(objects: list[Object]) -> None:
    """Those of the level `restricted`; and no pod can talk to Kubernetes."""
    (namespace,) = of_kind(objects, "Namespace").values()
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    for pod, container in containers(objects):
        security = pod["securityContext"]
        assert security["runAsNonRoot"]
        assert security["runAsUser"] == security["fsGroup"] > 0
        ours = container["image"].startswith("elsinore/") or container["name"] == "storage-copy"
        assert (security["runAsUser"] == 10001) == ours, "the owner of files on the volumes"
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip
        assert pod["automountServiceAccountToken"] is False


def test_no_variable_of_a_service_hides_one_of_ours(objects: list[Object]) -> None:
    """Kubernetes would set SPARK_MASTER_PORT, an address, for a service spark-master."""
    assert all(pod["enableServiceLinks"] is False for pod in pods(objects).values())


#: Who calls whom, at which ports; Spark's parts have a range of their own.
AIRFLOW = ("api-server", "dag-processor", "scheduler")
SPARK = ("spark-connect", "spark-master", "spark-worker")
CALLS = {
    *((name, "database", 5432) for name in AIRFLOW),
    ("scheduler", "api-server", 8080),
    ("scheduler", "spark-connect", 15002),
    *((name, other, port) for name in SPARK for other in SPARK for port in range(7076, 7096)),
    ("storage-copy", "storage", 8333),
}


def chosen(objects: list[Object], selector: Object) -> set[str]:
    """The pods that a selector is about."""
    found = set(pods(objects))
    if "matchLabels" in selector:
        assert set(selector["matchLabels"]) == {"app"}
        found &= {selector["matchLabels"]["app"]}
    for expression in selector.get("matchExpressions", []):
        assert (expression["key"], expression["operator"]) == ("app", "In")
        assert set(expression["values"]) <= found, "a name of no pod"
        found &= set(expression["values"])
    return found


def allowed(objects: list[Object], way: str, peers: str) -> set[tuple[str, str, int]]:
    """What policies let in or out: a pod, one at the other end within the namespace, a port."""
    found = set()
    for policy in of_kind(objects, "NetworkPolicy").values():
        spec = policy["spec"]
        for rule in spec.get(way, []):
            for peer in rule[peers]:
                if "namespaceSelector" in peer:
                    continue
                for port in rule["ports"]:
                    assert port["protocol"] == "TCP"
                    ports = range(port["port"], port.get("endPort", port["port"]) + 1)
                    found |= {
                        (own, other, number)
                        for own in chosen(objects, spec["podSelector"])
                        for other in chosen(objects, peer["podSelector"])
                        for number in ports
                    }
    return found


def test_a_pod_reaches_the_ports_that_it_needs_and_no_others(objects: list[Object]) -> None:
    assert {one["spec"].get("type") for one in of_kind(objects, "Service").values()} == {None}
    policies = of_kind(objects, "NetworkPolicy")
    assert policies["nothing"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert allowed(objects, "egress", "to") == CALLS
    assert {(b, a, port) for a, b, port in allowed(objects, "ingress", "from")} == CALLS
    (names,) = policies["names"]["spec"]["egress"]
    assert {port["port"] for port in names["ports"]} == {53}
    for policy in policies.values():
        spec = policy["spec"]
        for way in ("ingress", "egress"):
            assert way not in spec or way.capitalize() in spec["policyTypes"], (
                "else it says nothing"
            )


def test_ports_of_the_policies_are_those_that_parts_listen_at(objects: list[Object]) -> None:
    ports = {
        SERVICES["spark-connect"]["environment"]["SPARK_DRIVER_PORT"],
        SERVICES["spark-connect"]["environment"]["SPARK_BLOCK_MANAGER_PORT"],
        SERVICES["spark-worker-1"]["environment"]["SPARK_WORKER_PORT"],
        SERVICES["spark-worker-1"]["command"][1].rpartition(":")[2],
    }
    assert ports == {"7076", "7077", "7078", "7079"}
    for service in of_kind(objects, "Service").values():
        for port in service["spec"].get("ports", []):
            assert port["port"] in {number for _, _, number in CALLS}


def test_there_is_never_a_second_writer_nor_a_second_of_a_name(objects: list[Object]) -> None:
    assert "scheduler" in of_kind(objects, "StatefulSet"), "which starts none beside an old one"
    for name, one in of_kind(objects, "Deployment").items():
        if "hostname" in one["spec"]["template"]["spec"]:
            assert one["spec"]["strategy"] == {"type": "Recreate"}, name


def test_more_is_asked_for_than_nothing_and_no_more_than_allowed(objects: list[Object]) -> None:
    for _, container in containers(objects):
        asked, limits = container["resources"]["requests"], container["resources"]["limits"]
        assert 0 < cores(asked["cpu"]) <= cores(limits["cpu"])
        assert size(asked["memory"]) == size(limits["memory"])


@EACH
def test_a_start_may_take_as_long_as_in_compose(objects: list[Object], name: str) -> None:
    period = SERVICES[name].get("healthcheck", {}).get("start_period", "0s")
    probe = twin(objects, name)[1].get("startupProbe", {"periodSeconds": 0, "failureThreshold": 0})
    assert probe["periodSeconds"] * probe["failureThreshold"] >= int(period[:-1])


def test_claims_are_those_of_the_compose_file(objects: list[Object]) -> None:
    claims = of_kind(objects, "PersistentVolumeClaim")
    database = of_kind(objects, "StatefulSet")["database"]["spec"]["volumeClaimTemplates"]
    modes = {name: one["spec"]["accessModes"] for name, one in claims.items()}
    modes |= {one["metadata"]["name"]: one["spec"]["accessModes"] for one in database}
    shared, own = ["ReadWriteMany"], ["ReadWriteOnce"]
    assert modes == {"data": shared, "logs": shared, "database": own, "storage": own}


def test_who_waits_for_the_database_asks_airflow(objects: list[Object]) -> None:
    """That Airflow has this command is `tests/dags/test_dag_integrity.py`."""
    waits = [c for _, c in containers(objects) if c["name"] == "wait-for-setup"]
    assert {tuple(wait["args"][:3]) for wait in waits} == {("airflow", "db", "check-migrations")}


@pytest.mark.slow
def test_the_folder_of_the_readme_changes_what_it_says(docker: Path) -> None:
    text = (DOCKER / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n# deployed/kustomization.yaml\n(.*?)```", text, re.DOTALL)
    folder = docker.parents[1] / "deployed"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(example)
    objects = render(folder)
    images = {container["image"] for _, container in containers(objects)}
    assert not [image for image in images if image.endswith(":local")]
    assert of_kind(objects, "ConfigMap")["airflow"]["data"]["ELSINORE_GRACE_MINUTES"] == "10"
    assert of_kind(objects, "Deployment")["spark-worker"]["spec"]["replicas"] == 4
    claims = of_kind(objects, "PersistentVolumeClaim").values()
    assert [claim["spec"].get("storageClassName") for claim in claims].count("shared") == 2
    assert refused(objects, VERSIONS[-1], folder) == ""
