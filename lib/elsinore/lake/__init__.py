"""The tables as they lie on disk: Delta by delta-rs, without Spark."""
