"""Settings of a process, which are read once at its start and passed on as a value."""

from __future__ import annotations

import grp
import os
import pwd
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from elsinore.errors import DEBUG, ParameterError, SetupError, without_secrets
from elsinore.places import STORES, is_here, place, scheme
from elsinore.renamed import by_new_names
from elsinore.wording import closest, in_plain_words, shown

PREFIX = "ELSINORE_"

#: Variables with the prefix, whose names are this similar (0 to 1) to a setting and begin with the
#: same letter, are treated as misspelled. Other variables belong to other programs.
_MISSPELT = 0.7
#: New names of fields by old ones, which work until the next release.
RENAMED = {
    "grace": "grace_minutes",
    "keep_days": "retention_days",
    "keep_hours": "vacuum_retention_hours",
    "late_days": "late_arrival_days",
    "max_bad_share": "max_error_rate",
    "reopen_hours": "recompute_hours",
}
_OTHERS = frozenset({DEBUG, f"{PREFIX}PROGRESS_FILE", f"{PREFIX}SPARK_KEEPER"})

#: Characters in the path of a home that delta-rs reads as parts of an address, and characters of an
#: address that delta-rs, Arrow or a file search reads differently, which could mix two homes.
_MISREAD_HERE = re.compile(r"[%\\]")
_MISREAD = re.compile(r"[%\\#?*\[\]^|\x00-\x1f\x7f]|(?<!:)//|/\.\.?(?=/|$)")

#: The directory that marks the root of relative paths.
_MARK = Path("schemas", "tables")
#: Names of streams, which are also names of their directories and prefixes of their DAG ids.
STREAM_NAME = r"^[a-z][a-z0-9_]{0,62}$"
#: Names in a home that are not streams.
RESERVED = frozenset({"landing", "lake", "logs", "quality", "reports", "spark", "workloads"})
#: Directories of schemas and workloads below the root, and the file extension of workloads.
EVENTS, WORKLOADS, SUFFIX = Path("schemas", "events"), Path("schemas", "workloads"), ".sase"
#: Tables that each workload of a stream has for itself, as it has reports and Data Docs.
OF_WORKLOAD = frozenset({
    "run_metrics", "results", "results_staged", "validations",
})  # fmt: skip


def _is_free(name: str) -> str:
    if name in RESERVED:
        raise ValueError(
            f"{name!r} is reserved: it is a directory in ELSINORE_HOME; choose another name"
        )
    return name


def _home(value: Any) -> Path:
    """Convert a path, or an address in an object store."""
    shown_value = without_secrets(str(value))
    if scheme(value) in (None, *STORES):
        if scheme(value) and shown_value != str(value):
            raise ValueError(
                f"{shown_value} had a user, a password or a query; leave them out, and set keys in "
                "the environment of the store's client"
            )
        return place(value)
    known = ", ".join(f"{name}://" for name in STORES)
    raise ValueError(
        f"{shown_value} is an address outside of {known}; write a path or such an address"
    )


StreamName = Annotated[str, Field(pattern=STREAM_NAME), AfterValidator(_is_free)]


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("a stream is listed twice; remove one")
    return names


