"""Keeps a JVM with Spark's classes for many jobs, one after another; see `warm.Warm`.

It says how to reach the JVM in one line of JSON. Then, for each line on its standard input, it
stops whatever Spark still runs there, forgets what Delta knows of tables, and answers.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

from elsinore.settings import Settings
from elsinore.spark.session import _configuration, _find_jars


def main() -> None:
    """Until standard input ends."""
    settings = Settings.load()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    conf = SparkConf(loadDefaults=False)
    for name, value in _configuration(settings, _find_jars(settings.jars)).items():
        conf.set(name, value)
    gateway = launch_gateway(conf)
    _say(
        jvm=gateway.proc.pid,
        port=gateway.gateway_parameters.port,
        secret=gateway.gateway_parameters.auth_token,
    )
    for _ in sys.stdin:
        active = _companion(gateway.jvm.org.apache.spark, "SparkContext").getActive()
        if active.isDefined():
            active.get().stop()
        _companion(gateway.jvm.org.apache.spark.sql.delta, "DeltaLog").clearCache()
        _say(stopped=bool(active.isDefined()))


def _companion(package: Any, name: str) -> Any:
    """Where Scala keeps what belongs to a class as a whole."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def _say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
