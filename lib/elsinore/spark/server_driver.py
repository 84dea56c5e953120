"""What `spark-submit` runs as the server: a Spark whose plugin listens, until it is ended."""

import signal

from pyspark.sql import SparkSession

if __name__ == "__main__":
    SparkSession.builder.getOrCreate()
    signal.pause()
