"""Delta tables through Spark: create, read, replace, append, merge; no knowledge of their rows."""
