"""The directory of Spark's server: a process group is killed only if this user's file names it."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from elsinore.errors import ParameterError, SetupError
from elsinore.settings import Settings
from elsinore.spark.server import Server, running_server, stop_server

GROUP = 4_000_000


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def killed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A server that seems to live until its process group is killed; the killed groups."""
    (settings.home / "spark").mkdir(mode=0o700, parents=True)
    Server(GROUP, 1, "token", "digest").tell(settings.home / "spark")
    alive = (settings.home / "spark" / "alive").open("w")
    fcntl.flock(alive, fcntl.LOCK_EX)
    groups: list[int] = []

    def kill(group: int, _number: int) -> None:
        groups.append(group)
        alive.close()

    monkeypatch.setattr(os, "killpg", kill)
    yield groups
    alive.close()


def test_the_group_of_ones_own_server_is_killed(settings: Settings, killed: list[int]) -> None:
    assert stop_server(settings)
    assert killed == [GROUP]
    assert not stop_server(settings)


def write_group(folder: Path, group: Any) -> None:
    described = json.loads((folder / "server.json").read_text()) | {"group": group}
    (folder / "server.json").write_text(json.dumps(described))


def link(folder: Path) -> None:
    (folder / "server.json").rename(folder / "other.json")
    (folder / "server.json").symlink_to("other.json")


def link_lock(folder: Path) -> None:
    (folder / "starting").symlink_to(folder.parent / "created")


def link_directory(folder: Path) -> None:
    folder.rename(folder.parent / "other")
    folder.symlink_to(folder.parent / "other")


REFUSED = [
    (lambda folder: folder.parent.chmod(0o777), "every user can write to .*home "),
    (lambda folder: folder.chmod(0o777), "every user can write to .*spark "),
    (lambda folder: folder.chmod(0o770), "a group can write to .*spark"),
    (lambda folder: (folder / "server.json").chmod(0o644), "not a file that only user"),
    (lambda folder: (folder / "server.json").write_text("[]"), "does not describe a server"),
    (lambda folder: write_group(folder, 1), "has the process group 1"),
    (lambda folder: write_group(folder, -5), "has the process group -5"),
    (lambda folder: write_group(folder, "7"), "has the process group '7'"),
    (link, "cannot read .*server.json"),
    (link_lock, "cannot open .*starting"),
    (link_directory, "spark is a symbolic link"),
]


@pytest.mark.parametrize(("change", "why"), REFUSED)
def test_a_file_that_others_may_have_written_kills_nothing(
    settings: Settings, killed: list[int], change: Callable[[Path], object], why: str
) -> None:
    change(settings.home / "spark")
    with pytest.raises(SetupError) as found:
        stop_server(settings)
    assert re.search(why, f"{found.value} ")
    assert killed == []
    assert not (settings.home / "created").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize("name", [".", "spark", "spark/server.json"])
def test_what_belongs_to_another_user_kills_nothing(
    settings: Settings, killed: list[int], name: str
) -> None:
    os.chown(settings.home / name, 65534, -1)
    with pytest.raises(SetupError, match=r"belongs to user 65534|not a file that only user 0"):
        stop_server(settings)
    assert killed == []


def test_a_wrong_memory_limit_is_named_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELSINORE_MEMORY_LIMIT", "much")
    with pytest.raises(ParameterError, match="ELSINORE_MEMORY_LIMIT: not a size"):
        running_server(Settings(home=tmp_path / "home"))
