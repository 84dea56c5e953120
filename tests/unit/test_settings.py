"""Settings: from the environment, checked, with every path below one root."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from elsinore.errors import ParameterError, SetupError
from elsinore.places import require_here
from elsinore.renamed import RenamedWarning
from elsinore.settings import RENAMED, Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"ELSINORE_{name.upper()}", raising=False)


def test_by_default_everything_lies_in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "lib" / "elsinore")
    settings = Settings.load()
    assert settings.root == ROOT
    assert settings.schema_file.is_file()
    assert settings.workload_file.is_file()
    assert settings.lake == ROOT / "var" / "lake"
    assert settings.landing == ROOT / "var" / "landing"


def test_a_folder_without_schemas_falls_back_to_the_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings.load().root == ROOT


def test_the_nearest_folder_upwards_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "schemas" / "tables").mkdir(parents=True)
    monkeypatch.chdir(below)
    assert Settings.load().root == tmp_path


def test_a_directory_that_other_users_can_change_is_no_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Jobs and DAGs are imported from a root, and in /tmp anybody can make one."""
    root = tmp_path / "shared"
    (root / "schemas" / "tables").mkdir(parents=True)
    (root / "jobs" / "__pycache__").mkdir(parents=True)
    below = root / "mine"
    below.mkdir()
    job = root / "jobs" / "land_events.py"
    job.touch()
    monkeypatch.chdir(below)
    assert Settings.load().root == root
    for risky, mode in [
        (root, 0o1777), (root, 0o777), (root / "jobs", 0o777), (job, 0o666),
        (job.parent / "__pycache__", 0o777), (tmp_path, 0o777),
    ]:  # fmt: skip
        before = risky.stat().st_mode
        risky.chmod(mode)
        with pytest.raises(SetupError, match=f"other users can write to {risky},") as refused:
            Settings.load()
        assert refused.value.hint == f"if you trust it: export ELSINORE_ROOT={root}"
        risky.chmod(before)
    tmp_path.chmod(0o1777)
    assert Settings.load().root == root
    if os.geteuid() == 0:
        os.chown(job, 12_345, -1)
    else:
        monkeypatch.setattr("os.geteuid", lambda: 12_345)
    with pytest.raises(SetupError, match="belongs to another user"):
        Settings.load()
    monkeypatch.setenv("ELSINORE_ROOT", str(root))
    assert Settings.load().root == root


