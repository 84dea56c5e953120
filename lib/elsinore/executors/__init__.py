"""Executors: compiled ways to run queries over the events of a table."""
