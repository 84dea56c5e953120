"""Options of Spark: options of the user for the embedded server, and options of each session.

A user's file has the format of `spark-defaults.conf`, a Java properties file. Options that the
embedded server needs for security or for correct results cannot be set there. Options that only
make small jobs faster belong to the sessions of steps, so that other sessions of a shared server
keep Spark's defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from elsinore.errors import ParameterError, SetupError
from elsinore.settings import PREFIX, Settings
from elsinore.wording import some_of

_SETTING = f"{PREFIX}SPARK_OPTIONS"

#: Options that a setting replaces, by the setting.
_SETTINGS = {
    "spark.master": f"{PREFIX}SPARK_MASTER",
    "spark.remote": f"{PREFIX}SPARK_MASTER",
    "spark.driver.memory": f"{PREFIX}SPARK_MEMORY",
    "spark.driver.extraJavaOptions": f"{PREFIX}SPARK_JAVA_OPTIONS",
    "spark.executor.extraJavaOptions": f"{PREFIX}SPARK_JAVA_OPTIONS",
    "spark.sql.shuffle.partitions": f"{PREFIX}SHUFFLE_PARTITIONS",
}
#: Options that the embedded server needs, also as prefixes before a dot. Without them other local
#: users could send it code, results would be wrong, or Delta would not work.
_REQUIRED = (
    "spark.api.mode",
    "spark.authenticate",
    "spark.connect.authenticate",
    "spark.connect.extensions",
    "spark.connect.grpc.binding",
    "spark.connect.grpc.port",
    "spark.connect.grpc.interceptor",
    "spark.driver.bindAddress",
    "spark.driver.host",
    "spark.executorEnv.NUMBA_CACHE_DIR",
    "spark.jars",
    "spark.local.dir",
    "spark.plugins",
    "spark.pyspark",
    "spark.python.daemon.module",
    "spark.python.unix.domain.socket",
    "spark.python.worker.module",
    "spark.sql.artifact.isolation",
    "spark.sql.catalog.spark_catalog",
    "spark.sql.catalogImplementation",
    "spark.sql.defaultCatalog",
    "spark.sql.execution.pyspark.python",
    "spark.sql.extensions",
    "spark.sql.session.timeZone",
    "spark.sql.warehouse.dir",
    "spark.submit.deployMode",
)
#: Options below `_REQUIRED` that only add something.
_ALLOWED = frozenset({
    f"spark.jars.{name}" for name in ("excludes", "ivy", "ivySettings", "packages", "repositories")
})  # fmt: skip

#: Options that make small jobs of a session faster.
TUNING = {
    # Defaults are for large tables: a read of any Delta table would start 50 tasks.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    # Compiling takes longer than it saves: the work is done in Python workers.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

#: An entry of a properties file: a name, a separator, a value; a backslash escapes any character.
_ENTRY = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def session_options(settings: Settings) -> dict[str, str]:
    """Return the options of a step's session; the user's value of an option comes first.

    Raises:
        ParameterError: the user's options are invalid.
        SetupError: their file cannot be read.
    """
    given = user_options(settings)
    return {
        **{name: given.get(name, value) for name, value in TUNING.items()},
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        # The time zone of an external server must not change results.
        "spark.sql.session.timeZone": "UTC",
    }


def user_options(settings: Settings) -> dict[str, str]:
    """Return the options of the user's file, which may not replace options that Elsinore needs.

    Raises:
        ParameterError: an option is not one of Spark, or cannot be set.
        SetupError: the file cannot be read.
    """
    if settings.spark_options is None:
        return {}
    file = settings.spark_options
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        hint = f"set {_SETTING} to a readable file"
        raise SetupError(f"cannot read {file}: {problem}", hint=hint) from error
    options = parse_options(text)
    _require_allowed(file, options)
    return options


def parse_options(text: str) -> dict[str, str]:
    r"""Return the entries of a Java properties file as Spark reads them; the last value counts.

    >>> parse_options("# for all\nspark.ui.enabled  true\nspark.x = a\\\n   b:c\n")
    {'spark.ui.enabled': 'true', 'spark.x': 'ab:c'}
    """
    entries = (_ENTRY.fullmatch(entry) for entry in _entries(text))
    # Spark removes blanks around values, as Java does before them.
    return {_plain(found[1]): _plain(found[2]).strip() for found in entries if found}


def _entries(text: str) -> Iterator[str]:
    """Yield the logical lines of a properties file: a backslash at the end continues a line."""
    entry = ""
    for line in re.split(r"\r\n|\r|\n", text):
        line = line.lstrip(" \t\f")
        if not entry and line.startswith(("#", "!")):
            continue
        ends = len(line) - len(line.rstrip("\\"))
        if ends % 2:
            entry += line[:-1]
            continue
        if entry + line:
            yield entry + line
        entry = ""
    if entry:
        yield entry


def _plain(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2])

    return _ESCAPE.sub(character, text)


def _require_allowed(file: Path, options: Iterable[str]) -> None:
    """Raise ParameterError if one of the options cannot be set."""
    remove = f"remove the lines from {file}"
    # Spark ignores others with a warning in its log.
    if unknown := sorted(name for name in options if not name.startswith("spark.")):
        names = some_of(unknown)
        raise ParameterError(f"{_SETTING}: not options of Spark: {names}", hint=remove)
    if replaced := sorted(_SETTINGS.keys() & set(options)):
        instead = sorted({_SETTINGS[name] for name in replaced})
        raise ParameterError(
            f"{_SETTING}: {', '.join(replaced)} cannot be set there",
            hint=f"{remove}, and set {', '.join(instead)}",
        )
    if required := sorted(filter(_is_required, options)):
        raise ParameterError(
            f"{_SETTING}: Elsinore needs its own values of {', '.join(required)}", hint=remove
        )


def _is_required(name: str) -> bool:
    if name in _ALLOWED:
        return False
    return any(name == one or name.startswith(f"{one}.") for one in _REQUIRED)