@pytest.mark.parametrize(("name", "refused"), [("ann", False), ("staff", True)])
def test_a_group_of_the_users_own_may_write(
    name: str, refused: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Many systems give every user such a group, and a umask of 002."""
    (tmp_path / "schemas" / "tables").mkdir(parents=True)
    tmp_path.chmod(0o775)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("grp.getgrgid", lambda group: SimpleNamespace(gr_name=name))
    monkeypatch.setattr("pwd.getpwuid", lambda user: SimpleNamespace(pw_name="ann"))
    with pytest.raises(SetupError) if refused else nullcontext():
        Settings.load()


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ELSINORE_ROOT", str(tmp_path))
    monkeypatch.setenv("ELSINORE_HOME", "elsewhere/../data")
    monkeypatch.setenv("ELSINORE_JARS", "/opt/jars")
    monkeypatch.setenv("ELSINORE_MAX_ERROR_RATE", "0.25")
    settings = Settings.load()
    assert settings.lake == tmp_path / "data" / "lake"
    assert settings.jars == Path("/opt/jars")
    assert settings.max_error_rate == 0.25


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_ERROR_RATE", "1.5"),
        ("VACUUM_RETENTION_HOURS", "167"),
        ("SPARK_SLOTS", "0"),
        ("MAX_ERROR_RATE", "nan"),
        ("SLICES", "0"),
        ("SHUFFLE_PARTITIONS", "many"),
        ("SPARK_MASTER", "local[*] --conf x"),
        ("SPARK_MEMORY", "much"),
        ("HOME", " "),
        ("LOCAL_HOME", ""),
        ("HOME", "~nosuchuser/x"),
        ("JARS", "~nosuchuser/x"),
        ("NOTIFIERS", "on-call@example.org"),
        ("NOTIFIERS", '{"class": "a.B"}'),
        ("NOTIFIERS", '[{"to": "on-call@example.org"}]'),
        ("NOTIFIERS", '[{"class": "a.B; reboot"}]'),
    ],
)
def test_wrong_values_are_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"ELSINORE_{name}", value)
    with pytest.raises(ParameterError, match=f"ELSINORE_{name}[^:]*: "):
        Settings.load()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOCAL_HOME", "s3://bucket/elsinore"),
        ("HOME", "s3a:/bucket"),
        ("HOME", "file:///data"),
        ("SCHEMA_FILE", "hdfs://name/flights.yaml"),
        ("SPARK_TOKEN_FILE", "gs://bucket/token"),
    ],
)
def test_an_address_is_taken_for_no_folder(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"ELSINORE_{name}", value)
    with pytest.raises(ParameterError, match=f"ELSINORE_{name}: .*{value} is an address"):
        Settings.load()
    if name == "HOME":
        with pytest.raises(ValueError, match="is an address outside of abfs://"):
            Settings(home=Path(value))
    monkeypatch.setenv(f"ELSINORE_{name}", "a:b/c")
    assert Settings.load()


@pytest.mark.parametrize(
    "value",
    ["s3://key:secret@bucket/x", "s3:/key:secret@bucket/x", "s3://bucket/x?sig=secret",
     "https://key:secret@host/x?a=b"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["HOME", "SCHEMA_FILE"])
def test_no_error_shows_a_secret_in_an_address(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Logs and alerts show errors to others."""
    monkeypatch.setenv(f"ELSINORE_{name}", value)
    with pytest.raises(ParameterError) as raised:
        Settings.load()
    assert "secret" not in str(raised.value)
    assert "environment" in str(raised.value) or "is an address" in str(raised.value)
    with pytest.raises(ParameterError, match="is an address, not a path") as given:
        require_here(value)
    assert "secret" not in str(given.value)


def test_of_a_home_in_a_store_what_belongs_to_a_machine_lies_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ELSINORE_HOME", "s3://bucket/estate")
    settings = Settings.load()
    assert [str(path) for path in (settings.landing, settings.lake)] == [
        "s3://bucket/estate/landing",
        "s3://bucket/estate/lake",
    ]
    assert settings.reports == settings.root / "var" / "reports"
    assert Settings(home=settings.model_dump(mode="json")["home"]).lake == settings.lake
    monkeypatch.setenv("ELSINORE_LOCAL_HOME", str(tmp_path))
    settings = Settings.load()
    own = (settings.alerts, settings.quality, settings.reports)
    assert own == tuple(tmp_path / name for name in ("alerts.jsonl", "quality", "reports"))


def test_the_stream_that_needs_no_name_may_be_called_by_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path))
    monkeypatch.setenv("ELSINORE_STREAM", "flights")
    for settings in (Settings.load(), Settings.load("flights")):
        assert (settings.stream, settings.landing) == ("", tmp_path / "landing")
    monkeypatch.setenv("ELSINORE_STREAMS", '["flights"]')  # it has DAGs of its own
    assert Settings.load().landing == tmp_path / "flights" / "landing"
    monkeypatch.delenv("ELSINORE_STREAMS")
    (tmp_path / "flights").mkdir()  # of a release before
    assert Settings.load().landing == tmp_path / "flights" / "landing"


def test_all_wrong_values_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSINORE_SLICES", "0")
    monkeypatch.setenv("ELSINORE_SAMPLE_BUDGET", "-1")
    with pytest.raises(ParameterError, match=r"ELSINORE_SAMPLE_BUDGET: .*; ELSINORE_SLICES: "):
        Settings.load()


def test_settings_do_not_change() -> None:
    settings = Settings.load()
    with pytest.raises(ValueError, match="frozen"):
        settings.slices = 9


def test_without_schemas_anywhere_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("elsinore.settings._MARK", Path("nowhere", "to", "be", "found"))
    with pytest.raises(SetupError, match="to the checkout, or set ELSINORE_ROOT"):
        Settings.load()


