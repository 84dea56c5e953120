"""The embedded Airflow: its environment, and its home made ready.

As a script it runs a command in that environment: `python -P -m
elsinore.orchestration.airflow_environment airflow dags list`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from elsinore.errors import SetupError
from elsinore.settings import Settings

#: Tasks that start Spark share the slots of this pool (`Settings.spark_slots`).
SPARK_POOL = "spark"

_READY = ".prepared"
#: The variable that names the file of generated passwords.
_PASSWORDS = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"


def airflow_environment(root: Path) -> dict[str, str]:
    """This process's environment with what the Airflow embedded in a checkout needs.

    It has a home in the checkout, listens on the loopback address only and sends nothing anywhere,
    but alerts and metrics where variables say so. Its pages ask for the password of the user
    `admin`. Variables that are already set stay as they are, so that a deployment can set its own.
    The same holds for options that Airflow reads from a command or a secret.
    """
    home = Path(os.environ.get("AIRFLOW_HOME", root / ".airflow")).absolute()
    scripts = str(Path(sys.executable).parent)
    defaults = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(root / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "elsinore.orchestration.warm_executor.WarmExecutor",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
        _PASSWORDS: str(home / "passwords.json"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__WORKERS": "1",
        "GX_ANALYTICS_ENABLED": "False",
        # Airflow starts Python with `-m`: nothing is imported from the working directory.
        "PYTHONSAFEPATH": "1",
    }
    # Airflow may have another source for an option, which the variable itself would hide.
    ours = {
        name: value
        for name, value in defaults.items()
        if not any(f"{name}{source}" in os.environ for source in ("_CMD", "_SECRET"))
    }
    path = os.environ.get("PATH", os.defpath)
    return {**ours, **os.environ, "PATH": f"{scripts}{os.pathsep}{path}"}


def prepare_airflow(root: Path) -> None:
    """Makes or migrates Airflow's metadata database and its pool; harmless when done already.

    Raises:
        SetupError: Airflow refuses; its own words are in `prepare.log` in its home.
    """
    env = airflow_environment(root)
    _keep_private(env)
    slots = str(Settings.load().spark_slots)
    log = Path(env["AIRFLOW_HOME"]) / "prepare.log"
    with log.open("w", encoding="utf-8") as file:
        for command in (
            ["db", "migrate"],
            ["pools", "set", SPARK_POOL, slots, "tasks that start Spark"],
        ):
            done = subprocess.run(
                [sys.executable, "-P", "-m", "airflow", *command],
                cwd=root, env=env, stdout=file, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
            if done.returncode:
                raise SetupError(
                    f"airflow {' '.join(command[:2])} failed", hint=f"read the log: {log}"
                )
    log.with_name(_READY).touch()


def _keep_private(env: Mapping[str, str]) -> None:
    """Close Airflow's home to other users, with its database, logs and passwords.

    An existing home that the environment names keeps its mode.
    """
    home, passwords = Path(env["AIRFLOW_HOME"]), Path(env.get(_PASSWORDS, ""))
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if "AIRFLOW_HOME" not in os.environ:
        home.chmod(0o700)
    if passwords.parent == home and not passwords.exists():
        # Airflow opens it for appending, with the mode that the umask leaves.
        os.close(os.open(passwords, os.O_CREAT | os.O_WRONLY, 0o600))


def is_prepared(root: Path) -> bool:
    """Return whether `prepare_airflow` has succeeded for the home that the environment names."""
    return (Path(airflow_environment(root)["AIRFLOW_HOME"]) / _READY).exists()


def main() -> None:
    """Makes the home ready (no arguments), or becomes the given command in its environment."""
    root = Settings.load().root
    if len(sys.argv) == 1:
        prepare_airflow(root)
        return
    env = airflow_environment(root)
    _keep_private(env)
    os.execvpe(sys.argv[1], sys.argv[1:], env)  # noqa: S606


if __name__ == "__main__":
    main()
