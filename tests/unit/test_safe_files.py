"""Files in directories that others write to: links, pipes and hard links redirect nothing."""

from __future__ import annotations

import gzip
import inspect
import os
import shlex
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elsinore import places
from elsinore.cli.main import run_command
from elsinore.errors import DataError, SetupError
from elsinore.places import local_copy, make_home, move, read_below, whole_file
from elsinore.safe_files import (
    is_reachable,
    open_directory,
    open_file,
    private_directory,
    remove_tree,
    remove_unfinished,
)
from elsinore.wording import command

SECRET = "precious\n"


@pytest.fixture
def zone(tmp_path: Path) -> Path:
    """A directory with one file in a directory of its own; a secret is next to it."""
    (tmp_path / "secret").mkdir(mode=0o700)
    (tmp_path / "secret" / "a.jsonl").write_text(SECRET)
    (tmp_path / "zone" / "d").mkdir(parents=True)
    (tmp_path / "zone" / "d" / "a.jsonl").write_text("public\n")
    return tmp_path / "zone"


def link_file(zone: Path) -> None:
    (zone / "d" / "a.jsonl").unlink()
    (zone / "d" / "a.jsonl").symlink_to(zone.parent / "secret" / "a.jsonl")


def link_directory(zone: Path) -> None:
    (zone / "d").rename(zone / "old")
    (zone / "d").symlink_to(zone.parent / "secret")


def link_relative(zone: Path) -> None:
    (zone / "d" / "a.jsonl").unlink()
    (zone / "d" / "a.jsonl").symlink_to("../../secret/a.jsonl")


def link_to_itself(zone: Path) -> None:
    (zone / "d" / "a.jsonl").unlink()
    (zone / "d" / "a.jsonl").symlink_to("a.jsonl")


def link_inside(zone: Path) -> None:
    (zone / "d" / "a.jsonl").rename(zone / "d" / "b.jsonl")
    (zone / "d" / "a.jsonl").symlink_to("b.jsonl")


def pipe(zone: Path) -> None:
    (zone / "d" / "a.jsonl").unlink()
    os.mkfifo(zone / "d" / "a.jsonl")


def directory(zone: Path) -> None:
    (zone / "d" / "a.jsonl").unlink()
    (zone / "d" / "a.jsonl").mkdir()


def hard_link(zone: Path) -> None:
    (zone / "d").chmod(0o777)
    (zone / "d" / "a.jsonl").unlink()
    (zone / "d" / "a.jsonl").hardlink_to(zone.parent / "secret" / "a.jsonl")


SWAPS = [
    (link_file, "a symbolic link"),
    (link_directory, "below 'd', a symbolic link"),
    (link_relative, "a symbolic link"),
    (link_to_itself, "a symbolic link"),
    (link_inside, "a symbolic link"),
    (pipe, "not a regular file"),
    (directory, "not a regular file"),
    (hard_link, "a hard link"),
]


@pytest.mark.parametrize(("swap", "why"), SWAPS)
def test_only_a_plain_file_is_opened(zone: Path, swap: Callable[[Path], None], why: str) -> None:
    path = zone / "d" / "a.jsonl"
    assert read_below(path, zone, 99) == b"public\n"
    swap(zone)
    with pytest.raises(DataError, match=why):
        open_file(path, zone)
    with pytest.raises(DataError, match=why), local_copy(path, zone):
        pass
    assert len(os.listdir("/proc/self/fd")) < 200, "nothing stays open"


def test_a_trusted_directory_may_itself_be_a_link(zone: Path) -> None:
    (zone.parent / "home").symlink_to(zone)
    home = zone.parent / "home"
    assert read_below(home / "d" / "a.jsonl", home, 99) == b"public\n"
    with pytest.raises(DataError, match="more than 6 bytes"):
        read_below(home / "d" / "a.jsonl", home, 6)


def test_hard_links_that_only_the_owner_can_have_made_are_read(zone: Path) -> None:
    (zone.parent / "backup").hardlink_to(zone / "d" / "a.jsonl")
    assert read_below(zone / "d" / "a.jsonl", zone, 99) == b"public\n"
    (zone / "d").chmod(0o775)
    with pytest.raises(DataError, match="a hard link"):
        read_below(zone / "d" / "a.jsonl", zone, 99)


@pytest.mark.parametrize("path", ["../secret/a.jsonl", "d/../../secret/a.jsonl"])
def test_no_path_leads_up(zone: Path, path: str) -> None:
    with pytest.raises(DataError, match="is not below"):
        read_below(zone / path, zone, 99)


