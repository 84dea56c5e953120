"""What `spark-submit` runs as the server: Spark with a plugin that listens, until its JVM ends."""

from __future__ import annotations

import os
import time

from pyspark.sql import SparkSession

if __name__ == "__main__":
    jvm = os.getppid()
    SparkSession.builder.getOrCreate()
    while os.getppid() == jvm:
        time.sleep(1)
