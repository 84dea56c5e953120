"""The locks and the pinned jars fit each other and name no address."""

import re
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JARS = ROOT / "docker" / "jars"
LOCKS = (
    "requirements.lock", "requirements-bootstrap.lock", "tests/tools/requirements.lock",
    "docs/generate/requirements.lock",
)  # fmt: skip


def locked(lock: str) -> dict[str, str]:
    """Returns package to exact version of a lock file."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, flags=re.MULTILINE))


def normal(requirement: str) -> str:
    """Returns the package name of a requirement as the lock spells it."""
    return re.split(r"[<>=!~\[; ]", requirement)[0].lower().replace("_", "-")


def jar_versions() -> dict[str, str]:
    """Returns artifact to version of the jars in ivy.xml."""
    tree = ElementTree.parse(JARS / "ivy.xml")
    return {node.attrib["name"]: node.attrib["rev"] for node in tree.iter("dependency")}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_a_hash_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked(lock))
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_every_direct_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    direct = sum(project["optional-dependencies"].values(), project["dependencies"])
    assert {normal(requirement) for requirement in direct} - locked("requirements.lock").keys() == (
        set()
    )


def test_the_two_locks_do_not_contradict_each_other() -> None:
    full, bootstrap = (locked(lock) for lock in LOCKS[:2])
    both = bootstrap.keys() & full.keys()
    assert {name: bootstrap[name] for name in both} == {name: full[name] for name in both}


def test_jars_fit_the_locked_spark_and_delta() -> None:
    versions = locked("requirements.lock")
    spark = ".".join(versions["pyspark"].split(".")[:2])
    assert jar_versions() == {
        f"delta-spark_{spark}_2.13": versions["delta-spark"],
        "delta-storage": versions["delta-spark"],
    }


def test_every_jar_is_pinned_by_hash() -> None:
    lines = (JARS / "jars.sha256").read_text(encoding="ascii").splitlines()
    assert all(re.fullmatch(r"[0-9a-f]{64}  \S+\.jar", line) for line in lines)
    assert {line.split()[1] for line in lines} == {
        f"{name}-{version}.jar" for name, version in jar_versions().items()
    }
