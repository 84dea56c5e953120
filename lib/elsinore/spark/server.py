"""Start, find and stop the embedded Spark Connect server, which all tasks share.

The first client starts it in a separate process session with three processes: a keeper, which ends
the server after some time without clients, the JVM, and for a moment a process that warms it up.
These processes and all clients hold locks on files of `<home>/spark`. The system releases locks
however a process ends. Process ids are not used, because the system may reassign them.

| file | content |
|---|---|
| `starting` | the lock of a process that searches, starts or ends the server |
| `alive` | a lock as long as the keeper or the JVM lives |
| `clients` | shared locks of its clients |
| `server.json` | once it answers, only for its owner: process group, port, token, digest |
| `scratch` | temporary files of its processes, removed when it ends |

The program `python -m elsinore.spark.server` has three uses, by the number of its arguments:

- `HOST PORT` runs the server of a deployment, which starts and ends it and provides its token.
- `PORT` warms up a new server with small samples of the tasks' work, because the first Python
  worker of a cold server takes 5 s.
- With more arguments it is the keeper.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from elsinore.errors import SetupError
from elsinore.memory_limit import MEMORY_LIMIT, limit_in_bytes
from elsinore.places import make_home, scheme
from elsinore.safe_files import private_directory
from elsinore.settings import Settings
from elsinore.spark.home_claim import claim_home, release_home
from elsinore.spark.options import TUNING, user_options
from elsinore.store.object_store import store_options
from elsinore.wording import command

#: The variable of the server's environment with its token.
_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"

#: Seconds until a server must answer, until it is killed if it does not end, and between checks.
_PATIENCE, _GRACE, _LOOK = 300.0, 10.0, 0.1

#: The locks of this process by the server's directory. A process is a client until it ends.
_CLIENT_OF: dict[Path, int] = {}

_LOOPBACK = "127.0.0.1"

_PACKAGE = Path(__file__).parents[1]

_LOGGING = Path(__file__).with_name("log4j2.properties")
_JARS = ("delta-spark_*.jar", "delta-storage-*.jar")

#: Variables that PySpark sets in client processes; a server cannot start with them.
_OF_CLIENTS = {"SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED"}
_DRIVER = Path(__file__).with_name("server_driver.py")
_DRIVER_JAVA = "spark.driver.extraJavaOptions"
#: The place of compiled kernels; importing `elsinore.numbers` sets the variable.
_KERNELS = "spark.executorEnv.NUMBA_CACHE_DIR"

#: The directory for temporary files of the server's processes; only its owner can enter it.
_SCRATCH = "scratch"
#: On a port, the daemon of Python workers forks a process for each connection of any local user,
#: before it checks a secret. So workers and accumulators listen on sockets in the scratch
#: directory.
#: The path is relative to the JVM's working directory: the system allows 107 bytes.
_SOCKETS = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.unix.domain.socket.dir": _SCRATCH,
}
#: Runs this module; `-P` keeps the working directory out of the module search path.
_PROGRAM = (sys.executable, "-P", "-m", "elsinore.spark.server")


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers.

    Attributes:
        group: Its process group.
        port: Its port.
        token: The token that clients send.
        digest: A digest of the library and the configuration with which it was started.
    """

    group: int
    port: int
    token: str
    digest: str

    @property
    def url(self) -> str:
        """The address for clients, with the token."""
        return with_token(f"sc://{_LOOPBACK}:{self.port}", self.token)

    def tell(self, folder: Path) -> None:
        """Write `server.json` atomically, so that clients find the server."""
        part = folder / "server.part"
        part.unlink(missing_ok=True)
        with os.fdopen(_open_private(part), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
        part.replace(folder / "server.json")


def with_token(url: str, token: str) -> str:
    """Return an `sc://` address with a token.

    With the parameter `token`, PySpark encrypts the connection. The server does not support
    encryption without a proxy. So the token is passed as the header that PySpark would send, unless
    the address asks for encryption.

    >>> with_token("sc://spark-connect:15002", "t")
    'sc://spark-connect:15002/;authorization=Bearer%20t'
    >>> with_token("sc://cluster:443/;use_ssl=true", "t")
    'sc://cluster:443/;use_ssl=true;token=t'
    """
    shown = f"token={token}" if "use_ssl=true" in url else f"authorization=Bearer%20{token}"
    return f"{with_parameters(url)};{shown}"


def with_parameters(url: str) -> str:
    """Return an `sc://` address to which `;` and a parameter can be appended.

    >>> with_parameters("sc://spark-connect:15002")
    'sc://spark-connect:15002/'
    """
    return url if "/;" in url else f"{url.rstrip('/')}/"


def server_url(settings: Settings) -> str:
    """Return the address of the server of the settings, with its token.

    Raises:
        SetupError: the embedded server cannot be started, the token file cannot be read, or another
            server writes the home.
    """
    if not settings.spark_master.startswith("sc://"):
        return running_server(settings).url
    claim_home(settings, None)
    if settings.spark_token_file is None:
        return settings.spark_master
    try:
        token = settings.spark_token_file.read_text(encoding="utf-8").strip()
    except OSError as error:
        problem = f"cannot read {settings.spark_token_file}: {error.strerror}"
        hint = "set ELSINORE_SPARK_TOKEN_FILE to a readable file"
        raise SetupError(problem, hint=hint) from error
    return with_token(settings.spark_master, token)


def running_server(settings: Settings) -> Server:
    """Return the server of a home: the running one if it has the current code, else a new one.

    This process counts as its client until it ends.

    Raises:
        ParameterError: the user's options of Spark are invalid.
        SetupError: Java or a jar is missing, the server does not come up, or another server writes
            the home.
    """
    folder = _folder(settings)
    if folder not in _CLIENT_OF:
        _CLIENT_OF[folder] = _open_private(folder / "clients")
        fcntl.flock(_CLIENT_OF[folder], fcntl.LOCK_SH)
    conf = _configuration(settings)
    digest = _digest(settings, conf)
    with _locked(folder / "starting"):
        found = _find(folder)
        if found is not None and found.digest == digest:
            return found
        _end(folder, found)
        claim_home(settings, folder)
        return _start(settings, conf, digest)


def stop_server(settings: Settings) -> bool:
    """End the server of a home.

    Returns:
        True if a server was running.

    Raises:
        SetupError: another user controls the home.
    """
    folder = _folder(settings)
    with _locked(folder / "starting"):
        found = _find(folder)
        _end(folder, found)
        release_home(settings, folder)
    return found is not None


def _digest(settings: Settings, conf: Mapping[str, str]) -> str:
    """Return a digest of the configuration, and of the sources that workers have imported."""
    # Processes that have imported kernels have set the directory, others have not. Each is right.
    compared = {name: value for name, value in conf.items() if name != _KERNELS}
    program = f"{version('pyspark')} {_spark_home()} {sys.executable}"
    configured = f"{settings.spark_master} {compared} {user_options(settings)}"
    digest = hashlib.sha256(f"{program} {configured}".encode())
    for source in sorted(_PACKAGE.rglob("*.py")):
        digest.update(f"{source}\0".encode() + source.read_bytes())
    return digest.hexdigest()


def _start(settings: Settings, conf: Mapping[str, str], digest: str) -> Server:
    folder = _folder(settings)
    log = settings.local / "logs" / "spark-server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    scratch = folder / _SCRATCH
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    port = _free_port()
    own = {"spark.local.dir": str(scratch), _DRIVER_JAVA: _java_in(scratch, conf[_DRIVER_JAVA])}
    if settings.spark_master.startswith("local"):
        own |= _SOCKETS
    command = _command(settings, {**conf, **own}, _LOOPBACK, port)
    alive = _open_private(folder / "alive")
    fcntl.flock(alive, fcntl.LOCK_EX)
    told = [str(folder), str(alive), str(port), digest, str(settings.spark_idle_minutes * 60)]
    with log.open("wb") as output:
        subprocess.Popen(
            [*_PROGRAM, *told, *command],
            env=_environment() | {_TOKEN: secrets.token_hex(24), "TMPDIR": str(scratch)},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=(alive,),
        )
    os.close(alive)
    started = _find(folder)
    if started is None:
        raise SetupError("Spark does not start", hint=f"read the log: {log}")
    return started


def _find(folder: Path) -> Server | None:
    """Wait until a running server answers, and return it; None if no server is running.

    Raises:
        SetupError: The server does not answer in time, or `server.json` is invalid.
    """
    deadline = time.monotonic() + _PATIENCE
    while not _is_free(folder / "alive"):
        with suppress(FileNotFoundError):
            return _read_server(folder / "server.json")
        if time.monotonic() > deadline:
            problem = f"Spark does not answer within {_PATIENCE:.0f} s"
            raise SetupError(problem, hint="run `elsinore stop`, and run it again")
        time.sleep(_LOOK)
    return None


def _read_server(file: Path) -> Server:
    """Read the file of a server of this user, whose process group may be killed.

    Raises:
        FileNotFoundError: there is none.
        SetupError: another user may have written it, or it describes no server.
    """
    hint = f"remove it: {command('rm', file)}"
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SetupError(f"cannot read {file}: {error.strerror}", hint=hint) from error
    with os.fdopen(descriptor, encoding="utf-8") as opened:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or status.st_mode & ~stat.S_IRWXU != stat.S_IFREG:
            problem = f"{file} is not a file that only user {os.geteuid()} can read and write"
            raise SetupError(problem, hint=hint)
        try:
            server = Server(**json.load(opened))
        except (ValueError, TypeError) as error:
            raise SetupError(f"{file} does not describe a server", hint=hint) from error
    # To kill group 0 or 1 would end this process's own group, or every process.
    if type(server.group) is not int or server.group <= 1:
        raise SetupError(f"{file} has the process group {server.group!r}", hint=hint)
    return server


def _end(folder: Path, server: Server | None) -> None:
    """End a server that `_find` has returned, and remove its files."""
    deadline = time.monotonic() + _GRACE
    number = signal.SIGTERM
    while server is not None and not _is_free(folder / "alive"):
        # While one of its processes lives, the number of the group is not reused.
        with suppress(ProcessLookupError):
            os.killpg(server.group, number)
        if time.monotonic() > deadline:
            number = signal.SIGKILL
        time.sleep(_LOOK)
    (folder / "server.json").unlink(missing_ok=True)
    shutil.rmtree(folder / _SCRATCH, ignore_errors=True)


def _folder(settings: Settings) -> Path:
    """Return the directory of a home's server, created if it is missing.

    Raises:
        SetupError: another user controls the home or the directory.
    """
    make_home(settings.local)
    folder = settings.local / "spark"
    if folder.is_symlink():
        raise SetupError(f"{folder} is a symbolic link", hint="replace the link by a directory")
    private_directory(folder)
    if folder.stat().st_mode & stat.S_IWGRP:
        hint = command("chmod", "g-w", folder)
        raise SetupError(f"a group can write to {folder}", hint=hint)
    return folder


def _open_private(file: Path) -> int:
    """Return a descriptor of a file that only its owner can read, created if it is missing.

    Raises:
        SetupError: it cannot be opened, or is a link.
    """
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        hint = f"remove it: {command('rm', file)}"
        raise SetupError(f"cannot open {file}: {error.strerror}", hint=hint) from error


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold the lock on a file."""
    lock = _open_private(file)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _is_free(file: Path) -> bool:
    """Return whether a file is not locked."""
    lock = _open_private(file)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _command(settings: Settings, conf: Mapping[str, str], host: str, port: int) -> list[str]:
    """Return the command that starts a server on a port, without its token."""
    binding = "spark.connect.grpc.binding"
    conf = {**conf, f"{binding}.address": host, f"{binding}.port": str(port)}
    options = [f"--conf={name}={value}" for name, value in conf.items()]
    if settings.spark_options:  # as a file: other users can read command lines
        options += ["--properties-file", str(settings.spark_options), "--load-spark-defaults"]
    program = str(_spark_home() / "bin" / "spark-submit")
    return [program, "--master", settings.spark_master, *options, str(_DRIVER)]


def _java_in(folder: Path, options: str) -> str:
    """Return Java options that use a directory for temporary files."""
    quoted = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    return f'"-Djava.io.tmpdir={quoted}" {options}'


def _environment() -> dict[str, str]:
    """Return the environment of this process, with variables to run the same library in workers."""
    # An empty part would be the working directory, so only parts with text are used.
    given = [os.path.abspath(part) for part in _parts_of("PYTHONPATH")]
    path = os.pathsep.join([str(_PACKAGE.parent), *given])
    # Python workers start with `-m`: nothing is imported from the working directory.
    python = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    inherited = {name: text for name, text in os.environ.items() if name not in _OF_CLIENTS}
    return {**inherited, **python, "SPARK_HOME": str(_spark_home())}


def _parts_of(variable: str) -> list[str]:
    return [part for part in os.environ.get(variable, "").split(os.pathsep) if part]


def _configuration(settings: Settings) -> dict[str, str]:
    """Return the configuration of a server, without the options that the user sets.

    Raises:
        ParameterError: the user's options or the memory limit are invalid.
        SetupError: Java, a jar or the file of the user's options is missing.
    """
    given = user_options(settings)
    limit_in_bytes()  # an invalid limit would end the daemon of Python workers
    _require_java()
    _require_secret(settings.spark_master)
    jars = _find_jars(settings.jars)
    java = f"-Duser.timezone=UTC -XX:+ExitOnOutOfMemoryError {settings.spark_java_options}".strip()
    configuration = {
        "spark.app.name": "elsinore",
        # Without it, every local user could run code by messages to the ports of the driver and of
        # the block manager. For local masters, Spark generates the secret.
        "spark.authenticate": "true",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(settings.local / "spark-warehouse"),
        "spark.sql.session.timeZone": "UTC",
        _DRIVER_JAVA: f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {java}",
        "spark.executor.extraJavaOptions": java,
        "spark.driver.memory": settings.spark_memory,
        "spark.ui.enabled": "false",
        # Spark keeps the data of the web page even without it: by default plans of 1,000
        # statements, which fill the heap.
        "spark.sql.ui.retainedExecutions": "20",
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "1000",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        "spark.python.worker.faulthandler.enabled": "true",
        # Sessions ship no artifacts. With isolation, each session would have separate Python
        # workers, which need 3 s for their imports. Spark's server class requires isolation, but
        # its plugin does not.
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.python.daemon.module": "elsinore.spark.worker_daemon",
    }
    # Workers use the same directory of compiled kernels, and the same memory limit.
    for name in (_KERNELS, f"spark.executorEnv.{MEMORY_LIMIT}"):
        if value := os.environ.get(name.removeprefix("spark.executorEnv.")):
            configuration[name] = value
    if settings.spark_master.startswith("local"):
        configuration |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    configuration |= store_options(scheme(settings.landing), os.environ)
    return {name: value for name, value in configuration.items() if name not in given}


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SetupError("PySpark is missing", hint="run `make setup`")
    return Path(spec.origin).parent


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else "java"
    if shutil.which(program) is None:
        raise SetupError(
            f"Java was not found: {program}",
            hint="install Java 17, or set JAVA_HOME to its directory",
        )


def _require_secret(master: str) -> None:
    """Refuse a cluster without a secret in Spark's configuration.

    The secret cannot be passed on a command line, which other users can read.

    Raises:
        SetupError: the configuration does not contain the secret.
    """
    if master.startswith("local"):
        return
    folder = os.environ.get("SPARK_CONF_DIR") or str(_spark_home() / "conf")
    file = Path(folder, "spark-defaults.conf")
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    if not any(re.match(r"\s*spark\.authenticate\.secret\s*[\s=:]\s*\S", line) for line in lines):
        raise SetupError(
            f"{file} has no spark.authenticate.secret for {master}",
            hint="add the cluster's secret as spark.authenticate.secret, as in docker/spark/start",
        )


def _find_jars(folder: Path) -> list[Path]:
    found = [(pattern, sorted(folder.glob(pattern))) for pattern in _JARS]
    missing = [pattern for pattern, jars in found if not jars]
    if missing:
        raise SetupError(f"{folder} lacks {' and '.join(missing)}", hint="run `make setup`")
    return [jar for _, jars in found for jar in jars]


def keep(folder: Path, alive: int, port: int, digest: str, idle: float, command: list[str]) -> int:
    """Run the JVM until it ends or was idle for `idle` seconds; return its exit code.

    The JVM inherits the lock `alive`.
    """
    known = {"ELSINORE_SPARK_KEEPER": str(os.getpid())}  # for the driver (`server_driver`)
    jvm = subprocess.Popen(command, pass_fds=(alive,), env=os.environ | known)
    try:
        while jvm.poll() is None and not _answers(port):
            time.sleep(_LOOK)
        if jvm.poll() is None:
            Server(os.getpid(), port, os.environ[_TOKEN], digest).tell(folder)
            subprocess.Popen([*_PROGRAM, str(port)])
            _wait_until_idle(folder, jvm, idle)
    finally:
        # An idle server has no open commits. New clients must not find a server that ends.
        (folder / "server.json").unlink(missing_ok=True)
        jvm.kill()
        code = jvm.wait()
        shutil.rmtree(folder / _SCRATCH, ignore_errors=True)
        print(f"Spark ended with exit code {code}", flush=True)
    return code


def _wait_until_idle(folder: Path, jvm: subprocess.Popen[bytes], idle: float) -> None:
    """Wait until the JVM has ended, was idle too long, or its home was removed."""
    last = time.monotonic()
    while jvm.poll() is None and (folder / "server.json").exists():
        time.sleep(1)
        if not _is_free(folder / "clients"):
            last = time.monotonic()
        elif time.monotonic() - last > idle:
            # New clients wait for this lock, and then start another server.
            with _locked(folder / "starting"):
                if _is_free(folder / "clients"):
                    jvm.kill()
                    jvm.wait()


def serve(host: str, port: int) -> None:
    """Replace this process by the server of the settings."""
    settings = Settings.load()
    command = _command(settings, _configuration(settings), host, port)
    os.execve(command[0], command, _environment())  # noqa: S606


def warm_up(port: int) -> None:
    """Warm up a server: run a small aggregation with Python workers."""
    # Imported here, because the keeper does not need them.
    from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

    from elsinore.spark.session import connect
    from elsinore.store.session_options import set_options

    spark = connect(with_token(f"sc://{_LOOPBACK}:{port}", os.environ.pop(_TOKEN)))
    set_options(spark, TUNING)
    rows = spark.range(0, 100, 1, 2).mapInArrow(_load_engine, "id long")
    rows = rows.select("id", F.lit("x").alias("part"), F.timestamp_micros("id").alias("at"))
    rows.groupBy("part").agg(F.count("*"), F.max("at"), F.count_distinct("id")).toArrow()
    spark.stop()


def _load_engine(batches: Iterator[Any]) -> Iterator[Any]:
    import elsinore.spark.aggregate_worker  # noqa: F401  (each worker keeps its imports)

    yield from batches


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((_LOOPBACK, port)) == 0


def main(words: list[str]) -> int:
    """Warm up, serve or keep a server, by the number of arguments; return the exit code."""
    if len(words) == 1:
        warm_up(int(words[0]))
        return 0
    if len(words) == 2:
        serve(words[0], int(words[1]))
    folder, alive, port, digest, idle, *command = words
    return keep(Path(folder), int(alive), int(port), digest, float(idle), command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
