"""The lake's Delta tables on disk, read and written by delta-rs, without Spark."""