def _like(pattern: str, examples: str) -> AfterValidator:
    """Return a validator for strings of a pattern; its error shows examples."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{shown(text)} is not valid here; write it as {examples}")
        return text

    return AfterValidator(check)


_MASTER = _like(r"[a-z0-9]+[A-Za-z0-9\[\]*,.:/;=_-]*", "local[*,4], spark://host:7077 or sc://host")
_MEMORY = _like(r"[1-9][0-9]*[mgMG]", "2g or 512m")
#: How values are written that people write otherwise.
_EXAMPLES = {
    "retention_days": '{"events": 30}',
    "parameters": '{"flights": {"min_delay": 10}}',
    "streams": '["rides"]',
    **dict.fromkeys(("stream", "workload"), "rides: lowercase letters, digits and _"),
}


def _find_root() -> Path:
    here = Path.cwd()
    checkout = Path(__file__).resolve().parents[2]
    for folder in (here, *here.parents, checkout):
        if (folder / _MARK).is_dir():
            if folder != checkout:  # the checkout's code runs already
                _require_trusted(folder)
            return folder
    raise SetupError(
        f"neither {here} nor a directory above it contains {_MARK}",
        hint=f"run `cd` to the checkout, or set {PREFIX}ROOT to it",
    )


def _require_trusted(root: Path) -> None:
    """Refuse a root that was found, not named, if other users can change it.

    Jobs and DAGs are imported from a root. In a shared directory such as /tmp any user can make a
    root.

    Raises:
        SetupError: another user can change it.
    """
    code = [one for name in ("jobs", "dags") for one in (root / name, *(root / name).rglob("*"))]
    reasons = [_risk(one) for one in (root, *code) if one.exists()]
    reasons += [_risk(one, sticky_is_safe=True) for one in root.parents]
    if reason := next(filter(None, reasons), None):
        raise SetupError(
            f"{root} contains {_MARK}, but {reason}, and Elsinore runs code from it",
            hint=f"if you trust it: export {PREFIX}ROOT={root}",
        )


def _risk(path: Path, *, sticky_is_safe: bool = False) -> str | None:
    """Return why other users can change a file or directory; None if they cannot.

    In a sticky directory others can add entries, but replace only their own.
    """
    status = path.stat()
    if status.st_uid not in (0, os.geteuid()):
        return f"{path} belongs to another user"
    is_shared = status.st_mode & stat.S_IWOTH
    is_shared = is_shared or (status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid))
    if is_shared and not (sticky_is_safe and status.st_mode & stat.S_ISVTX):
        return f"other users can write to {path}"
    return None


def _is_own_group(group: int) -> bool:
    """Return whether a group is the user's private group, which has the user's name."""
    try:
        return grp.getgrgid(group).gr_name == pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False


#: Tables and directories with a retention period; each of their rows or pages belongs to a day.
Expiring = Literal[
    "raw_events",
    "quarantine",
    "events",
    "results_staged",
    "validations",
    "run_metrics",
    "reports",
    "data_docs",
]


@dataclass(frozen=True, slots=True)
class LakeFolders:
    """Directories of the Delta tables of a stream and of one of its workloads."""

    stream: Path
    results: Path

    def __truediv__(self, table: str) -> Path:
        """Return the directory of a table."""
        return (self.results if table in OF_WORKLOAD else self.stream) / table

    def __str__(self) -> str:
        return str(self.results)


#: A value of a query parameter; the query decides on its type.
Parameter = bool | int | float | str

#: The location of a lake.
LakePath = Path | LakeFolders


class Notifier(BaseModel):
    """An Airflow notifier: the dotted path of its class, and its arguments."""

    model_config = ConfigDict(frozen=True, extra="allow")

    path: Annotated[str, Field(alias="class", pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")]


class Settings(BaseSettings):
    """Settings of a process: where data is stored and how much of the machine to use.

    An environment variable sets each field: `ELSINORE_` and the field's name in capitals. Relative
    paths start from `root`.

    Attributes:
        root: Directory that contains `schemas/`, and from which jobs are imported. By default the
            nearest one at or above the working directory that no other user can change; otherwise
            the checkout of this package.
        home: Directory of everything that a run writes. An address in an object store, such as
            `s3://bucket/x`, stores raw files and tables there.
        local_home: Directory of reports, Data Docs, alerts, logs, locks and the files of the Spark
            server. By default `home`, or `var` if `home` is in an object store.
        streams: Names of streams that have DAGs, in addition to the stream of `schema_file`. A
            JSON list, such as `["rides"]`.
        stream: Stream that a command works on. Empty: the stream of `schema_file`.
        workload: Workload that a command works on. Empty: the workload of `workload_file`.
        schema_file: Schema of the default stream.
        workload_file: Queries of the default stream. Each `.sase` file in the directory of the same
            name, next to this file, is a further workload with its own results.
        parameters: Values of query parameters per workload, as a JSON object such as
            `{"flights": {"min_delay": [10, 20]}}`. Each value of a list has results of its own.
        tables_dir: Directory with the declarations of the lake's tables.
        expectations_dir: Directory with the Great Expectations suites.
        jars: Directory with the jars of Delta Lake. Elsinore loads jars from no other directory,
            unless `spark_options` names more.
        spark_master: Spark master for the server that Elsinore starts: `local[*,4]` (every core of
            this machine, four tries per task) or `spark://host:7077`. `sc://host` is a Spark
            Connect server that you run.
        spark_cores: Number of tasks that Spark runs at the same time. By default the number of
            cores that this process may use.
        spark_memory: Heap of the Spark server's JVM, such as `2g` or `512m`.
        spark_java_options: Java options for the JVMs of the Spark server and its executors.
        spark_options: File of more Spark options for the server that Elsinore starts, in the format
            of `spark-defaults.conf`. Options that Elsinore needs for security or correct results
            cannot be set there.
        spark_token_file: File with the token of a Spark Connect server that requires one.
        spark_idle_minutes: Minutes without work after which the Spark server stops.
        spark_slots: Number of `aggregate` tasks that may run at the same time. The set-up gives
            Airflow's pool `spark` as many slots. One machine has the resources for one.
        shuffle_partitions: Maximum number of partitions of a slice that Spark reads and shuffles.
        slices: Number of time slices of a run that are aggregated as separate tasks. By default
            the value of `spark_slots`.
        landing_bytes: Maximum number of bytes of raw records per ingest batch. An hour with more
            bytes is a batch of its own.
        late_arrival_days: Days before its own hours in which a run looks for new and changed files.
            With 0, it does not look for late files.
        recompute_hours: Number of stale or missed hours that a run recomputes in addition to its
            own. The DAG `catch_up` recomputes the others, the same number per run.
        freshness_hours: Age of the newest published hour in hours above which a scheduled run sends
            the alert `results_stale`. By default it sends none.
        grace_minutes: Minutes after the end of an hour at which its run starts (grace period).
        max_error_rate: Share of invalid records above which ingestion fails.
        sample_windows: Maximum number of results (query, group and window) that a run compares with
            the reference. Each slice has its share of them, but at least 20.
        sample_budget: Maximum number of steps that the reference may take for one result.
        sample_seed: Seed of the sample.
        vacuum_retention_hours: Hours for which VACUUM keeps files that no table's latest version
            uses. Earlier versions of a table stay readable for as long.
        retention_days: Retention in days per table or directory, as a JSON object such as
            `{"events": 30}`. Elsinore keeps data forever by default.
        notifiers: Airflow notifiers that send alerts to people, as a JSON list of objects. Each
            has the `class` of a notifier and its arguments.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    root: Path = Field(default_factory=_find_root)
    home: Annotated[Path, PlainValidator(_home), PlainSerializer(str)] = Path("var")
    local_home: Path | None = None
    streams: Json[Annotated[tuple[StreamName, ...], AfterValidator(_once)]] = Field(
        default=(), validate_default=False
    )
    stream: StreamName | Literal[""] = ""
    workload: StreamName | Literal[""] = ""
    schema_file: Path = Path("schemas/events/flights.yaml")
    workload_file: Path = Path("schemas/workloads/flights.sase")
    parameters: Json[dict[str, dict[str, Parameter | tuple[Parameter, ...]]]] = Field(
        default_factory=dict, validate_default=False
    )
    tables_dir: Path = Path("schemas/tables")
    expectations_dir: Path = Path("expectations")
    jars: Path = Path(".jars")
    spark_master: Annotated[str, _MASTER] = "local[*,4]"
    spark_cores: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default_factory=lambda: len(os.sched_getaffinity(0))
    )
    spark_memory: Annotated[str, _MEMORY] = "2g"
    spark_java_options: str = ""
    spark_options: Path | None = None
    spark_token_file: Path | None = None
    spark_idle_minutes: Annotated[float, Field(gt=0, le=10_000)] = 30
    spark_slots: Annotated[int, Field(ge=1, le=1_000)] = 1
    shuffle_partitions: Annotated[int, Field(ge=1, le=10_000)] = 4
    slices: Annotated[int, Field(ge=1, le=100)] = 1
    landing_bytes: Annotated[int, Field(ge=1)] = 128_000_000
    late_arrival_days: Annotated[int, Field(ge=0, le=366)] = 7
    recompute_hours: Annotated[int, Field(ge=1, le=1_000)] = 24
    freshness_hours: Annotated[int, Field(ge=1, le=10_000)] | None = None
    grace_minutes: Annotated[int, Field(ge=0, le=59)] = 5
    max_error_rate: Annotated[float, Field(ge=0, le=1)] = 0.05
    sample_windows: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    sample_budget: Annotated[int, Field(ge=1)] = 200_000
    sample_seed: int = 0
    vacuum_retention_hours: Annotated[int, Field(ge=168, le=87_600)] = 168
    retention_days: Json[dict[Expiring, Annotated[int, Field(ge=1, le=36_500)]]] = Field(
        default_factory=dict, validate_default=False
    )
    notifiers: Json[tuple[Notifier, ...]] = Field(default=(), validate_default=False)

    @classmethod
    def load(cls, stream: str = "", *, must_exist: bool = True) -> Self:
        """Load the settings of the environment, or of another stream of the same home.

        `must_exist`: as in `of_stream`.

        Raises:
            ParameterError: a variable has an invalid value or a misspelled name, or the workload
                does not exist.
            SetupError: no root was found, or the stream lacks a file.
        """
        for name in os.environ.keys() - _OTHERS:
            own = name.removeprefix(PREFIX).lower()
            if name.startswith(PREFIX) and own not in cls.model_fields.keys() | RENAMED:
                alike = [name for name in cls.model_fields if name[0] == own[:1]]
                meant = closest(own, alike, _MISSPELT)
                if meant is not None:
                    hint = f"did you mean {_variable(meant)}?"
                    raise ParameterError(f"{name} is not a setting", hint=hint)
        renamed = _by_new_names()
        try:
            found = cls(**renamed)
        except ValidationError as error:
            # For a union type, pydantic reports an error per member; show the first.
            faults = {str(fault["loc"][0]): fault for fault in reversed(error.errors())}
            problems = [_problem(faults[name]) for name in sorted(faults)]
            words = "; ".join(message for message, _ in problems)
            hint = problems[0][1]
            if len(problems) > 1:
                hint = "; ".join(f"{text.partition(':')[0]}: {fix}" for text, fix in problems)
            raise ParameterError(words, hint=hint) from error
        if bad := (_MISREAD_HERE if is_here(found.home) else _MISREAD).search(str(found.home)):
            raise ParameterError(
                f"tables cannot be stored in {found.home}: its path has {shown(bad[0])}",
                hint=f"set {PREFIX}HOME to another directory",
            )
        found._require_workloads(found.parameters)
        own = found.workload if stream in ("", found.stream) else ""
        name = stream or found.stream
        is_default = name == found.schema_file.stem and name not in found.streams
        if is_default and not (found.home / name).is_dir():  # the stream that needs no name
            found = found.model_copy(update={"stream": ""})
        elif name:
            found = found.of_stream(name, must_exist=must_exist)
        return found.of_workload(own)

    def of_stream(self, name: str, *, must_exist: bool = True) -> Self:
        """Return the settings of a stream.

        Its schema is `schemas/events/<name>.yaml`, its workload `schemas/workloads/<name>.sase`.
        Its suites are in `expectations/<name>`, if this directory exists, and its runs write to
        the directory of its name below `home`.

        Raises:
            SetupError: the schema or the workload must exist and does not.
        """
        suites = self.root / "expectations" / name
        files = {
            "schema_file": self.root / EVENTS / f"{name}.yaml",
            "workload_file": self.root / WORKLOADS / f"{name}{SUFFIX}",
        }
        for file in files.values():
            if must_exist and not file.is_file():
                hint = f"`elsinore new-stream {name}` writes both from a sample of its events"
                raise SetupError(f"the stream {name} has no {file}", hint=hint)
        own = {"expectations_dir": suites} if suites.is_dir() else {}
        return self.model_copy(update={"stream": name, "workload": ""} | files | own)

    def _require_workloads(self, names: Iterable[str]) -> None:
        """Raise ParameterError unless all names are workloads of the home's streams."""
        if not (names := tuple(names)):
            return
        every = (self.of_stream(name, must_exist=False) for name in self.streams)
        known = {name: None for one in (self, *every) for name in one.known_workloads}
        for name in names:
            if name not in known:
                hint = f"use one of {', '.join(known)}"
                message = f"{_variable('parameters')}: unknown workload {shown(name)}"
                raise ParameterError(message, hint=hint)

    @property
    def own_parameters(self) -> Mapping[str, Parameter | tuple[Parameter, ...]]:
        """Return the values of the parameters of the workload."""
        return self.parameters.get(self.workload_name, {})

    def with_parameters(self, values: Mapping[str, Mapping[str, Parameter]]) -> Self:
        """Return settings with other values of parameters, by workload and name.

        Raises:
            ParameterError: a workload is unknown.
        """
        self._require_workloads(values)
        both = self.parameters.keys() | values.keys()
        merged = {name: {**self.parameters.get(name, {}), **values.get(name, {})} for name in both}
        return self.model_copy(update={"parameters": merged})

    @property
    def queries(self) -> Path:
        """The file of the queries that these settings are of."""
        if not self.workload:
            return self.workload_file
        file = self._beside / f"{self.workload}{SUFFIX}"
        return file if file.is_file() else self.root / WORKLOADS / file.name

    @property
    def workloads(self) -> tuple[str, ...]:
        """The workloads that every run of the stream answers; the first is that without a name."""
        names = {file.stem for file in self._beside.glob(f"*{SUFFIX}")} - {self.workload_file.stem}
        return ("", *sorted(name for name in names if re.fullmatch(STREAM_NAME, name)))

    @property
    def _beside(self) -> Path:
        return self.workload_file.with_suffix("")

    def of_workload(self, name: str) -> Self:
        """Return the settings of a workload of the stream; an empty name is `workload_file`.

        Its file is in the directory next to `workload_file`, or in `schemas/workloads`. Its results
        are in a directory of its name.

        Raises:
            ParameterError: the file does not exist.
        """
        own = "" if name == self.workload_file.stem else name
        found = self.model_copy(update={"workload": own})
        if own and own not in self.known_workloads:
            raise ParameterError(
                f"unknown workload {name[:64]!r} of {self.schema_file.stem}",
                hint=f"use one of {', '.join(self.known_workloads)}",
            )
        return found

    @property
    def known_workloads(self) -> tuple[str, ...]:
        """The names of all workloads of the stream: `workloads`, and others for single runs.

        The others are in `schemas/workloads`. Their name is the name of the stream, or begins with
        it and an underscore (`flights`, `flights_storms`), and is not another stream.
        """
        first, (_, *others), stream = self.workload_file.stem, self.workloads, self.schema_file.stem
        found = {file.stem for file in (self.root / WORKLOADS).glob(f"{stream}*{SUFFIX}")}
        found -= {file.stem for file in (self.root / EVENTS).glob(f"{stream}_*.yaml")}
        ours = (name for name in sorted(found) if name == stream or name.startswith(f"{stream}_"))
        valid = (name for name in ours if re.fullmatch(STREAM_NAME, name))
        return tuple(dict.fromkeys([first, *others, *valid]))

    @field_validator("*", mode="before")
    @classmethod
    def _paths_are_no_addresses(cls, value: Any, of: ValidationInfo) -> Any:
        """Reject addresses: as a path, one would create a directory `s3:`."""
        is_path = cls.model_fields[str(of.field_name)].annotation in (Path, Path | None)
        if is_path and of.field_name != "home" and scheme(value):
            address = without_secrets(str(value))
            raise ValueError(
                f"{address} is an address; only ELSINORE_HOME can be in an object store"
            )
        if is_path and value is not None and not str(value).strip():
            raise ValueError("a path must not be empty; leave the variable out for the default")
        if is_path and str(value).startswith("~") and os.path.expanduser(value) == str(value):
            raise ValueError(f"unknown user in {value}; write an absolute path")
        return value

    def model_post_init(self, context: object, /) -> None:
        """Make every path absolute; the default number of slices is the number of slots."""
        del context
        if "slices" not in self.model_fields_set:
            self.__dict__["slices"] = min(self.spark_slots, 100)
        root = self.root.expanduser().absolute()
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, Path):
                # Past `frozen`, which guards against everybody else.
                self.__dict__[name] = Path(os.path.normpath(root / value.expanduser()))

    @property
    def local(self) -> Path:
        """The directory of the files that stay on this machine."""
        return self.local_home or (self.home if is_here(self.home) else self.root / "var")

    @property
    def landing(self) -> Path:
        """The landing zone: raw files."""
        return self.home / self.stream / "landing"

    def _own(self, home: Path) -> Path:
        """Return the directory of the workload's results in a home."""
        home = home / self.stream
        return home / "workloads" / self.workload if self.workload else home

    @property
    def stream_lake(self) -> Path:
        """The directory of the tables that all workloads of the stream share."""
        return self.home / self.stream / "lake"

    @property
    def lake(self) -> LakePath:
        """The directory of the Delta tables, with one directory per table."""
        folder = self.stream_lake
        return LakeFolders(folder, self._own(self.home) / "lake") if self.workload else folder

    @property
    def migrating(self) -> Path:
        """The directory of a migration that has not ended."""
        return self.home / self.stream / "migrating-0.3"

    @property
    def before_migration(self) -> Path:
        """The directory of the tables of release 0.2, after their migration."""
        return self.home / self.stream / "before-0.3"

    @property
    def is_old(self) -> bool:
        """Return whether the lake is of release 0.2, or its migration has not ended."""
        return (
            self.home / self.stream / "lake" / "landings" / "_delta_log"
        ).is_dir() or self.migrating.is_dir()

    def require_current(self) -> Self:
        """Return these settings.

        Raises:
            SetupError: the lake is of release 0.2.
        """
        if self.is_old:
            own = f"{PREFIX}STREAM={self.stream} " if self.stream else ""
            raise SetupError(
                f"the tables in {self.home / self.stream} are of release 0.2",
                hint=f"pause the DAGs and run `{own}elsinore migrate`",
            )
        return self

    @property
    def reports(self) -> Path:
        """Finished reports."""
        return self._own(self.local) / "reports"

    @property
    def alerts(self) -> Path:
        """The file with alerts of scheduled runs, one JSON line per alert."""
        return self.local / "alerts.jsonl"

    @property
    def quality(self) -> Path:
        """Great Expectations' stores and Data Docs."""
        return self._own(self.local) / "quality"

    @property
    def workload_name(self) -> str:
        """The name of the workload in tables: of its file, without the extension."""
        return self.queries.stem

    def with_results(self) -> tuple[Self, ...]:
        """Return the settings of each workload with results, also of removed workloads."""
        folders = sorted((self.home / self.stream / "workloads").glob("*/lake"))
        names = ["", *(folder.parent.name for folder in folders)]
        return tuple(self.model_copy(update={"workload": name}) for name in names)


def _variable(field: str) -> str:
    return f"{PREFIX}{field.upper()}"


def _by_new_names() -> dict[str, Any]:
    """Return the values of the variables with old names, by the new names of their fields.

    Raises:
        ParameterError: the variables with the old and the new name have different values.
    """
    old = [one for one in RENAMED.items() if _variable(one[0]) in os.environ]
    fields = [field for field in chain(*old) if _variable(field) in os.environ]
    return by_new_names({one: os.environ[_variable(one)] for one in fields}, RENAMED, _variable)


def _problem(fault: Mapping[str, Any]) -> tuple[str, str]:
    """Return the problem of a variable, with the position in its JSON value, and a hint."""
    name, *inside = map(str, fault["loc"])
    words, hint = in_plain_words(fault, Settings.model_fields)
    inside = [*filter(str.isidentifier, inside)]
    if not inside and fault["type"] != "value_error" and name in _EXAMPLES:
        hint = f"write it as {_EXAMPLES[name]}"
    return ": ".join([_variable(name), *inside, words]), hint