def test_what_is_read_is_what_was_checked(zone: Path) -> None:
    """The file is swapped for a link between the check and the reading."""
    with local_copy(zone / "d" / "a.jsonl", zone) as path:
        link_file(zone)
        assert path.suffix == ".jsonl"
        assert path.read_text() == "public\n"
    assert not path.is_symlink()


def test_what_cannot_be_read_is_named_whatever_its_name(zone: Path) -> None:
    path, why = zone / "caf\udce9.jsonl", r"cannot read .*caf.*: No such file"
    with pytest.raises(DataError, match=why) as found, local_copy(path, zone):
        pass
    assert str(found.value).encode()


@pytest.mark.parametrize("name", ["a.jsonl.part", "a.jsonl.tmp", ".a.jsonl.part"])
def test_a_file_is_written_under_a_name_that_nobody_can_know(zone: Path, name: str) -> None:
    secret, path = zone.parent / "secret" / "a.jsonl", zone / "d" / "a.jsonl"
    (zone / "d" / name).symlink_to(secret)
    seen, before = set(), path.read_bytes()
    for level in (None, 4):
        with whole_file(path, level, below=zone) as out:
            out.write(b"new\n")
            (part,) = {entry.name for entry in (zone / "d").iterdir()} - {"a.jsonl", name}
            seen.add(part)
            assert path.read_bytes() == before, "it appears when it is complete"
        before = path.read_bytes()
    assert len(seen) == 2
    assert gzip.decompress(path.read_bytes()) == b"new\n"
    assert secret.read_text() == SECRET
    assert sorted(entry.name for entry in (zone / "d").iterdir()) == sorted(["a.jsonl", name])


def test_a_link_in_the_place_of_a_target_is_replaced_and_not_followed(zone: Path) -> None:
    link_file(zone)
    with whole_file(zone / "d" / "a.jsonl", below=zone) as out:
        out.write(b"new\n")
    assert not (zone / "d" / "a.jsonl").is_symlink()
    assert (zone.parent / "secret" / "a.jsonl").read_text() == SECRET


@pytest.mark.parametrize("make", [False, True])
def test_nothing_is_written_below_a_linked_directory(zone: Path, make: bool) -> None:
    link_directory(zone)
    name = zone / "d" / ("new/b.jsonl" if make else "b.jsonl")
    (part := zone.parent / "part").write_text("moved\n")
    with pytest.raises(DataError, match="a symbolic link"), whole_file(name, below=zone):
        pass
    with pytest.raises(DataError, match="a symbolic link"):
        move(part, name, zone)
    assert part.exists()
    assert os.listdir(zone.parent / "secret") == ["a.jsonl"]


