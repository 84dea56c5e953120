"""The topology of docker/compose.yaml on loopback: PostgreSQL, Spark, Airflow; no containers."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.topology.processes import Processes, answers, free_port, listens

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

_AIRFLOW = [sys.executable, "-m", "airflow"]


class Cluster:
    """Every part of the deployment, each a process of its own, in one folder.

    Attributes:
        root: the checkout, or a folder that stands for it, whose DAGs and streams are run.
        home: where raw files and tables lie, which may be an address in an object store.
        env: for commands that talk to it, such as `airflow backfill create`.
    """

    def __init__(self, folder: Path, processes: Processes, root: Path = ROOT) -> None:
        self.folder = folder
        self.root = root
        self.home = str(folder / "var")
        self.processes = processes
        self.ports = {
            name: free_port() for name in ("database", "master", "master-page", "connect", "api")
        }
        self.env: dict[str, str] = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}

    def start(self) -> None:
        """Starts all parts, in the order in which they need each other."""
        self._start_database()
        self._start_spark()
        self._start_airflow()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of Airflow's metadata."""
        with psycopg.connect(self._database_url("postgresql")) as connection:
            return connection.execute(sql.encode()).fetchall()

    def _database_url(self, scheme: str) -> str:
        return f"{scheme}://airflow:{self._password}@127.0.0.1:{self.ports['database']}/airflow"

    def _start_database(self) -> None:
        programs = _postgres_programs()
        data = self.folder / "database"
        self._password = secrets.token_urlsafe(24)
        password_file = self.folder / "database_password"
        password_file.write_text(self._password)
        data.mkdir()
        # PostgreSQL refuses to run as root; its own user does then.
        become: list[str | Path] = []
        if os.getuid() == 0:
            owner = pwd.getpwnam("postgres")
            for path in (data, password_file):
                os.chown(path, owner.pw_uid, owner.pw_gid)
            become = [
                "setpriv",
                f"--reuid={owner.pw_uid}",
                f"--regid={owner.pw_gid}",
                "--clear-groups",
            ]
        self.processes.run(
            "initdb",
            [*become, programs / "initdb", "--pgdata", data, "--username=airflow",
             "--auth=scram-sha-256", f"--pwfile={password_file}", "--no-sync"],
            self.env,
        )  # fmt: skip
        self.processes.start(
            "database",
            [*become, programs / "postgres", "-D", data, "-p", str(self.ports["database"]),
             "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={data}"],
            self.env,
        )  # fmt: skip
        self.processes.wait("database", self._database_answers, 60)
        with psycopg.connect(
            host="127.0.0.1", port=self.ports["database"], user="airflow",
            password=self._password, dbname="postgres", autocommit=True,
        ) as connection:  # fmt: skip
            connection.execute("CREATE DATABASE airflow")

    def _database_answers(self) -> bool:
        with suppress(psycopg.OperationalError):
            psycopg.connect(
                host="127.0.0.1", port=self.ports["database"], user="airflow",
                password=self._password, dbname="postgres",
            ).close()  # fmt: skip
            return True
        return False

    def _start_spark(self) -> None:
        secret = self.folder / "spark_secret"
        secret.write_text(secrets.token_hex(24))
        self.env |= {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_CONF_DIR": str(self.folder / "spark-conf"),
            "SPARK_SECRET_FILE": str(secret),
            "SPARK_EXECUTOR_MEMORY": "1g",
            "SPARK_MASTER_PORT": str(self.ports["master"]),
            "SPARK_MASTER_WEBUI_PORT": str(self.ports["master-page"]),
            "SPARK_WORKER_CORES": "1",
            "SPARK_WORKER_MEMORY": "1g",
        }
        program = ROOT / "docker/spark/start"
        self.processes.start("spark-master", [program, "master", "127.0.0.1"], self.env)
        page = f"http://127.0.0.1:{self.ports['master-page']}/json/"
        self.processes.wait("spark-master", answers(page), 120)
        self.spark_master = f"spark://127.0.0.1:{self.ports['master']}"
        for number in (1, 2):
            port = free_port()
            own = {
                "SPARK_WORKER_WEBUI_PORT": str(port),
                "SPARK_WORKER_DIR": str(self.folder / f"spark-worker-{number}"),
            }
            self.processes.start(
                f"spark-worker-{number}", [program, "worker", self.spark_master], self.env | own
            )
            self.processes.wait("worker", answers(f"http://127.0.0.1:{port}/json/"), 120)

        token = self.folder / "spark_token"
        token.write_text(secrets.token_hex(24))
        told = {
            "SPARK_TOKEN_FILE": str(token),
            "SPARK_CONNECT_PORT": str(self.ports["connect"]),
            "ELSINORE_ROOT": str(self.root),
            "ELSINORE_HOME": self.home,
            "ELSINORE_LOCAL_HOME": str(self.folder / "var"),
            "ELSINORE_SPARK_MASTER": self.spark_master,
        }
        self.processes.start("spark-connect", [program, "connect", "127.0.0.1"], self.env | told)
        self.processes.wait("spark-connect", listens(self.ports["connect"]), 240)
        self.env |= {
            "ELSINORE_ROOT": str(self.root),
            "ELSINORE_HOME": self.home,
            "ELSINORE_LOCAL_HOME": str(self.folder / "var"),
            "ELSINORE_SPARK_MASTER": f"sc://127.0.0.1:{self.ports['connect']}",
            "ELSINORE_SPARK_TOKEN_FILE": str(token),
        }

    def _start_airflow(self) -> None:
        api = f"http://127.0.0.1:{self.ports['api']}"
        self.env |= {
            "AIRFLOW_HOME": str(self.folder / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.root / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "elsinore.orchestration.warm_executor.WarmExecutor",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{api}/execution/",
            "AIRFLOW__CORE__FERNET_KEY": "",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self._database_url("postgresql+psycopg"),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": self._database_url("postgresql+psycopg"),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.ports["api"]),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": secrets.token_hex(24),
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
        }
        module = [sys.executable, "-m", "elsinore.orchestration.airflow_environment"]
        self.processes.run("airflow-setup", module, self.env)
        parts = (["scheduler", "--skip-serve-logs"], ["dag-processor"], ["api-server"])
        for part in parts:
            self.processes.start(part[0], [*_AIRFLOW, *part], self.env)
        health = f"{api}/api/v2/monitor/health"
        self.processes.wait("api-server", answers(health), 240)
        parsed = "SELECT count(*) FROM serialized_dag"
        self.processes.wait("DAGs are parsed", lambda: self.query(parsed)[0][0] >= 3, 240)

    def airflow(self, name: str, *arguments: str) -> str:
        """Runs a command of Airflow's and returns what it printed."""
        return self.processes.run(name, [*_AIRFLOW, *arguments], self.env)


def _postgres_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        raise FileNotFoundError("PostgreSQL is missing: apt-get install postgresql")
    return found[-1].parent if found else Path(str(on_path)).resolve().parent
