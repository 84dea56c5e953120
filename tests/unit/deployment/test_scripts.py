"""The scripts of the deployment that need no container: secrets, and Spark's configuration."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.deployment.compose import COMPOSE, DOCKER


def make_secrets(folder: Path) -> dict[str, str]:
    subprocess.run([DOCKER / "make_secrets", folder], check=True, capture_output=True)
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.slow
def test_every_secret_is_made_once_and_at_random(tmp_path: Path) -> None:
    first = make_secrets(tmp_path / "one")
    assert set(first) == set(COMPOSE["secrets"])
    assert make_secrets(tmp_path / "one") == first, "kept"
    second = make_secrets(tmp_path / "two")
    assert not [name for name in first if first[name] == second[name]]
    assert min(map(len, first.values())) >= 20


@pytest.mark.slow
def test_the_folder_is_closed_and_the_values_fit_their_use(tmp_path: Path) -> None:
    made = make_secrets(tmp_path / "secrets")
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    password = made["database_password"]
    assert made["database_url"] == f"postgresql+psycopg://airflow:{password}@database:5432/airflow"
    assert list(json.loads(made["airflow_passwords"])) == ["admin"]
    assert len(base64.urlsafe_b64decode(made["fernet_key"])) == 32


def spark_start(tmp_path: Path, part: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "secret").write_text("shared")
    env = {
        "PATH": os.environ["PATH"],
        "SPARK_CONF_DIR": str(tmp_path / "conf"),
        "SPARK_SECRET_FILE": str(tmp_path / "secret"),
    }
    return subprocess.run(
        [DOCKER / "spark/start", part], env=env, capture_output=True, text=True, check=False
    )


def test_spark_learns_the_secret_from_a_file_that_others_cannot_read(tmp_path: Path) -> None:
    """Whichever part it is to become: here none, since that has no file with a token."""
    refused = spark_start(tmp_path, "connect")
    assert "names the file with the token" in refused.stderr
    file = tmp_path / "conf" / "spark-defaults.conf"
    assert file.stat().st_mode & 0o077 == 0
    options = dict(line.split() for line in file.read_text().splitlines())
    assert options["spark.driver.port"] == options["spark.blockManager.port"] == "0", "any"
    assert options["spark.authenticate"] == "true"
    assert options["spark.authenticate.secret"] == "shared"


@pytest.mark.parametrize("part", ["", "history", "configure; ls"])
def test_an_unknown_part_is_refused(tmp_path: Path, part: str) -> None:
    assert spark_start(tmp_path, part).returncode != 0


def carried(folder: Path, fails: str = "") -> list[str]:
    """Programs that a round of storage/copy calls, until it sleeps, if one of them fails."""
    calls = folder / "calls"
    called = f'#!/bin/sh\ncall="${{0##*/}} $*"\necho "$call" >>{calls}\n'
    judged = f'case "$call" in sleep*|"{fails or "none"}"*) exit 1; esac\n'
    for name in ("cat", "mkdir", "rclone", "sleep", "touch"):
        (folder / name).write_text(called + judged)
        (folder / name).chmod(0o755)
    env = {"PATH": f"{folder}:{os.environ['PATH']}"}
    subprocess.run([DOCKER / "storage/copy"], env=env, check=False, timeout=60)
    return calls.read_text().splitlines()


def test_a_round_that_fails_stops_there_and_does_not_count(tmp_path: Path) -> None:
    """The bucket must not get a log without the data that it names."""
    whole = carried(tmp_path)
    log = next(n for n, call in enumerate(whole) if "--include **/_delta_log/**" in call)
    assert "touch /tmp/carried" in whole[log:]
    assert "rclone copy --update store:landing /data/landing" in whole, "forgotten lines stay so"
    (tmp_path / "calls").unlink()
    data = "rclone copy /data/lake store:elsinore/lake --exclude"
    stopped = carried(tmp_path, fails=data)
    assert stopped[-2].startswith(data)
    assert stopped[-1].startswith("sleep")


@pytest.mark.parametrize(
    ("state", "rows", "code"), [("success", 7, 0), ("success", 0, 1), ("failed", 7, 1)]
)
def test_the_smoke_test_fails_if_the_run_does_and_always_cleans_up(
    tmp_path: Path, state: str, rows: int, code: int
) -> None:
    """With a stand-in for Docker; the real one is in .github/workflows."""
    shutil.copytree(DOCKER, tmp_path / "docker", ignore=shutil.ignore_patterns("secrets"))
    (tmp_path / "docker/docker").write_text(
        f'#!/bin/sh\necho "$*" >>{tmp_path}/calls\n'
        f'case "$*" in *" sql "*) echo {rows};; *"--state {state}"*) echo smoke;; esac\n'
    )
    (tmp_path / "docker/docker").chmod(0o755)
    (tmp_path / "docker/make_secrets").write_text("#!/bin/sh\n")
    env = {"PATH": f"{tmp_path}/docker:{os.environ['PATH']}"}
    done = subprocess.run([tmp_path / "docker/smoke_test"], env=env, check=False, timeout=60)
    assert done.returncode == code
    project = "compose --project-name elsinore-smoke-test --file compose.yaml"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[:2] == [f"{project} build", f"{project} up --detach --wait --wait-timeout 900"]
    assert calls[-1] == f"{project} down --volumes"


def pinning(folder: Path, *words: str, digest: str = "sha256:" + "0" * 64) -> Any:
    """What docker/pin_images does in a copy of the directory, with a stand-in for Docker."""
    if not (folder / "docker").exists():
        shutil.copytree(DOCKER, folder / "docker", ignore=shutil.ignore_patterns("secrets"))
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "docker").write_text(
        f'#!/bin/sh\necho "$*" >>{folder}/calls\necho {digest}\n'
    )
    (folder / "bin" / "docker").chmod(0o755)
    env = {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    return subprocess.run(
        [folder / "docker/pin_images", *words], env=env, capture_output=True, text=True, check=False
    )


def others_images(folder: Path) -> list[str]:
    """Images of others, as Dockerfile, compose file and manifests name them."""
    texts = [path.read_text() for path in (folder / "kubernetes").glob("*.yaml")]
    found = [*yaml.safe_load((folder / "compose.yaml").read_text())["services"].values()]
    found += re.findall(r"\bimage: (\S+)", "\n".join(texts))
    images = [one["image"] if isinstance(one, dict) else one for one in found]
    lines = (folder / "Dockerfile").read_text().splitlines()
    images += [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert not [line for line in lines if line.startswith("# syntax=")], "it would float"
    return [image for image in images if ":" in image and not image.startswith("elsinore/")]


def test_every_image_of_others_is_pinned_at_deployment(tmp_path: Path) -> None:
    before = others_images(DOCKER)
    assert len(set(before)) == 4
    pinned = pinning(tmp_path)
    assert (pinned.returncode, len(pinned.stdout.splitlines())) == (0, 4), pinned.stderr
    after = others_images(tmp_path / "docker")
    bare = [image.partition("@")[0] for image in after]
    assert bare == [image.partition("@")[0] for image in before]
    assert all(re.fullmatch(r"\S+:\S+@sha256:[0-9a-f]{64}", image) for image in after)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0].startswith("buildx imagetools inspect --format {{.Manifest.Digest}} ")
    assert pinning(tmp_path, "--check").returncode == 0
    assert pinning(tmp_path).stdout == "", "a digest that is there stays"
    assert (tmp_path / "calls").read_text().splitlines() == calls
    for path in (tmp_path / "docker").rglob("*"):
        assert path.name != "Dockerfile.pinned"
        if path.is_file():
            assert (
                path.stat().st_mode
                == (DOCKER / path.relative_to(tmp_path / "docker")).stat().st_mode
            )


def test_what_is_not_pinned_is_named_and_fails(tmp_path: Path) -> None:
    assert pinning(tmp_path, digest="no such image").returncode == 1
    checked = pinning(tmp_path, "--check")
    assert checked.returncode == 1
    assert checked.stderr.startswith("not pinned by digest (run docker/pin_images):\n")
    assert checked.stderr.count("\n") == 5
    file = tmp_path / "docker" / "Dockerfile"
    file.write_text("# syntax=docker/dockerfile:1\n" + file.read_text())
    assert "docker/dockerfile:1\n" in pinning(tmp_path, "--check").stderr
