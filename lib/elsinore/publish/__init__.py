"""Results on their way from Spark's workers to the published table; no queries, no engine."""