OF_ANOTHER = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A shared directory with a link `d` of another user to a directory of this user."""
    (tmp_path / "own").mkdir()
    found = tmp_path / "shared"
    found.mkdir()
    found.chmod(0o1777)
    (found / "d").symlink_to("../own")
    os.lchown(found / "d", 65534, -1)
    return found


@OF_ANOTHER
@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "stock", "--events", "10", "--output", "d/e.jsonl"],
        ["generate", "stock", "--schema", "d/new/s.yaml"],
        ["generate", "stock", "--events", "10", "--output", "d/new/e.parquet", "--print-schema"],
        ["generate", "flights", "--end", "2013-01-02", "--output", "d/new"],
        ["init", "d/new"],
        ["init", "d"],
    ],
)
def test_no_command_writes_through_a_link_of_another_user(
    shared: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(shared)
    assert run_command(arguments) == 1
    assert "is a symbolic link of user 65534 (use a directory" in capsys.readouterr().err
    assert list((shared.parent / "own").iterdir()) == []


@OF_ANOTHER
def test_no_link_that_is_made_after_the_check_is_followed(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swapped(_: Path) -> Path:
        (shared / "e").symlink_to("../own")
        return shared / "e"

    monkeypatch.setattr(places, "resolve_own_links", swapped)
    with pytest.raises(DataError, match="a symbolic link"), whole_file(shared / "e/f"):
        pass
    assert list((shared.parent / "own").iterdir()) == []


def test_own_links_and_directories_that_cannot_be_listed_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "a").chmod(0o311)
    with whole_file(tmp_path / "link/b/c/f") as out:
        out.write(b"x")
    assert (tmp_path / "a/b/c/f").read_bytes() == b"x"


def test_a_replaced_file_keeps_its_time_and_gains_no_rights(zone: Path) -> None:
    path = zone / "d" / "a.jsonl"
    path.chmod(0o6755)
    os.utime(path, ns=(1, 2))
    with whole_file(path, below=zone, like=path.stat()) as out:
        (part,) = (entry for entry in (zone / "d").iterdir() if entry != path)
        assert stat.S_IMODE(part.stat().st_mode) == 0o600, "closed until it is complete"
        out.write(b"new\n")
    assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_mtime_ns) == (0o644, 2)
    assert path.read_bytes() == b"new\n"


def test_a_file_moves_to_another_file_system(zone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (part := zone.parent / "part").write_text("moved\n")
    replace: Any = os.replace

    def other_device(source: object, target: object, **directories: int) -> None:
        if source == part:
            raise OSError(18, "Invalid cross-device link", str(source), None, str(target))
        replace(source, target, **directories)

    monkeypatch.setattr(os, "replace", other_device)
    move(part, zone / "new" / "b.jsonl", zone)
    assert (zone / "new" / "b.jsonl").read_text() == "moved\n"
    assert not part.exists()


def test_what_a_killed_process_left_is_removed_and_nothing_else(zone: Path) -> None:
    left = f".{'0' * 32}.part"
    (zone / "d" / left).write_text("a record")
    kept = ["a.jsonl.part", ".a.part", f".{'0' * 31}.part"]
    for name in kept:
        (zone / "d" / name).touch()
    (zone.parent / "secret" / left).touch()
    (zone / "link").symlink_to(zone.parent / "secret")
    remove_unfinished(zone)
    assert sorted(os.listdir(zone / "d")) == sorted(["a.jsonl", *kept])
    assert (zone.parent / "secret" / left).exists()
    remove_tree(zone / "link", zone)
    remove_tree(zone / "link" / "x", zone)
    remove_tree(zone / "gone", zone)
    assert os.listdir(zone.parent / "secret") != []
    remove_tree(zone / "d", zone)
    assert not (zone / "d").exists()


def test_a_home_and_what_is_made_above_it_is_closed(tmp_path: Path) -> None:
    make_home(tmp_path / "new" / "home")
    for made in (tmp_path / "new", tmp_path / "new" / "home"):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    (shared := tmp_path / "shared").mkdir(mode=0o750)
    make_home(shared)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o750, "who shares a home decides that"
    make_home(places.place("s3://bucket/home"))


def test_a_home_that_others_control_is_refused(tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    home.chmod(0o777)
    with pytest.raises(SetupError, match=r"every user can write to .*home .*chmod o-w"):
        make_home(home)
    home.chmod(0o1777)
    with pytest.raises(SetupError, match="every user can write"):
        private_directory(home)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir(mode=0o700)
    os.chown(home, 65534, -1)
    with pytest.raises(SetupError, match="belongs to user 65534, not to user 0"):
        make_home(home)


def test_a_home_is_reachable_if_all_directories_above_are(tmp_path: Path) -> None:
    (home := tmp_path / "a" / "home").mkdir(parents=True)
    assert not is_reachable(home), "pytest's directory is closed"
    assert is_reachable(Path("/usr"))


def test_an_error_names_the_whole_path(zone: Path) -> None:
    with pytest.raises(NotADirectoryError) as found, open_directory(zone / "d" / "a.jsonl", zone):
        pass
    assert found.value.filename == str(zone / "d" / "a.jsonl")
    with pytest.raises(IsADirectoryError) as wrong, whole_file(zone / "d", below=zone):
        pass
    assert wrong.value.filename == str(zone / "d")


def test_directories_of_any_depth_stop_no_removal(tmp_path: Path) -> None:
    """A producer can nest them deeper than Python's recursion."""
    tops = [tmp_path / "zone" / name for name in ("_ingest-x", "2013")]
    for top in tops:
        top.joinpath(*"d" * 300).mkdir(parents=True)
    (unfinished := tops[1] / f".{'0' * 32}.part").touch()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 220)
    try:
        remove_tree(tops[0], tmp_path / "zone")
        remove_unfinished(tmp_path / "zone")
    finally:
        sys.setrecursionlimit(limit)
    assert not unfinished.exists()


def test_commands_in_hints_quote_paths(tmp_path: Path) -> None:
    """Names come from producers; people paste the commands."""
    path = tmp_path / "$(touch x);a b.jsonl"
    path.write_text("{}")
    with pytest.raises(DataError) as raised:
        read_below(path, tmp_path, 1)
    assert shlex.split(str(raised.value.hint).removeprefix("remove it: ")) == ["rm", str(path)]
    assert command("rm", Path("-rf")) == "rm ./-rf"