@pytest.mark.parametrize("name", ["lake", "Rides", "a.b"])
def test_streams_have_names_that_nothing_else_has(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("ELSINORE_STREAMS", f'["{name}"]')
    with pytest.raises(ParameterError, match="ELSINORE_STREAMS"):
        Settings.load()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("STREAM", "../x", r"ELSINORE_STREAM: '../x' is not a valid name .write it as rides"),
        ("STREAMS", '["a", "a"]', r"ELSINORE_STREAMS: a stream is listed twice \("),
        (
            "RETENTION_DAYS",
            '{"events": "x"}',
            "ELSINORE_RETENTION_DAYS: events: 'x' is not a whole number",
        ),
        ("SPARK_MEMORY", "2", "ELSINORE_SPARK_MEMORY: '2' is .*.write it as 2g or 512m"),
        ("SPARK_MASTER", " x", "ELSINORE_SPARK_MASTER: .*.write it as local"),
        (
            "GRACE_MINUTES",
            "7" * 5_000 + "x",
            r"^ELSINORE_GRACE_MINUTES: '7{59}\.\.\. is not a whole number \([^)]*\)$",
        ),
        ("HOME", "/tmp/50%", r"tables cannot be stored in /tmp/50%"),
        ("HOME", "/tmp/a\\b", r"tables cannot be stored in /tmp/a\\b"),
    ],
)
def test_what_a_variable_cannot_be_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(f"ELSINORE_{name}", value)
    with pytest.raises(ParameterError, match=told):
        Settings.load()


@pytest.mark.parametrize(
    "path", ["a%20b", "a#b", "a?b", "a*b", "[a]", "a^b", "a|b", "a\\b", "a\tb", "a//b", "a/../b"]
)
def test_an_address_is_refused_that_is_read_in_more_ways_than_one(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("ELSINORE_HOME", f"s3://bucket/{path}")
    with pytest.raises(
        ParameterError, match=r"tables cannot be stored in s3://bucket/.*: its path has '"
    ):
        Settings.load()


def test_a_home_in_a_store_may_have_other_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("a b+c=d&e:f", "ünï/{~}'\"<$;`", ".a/b../..c/"):
        monkeypatch.setenv("ELSINORE_HOME", f"abfs://bucket/{path}")
        assert Settings.load().landing.as_posix() == f"abfs://bucket/{path.rstrip('/')}/landing"


def test_memory_may_be_written_as_java_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSINORE_SPARK_MEMORY", "2G")
    assert Settings.load().spark_memory == "2G"


def test_each_of_several_wrong_variables_has_its_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSINORE_GRACE_MINUTES", "99")
    monkeypatch.setenv("ELSINORE_STREAMS", "rides")
    with pytest.raises(ParameterError) as caught:
        Settings.load()
    assert caught.value.hint == (
        'ELSINORE_GRACE_MINUTES: write a number at most 59; ELSINORE_STREAMS: write it as ["rides"]'
    )


@pytest.mark.parametrize(
    ("old", "new", "value", "other"),
    [
        ("GRACE", "GRACE_MINUTES", "7", "8"),
        ("KEEP_DAYS", "RETENTION_DAYS", '{"events": 30}', '{"events": 31}'),
        ("KEEP_HOURS", "VACUUM_RETENTION_HOURS", "200", "201"),
        ("LATE_DAYS", "LATE_ARRIVAL_DAYS", "3", "4"),
        ("MAX_BAD_SHARE", "MAX_ERROR_RATE", "0.5", "0.6"),
        ("REOPEN_HOURS", "RECOMPUTE_HOURS", "9", "10"),
    ],
)
def test_old_names_work_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, value: str, other: str
) -> None:
    old, new = f"ELSINORE_{old}", f"ELSINORE_{new}"
    monkeypatch.setenv(new, value)
    expected = Settings.load()
    monkeypatch.setenv(old, value)
    for names in ([old, new], [old]):
        if new not in names:
            monkeypatch.delenv(new)
        with pytest.warns(RenamedWarning, match=f"^{old} is now called {new}; use the new name$"):
            assert Settings.load() == expected
    monkeypatch.setenv(new, other)
    with pytest.raises(ParameterError, match=f"{old} and {new} have different values") as refused:
        Settings.load()
    assert refused.value.hint == f"remove {old}"


def test_each_old_name_has_a_field() -> None:
    assert set(RENAMED.values()) <= Settings.model_fields.keys()
    assert not RENAMED.keys() & Settings.model_fields.keys()
